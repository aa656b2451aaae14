"""What limits a request: its time as it is, with infinitely fast disks, and network too."""
