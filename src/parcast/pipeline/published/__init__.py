"""The static schedule that was published: as data, as orders of rank 0, and in simulated time."""
