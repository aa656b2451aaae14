"""A run of a program as its regions were timed: what `parcast.region` writes and others read.

A run has a record for each rank; a record has a total for each region. Times of a region are
without those of the regions inside it, so that the regions of a rank add up. Nothing heavy is
imported here: programs that are timed load this module.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SCHEMA: Final = "parcast/profile/1"

LOOP_KINDS: Final = ("compute", "replicated", "complex")
PRIMITIVE_KINDS: Final = (
    *("send", "receive", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather"),
    *("alltoall", "barrier"),
)
MESSAGE_KINDS: Final = (*PRIMITIVE_KINDS, "halo")
DISK_KINDS: Final = ("write", "read")
KINDS: Final = (*LOOP_KINDS, *MESSAGE_KINDS, *DISK_KINDS)  # of regions that are timed


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionTotal:
    """All passes of one rank through one region."""

    name: str
    kind: str  # one of KINDS
    entries: int  # passes [1]
    wall: float  # wall time in it, and in no region inside it [s]
    processor: float  # processor time of the thread, likewise [s]
    squares: float  # sum over passes of the square of the wall time [s^2]
    iterations: float  # of a loop, on this rank [1]
    calls: float  # of a primitive, or requests to a file [1]
    volume: float  # bytes of the messages or requests of all calls [B]
    counts: Mapping[str, float] = field(default_factory=dict)  # of small regions inside [1]

    def to_document(self) -> dict[str, Any]:
        """As the file has it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "entries": self.entries,
            "wall_s": self.wall,
            "processor_s": self.processor,
            "squares_s2": self.squares,
            "iterations": self.iterations,
            "calls": self.calls,
            "volume_B": self.volume,
            "counts": dict(self.counts),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RankRecord:
    """One rank of one run: a line of a profile."""

    program: str
    rank: int
    p: int  # ranks of the run [1]
    begun: float  # when the first region was entered, since 1970 UTC [s]
    span: float  # from there to the end of the last region [s]
    entry: float  # what entering and leaving a region once costs, as measured [s]
    other_threads: int  # regions of other threads, which are not timed [1]
    parameters: Mapping[str, float]  # such as n, the size of the problem
    regions: tuple[RegionTotal, ...]
    overlapping: int = 0  # passes that ended before others that began in them [1]
    version: str = ""  # of parcast
    host: str = ""
    quanta: tuple[float, ...] = ()  # of work, before the first region and at the end [s]
    waited: float | None = None  # for its core, in the span; None where nobody tells [s]
    line: int | None = None  # of the file, from 1; None where it was not read from one
    is_wall_only: bool = False  # whether processor times are wall times, as no others are known

    @property
    def entries(self) -> int:
        """Passes through all regions. [1]."""
        return sum(region.entries for region in self.regions)

    @property
    def perturbation(self) -> float:
        """Share of the time that timing the regions took. [1]."""
        return self.entries * self.entry / self.span if self.span > 0 else 0.0

    def to_document(self) -> dict[str, Any]:
        """As the file has it, on one line."""
        return {
            "schema": SCHEMA,
            "parcast": self.version,
            "program": self.program,
            "host": self.host,
            "rank": self.rank,
            "p": self.p,
            "begun": self.begun,
            "span_s": self.span,
            "entry_s": self.entry,
            "other_threads": self.other_threads,
            "overlapping": self.overlapping,
            "quanta_s": dict(zip(("before", "after"), self.quanta, strict=False)),
            **({} if self.waited is None else {"waited_s": self.waited}),
            "parameters": dict(self.parameters),
            "regions": [region.to_document() for region in self.regions],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class RunProfile:
    """One run: a record of each rank, in their order."""

    ranks: tuple[RankRecord, ...]
    place: str = ""  # where it was read: "jacobi.jsonl, line 3"

    def __repr__(self) -> str:
        """Say which run it was."""
        axes = "".join(f", {name} = {value:g}" for name, value in self.parameters.items())
        return f"RunProfile({self.program}: p = {self.p}{axes}, time {self.time:.4g} s)"

    @property
    def program(self) -> str:
        """Name of the program."""
        return self.ranks[0].program

    @property
    def p(self) -> int:
        """Processors: ranks that it ran on. [1]."""
        return self.ranks[0].p

    @property
    def parameters(self) -> Mapping[str, float]:
        """What the program said of its problem."""
        return self.ranks[0].parameters

    @property
    def time(self) -> float:
        """Wall time from the first region to the end of the last, of the slowest rank. [s]."""
        return max(rank.span for rank in self.ranks)

    @property
    def perturbation(self) -> float:
        """Share of the time that timing took, of the rank that it took most of. [1]."""
        return max(rank.perturbation for rank in self.ranks)

    def of_region(self, name: str) -> list[RegionTotal | None]:
        """Total of a region on each rank; None where a rank never entered it."""
        return self.by_region().get(name) or [None] * len(self.ranks)

    def by_region(self) -> dict[str, list[RegionTotal | None]]:
        """Totals of every region as `of_region` gives them, in the order in which they occur."""
        totals: dict[str, list[RegionTotal | None]] = {}
        for i, rank in enumerate(self.ranks):
            for region in rank.regions:
                if region.name not in totals:
                    totals[region.name] = [None] * len(self.ranks)
                totals[region.name][i] = region
        return totals
