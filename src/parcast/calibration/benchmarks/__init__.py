"""Output of other benchmarks (OSU, Intel MPI, IOR), read as figures of a machine."""
