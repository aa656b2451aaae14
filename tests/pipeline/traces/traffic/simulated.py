"""Traces of traffic that is known: messages through one channel, by their gaps and lengths.

`KINDS` are sources of gaps and lengths, each violating other conditions, to see what the check
says of them: gaps with a mean of 1 ms, lengths of 20 kB, so that a capacity of 50 MB/s is used by
40%.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.pipeline.traces.header import TraceHeader
from parcast.pipeline.traces.trace import EVENTS, Trace
from parcast.pipeline.traces.traffic.channel import queue_delays
from parcast.version import __version__

GAP: Final = 1e-3  # mean [s]
LENGTH: Final = 20_000.0  # mean [B]

Traffic = tuple[Array, Array]  # gaps [s] and lengths [B]


def _poisson(rng: Generator, n: int) -> Traffic:
    """Poisson arrivals, exponential lengths: M/M/1."""
    return rng.exponential(GAP, n), rng.exponential(LENGTH, n)


def _equal(rng: Generator, n: int) -> Traffic:
    """Poisson arrivals, equal lengths: M/D/1."""
    return rng.exponential(GAP, n), np.full(n, LENGTH)


def _discrete(rng: Generator, n: int) -> Traffic:
    """Poisson arrivals, three lengths as in a schedule of eight ranks: M/G/1."""
    return rng.exponential(GAP, n), rng.choice(LENGTH * np.array([0.5, 0.5, 1, 2]), n)


def _lognormal(rng: Generator, n: int) -> Traffic:
    """Poisson arrivals, lengths with a long tail: M/G/1."""
    return rng.exponential(GAP, n), LENGTH * np.exp(rng.normal(-0.72, 1.2, n))


def _bursts(rng: Generator, n: int) -> Traffic:
    """Hyperexponential gaps: one in ten is ten times as long; they are independent."""
    scale = np.where(rng.random(n) < 0.1, 10.0, 1.0) / 1.9
    return GAP * scale * rng.exponential(size=n), rng.exponential(LENGTH, n)


def _modulated(rng: Generator, n: int) -> Traffic:
    """Markov-modulated arrivals: a rate that changes tenfold, every 50 messages on average."""
    is_slow: NDArray[np.bool_] = np.cumsum(rng.random(n) < 0.02) % 2 == 1
    return rng.exponential(np.where(is_slow, 3 * GAP, 0.3 * GAP)), rng.exponential(LENGTH, n)


def _periodic(rng: Generator, n: int) -> Traffic:
    """Gaps that hardly vary."""
    return GAP * rng.uniform(0.95, 1.05, n), rng.exponential(LENGTH, n)


def _slowing(rng: Generator, n: int) -> Traffic:
    """A rate that falls to a quarter over the run."""
    return GAP * np.linspace(0.4, 1.6, n) * rng.exponential(size=n), rng.exponential(LENGTH, n)


def _sequence(rng: Generator, n: int) -> Traffic:
    """Exponential lengths that follow the last one: long after long."""
    noise = rng.normal(size=n)
    z = np.empty(n)
    last = rng.normal()
    for i in range(n):
        last = z[i] = 0.5 * last + 0.75**0.5 * noise[i]
    lengths = np.sort(rng.exponential(LENGTH, n))[np.argsort(np.argsort(z))]
    return rng.exponential(GAP, n), lengths


def _saved_up(rng: Generator, n: int) -> Traffic:
    """Exponential lengths, most of which are what has gathered in the gap before."""
    gaps, lengths = _poisson(rng, n)
    return gaps, np.where(rng.random(n) < 0.6, LENGTH / GAP * gaps, lengths)


def _schedule(rng: Generator, n: int) -> Traffic:
    """Steps of a published schedule: four messages at once, of 1, 1, 2 and 4 items."""
    gaps = np.where(np.arange(n) % 4, 0.01, 3.97) * GAP * rng.exponential(size=n)
    return gaps, LENGTH * np.resize([0.5, 0.5, 1.0, 2.0], n)


KINDS: Final[dict[str, Callable[[Generator, int], Traffic]]] = {
    "poisson": _poisson,
    "equal": _equal,
    "discrete": _discrete,
    "lognormal": _lognormal,
    "bursts": _bursts,
    "modulated": _modulated,
    "periodic": _periodic,
    "slowing": _slowing,
    "sequence": _sequence,
    "saved up": _saved_up,
    "schedule": _schedule,
}


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
    return Trace(
        header=header,
        tasks=np.zeros(0, EVENTS["task"]),
        merges=np.zeros(0, EVENTS["merge"]),
        messages=messages,
        fetches=np.zeros(0, EVENTS["fetch"]),
        deliveries=np.zeros(0, EVENTS["deliver"]),
        path="simulated",
    )
