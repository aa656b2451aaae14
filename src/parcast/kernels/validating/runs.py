"""Timed launches of a program for `validate`: in random order, until the time is over.

A launch runs several sizes on one count of ranks, in an order of its own. Launches of all counts
are dealt into rounds and each round is shuffled, so that a machine that grows slower or faster
meanwhile does so for all of them.

A launch waits for quiet processors, and repeats disturbed runs, for up to half the
time that it should take and a second; sizes with too few undisturbed runs are launched again.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from parcast.advice import ours
from parcast.errors import RunFailed
from parcast.kernels.kernel import KernelRun
from parcast.kernels.validating.cells import Cells, Sample, is_enough, joined, least_quanta

Progress = Callable[[int, int | None], None]

LIMIT: Final = (120.0, 20.0)  # longest launch: so long, and times what is expected [s], [1]
PATIENCE: Final = (1.0, 0.5)  # with disturbed processors: so long, and times that [s], [1] [D]


class Runner(Protocol):
    """What starts a program and times it; `parcast.kernels.run.run_kernel` does."""

    def __call__(
        self,
        name: str,
        *,
        n: Sequence[int],
        ranks: int,
        seed: int,
        check: bool | None,
        time_limit: float,
        patience: float = 0.0,
        quantum: float | None = None,
    ) -> Sequence[KernelRun]:
        """Time a run of each size, in one launch, and again where it was disturbed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One launch that is to be made."""

    p: int  # ranks
    launch: int  # of this count, from 1
    sizes: tuple[int, ...]  # in their order, each as often as it is to be run
    seconds: Callable[[int], float] = lambda _: 0.0  # expected time of a size on one rank [s]

    @property
    def expected(self) -> float:
        """Time that it should take at most. [s]."""
        return sum(map(self.seconds, self.sizes)) + 0.5


@dataclass(kw_only=True, slots=True)
class Stopwatch:
    """Time that is left, and where progress is reported."""

    limit: float | None = None  # [s]; None: as long as it takes
    progress: Progress | None = None
    clock: Callable[[], float] = time.monotonic
    begun: float = 0.0
    done: float = 0.0  # expected seconds of what was run
    total: float = 0.0
    interrupted: bool = False
    quanta: dict[int, float] = field(default_factory=dict)  # of work, least of each count [s]

    def __post_init__(self) -> None:
        """Start."""
        self.begun = self.clock()

    @property
    def seconds(self) -> float:
        """Time since the start [s]."""
        return self.clock() - self.begun

    @property
    def is_over(self) -> bool:
        """Whether no launch may be begun any more."""
        return self.interrupted or (self.limit is not None and self.seconds >= self.limit)

    @property
    def ended_by(self) -> str:
        """Why no launch may be begun any more; "" while one may."""
        if self.interrupted:
            return "interrupted"
        return "time limit" if self.is_over else ""

    def learn(self, quanta: Mapping[int, float]) -> None:
        """Take over work quanta that are less than those known."""
        for p, quantum in quanta.items():
            self.quanta[p] = min(quantum, self.quanta.get(p, quantum))

    def advance(self, expected: float) -> None:
        """Say how far we are."""
        self.done += expected
        if self.progress is not None and self.total > 0:
            self.progress(min(round(1000 * self.done / self.total), 1000), 1000)


def jobs_of(
    counts: Sequence[int],
    sizes: Mapping[int, int],
    *,
    launches: int,
    seconds: Callable[[int], float],
    random: np.random.Generator,
) -> list[Job]:
    """Launches of every count, one of each in every round, in random order.

    `sizes` says how often each is run in a launch, `seconds` what it should take on one rank [s].
    """
    each = [n for n, times in sizes.items() for _ in range(times)]
    return [
        Job(
            p=counts[i],
            launch=launch,
            sizes=tuple(each[j] for j in random.permutation(len(each)).tolist()),
            seconds=seconds,
        )
        for launch in range(1, launches + 1)
        for i in random.permutation(len(counts)).tolist()
    ]


def launched(
    name: str, jobs: Sequence[Job], *, runner: Runner, seed: int, watch: Stopwatch
) -> dict[tuple[int, int], list[Sample]]:
    """Samples by size and count of ranks, until all launches are made or time is over.

    Each round has its own input, from `seed` on. A wrong result is an error.
    """
    cells: dict[tuple[int, int], list[Sample]] = {}
    try:
        for job in jobs:
            if watch.is_over:
                break
            runs = tuple(
                runner(
                    name,
                    n=job.sizes,
                    ranks=job.p,
                    seed=seed + job.launch,
                    check=False,
                    time_limit=LIMIT[0] + LIMIT[1] * job.expected,
                    patience=PATIENCE[0] + PATIENCE[1] * job.expected,
                    quantum=watch.quanta.get(job.p),
                )
            )
            require_runs(name, job.sizes, job.p, runs)
            for n in dict.fromkeys(job.sizes):
                of_size = tuple(run for run in runs if run.n == n)
                numbered = tuple(replace(run, repetition=i + 1) for i, run in enumerate(of_size))
                cells.setdefault((n, job.p), []).append(Sample(launch=job.launch, runs=numbered))
            watch.learn(least_quanta(cells))
            watch.advance(job.expected)
    except KeyboardInterrupt:
        watch.interrupted = True
    return cells


def launched_again(
    name: str,
    jobs: Sequence[Job],
    cells: Cells,
    *,
    rounds: int,
    fewest: int,
    runner: Runner,
    seed: int,
    watch: Stopwatch,
) -> dict[tuple[int, int], list[Sample]]:
    """Launch again, in at most so many `rounds`, where fewer than `fewest` runs were undisturbed.

    The answer has the old samples too. A cell without a run is not lacking: time was over.
    """
    last = max((job.launch for job in jobs), default=0)
    samples = joined(cells, {})
    for launch in range(last + 1, last + rounds + 1):
        few = {
            place
            for place in samples
            if not is_enough(samples[place], watch.quanta, fewest=fewest)
        }
        again = [
            replace(job, launch=launch, sizes=sizes)
            for job in jobs
            if job.launch == 1 and (sizes := tuple(n for n in job.sizes if (n, job.p) in few))
        ]
        more = launched(name, again, runner=runner, seed=seed, watch=watch)
        samples = joined(samples, more)
    return samples


def require_runs(name: str, sizes: Sequence[int], p: int, runs: Sequence[KernelRun]) -> None:
    """Refuse a launch that lacks runs, has a wrong result or a time that is none."""
    where = f"{name} on {p} rank{'s' if p > 1 else ''}"
    made, requested = Counter(run.n for run in runs), Counter(sizes)
    if set(made) != set(requested) or not made >= requested:
        raise RunFailed(
            f"{where} returned times of other sizes than requested. Check it: {ours('run', name)}"
        )
    if any(run.is_correct is False for run in runs):
        raise RunFailed(
            f"{where} gave a wrong result, so it is not timed. Check it: {ours('run', name)}"
        )
    if not all(0 < run.time < float("inf") for run in runs):
        raise RunFailed(f"{where} took no measurable time. Was the clock changed? Run it again.")
