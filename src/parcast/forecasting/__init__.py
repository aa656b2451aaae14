"""Measured times in, times at other processors out, each with its interval: `parcast forecast`.

`forecast` answers by a `question`, the `evidence` for it, the `curve` computed from that and the
`notes` on it. `ensemble` combines the laws, `measured` gives the interval; runs on other machines
are in `donors`, several parameters in `surface`, what to run next in `next_runs`.
"""
