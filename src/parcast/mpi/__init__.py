"""What really executes: the launcher of MPI ranks, micro-benchmarks and programs.

mpi4py is imported inside functions only, so that everything else works without it.
"""
