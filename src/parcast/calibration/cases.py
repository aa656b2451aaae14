"""What a calibration launches, among how many ranks, and how much each launch measures."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from parcast.benchmarking.records import BenchmarkPlan, MeasuredLaunch
from parcast.mpi.find import Mpi, available_cores
from parcast.mpi.rank import PLACEMENT

Part = Literal["processor", "network", "primitives", "storage"]
PARTS: Final[tuple[Part, ...]] = ("processor", "network", "primitives", "storage")
WITHOUT_MPI: Final = ("processor", "storage")  # parts that one process can measure alone

OCTAVES: Final = (0, *(1 << power for power in range(23)))  # 0 B to 4 MiB
FULL: Final = {
    "processor": BenchmarkPlan(sizes=(0,), budget=0.1),
    "network": BenchmarkPlan(sizes=OCTAVES, budget=0.05),
    "primitives": BenchmarkPlan(sizes=tuple(8 << 3 * power for power in range(7)), budget=0.04),
    "storage": BenchmarkPlan(
        sizes=tuple(1 << power for power in range(12, 25, 2)), budget=0.0, fewest=9
    ),
}
QUICK: Final = {
    "processor": BenchmarkPlan(sizes=(1 << 26,), budget=0.03),
    "network": BenchmarkPlan(
        sizes=(0, 1, 8, *(1 << x for x in (6, 9, 12, 13, 14, 16, 18, 20, 22))), budget=0.008
    ),
    "primitives": BenchmarkPlan(sizes=(8, 1 << 10, 1 << 15, 1 << 19), budget=0.008),
    "storage": BenchmarkPlan(
        sizes=tuple(1 << x for x in (12, 16, 18, 20, 23)), budget=0.0, fewest=5
    ),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkCase:
    """One program that is launched again and again."""

    part: Part
    module: str  # within parcast.benchmarking
    ranks: int
    plan: BenchmarkPlan
    extra: tuple[str, ...] = ()
    program: Path | None = None  # the compiled one, which takes the place of a rank

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.part if self.ranks == 1 else f"{self.part}, {self.ranks} ranks"

    @property
    def layout(self) -> "BenchmarkCase":
        """Itself: no two share a launch."""
        return self

    @property
    def columns(self) -> Mapping[str, Any]:
        """Part, program and ranks."""
        return {"part": self.part, "module": self.module, "p": self.ranks}


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkJob:
    """A case, and what its launches gave."""

    case: BenchmarkCase
    launches: Sequence[MeasuredLaunch] = ()
    lost: Sequence[str] = ()  # why each launch that failed did
    left_out: int = 0  # launches that others disturbed, where enough were quiet


def counts_of(ranks: int, *, alike: int) -> tuple[int, ...]:
    """Rank counts that are measured: 2, 4, 8, ... and `ranks`; none of a single rank.

    Formulas in p need three counts, so 3 is one of them where else there are only 2 and 4. Up to
    `alike` ranks are placed as 2 are: more share a core, which is another formula.

    >>> counts_of(4, alike=2), counts_of(4, alike=64), counts_of(6, alike=6), counts_of(1, alike=1)
    ((2, 4), (2, 3, 4), (2, 4, 6), ())
    """
    doubled = [1 << power for power in range(1, ranks.bit_length()) if 1 << power < ranks]
    counts = (*doubled, ranks) if ranks > 1 else ()
    if [count for count in counts if count <= alike] == [2, 4]:
        return (2, 3, *counts[1:])
    return counts


def placement_of(ranks: int) -> str:
    """How the launcher pins so many ranks: "own", "one", or what the environment says."""
    placement = os.environ.get(PLACEMENT, "auto")
    if placement != "auto":
        return placement
    return "own" if ranks <= len(available_cores()) else "one"


def cases_of(
    only: Sequence[str],
    *,
    ranks: int,
    quick: bool,
    directory: Path,
    mpi: Mpi | None,
    program: Path | None,
) -> list[BenchmarkCase]:
    """All cases of a calibration, in the order in which they are launched.

    Without an MPI those of one process; without a compiled program Python sends the messages.
    """
    plans = QUICK if quick else FULL
    is_alike = placement_of(ranks) == placement_of(2)
    alike = ranks if is_alike else len(available_cores())
    counts = counts_of(ranks, alike=alike) if mpi is not None else ()
    cases: list[BenchmarkCase] = []

    def add(part: Part, counts: Sequence[int], module: str = "", **more: Any) -> None:
        cases.extend(
            BenchmarkCase(
                part=part, module=module or part, ranks=p, **({"plan": plans[part]} | more)
            )
            for p in counts
            if part in only
        )

    add("processor", (1,))
    if program is not None:
        add("network", counts[:1], "compiled", program=program)
    add("network", counts, extra=() if program is None else ("compiled",))
    add("primitives", counts)
    add("storage", (1, *counts), plan=replace(plans["storage"], directory=str(directory)))
    return cases
