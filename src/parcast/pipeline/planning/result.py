"""What `plan pipeline` answers: the best plan of every number of ranks, one recommended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from parcast.aliases import Array
from parcast.deciding.alternatives import Ways
from parcast.deciding.decision import Decision
from parcast.pipeline.planning.costs import ReductionCosts
from parcast.pipeline.planning.grid import Stage
from parcast.show.outline import document_of
from parcast.units import format_quantity
from parcast.words import counted

Schedule = Literal["adaptive", "source"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RankPlan:
    """Arguments of a run, and what it takes by the law."""

    _outline = """
        ranks p pipelines fan_in batch time_s lower_s upper_s speedup efficiency
        task_s=stages.task merge_s=stages.merge communication_s=stages.communication
        fetch_s=stages.fetch longest_stage ratio_to_task utilisation memory_bytes
        balanced=is_balanced fits
    """

    ranks: int  # P*G [1]
    pipelines: int  # G [1]
    fan_in: int
    batch: int  # items that a rank takes at a time [1]
    time: float  # [s]
    lower: float  # lower end of the 90% interval that follows from the uncertain costs [s]
    upper: float  # upper end of it [s]
    speedup: float  # over one rank [1]
    efficiency: float  # speedup over ranks, or over the cores that they share [1]
    stages: Mapping[Stage, float]  # stages in the time of a batch [s]
    utilisation: float  # of a channel [1]
    memory: float  # bytes of the results that a rank may hold; 0: unknown [B]
    is_balanced: bool  # whether no stage takes longer than the task
    fits: bool  # whether it is balanced, and meets the limits

    @property
    def p(self) -> int:
        """Ranks of a pipeline, P. [1]."""
        return self.ranks // self.pipelines

    @property
    def longest(self) -> tuple[Stage, float]:
        """Longest of the other stages, and its ratio to the task; a lone rank has none: 0. [1]."""
        others: list[Stage] = ["merge", "communication", "fetch"]
        stage = max(others, key=lambda each: self.stages[each])
        return stage, self.stages[stage] / self.stages["task"]

    @property
    def longest_stage(self) -> Stage:
        """The longest but the task."""
        return self.longest[0]

    @property
    def ratio_to_task(self) -> float:
        """Its ratio to the task [1]."""
        return self.longest[1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Curves:
    """Stages of the recommended plan at other numbers of ranks; arrays of one dimension."""

    ranks: Array  # [1]
    stages: Mapping[Stage, Array]  # [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanLimits:
    """What plans have to meet."""

    _outline = "ranks per_node within_s efficiency measured_cores=measured"

    ranks: int = 1024  # most
    per_node: int | None = None  # ranks of a node; None: nodes do not matter [1]
    within: float | None = None  # longest time [s]
    efficiency: float | None = None  # least [1]
    measured: int | None = None  # cores of the traced run, of which no more are planned [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PipelinePlan(Decision):
    """Plans of a pipeline: the best one for each number of ranks."""

    _schema = "parcast/pipeline-plan/1"
    _axes = "ranks"
    _outline = """
        schedule costs limits arguments options nodes best least_time=_least_time reasons
        to_use_more verdict origins warnings plans=rows inputs call=_of_fields
    """
    _said = "parcast.pipeline.planning.sheet:said_of"
    _below = "parcast.pipeline.planning.picture:draw_stages"

    costs: ReductionCosts  # units are in its keys; `spreads` are half-widths of 90% intervals
    schedule: Schedule
    plans: tuple[RankPlan, ...]  # by rising ranks
    chosen: int | None  # place of the recommended plan; None: none is balanced within the limits
    fastest: int | None  # place of the plan of the least time
    nearest: RankPlan | None  # where no plan is balanced: that of the least ratio
    limits: PlanLimits  # what plans have to meet
    reasons: tuple[str, ...]  # why this plan, in sentences
    to_use_more: tuple[str, ...]  # what would have to change to use more ranks
    verdict: tuple[str, ...]  # why there is none
    curves: Curves | None
    origins: tuple[str, ...] = ()  # where the costs come from, in words
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        best = self.best
        plan = "none is balanced" if best is None else f"{best.ranks} ranks, {best.time:.3g} s"
        return f"PipelinePlan({self.costs.items:g} items, {self.schedule}: {plan})"

    @property
    def best(self) -> RankPlan | None:
        """The recommended plan, None if no plan is balanced within the limits."""
        return None if self.chosen is None else self.plans[self.chosen]

    @property
    def ways(self) -> Ways:
        """The plans, as arrays."""
        names = ("ranks", "time", "lower", "upper")
        cost, time, lower, upper = (
            np.array([getattr(plan, name) for plan in self.plans], dtype=float) for name in names
        )
        return Ways(
            title=self.title,
            asked="ranks",
            cost=cost,
            time=time,
            lower=lower,
            upper=upper,
            fits=np.array([plan.fits for plan in self.plans]),
            within=self.limits.within,
        )

    @property
    def title(self) -> str:
        """Say what is planned, and under which limits."""
        limits = [f"up to {counted(self.limits.ranks, 'rank')}"]
        if self.limits.within is not None:
            limits.append(f"within {format_quantity(self.limits.within, 'time')}")
        if self.limits.efficiency is not None:
            limits.append(f"efficiency of at least {100 * self.limits.efficiency:.3g}%")
        kind = ", published schedule" if self.schedule == "source" else ""
        return f"Pipeline of {counted(self.costs.items, 'item')}{kind}, {', '.join(limits)}"

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the costs come from."""
        return tuple(f"Costs: {text}" for text in self.origins[:1])

    @property
    def nodes(self) -> int | None:
        """Nodes of the recommended plan, if it is known how many ranks one has. [1]."""
        best = self.best
        return (
            None
            if best is None or not self.limits.per_node
            else -(-best.ranks // self.limits.per_node)
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `run_pipeline` for the recommended plan."""
        best = self.best
        if best is None:
            return {}
        given: dict[str, Any] = {"ranks": best.ranks, "pipelines": best.pipelines}
        if self.schedule == "source":
            return given | {"schedule": "source"}
        return given | {"fan_in": best.fan_in, "batch": best.batch}

    @property
    def options(self) -> str:
        """Options of `parcast run` for the recommended plan."""
        best = self.best
        if best is None:
            return ""
        given = [f"-np {best.ranks}"]
        if best.pipelines > 1:
            given.append(f"--pipelines {best.pipelines}")
        if self.schedule == "source":
            return " ".join([*given, "--schedule source"])
        if best.fan_in > 2:
            given.append(f"--fan-in {best.fan_in}")
        return " ".join([*given, f"--batch {best.batch}"])

    @property
    def _least_time(self) -> RankPlan | None:
        """The plan of the least time; `null` if there is no plan."""
        return None if self.fastest is None else self.plans[self.fastest]

    @property
    def times(self) -> Array:
        """Times of the plans [s]."""
        return self.ways.time

    def rows(self) -> Iterator[dict[str, Any]]:
        """The best plan for every number of ranks."""
        for i, plan in enumerate(self.plans):
            yield document_of(plan) | {"recommended": i == self.chosen}
