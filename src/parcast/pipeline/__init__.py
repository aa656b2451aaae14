"""The parallel pipeline: reductions of many items on MPI ranks, their law and applications."""
