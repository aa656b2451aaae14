"""Reference programs that really run: each is the parallel form of a timing law.

`registry` names them, by their laws; `kernel` says what a program must have, `run` starts it on
ranks that count in a `ledger` what they do. `parcast run` and `python -m parcast.kernels` start
them.
"""
