"""Micro-benchmarks that `calibrate` starts: processor, network, primitives and storage.

Each module is a program for `parcast.mpi.launcher.run_ranks`. It is given the path of a file and a
`Plan`, and writes one JSON line for each thing measured as soon as it has it.
"""
