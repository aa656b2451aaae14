"""What is launched for a calibration, and how much each launch measures."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from parcast.run.bench.records import Launch, Plan
from parcast.run.mpi import Mpi, available_cores
from parcast.run.rank import PLACEMENT

Part = Literal["processor", "network", "primitives", "storage"]
PARTS: Final[tuple[Part, ...]] = ("processor", "network", "primitives", "storage")
WITHOUT_MPI: Final = ("processor", "storage")  # parts that one process can measure alone

OCTAVES: Final = (0, *(1 << power for power in range(23)))  # 0 B to 4 MiB
FULL: Final = {
    "processor": Plan(sizes=(0,), budget=0.1),
    "network": Plan(sizes=OCTAVES, budget=0.05),
    "primitives": Plan(sizes=tuple(8 << 3 * power for power in range(7)), budget=0.04),
    "storage": Plan(sizes=tuple(1 << power for power in range(12, 25, 2)), budget=0.0, fewest=9),
}
QUICK: Final = {
    "processor": Plan(sizes=(1 << 26,), budget=0.03),
    "network": Plan(
        sizes=(0, 1, 8, *(1 << x for x in (6, 9, 12, 13, 14, 16, 18, 20, 22))), budget=0.008
    ),
    "primitives": Plan(sizes=(8, 1 << 10, 1 << 15, 1 << 19), budget=0.008),
    "storage": Plan(sizes=tuple(1 << x for x in (12, 16, 18, 20, 23)), budget=0.0, fewest=5),
}


@dataclass(kw_only=True, slots=True)
class Job:
    """One program that is launched again and again, and what its launches gave."""

    part: Part
    module: str  # within parcast.run.bench
    ranks: int
    plan: Plan
    extra: tuple[str, ...] = ()
    program: Path | None = None  # the compiled one, which takes the place of a rank
    launches: list[Launch] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # why each launch that failed did
    seconds: float = 0.0  # of the last launch [s]

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.part if self.ranks == 1 else f"{self.part}, {self.ranks} ranks"

    @property
    def is_given_up(self) -> bool:
        """Whether it fails again and again."""
        return len(self.lost) > 1 + len(self.launches)


def counts_of(ranks: int, *, alike: int) -> tuple[int, ...]:
    """Numbers of ranks that are measured: 2, 4, 8, ... and `ranks`; none of a single rank.

    Formulas in p need three counts, so 3 is one of them where else there are only 2 and 4.

    Parameters
    ----------
    ranks : int
        The most. [1]
    alike : int
        Up to how many are placed as 2 are: more share a core, which is another formula. [1]

    Examples
    --------
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
    told = os.environ.get(PLACEMENT, "auto")
    if told != "auto":
        return told
    return "own" if ranks <= len(available_cores()) else "one"


def jobs_of(
    only: Sequence[str],
    *,
    ranks: int,
    quick: bool,
    directory: Path,
    mpi: Mpi | None,
    program: Path | None,
) -> list[Job]:
    """Give all jobs of a calibration, in the order in which they are launched.

    Parameters
    ----------
    only : sequence of str
        Parts, of `PARTS`.
    ranks : int
        The most ranks.
    quick : bool
        Whether few sizes are measured, and each for a short time.
    directory : path
        Where the storage is measured.
    mpi : Mpi or None
        None: what one process can measure alone.
    program : path or None
        The compiled ping-pong and stream.
    """
    plans = QUICK if quick else FULL
    is_alike = placement_of(ranks) == placement_of(2)
    alike = ranks if is_alike else len(available_cores())
    counts = counts_of(ranks, alike=alike) if mpi is not None else ()
    found = []
    if "processor" in only:
        found.append(Job(part="processor", module="processor", ranks=1, plan=plans["processor"]))
    if "network" in only and counts and program is not None:
        found.append(
            Job(part="network", module="compiled", ranks=2, plan=plans["network"], program=program)
        )
    for part in ("network", "primitives"):
        if part in only:
            extra = ("compiled",) if part == "network" and program is not None else ()
            found += [
                Job(part=part, module=part, ranks=count, plan=plans[part], extra=extra)
                for count in counts
            ]
    if "storage" in only:
        plan = plans["storage"]
        plan = Plan(sizes=plan.sizes, budget=0.0, fewest=plan.fewest, directory=str(directory))
        found += [
            Job(part="storage", module="storage", ranks=count, plan=plan) for count in (1, *counts)
        ]
    return found
