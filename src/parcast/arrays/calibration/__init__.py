"""Costs of array I/O, measured where it is used: a dry run, messages between ranks, and a disk."""
