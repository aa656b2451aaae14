"""The law of SPMD programs: processors that compute, communicate and do I/O in cycles.

`law` is the phase, `demands` what it asks of the machine, `networks` the queues that serve it.
"""
