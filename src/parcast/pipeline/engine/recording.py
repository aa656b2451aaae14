"""What a rank notes for the trace of a run, and its clock against that of rank 0.

The offset and drift of a clock follow from messages sent there and back.
Rank 0 sends at `t0` on its clock, rank r answers at `there` on its own, and the answer arrives at
`t1`. It was given between `t0` and `t1`, so that the clock of r is ahead of that of rank 0 by::

    offset_i = there - (t0 + t1) / 2      to within      r_i / 2,    r_i = t1 - t0

at m_i = (t0 + t1) / 2, however the round trip is divided. Of the samples taken before the run and
of those after it, the one with the shortest round trip counts: a and b. Between them the clock is
taken to drift at a constant rate::

    offset(m) = offset_a + drift (m - m_a),     drift = (offset_b - offset_a) / (m_b - m_a)
    residual  = (max(r_a, r_b) / 2 + misfit) / (1 + drift)
    misfit    = the largest of |offset_i - offset(m_i)| - r_i / 2 over all samples, and of 0

Of a clock with a constant drift every offset between m_a and m_b is within max(r_a, r_b) / 2: the
true line passes through both bars, and so lies between their ends. A misfit above this is a clock
that did not drift at a constant rate, such as one that was set or slewed during the run. Without
samples at the end the drift is taken to be zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Self

from parcast.errors import require

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parcast.aliases import Array


@dataclass(slots=True)
class Notes:
    """Sums over what a rank did, and its events where the run is traced."""

    rank: int
    is_traced: bool
    tasks: int = 0
    task_time: float = 0.0  # wall [s]
    task_processor: float = 0.0  # [s]
    retried: int = 0  # attempts at items whose task had failed
    merges: int = 0
    merge_time: float = 0.0  # wall [s]
    merge_processor: float = 0.0  # [s]
    messages: int = 0  # results that were sent
    sent: int = 0  # [B]
    events: list[dict[str, Any]] = field(default_factory=list)

    def task(self, first: int, stop: int, lap: "Lap", *, retried: int = 0) -> None:
        """Note the tasks of a block."""
        self.tasks += stop - first
        self.retried += retried
        self.task_time += lap.seconds
        self.task_processor += lap.processor
        if self.is_traced:
            self._note("task", lap, first=first, stop=stop)

    def merge(self, first: int, stop: int, inputs: int, lap: "Lap") -> None:
        """Note a merge of some inputs."""
        self.merges += inputs - 1
        self.merge_time += lap.seconds
        self.merge_processor += lap.processor
        if self.is_traced:
            self._note("merge", lap, first=first, stop=stop, inputs=inputs)

    def fetch(self, items: int, lap: "Lap") -> None:
        """Note that items were fetched."""
        if self.is_traced and items:
            self.events.append(_spent("fetch", self.rank, lap) | {"items": items})

    def deliver(self, first: int, stop: int, size: float, lap: "Lap") -> None:
        """Note that a completed reduction was given to the server stage."""
        if self.is_traced:
            event = _spent("deliver", self.rank, lap)
            self.events.append(event | {"first": first, "stop": stop, "bytes": int(size)})

    def message(self, source: int, sent: float, size: int, first: int, stop: int) -> None:
        """Note a result that has arrived; it was sent at a time of the clock of its source."""
        if self.is_traced:
            self.events.append(
                {
                    "event": "message",
                    "source": source,
                    "target": self.rank,
                    "sent": sent,
                    "received": perf_counter(),
                    "bytes": size,
                    "first": first,
                    "stop": stop,
                }
            )

    def _note(self, event: str, lap: "Lap", **facts: int) -> None:
        self.events.append(_spent(event, self.rank, lap) | {"processor": lap.processor} | facts)


def _spent(event: str, rank: int, lap: "Lap") -> dict[str, Any]:
    return {"event": event, "rank": rank, "start": lap.begun, "end": lap.begun + lap.seconds}


class Lap:
    """Wall and processor time of a block of code. [s]."""

    begun = seconds = processor = 0.0

    def __enter__(self) -> Self:
        self._processor = thread_time()
        self.begun = perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = perf_counter() - self.begun
        self.processor = thread_time() - self._processor


Sample = tuple[float, float, float]  # t0, there, t1 [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class RankClock:
    """The clock of a rank against that of rank 0; by default it is that of rank 0."""

    offset: float = 0.0  # how far it is ahead, at `at` [s]
    drift: float = 0.0  # seconds it gains in a second of rank 0 [1]
    at: float = 0.0  # on the clock of rank 0 [s]
    residual: float = 0.0  # how far aligned times may be off [s]

    def aligned(self, there: "ArrayLike") -> "Array":
        """Times of this clock on the clock of rank 0. [s]."""
        import numpy as np  # late: ranks have clocks, and most of them compute no times

        ahead = np.asarray(there, dtype=np.float64) - self.at - self.offset
        return self.at + ahead / (1.0 + self.drift)


def clock_from(start: Sequence[Sample], end: Sequence[Sample] = ()) -> RankClock:
    """Estimate a clock from round trips before a run, and after it.

    >>> clock_from([(0.0, 5.0, 0.25), (0.5, 5.75, 1.0)], [(16.0, 22.0, 16.25)])
    RankClock(offset=4.875, drift=0.0625, at=0.125, residual=0.11764705882352941)
    """
    import numpy as np

    samples = np.array([*start, *end], dtype=np.float64).reshape(-1, 3)
    hint = "Send a message there and back before the run."
    require("start", len(start), len(start) > 0, must="have a sample", hint=hint)
    require("samples", samples, np.isfinite(samples), must="be finite", hint=hint)
    trips = samples[:, 2] - samples[:, 0]
    require("t1 - t0", trips, trips >= 0, must="be at least 0", hint="Use a monotonic clock.")
    middles = samples[:, 0] + trips / 2
    offsets = samples[:, 1] - middles
    a = int(np.argmin(trips[: len(start)]))
    b = len(start) + int(np.argmin(trips[len(start) :])) if end else a
    apart = float(middles[b] - middles[a])
    drift = float(offsets[b] - offsets[a]) / apart if apart > 0 else 0.0
    hint = "The clock went backwards: use a monotonic one."
    require("drift", drift, drift > -1, must="be above -1", hint=hint)
    line = offsets[a] + drift * (middles - middles[a])
    misfit = max(float(np.max(np.abs(offsets - line) - trips / 2)), 0.0)
    return RankClock(
        offset=float(offsets[a]),
        drift=drift,
        at=float(middles[a]),
        residual=(float(max(trips[a], trips[b])) / 2 + misfit) / (1 + drift),
    )
