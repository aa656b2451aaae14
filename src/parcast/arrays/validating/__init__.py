"""The law of array I/O tested against runs of the library."""
