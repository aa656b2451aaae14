"""Collective array I/O: arrays of a parallel program on disk, and what writing them costs."""
