"""Reference programs that really run: each is the parallel form of a timing law.

A program is the module of its law's name; `kernel` says what it must have, `run` starts it on
ranks that count in a `ledger` what they do. `parcast run` and `python -m parcast.kernels` start
them.
"""
