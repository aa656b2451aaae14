"""Which run is made next, so that an interval becomes as narrow as asked for the least cost.

Two counts begin. Then, after each run, the forecast at the counts asked for is made anew: a new
count is run where `parcast.plan_runs` expects it to narrow the interval most for its cost, and
else the count with the fewest runs again. It ends where the interval is narrow enough, where the
budget is spent, or where a round of repetitions has not narrowed it any more.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf, log
from statistics import median
from typing import Final

import numpy as np

from parcast.errors import FitFailed, ParameterError, as_number, require
from parcast.forecasting.forecast import forecast
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.result import with_ended
from parcast.measurement.table import RunRow
from parcast.timings.measurements import Measurements
from parcast.units import percent

FEWEST: Final = 3  # counts before it may end: two are no test of a forecast [1]
HELPS: Final = 0.95  # of the half-width, that a round of repetitions has to leave at most [1] [D]

Timed = Sequence[tuple[MeasuredPoint, float]]  # runs that count, and their times [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """What is asked of the forecast, and what it may cost."""

    until: float  # farther end of the 90% interval, relative to the time [1]
    at: tuple[int, ...]  # counts that are forecast [1]
    seconds: float = inf  # wall time of all runs [s]
    core_seconds: float = inf  # processors times time of all runs [s]

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        hint = "Give a share such as 0.2."
        ok = 0.0 < as_number("until", self.until, hint=hint) < 10.0
        require("until", self.until, ok, must="be above 0 and below 10", hint=hint)
        for name in ("seconds", "core_seconds"):
            value = getattr(self, name)
            require("budget", value, value > 0.0, must="be above 0", hint="Give a time.")
        if not self.at:
            raise ParameterError(
                "at",
                must="name counts to forecast",
                got="none",
                hint="Give the count whose time you need.",
            )

    @property
    def half_width(self) -> float:
        """Half-width of the interval of log time that is narrow enough [1]."""
        return log(1.0 + self.until)


@dataclass(kw_only=True, slots=True)
class Adaptive:
    """Chooses run after run among some points."""

    goal: Goal
    points: Sequence[MeasuredPoint]
    most: int  # runs of a point [1]
    stopped: Sequence[RunRow] = ()  # runs that were ended at a limit
    ended_by: str = ""  # why no more runs are made
    width: float = inf  # half-width of log time at the worst count asked for, now [1]
    rounds: dict[int, float] = field(default_factory=dict)  # width, by fewest runs of a point

    def following(
        self, timed: Timed, made: Mapping[MeasuredPoint, int], failed: Container[MeasuredPoint]
    ) -> MeasuredPoint | None:
        """Give the next point; None where it has ended. `made` are runs, also disturbed ones."""
        left = [x for x in self.points if x not in failed and made.get(x, 0) < self.most]
        self.width = self._width(timed)
        counts = {x.columns["p"] for x, _ in timed}
        if self.is_narrow and len(counts) >= FEWEST:
            self.ended_by = (
                f"the interval at p = {', '.join(map(str, self.goal.at))} is as narrow as asked "
                f"for ({percent(exp(self.width) - 1)})"
            )
            return None
        if not left:
            self.ended_by = "all runs that were allowed are made"
            return None
        affordable = [x for x in left if self._fits(x, timed)]
        if not affordable:
            self.ended_by = "the budget is spent"
            return None
        return self._chosen(affordable, timed, made)

    def _chosen(
        self, left: Sequence[MeasuredPoint], timed: Timed, made: Mapping[MeasuredPoint, int]
    ) -> MeasuredPoint | None:
        """Choose among points that may be run."""
        new = [x for x in left if not made.get(x)]
        if new and self.width == inf:
            return min(new, key=_count)
        if new:
            return self._planned(new, timed) or max(new, key=_count)
        fewest = min(made[x] for x in left)
        if fewest not in self.rounds:
            self.rounds[fewest] = self.width
            if self.width > HELPS * self.rounds.get(fewest - 1, inf):
                self.ended_by = "more runs no longer narrow the interval"
                return None
        return max((x for x in left if made[x] == fewest), key=_count)

    def _planned(self, new: Sequence[MeasuredPoint], timed: Timed) -> MeasuredPoint | None:
        """New point that narrows the interval most for its cost; None where none helps."""
        counts = sorted({x.columns["p"] for x in new})
        try:
            found = plan_runs(
                measurements_of(timed, self.stopped),
                list(self.goal.at),
                runs=1,
                counts=counts,
                upto=max(counts),
                beyond=True,
            )
        except FitFailed:
            return None
        for run in sorted(found, key=lambda x: x.cost):
            own = [x for x in new if x.columns["p"] == run.at["p"]]
            alike = [x for x in own if all(x.columns.get(k) == v for k, v in run.key.items())]
            if alike or own:
                return (alike or own)[0]
        return None

    def _width(self, timed: Timed) -> float:
        """Half-width of log time at the worst count asked for; inf where there is no forecast."""
        if len({x.columns["p"] for x, _ in timed}) < 2:
            return inf
        try:
            found = forecast(measurements_of(timed, self.stopped), list(self.goal.at))
        except FitFailed:
            return inf
        with np.errstate(divide="ignore", invalid="ignore"):
            upper, lower = np.log(found.upper / found.time), np.log(found.time / found.lower)
        widest = np.maximum(upper, lower)
        return float(np.max(np.where(np.isfinite(widest), widest, inf)))

    def _fits(self, point: MeasuredPoint, timed: Timed) -> bool:
        """Whether what is left of the budget pays for a run."""
        spent = [*timed, *((x.point, x.seconds) for x in self.stopped)]
        seconds = sum(time for _, time in spent)
        cores = sum(time * x.columns["p"] for x, time in spent)
        own = [time for x, time in timed if x == point]
        others = [time for _, time in timed]
        expected = median(own) if own else (max(others) if others else 0.0)
        return (
            seconds + expected <= self.goal.seconds
            and cores + expected * point.columns["p"] <= self.goal.core_seconds
        )

    @property
    def is_narrow(self) -> bool:
        """Whether the interval is as narrow as asked for."""
        return self.width <= self.goal.half_width


def _count(point: MeasuredPoint) -> int:
    return int(point.columns["p"])


def measurements_of(timed: Timed, stopped: Sequence[RunRow] = ()) -> Measurements:
    """Measurements of runs, and of those that were ended at a limit."""
    names = [*timed[0][0].columns]
    columns = {name: [x.columns[name] for x, _ in timed] for name in names}
    made = Measurements(**columns, time=[time for _, time in timed])
    return with_ended(made, stopped)
