"""What a run did: its trace, several reductions in one, and the traffic of its messages."""
