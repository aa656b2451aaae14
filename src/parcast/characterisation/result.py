"""What `characterise` answers: regions with their formulas, and how well they meet the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from parcast.descriptions.program import Program
from parcast.show.outline import document_of
from parcast.show.result import Result


@dataclass(frozen=True, kw_only=True, slots=True)
class CharacterisedRegion:
    """A region of the program, as the runs say it."""

    _outline = """
        region=name kind share calls iterations iteration volume iteration_s=unit_time spread
        is_exact residual imbalance work
    """

    name: str  # its name
    kind: str  # its kind in the program file: `loop`, `halo`, ...
    share: float  # of the wall time of all regions, in the largest run [1]
    calls: str  # formula of its calls
    iterations: str | None  # formula of its iterations; None of what is no loop
    iteration: str | None  # time, or operations, of an iteration; None of what is no loop
    volume: str | None  # formula of the bytes; None of what sends none
    unit_time: float | None  # of one iteration, as the file has it, at the largest run [s]
    spread: float  # half-width of the 90% interval of the time of an iteration [1]
    is_exact: bool  # whether the formulas meet all counts
    residual: float | None  # root mean square over runs of model / measured - 1; None: unpriced
    imbalance: float  # time of the slowest rank over the mean of the ranks, the most of all runs
    work: str | None = (
        None  # formula of the time of a call of a loop whose iterations were not counted
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Perturbed:
    """What timed regions change at one count: `perturbation` is the ratio of the medians."""

    _outline = "p with_regions_s=with_regions without_s=without perturbation=ratio"

    p: int  # processors [1]
    with_regions: float  # median of the runs with, and without, timed regions [s]
    without: float  # median of the runs with, and without, timed regions [s]
    ratio: float  # of the first over the second [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Characterisation(Result):
    """A program as its runs describe it."""

    _schema = "parcast/characterisation/1"
    _outline = """
        program=program.name runs p n largest clock conditions perturbation perturbed? uncovered
        warnings toml inputs rows
    """

    program: Program
    toml: str  # the program as a file
    regions: tuple[CharacterisedRegion, ...]
    runs: int  # runs that it is based on [1]
    p: tuple[int, ...]  # processor counts [1]
    n: tuple[float, ...]  # sizes; empty where the program named none [1]
    largest: str  # the run that shares are of: "p = 2, n = 512"
    clock: str  # clock of the loops: `processor` or `wall`
    conditions: Mapping[str, float]  # condition of the counts of each complex loop [1]
    perturbation: float  # share of the time that timing took, the most of all runs [1]
    uncovered: float  # share of the time in no region, the most of all runs [1]
    warnings: tuple[str, ...]
    perturbed: tuple[Perturbed, ...] | None = None  # by count; `null` without times to compare
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what was characterised."""
        many = "s" if len(self.regions) > 1 else ""
        runs = f"{self.runs} run{'s' if self.runs > 1 else ''}"
        return f"Characterisation({self.program.name}: {len(self.regions)} region{many}, {runs})"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give each region, as CSV has it."""
        for region in self.regions:
            yield document_of(region)
