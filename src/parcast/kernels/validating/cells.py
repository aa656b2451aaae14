"""Runs of `validate` by size and count of ranks, and which of them were disturbed.

A run whose processors were disturbed, as work quanta around and in it tell
(`parcast.timings.disturbed`), is kept and reported, but does not count where enough others do: it
shows what somebody else did on the machine.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from parcast.kernels.kernel import KernelRun
from parcast.kernels.validating.result import TimedRun
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.disturbed import is_disturbed, least_quantum, slowdown

FEWEST: Final = 3  # undisturbed runs of a calibrated size, from which the others do not count [1]
LAUNCHES: Final = 2  # that they come from, if there are as many [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """Runs of one size in one launch."""

    launch: int
    runs: tuple[KernelRun, ...]

    @property
    def time(self) -> float:
        """Median time [s]."""
        return median(run.time for run in self.runs)

    @property
    def compute(self) -> float:
        """Median of the processor seconds of the rank that computed most [s]."""
        return median(max(run.compute) for run in self.runs)

    @property
    def disk(self) -> float:
        """Median wall seconds of access to files [s]."""
        return median(run.disk for run in self.runs)


Cells = Mapping[tuple[int, int], Sequence[Sample]]  # of each size and count of ranks


def least_quanta(cells: Cells) -> dict[int, float]:
    """Work quantum of quiet processors, for each count of ranks that has any. [s]."""
    by_count: dict[int, list[KernelRun]] = {}
    for (_, p), samples in cells.items():
        by_count.setdefault(p, []).extend(run for sample in samples for run in sample.runs)
    least = {p: least_quantum(run.quanta for run in runs) for p, runs in by_count.items()}
    return {p: quantum for p, quantum in least.items() if quantum is not None}


def is_enough(samples: Sequence[Sample], least: Mapping[int, float], *, fewest: int) -> bool:
    """Whether as many runs are undisturbed, from two launches if so many were made.

    `least` is the work quantum of quiet processors [s], for each count of ranks, here and below.
    """
    quiet = _only(samples, least, disturbed=False)
    runs = sum(len(sample.runs) for sample in quiet)
    return runs >= fewest and len(quiet) >= min(LAUNCHES, len({x.launch for x in samples}))


def parted(
    cells: Cells, least: Mapping[int, float], *, fewest: int = FEWEST
) -> tuple[Cells, Cells]:
    """Part runs that count from disturbed ones, which count where fewer than `fewest` are not."""
    counting: dict[tuple[int, int], Sequence[Sample]] = {}
    others: dict[tuple[int, int], Sequence[Sample]] = {}
    for place, samples in cells.items():
        if is_enough(samples, least, fewest=fewest):
            counting[place] = _only(samples, least, disturbed=False)
            others[place] = _only(samples, least, disturbed=True)
        else:
            counting[place], others[place] = samples, ()
    return counting, others


def joined(first: Cells, second: Cells) -> dict[tuple[int, int], list[Sample]]:
    """Put the samples of two steps together."""
    return {key: [*first.get(key, ()), *second.get(key, ())] for key in {**first, **second}}


def timed(
    samples: Sequence[Sample], least: Mapping[int, float], *, counts: bool = True
) -> tuple[TimedRun, ...]:
    """Give the runs of a size as the result has them."""
    return tuple(
        TimedRun(
            n=run.n,
            p=run.p,
            launch=sample.launch,
            repetition=run.repetition,
            time=run.time,
            compute=max(run.compute),
            disk=run.disk,
            slowdown=slowdown(run.quanta, least[run.p]) if run.p in least else None,
            waiting=run.waiting,
            is_disturbed=_is_disturbed(run, least),
            counts=counts,
        )
        for sample in samples
        for run in sample.runs
    )


def timed_runs(counting: Cells, others: Cells, least: Mapping[int, float]) -> tuple[TimedRun, ...]:
    """Give the runs that `parted` parted, of each size and count those that count first."""
    return tuple(
        run
        for place in counting
        for run in (
            *timed(counting[place], least),
            *timed(others[place], least, counts=False),
        )
    )


def disturbed_warnings(runs: Sequence[TimedRun]) -> Iterator[str]:
    """Warn of sizes and counts whose disturbed runs count, since there are too few others."""
    every = {(run.n, run.p) for run in runs}
    slow = {(run.n, run.p) for run in runs if run.counts and run.is_disturbed}
    if slow:
        yield RankedWarning(
            f"Runs disturbed by other processes are used at {len(slow)} of {len(every)} sizes "
            "and counts, as there are too few others. Repeat on an idle machine.",
            kind="disturbed",
            rank=Rank.SERIOUS,
            size=float(len(slow)),
        )


def _only(
    samples: Sequence[Sample], least: Mapping[int, float], *, disturbed: bool
) -> tuple[Sample, ...]:
    """Keep the disturbed runs of samples, or the others."""
    kept = (
        replace(s, runs=tuple(x for x in s.runs if _is_disturbed(x, least) == disturbed))
        for s in samples
    )
    return tuple(sample for sample in kept if sample.runs)


def _is_disturbed(run: KernelRun, least: Mapping[int, float]) -> bool:
    """Whether the processors of a run were disturbed."""
    return run.p in least and is_disturbed(run.quanta, least[run.p], run.waiting)
