"""What explains the time of a described program: amounts, resources, upgrades and extremes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from parcast.aliases import Array
from parcast.deciding.explain.laws.facts import PhaseFacts, SpeedupFacts
from parcast.laws.allowances import LawError
from parcast.saved.call import Call
from parcast.show.result import Result
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalEstimate:
    """A number and the ends of its 90% interval, both the number itself if it is exact."""

    value: float  # what is most likely
    lower: float  # lower end of the interval
    upper: float  # upper end of the interval


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AmountEffect:
    """By how many percent the time changes if an amount grows by 1%, at each count."""

    name: str  # under which `vary` changes it
    of: str  # `machine` or `program`
    text: str  # as the description gives it
    elasticity: Array  # (counts,): d ln T / d ln amount [1]
    lower: Array  # of the 90% interval [1]
    upper: Array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ResourceUse:
    """How much of the time a resource takes, and how closely the time follows its speed."""

    resource: str  # `compute`, `communication` or `io`
    share: Array  # (counts,): of the time that is spent on it, waiting for it included [1]
    share_lower: Array  # of the 90% interval [1]
    share_upper: Array
    elasticity: Array  # (counts,): by how many percent 1% more speed shortens the time [1]
    elasticity_lower: Array  # of the 90% interval [1]
    elasticity_upper: Array
    saturated_from: int | None  # least p from which its elasticity is at least 0.9, if any [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Upgrade:
    """One or two things twice as good, and what that saves at the largest count."""

    _outline = """
        what is_pair=pair saved=_saved saved_lower=saved.lower saved_upper=saved.upper
        time_s=time.value lower_s=time.lower upper_s=time.upper cost?=_cost
        cost_lower?=cost.lower cost_upper?=cost.upper
    """

    what: tuple[str, ...]  # "network.bandwidth x 2"
    names: tuple[str, ...]  # of what is changed
    saved: IntervalEstimate  # share of the time; below 0 where it grows [1]
    time: IntervalEstimate  # with the upgrade [s]
    cost: (
        IntervalEstimate | None
    )  # of a run with the upgrade at today's price; None without a price

    @property
    def pair(self) -> bool:
        """Whether two things are changed together."""
        return len(self.what) > 1

    @property
    def _saved(self) -> float:
        """Share of the time that is saved, below 0 where it grows [1]."""
        return self.saved.value

    @property
    def _cost(self) -> float | None:
        """Cost of a run with the upgrade at today's price; left out without a price."""
        return None if self.cost is None else self.cost.value


