"""Whether the processors of the ranks are disturbed: a fixed quantum of work, timed repeatedly.

It is timed on all ranks just before a run, every 20 ms of it and just after;
`parcast.timings.disturbed` says what follows from it.

The quantum is one call of NumPy, a hundredth of a millisecond, that does not hold the interpreter;
within a run a second thread of the rank makes it. Where the rank is not pinned to one core, that
thread would run on another: then quanta are timed before and after only.

Hosts of a testbed wait for their share of a core all the time, which says nothing: for them quanta
count alone, and those before and after a run only. Within it a quantum is cut short by the end of
the share, and takes up to 14 times as long in undisturbed runs. Ranks that share cores
disturb each other: this says nothing of them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from threading import Event, Thread
from time import perf_counter, thread_time
from typing import Final

import numpy as np

from parcast.instrument.accounts import waited_for_core
from parcast.kernels.ledger import Communicator
from parcast.mpi.find import available_cores
from parcast.timings.disturbed import OWN, is_disturbed

PERIOD: Final = 0.02  # between quanta within a run [s]
TIMED: Final = 25  # quanta just before and after, of which the median counts [1]
_X: Final = np.linspace(0.1, 0.9, 4000)  # 32 kB: stays in caches of the core
_OUT: Final = np.empty_like(_X)


def work_quantum() -> float:
    """Processor time of a fixed piece of work, some 0.01 ms. [s]."""
    began = thread_time()
    np.arctan2(_X, _X, out=_OUT)
    return thread_time() - began


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
