"""What `plan` answers: what to ask for, the front of time and cost, and what would be needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parcast.deciding.alternatives import Ways
from parcast.deciding.decision import Decision
from parcast.deciding.goals.configurations import Weighed
from parcast.deciding.goals.goals import Goals, amount_text
from parcast.deciding.goals.needed import Needed
from parcast.deciding.goals.nodes import NodeSize
from parcast.forecasting.next_runs.result import PlannedRun
from parcast.saved.call import Call
from parcast.show.outline import document_of
from parcast.units import format_quantity, percent, percent_in_full
from parcast.words import clock, counted, whole


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedConfiguration:
    """One way to run, and what it takes."""

    _outline: ClassVar[str] = """
        machine p# disks# nodes# cores# time_s lower_s upper_s time_limit_s time_limit=clock
        time_limit_certainty=limit_sure cost
        cost_lower cost_upper cost_unit=unit efficiency efficiency_of_charged=of_charged
        probability_goals=sure
        probability_within=within probability_budget=budget probability_efficiency=holds
        out_of_memory measured fits on_front
    """

    machine: str
    p: float  # processors [1]
    disks: float | None  # where they are a part of the question [1]
    nodes: float | None  # where it is known how many there are [1]
    cores: float | None  # where it is known how many there are [1]
    time: float  # [s]
    lower: float  # lower end of its 90% interval [s]
    upper: float  # upper end of its 90% interval [s]
    time_limit: float  # wall-time limit, not above the longest time where it meets the goals [s]
    limit_sure: float  # probability of ending within this limit [1]
    cost: float  # in the unit of the cost
    cost_lower: float  # lower end of its 90% interval
    cost_upper: float  # upper end of its 90% interval
    unit: str  # of the cost: `core-hours`, `node-hours` or a currency
    efficiency: float  # speedup over the ideal speedup [1]
    of_charged: float  # efficiency of the cores that are charged, over the fewest nodes [1]
    sure: float  # probability of meeting all goals together [1]
    within: float | None  # probability of meeting this goal [1]
    budget: float | None  # probability of meeting this goal [1]
    holds: float | None  # probability of meeting this goal [1]
    out_of_memory: float | None  # probability that a node runs out of memory [1]
    measured: bool  # whether the program was run there
    fits: bool  # whether it meets the goals as surely as asked
    on_front: bool  # whether no other takes less time and costs no more

    @property
    def clock(self) -> str:
        """The wall-time limit as Slurm reads it."""
        return clock(self.time_limit)

    @property
    def asked_for(self) -> str:
        """What one asks for, in the singular."""
        return "core" if self.nodes is None else "node"

    @property
    def size(self) -> str:
        """Nodes or cores, in words."""
        parts = {"node": self.nodes, "core": self.cores}
        first, *rest = [counted(int(x), name) for name, x in parts.items() if x is not None]
        return f"{first} ({rest[0]})" if rest and self.cores != self.nodes else first


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ResourcePlan(Decision):
    """How many nodes to ask for, for how long and at which cost, so that goals are met."""

    _schema: ClassVar[str] = "parcast/resource-plan/1"
    _axes = "machine p disks"
    _outline: ClassVar[str] = """
        answer recommended nearest *goals *node_size considered# reachable needed needed_of_runs
        next_run counts? verdict warnings rows law sources inputs call?
    """
    _said = "parcast.deciding.goals.sheet:said_of"
    _below = "parcast.deciding.goals.picture:draw_front"

    weighed: Weighed  # the front, and a sample of the other configurations
    node_size: NodeSize  # what p counts
    place: int | None  # of the recommended one among them; None if none meets the goals
    near: int  # place of the one that comes nearest
    considered: int  # how many configurations there were [1]
    reachable: tuple[str, ...]  # how far each goal is reached, where they are not met together
    needed: tuple[Needed, ...]  # changes of a description, any of which meets the goals
    needed_of_runs: tuple[str, ...]  # how much faster a program that was run has to become
    next_run: PlannedRun | None  # the run that makes the answer surer
    warnings: tuple[str, ...]
    law: str  # what the times are based on
    sources: tuple[str, ...] = ()  # of the law
    counts: str = ""  # the rule of usable counts
    call: Call | None = None  # what made it, with the runs or descriptions: for `parcast.load`
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options

    def __repr__(self) -> str:
        """Say in one line what is recommended."""
        return f"ResourcePlan({self.answer})"

    @property
    def goals(self) -> Goals:
        """What a run has to meet."""
        return self.weighed.goals

    @property
    def chosen(self) -> int | None:
        """Place of the recommended configuration among the alternatives."""
        return self.place

    @property
    def recommended(self) -> PlannedConfiguration | None:
        """The recommended configuration; None if none meets the goals."""
        return None if self.place is None else self.configuration(self.place)

    @property
    def nearest(self) -> PlannedConfiguration | None:
        """What comes nearest to the goals, where none meets them."""
        return self.configuration(self.near) if self.place is None else None

    @property
    def verdict(self) -> tuple[str, ...]:
        """Why nothing is recommended, and how far each goal is reached."""
        return () if self.place is not None else (self.answer, *self.reachable[1:])

    @property
    def title(self) -> str:
        """Name what is planned."""
        texts = [*self.goals.texts(), *([f"counts: {self.counts}"] if self.counts else [])]
        return f"Plan: {', '.join(texts)}"

    @property
    def answer(self) -> str:
        """What to ask for, in a sentence."""
        best = self.recommended
        if best is None:
            nothing = (
                f"nothing meets the goals with {percent_in_full(self.goals.certainty)} certainty"
            )
            return "; reachable: ".join([nothing, *self.reachable[:1]])
        limit = [f"--time={best.clock}"]
        where = f" on {best.machine}" if len(self.weighed.table.machines) > 1 else ""
        disks = [] if best.disks is None else [counted(int(best.disks), "disk")]
        parts = [f"ask for {best.size}{where}", *disks, *limit]
        parts.append(f"{amount_text(best.cost)} {best.unit}")
        return f"{', '.join(parts)}; {', '.join(self.certainties(best))}"

    def certainties(self, one: PlannedConfiguration) -> list[str]:
        """Say how sure it is what a configuration keeps."""
        texts = [f"{sure_text(one.limit_sure)} sure to finish within it"]
        if one.within is not None and self.goals.within not in (None, one.time_limit):
            time = format_quantity(self.goals.within, "time")
            texts.append(f"{sure_text(one.within)} sure to end within {time}")
        said = {
            "to stay within budget": one.budget,
            "of the efficiency": one.holds,
            "to fit into memory": None if one.out_of_memory is None else 1 - one.out_of_memory,
        }
        return texts + [f"{sure_text(x)} sure {name}" for name, x in said.items() if x is not None]

    @property
    def ways(self) -> Ways:
        """All configurations, as arrays."""
        table = self.weighed.table
        is_one = len(table.machines) == 1
        return Ways(
            machines=() if is_one else tuple(table.machines[i] for i in table.of.tolist()),
            title=self.title,
            asked="nodes" if table.has_nodes else "cores",
            cost=table.asked,
            time=table.time,
            lower=table.lower,
            upper=table.upper,
            fits=self.weighed.fits,
            within=self.goals.within,
        )

    def configuration(self, i: int) -> PlannedConfiguration:
        """Give one of the configurations, by its place."""
        table, weighed, goals = self.weighed.table, self.weighed, self.goals
        request = weighed.request(i)
        ends = [float(x[i]) for x in table.cost_ends]
        time, lower, upper = (float(x[i]) for x in (table.time, table.lower, table.upper))
        sure = {name: float(x[i]) for name, x in weighed.sure_by.items()}
        return PlannedConfiguration(
            machine=table.machines[table.of[i]],
            p=float(table.p[i]),
            disks=float(table.disks[i]) if np.isfinite(table.disks[i]) else None,
            nodes=None if np.isnan(table.nodes[i]) else float(table.nodes[i]),
            cores=None if np.isnan(table.cores[i]) else float(table.cores[i]),
            time=time,
            lower=lower,
            upper=upper,
            time_limit=request.time_limit,
            limit_sure=request.certainty,
            cost=float(table.cost[i]),
            cost_lower=ends[0],
            cost_upper=ends[1],
            unit=table.unit,
            efficiency=float(table.efficiency[i]),
            of_charged=float(table.of_charged[i]),
            sure=float(weighed.sure[i]),
            within=sure.get("within"),
            budget=sure.get("budget"),
            holds=None if goals.is_default else sure.get("efficiency"),
            out_of_memory=None if goals.memory is None else float(table.out_of_memory[i]),
            measured=bool(table.known[i]),
            fits=bool(weighed.fits[i]),
            on_front=bool(weighed.is_front[i]),
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """The front of time and cost, by rising cost, and what is recommended or nearest."""
        at = self.near if self.place is None else self.place
        shown = {*np.flatnonzero(self.weighed.is_front).tolist(), at}
        cost = self.weighed.table.cost
        for i in sorted(shown, key=lambda i: (float(cost[i]), i)):
            yield document_of(self.configuration(i)) | {"recommended": i == self.place}

    @property
    def in_charge(self) -> str:
        """What a node that is not filled costs, or ""."""
        best = self.configuration(self.near if self.place is None else self.place)
        per_node = self.node_size.cores_per_node
        if self.node_size.p_is == "nodes" or per_node is None or best.p % per_node == 0:
            return ""
        nodes = -(-int(best.p) // per_node)
        return (
            f"p = {whole(best.p)} does not fill {counted(nodes, 'node')} of {per_node} cores; "
            f"all {nodes * per_node} are charged"
        )


def sure_text(share: float) -> str:
    """Write a probability that is never quite certain."""
    return "over 99%" if share > 0.99 else percent(share)
