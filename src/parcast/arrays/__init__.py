"""Collective array I/O: arrays of a parallel program, written and read through I/O servers.

The geometry of arrays on clients and servers, the law of a request, its simulation, and plans.
"""
