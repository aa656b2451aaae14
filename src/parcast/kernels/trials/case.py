"""A program at a size on some ranks, its trials, and what runs of a launch have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple, TypeAlias

from parcast.kernels.kernel import KernelRun
from parcast.trials.trial import Trial


class KernelCase(NamedTuple):
    """A program at a problem size on a number of ranks."""

    program: str
    n: int
    p: int

    @property
    def layout(self) -> int:
        """Ranks."""
        return self.p

    @property
    def columns(self) -> Mapping[str, Any]:
        """Ranks and size."""
        return {"p": self.p, "n": self.n}


KernelTrial: TypeAlias = Trial[KernelCase, KernelRun]


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


def cells_of(trials: Sequence[KernelTrial]) -> Cells:
    """Put trials together by size and count of ranks, and by launch."""
    found: dict[tuple[int, int], dict[int, list[KernelRun]]] = {}
    for trial in trials:
        launches = found.setdefault((trial.case.n, trial.case.p), {})
        launches.setdefault(trial.launch, []).append(trial.observed)
    return {
        place: [Sample(launch=launch, runs=tuple(runs)) for launch, runs in launches.items()]
        for place, launches in found.items()
    }
