"""Measured times: tables of runs, series of counts, profiles of regions, and their files.

`measurements` is the table that all questions take, `series` groups it; `disturbed` says which
runs do not count.
"""
