"""Collective array I/O: arrays of a parallel program on disk, what it costs, and how to plan it."""