@dataclass(frozen=True, kw_only=True, slots=True)
class Extreme:
    """The time where something grows without end, or is infinitely fast."""

    _outline = "of time_s=seconds lower_s=lower upper_s=upper kind"

    of: str  # `p`, `d`, `compute`, `communication` or `io`
    kind: str  # `limit`, `grows` or `falls` without end, `bound`, or why there is none
    time: IntervalEstimate | None  # [s]

    @property
    def seconds(self) -> float | None:
        """Time, or `null` where there is no limit [s]."""
        return None if self.time is None else self.time.value

    @property
    def lower(self) -> float | None:
        """Lower end of its 90% interval [s]."""
        return None if self.time is None else self.time.lower

    @property
    def upper(self) -> float | None:
        """Upper end of its 90% interval [s]."""
        return None if self.time is None else self.time.upper


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitedFrom:
    """What limits a program from some count on."""

    p: int  # least count [1]
    resource: str  # `compute`, `communication` or `io`


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DescriptionsExplained(Result):
    """Why a described program takes its time on a machine, and what would shorten it."""

    _schema = "parcast/explain-descriptions/1"
    _outline = """
        rows p=counts d n times=_times interval resources=_resource_rows limited_by=limiting
        upgrades extremes speedups? phases? no_effect whole contention_free_s single_bus_s
        law_error=law_errors warnings law sources inputs program machine call?
    """
    _picture = "parcast.deciding.explain.descriptions.picture:figure_of"

    program: str  # their names
    machine: str
    p: Array  # (counts,), ascending [1]
    d: float  # disks or I/O servers [1]
    n: float | None  # problem size, where it was given [1]
    time: Array  # (counts,) [s]
    lower: Array  # of the 90% interval [s]
    upper: Array
    interval: float | None  # probability of the intervals, 0.9; `null` where there are none
    amounts: tuple[AmountEffect, ...]  # those with an effect, the largest at the last count first
    no_effect: tuple[str, ...]  # names of amounts on which the time does not depend
    whole: tuple[str, ...]  # names of amounts that are whole numbers, without an elasticity
    resources: tuple[ResourceUse, ...]
    limiting: tuple[LimitedFrom, ...]  # from p = 1 on
    along: tuple[Array, Array]  # counts (points,), and elasticity of each resource there
    upgrades: tuple[Upgrade, ...]  # at the largest count: alone, then in pairs, the best first
    extremes: tuple[Extreme, ...]  # limits for p and d without end, and infinitely fast resources
    speedups: SpeedupFacts | None  # at the largest count; None on one, or where work grows with p
    phases: tuple[PhaseFacts, ...]  # grain and compactness by phase, where laws give them
    contention_free: Array  # (counts,): time if every pair had a link of its own [s]
    single_bus: Array  # (counts,): time if all shared one bus [s]
    warnings: tuple[str, ...]
    law: str
    sources: tuple[str, ...]
    law_errors: tuple[LawError, ...] = ()  # what is allowed for the error of each law
    currency: str = ""  # of costs
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    call: Call | None = None  # what made it: for `parcast.load`

    def __repr__(self) -> str:
        """Say what was explained, in one line."""
        first = f": {' and '.join(self.upgrades[0].what)}" if self.upgrades else ""
        return f"DescriptionsExplained({self.program} on {self.machine}{first})"

    @property
    def counts(self) -> list[int]:
        """Counts that were asked for, ascending."""
        return [whole(x) for x in self.p.tolist()]

    @property
    def limited_by(self) -> str:
        """Resource that the time at the largest count follows most."""
        return max(self.resources, key=lambda x: float(x.elasticity[-1])).resource

    @property
    def _times(self) -> list[dict[str, float]]:
        """Time at each count, with its interval [s]."""
        ends = zip(self.counts, self.time, self.lower, self.upper, strict=True)
        return [
            {"p": p, "time_s": float(t), "lower_s": float(low), "upper_s": float(high)}
            for p, t, low, high in ends
        ]

    @property
    def _resource_rows(self) -> list[dict[str, Any]]:
        """Each resource at each count: `share` and `elasticity` with intervals, and saturation."""
        ends = ("", "_lower", "_upper")
        names = [f"{name}{end}" for name in ("share", "elasticity") for end in ends]
        return [
            {
                "resource": x.resource,
                "p": p,
                **{name: float(getattr(x, name)[i]) for name in names},
                "saturated_from_p": x.saturated_from,
            }
            for x in self.resources
            for i, p in enumerate(self.counts)
        ]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each amount and count: its elasticity and the interval of that."""
        for x in self.amounts:
            for i, p in enumerate(self.counts):
                yield {
                    "amount": x.name,
                    "of": x.of,
                    "value": x.text,
                    "p": p,
                    "elasticity": float(x.elasticity[i]),
                    "lower": float(x.lower[i]),
                    "upper": float(x.upper[i]),
                }


def estimates(value: Array, lower: Array, upper: Array) -> list[IntervalEstimate]:
    """Make estimates of the elements of arrays of one dimension."""
    every = np.broadcast_arrays(value, lower, upper)
    return [
        IntervalEstimate(value=x, lower=low, upper=high)
        for x, low, high in zip(*(a.tolist() for a in every), strict=True)
    ]
