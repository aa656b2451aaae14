"""Traces of traffic that is known: messages through one channel, by their gaps and lengths."""

import numpy as np
from numpy.typing import ArrayLike

from parcast.errors import require
from parcast.pipeline.trace import EVENTS, Trace, TraceHeader
from parcast.pipeline.traffic.channel import queue_delays
from parcast.version import __version__


def simulated_trace(
    gaps: ArrayLike,
    lengths: ArrayLike,
    *,
    capacity: float,
    latency: float = 0.0,
    residual: float = 0.0,
    program: str = "simulated",
    ranks: int = 4,
) -> Trace:
    """Send messages through a channel that serves one at a time, and give their trace.

    `gaps` [s] are the times before each message, `lengths` [B] are rounded to bytes, `capacity`
    is in B/s; every message goes to rank 0.

    >>> simulated_trace([1.0, 1.0], [500, 800], capacity=1000.0).messages["received"].tolist()
    [1.5, 2.8]
    """
    times = np.cumsum(np.asarray(gaps, dtype=np.float64))
    sizes = np.rint(np.asarray(lengths, dtype=np.float64))
    require("lengths", sizes, sizes >= 0, must="be at least 0", hint="Give them in bytes.")
    count = len(times)
    messages = np.zeros(count, EVENTS["message"])
    messages["source"] = 1 + np.arange(count) % (ranks - 1)
    messages["sent"] = times
    messages["bytes"] = sizes
    queued = queue_delays(np.diff(times), sizes / capacity) if count else times
    messages["received"] = times + queued + latency
    messages["first"] = np.arange(count)
    messages["stop"] = messages["first"] + 1
    header = TraceHeader(
        program=program,
        schedule="adaptive",
        ranks=ranks,
        items=count,
        hosts=("simulated",) * ranks,
        cores=ranks,
        offset=(0.0,) * ranks,
        residual=(residual,) * ranks,
        seconds=float(messages["received"].max(initial=0.0)),
        parcast=__version__,
    )
    others = {
        name: np.zeros(0, EVENTS[kind])
        for name, kind in (
            ("tasks", "task"),
            ("merges", "merge"),
            ("fetches", "fetch"),
            ("deliveries", "deliver"),
        )
    }
    return Trace(header=header, messages=messages, path="simulated", **others)
