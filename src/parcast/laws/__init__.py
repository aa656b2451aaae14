"""Timing laws, one a module, and what is computed from measured times with them.

Pure functions over arrays: no files, no printing. A law that can take part in a forecast offers
``LAW``; `ensemble` combines them, `measured` and `doubt` turn them into times with intervals.
"""
