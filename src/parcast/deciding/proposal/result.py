"""What a proposal has: scaling, jobs, their hours, and how these were determined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from parcast.deciding.goals.nodes import NodeSize
from parcast.deciding.proposal.sites import ItemGiven
from parcast.saved.call import Call
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.words import clock


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalingPoint:
    """Time at one count, measured or forecast."""

    _outline: ClassVar[str] = (
        "size p# nodes# cores# kind time_s lower_s upper_s runs speedup efficiency"
    )

    size: str  # `n = 1000`; "" where there is only one
    p: float  # processors [1]
    nodes: float | None  # `null` where a node is not known [1]
    cores: float  # NaN where only nodes are known [1]
    kind: str  # `measured` or `forecast`
    time: float  # median of what was measured, or forecast [s]
    lower: float | None  # lower end of the 90% interval of a forecast [s]
    upper: float | None  # upper end of it [s]
    runs: int | None  # how many were measured [1]
    speedup: float  # over the smallest measured count of this size, or of all [1]
    efficiency: float  # speedup over the ideal speedup [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedJob:
    """Runs of one size, at one count."""

    _outline: ClassVar[str] = """
        job size p# nodes# cores# runs time_s lower_s upper_s time_limit_s time_limit=clock
        hours hours_lower hours_upper per_unit node_memory_B=memory storage_B=storage measured
        largest_efficient_p#=largest
    """

    job: str  # `largest`, `typical` or `smallest`
    size: str  # `n = 1000`; "" where there is only one
    p: float  # processors [1]
    nodes: float | None  # `null` where a node is not known [1]
    cores: float  # that are used; NaN where only nodes are known [1]
    runs: int  # how many are proposed [1]
    time: float  # of a run [s]
    lower: float  # lower end of its 90% interval [s]
    upper: float  # upper end of its 90% interval [s]
    time_limit: float  # wall-time limit that a run keeps with 95% certainty [s]
    hours: float  # node-hours of all runs, or core-hours [h]
    hours_lower: float  # lower end of the 90% interval [h]
    hours_upper: float  # upper end of the 90% interval [h]
    per_unit: float | None  # the same for a unit of science [h]
    memory: float | None  # of the node that needs most [B]
    storage: float | None  # what all runs leave [B]
    measured: bool  # whether the program was run at this count
    largest: float | None  # largest count used as efficiently as asked [1]

    @property
    def clock(self) -> str:
        """The wall-time limit as Slurm reads it."""
        return clock(self.time_limit)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Proposal(Result):
    """Scaling, jobs and hours of a proposal for computing time."""

    _schema: ClassVar[str] = "parcast/proposal/1"
    _outline: ClassVar[str] = """
        request request_unit=unit margin total total_lower total_upper efficiency *node_size
        scaling jobs unit_of_science? method site? site_asks?=items warnings law sources inputs
        call?
    """
    _picture: ClassVar[str] = "parcast.deciding.proposal.picture:figure_of"

    scaling: tuple[ScalingPoint, ...]  # times by count, of each size
    jobs: tuple[ProposedJob, ...]  # the largest first
    request: float  # hours that suffice with the margin, in `unit` [h]
    unit: str  # `node-hours`, or `core-hours` where a node is not known
    margin: float  # probability with which the request suffices [1]
    total: float  # expected hours of all jobs [h]
    total_lower: float  # lower end of the 90% interval [h]
    total_upper: float  # upper end of the 90% interval [h]
    efficiency: float  # that the largest count has to have [1]
    node_size: NodeSize  # what p counts
    method: tuple[str, ...]  # how the times were determined, for each size
    unit_of_science: str  # `simulated year`; "" without one
    site: str  # whose items are listed; "" for none
    items: tuple[ItemGiven, ...]  # what that site asks for
    warnings: tuple[str, ...]
    law: str  # what the times are based on
    sources: tuple[str, ...]  # of the law
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    call: Call | None = None  # what made it: for `parcast.load`

    def __repr__(self) -> str:
        """Say in one line what is asked for."""
        return f"Proposal({self.request:.4g} {self.unit}, {len(self.jobs)} jobs)"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give the points of scaling, then the jobs; `table` tells them apart."""
        points = [{"table": "scaling", **document_of(x)} for x in self.scaling]
        jobs = [{"table": "jobs", **document_of(x)} for x in self.jobs]
        names = dict.fromkeys(name for row in (*points, *jobs) for name in row)
        for row in (*points, *jobs):
            yield {name: row.get(name) for name in names}
