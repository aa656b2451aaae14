"""Communication primitives (send, broadcast, allreduce, ...): what one call of each takes.

`price` decides between measured tables (`measured`, `network`) and formulas (`standard`).
"""
