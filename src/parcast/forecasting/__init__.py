"""Measured times in, times at other processors out, each with its interval: `parcast forecast`.

`ensemble` combines the laws, `measured` gives the interval, `forecast` answers; runs on other
machines are in `donors`, several parameters in `surface`, what to run next in `next_runs`.
"""
