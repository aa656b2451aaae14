"""Communication primitives (send, broadcast, allreduce, ...): what one call of each takes.

`price` says it of a described machine; `measured` and `network` make descriptions from benchmarks.
"""
