"""Solvers of the queueing networks that the laws need: arrays in, arrays out.

They know nothing of programs and machines; the laws in `parcast.laws` give them demands. They need
SciPy, which is loaded with the law that needs it. Solvers that no law needs are second routes to
the same figures, and lie with the tests.
"""
