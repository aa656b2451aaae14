"""Whether the processors of the ranks are disturbed: a fixed quantum of work, timed repeatedly.

A processor that a rank has to itself does the same work in the same processor time. Where somebody
else computes on the second thread of its core, as guests of one host do, the same work takes half
as long again, and the accounts of the system, which count time and not work, do not show it. So a
fixed work quantum [1]_ is timed on all ranks just before a run, every 20 ms of it and just after.
Where more than `SHARE` of the quanta took longer than the least known by more than `TOLERANCE`,
the run was disturbed. So it was where a rank waited for its core for more than `WAITING` of the
time, by the run delay of the scheduler: the system had given it to another program. Neither looks
at how long the run took: no run is judged by its own time.

The quantum is one call of NumPy, a hundredth of a millisecond, that does not hold the interpreter;
within a run a second thread of the rank makes it. Where the rank is not pinned to one core, that
thread would run on another: then quanta are timed before and after only.

Hosts of a testbed wait for their share of a core all the time, which says nothing: for them quanta
count alone, and those before and after a run only. Within it a quantum is cut short by the end of
the share, and takes up to 14 times as long in runs that nobody disturbs. Ranks that share cores
disturb each other: this says nothing of them.

References
----------
.. [1] M. Sottile and R. Minnich, "Analysis of microbenchmarks for performance tuning of
   clusters," IEEE Cluster 2004, pp. 371-377.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from threading import Event, Thread
from time import perf_counter, thread_time
from typing import Final

import numpy as np

from parcast.instrument.quanta import waited_for_core
from parcast.kernels.ledger import Communicator
from parcast.mpi.find import available_cores

TOLERANCE: Final = 0.2  # over the least, above which a quantum is a slow one [1] [D]
SHARE: Final = 0.15  # of slow quanta, above which a run was disturbed [1] [D]
WAITING: Final = 0.05  # of a run, above which somebody else had a core [1] [D]
OWN: Final = 2e-4  # waiting that may be for the second thread of the rank itself [s]
PERIOD: Final = 0.02  # between quanta within a run [s]
TIMED: Final = 25  # quanta just before and after, of which the median counts [1]
_X: Final = np.linspace(0.1, 0.9, 4000)  # 32 kB: stays in caches of the core
_OUT: Final = np.empty_like(_X)


def work_quantum() -> float:
    """Processor time of a fixed piece of work, some 0.01 ms. [s]."""
    began = thread_time()
    np.arctan2(_X, _X, out=_OUT)
    return thread_time() - began


def slowdown(quanta: Sequence[float], least: float) -> float:
    """How much longer quanta of a run took than the least [s], all but a share of `SHARE`. [1].

    >>> slowdown((1.0, 1.5), 1.0), slowdown([1.5] + [1.25] * 20, 1.0), slowdown((), 1.0)
    (1.5, 1.25, 1.0)
    """
    if not quanta:
        return 1.0
    return sorted(quanta)[-1 - int(SHARE * len(quanta))] / least


def is_disturbed(quanta: Sequence[float], least: float, waiting: float = 0.0) -> bool:
    """Whether a run was disturbed: by its quanta, or by the share of it that a rank waited."""
    return waiting > WAITING or slowdown(quanta, least) > 1.0 + TOLERANCE


def least_quantum(of_runs: Iterable[Sequence[float]]) -> float | None:
    """Work quantum of quiet processors, of runs on as many ranks: the least median. [s].

    None where no run has any, or the clock does not show them.
    """
    least = min((median(quanta) for quanta in of_runs if quanta), default=0.0)
    return least if least > 0 else None


@dataclass(kw_only=True, slots=True)
class Watched:
    """What a rank saw of its processor around and in a run."""

    quanta: list[float] = field(default_factory=list)  # of work; none if not timed [s]
    waited: float = 0.0  # for its core [s]


class Quanta:
    """Work quanta of all ranks of a communicator, and how long one may wait for quiet ones.

    All ranks call each method and get the same. `patience` [s] is for waiting and for repeating
    disturbed runs; `least` [s] is the least quantum of earlier launches of as many ranks;
    `may_wait` says that ranks wait for their cores anyway, as those that are throttled do.
    """

    def __init__(
        self,
        comm: Communicator,
        *,
        patience: float = 0.0,
        least: float | None = None,
        may_wait: bool = False,
    ) -> None:
        self._comm = comm
        self._may_wait = may_wait
        self._left = patience
        self._least = float("inf") if least is None else least

    def timed(self) -> float:
        """Processor time of a quantum on the rank that took longest, all at once. [s]."""
        self._comm.Barrier()
        own = median(work_quantum() for _ in range(TIMED))
        longest: float = max(self._comm.allgather(own))
        self._least = min(self._least, longest)
        return longest

    def when_quiet(self) -> float:
        """Wait until a quantum takes no longer than the least known, or patience is over. [s].

        Waiting is computing: a processor that sleeps is given back, and may be woken elsewhere.
        """
        longest = self.timed()
        while self._left > 0 and is_disturbed((longest,), self._least):
            began = perf_counter()
            longest = self.timed()
            self._left -= self._comm.bcast(perf_counter() - began, 0)
        return longest

    @contextmanager
    def around(self) -> Iterator[Watched]:
        """Wait for quiet processors, and time quanta before, during and after the block."""
        watched = Watched(quanta=[self.when_quiet()])
        ended = Event()
        sampling = Thread(target=_sample, args=(watched.quanta, ended), daemon=True)
        if self._may_wait or len(available_cores()) > 1:
            ended.set()
        sampling.start()
        waited = waited_for_core() or 0.0
        try:
            yield watched
            waited = (waited_for_core() or 0.0) - waited
        finally:
            ended.set()
            sampling.join()
        watched.waited = waited if waited > OWN and not self._may_wait else 0.0
        watched.quanta.append(self.timed())

    def may_repeat(self, quanta: Sequence[float], waiting: float, took: float) -> bool:
        """Whether a run was disturbed and patience is left for another, which is taken off.

        `took` is what this rank spent on it, input and check included; that of rank 0 counts. [s].
        """
        took = self._comm.bcast(took, 0)
        if self._left <= 0 or self._left < took:
            return False
        if not is_disturbed(quanta, self._least, waiting):
            return False
        self._left -= took
        return True


def _sample(quanta: list[float], ended: Event) -> None:
    """Time quanta while a run goes on, each after one that brings its data to the cache."""
    while not ended.wait(PERIOD):
        work_quantum()
        quanta.append(work_quantum())
