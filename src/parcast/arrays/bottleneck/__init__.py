"""What limits a request, and which of its servers are out of balance."""
