"""Starts the ranks of MPI programs, and leaves none of them behind.

mpi4py is imported inside functions only, so that everything else works without it.
"""
