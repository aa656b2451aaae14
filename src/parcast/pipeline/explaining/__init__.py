"""What a parallel pipeline does: its schedule for any number of ranks, and a traced run."""
