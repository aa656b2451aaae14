"""Suites that a subject, a launcher or a law of another package passes, as parcast's own do.

A check raises what tells its author what is wrong, and else gives what it has made.
"""
