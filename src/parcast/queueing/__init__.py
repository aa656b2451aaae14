"""Solvers of the queueing networks that the laws need: arrays in, arrays out.

They know nothing of programs and machines; the laws in `parcast.laws` give them demands.
SciPy is imported here and nowhere above, so that importing parcast stays light. Solvers that no
law needs are second routes to the same figures, and lie with the tests.
"""
