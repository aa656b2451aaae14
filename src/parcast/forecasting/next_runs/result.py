"""A planned run, and what plans with and without donors have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.show.answers import Answers
from parcast.show.outline import document_of
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Key, label_of
from parcast.units import format_quantity
from parcast.words import whole

Cost = Callable[[Array, Array], ArrayLike]
MOST_TARGETS = 64  # of which a plan thinks; those with the widest intervals where more
TELLING = 0.05  # share of the half-width that a run must save to be worth making


class WantedRuns(NamedTuple):
    """What runs may be planned."""

    runs: int  # of each series, at most [1]
    cost: Cost | None  # None: processor-seconds
    beyond: bool  # whether a run may be as large as what is asked for


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """One run to make, and by how much it is expected to narrow the interval at the target."""

    _outline = """
        *key *at# time_s lower_s upper_s cost target# target_lower_s target_upper_s
        target_width_before target_width_after because
    """

    key: Key  # the columns that distinguish the series
    at: Mapping[str, float]  # values of all axes, `p` first
    time: float  # forecast time [s]
    lower: float  # lower end of its 90% interval [s]
    upper: float  # upper end of its 90% interval [s]
    cost: float  # processor-seconds, or what a cost function gives
    target: Mapping[str, float]  # of what was asked for the values with the widest interval
    target_time: float  # [s]
    before: float  # half-width of the interval of log time at the target before the run [1]
    after: float  # the same after this run and those before it [1]
    because: str  # what it is expected to do, in words
    measure: Measure = TIME  # what the times are

    @property
    def label(self) -> str:
        """The series in a few words, or "" where there is only one."""
        return label_of(self.key)

    @property
    def target_lower(self) -> float:
        """Lower end of the interval at the target after this run and those before it. [s]."""
        return self.target_time * float(np.exp(-self.after))

    @property
    def target_upper(self) -> float:
        """Upper end of the interval at the target after this run and those before it. [s]."""
        return self.target_time * float(np.exp(self.after))

    @property
    def target_width_before(self) -> float:
        """Upper over lower end of the interval at the target before the run. [1]."""
        return float(np.exp(2 * self.before))

    @property
    def target_width_after(self) -> float:
        """The same after this run and those before it. [1]."""
        return float(np.exp(2 * self.after))

    def __repr__(self) -> str:
        """Say which run it is, and what it is expected to take."""
        at = ", ".join(f"{name} = {whole(value)}" for name, value in self.at.items())
        time = self.measure.time_text(self.time)
        return f"PlannedRun({self.label}{': ' if self.label else ''}{at}, time {time})"

    def to_document(self) -> dict[str, Any]:
        """Give the run as it stands in a JSON document."""
        return document_of(self)


class PlannedRuns(Answers[PlannedRun]):
    """A list of planned runs, the best of each series first."""

    _sheet = "parcast.forecasting.next_runs.sheet:sheet_of_plan"


def costs_of(cost: Cost | None, p: Array, time: Array) -> Array:
    """Cost of runs with `p` processors that take `time` [s], above 0; by default their product."""
    given = p * time if cost is None else np.asarray(cost(p, time), dtype=np.float64)
    if np.shape(given) != p.shape or not np.all(np.isfinite(given) & (given > 0)):
        raise ParameterError(
            "cost",
            must="give a number above 0 for every run",
            got=f"{np.ravel(given)[:3].tolist()}",
            hint="Give a function of processors and time.",
        )
    return np.asarray(given)


def words_of_reach(target: float, before: Array, after: Array) -> str:
    """Say how much nearer the measured counts come to the one asked for."""
    reaches = [np.exp(np.abs(np.log(target / counts)).min()) for counts in (before, after)]
    was, then = (format_quantity(float(x), "count") for x in reaches)
    target_p = whole(float(np.round(target)))
    if reaches[1] <= 1:
        return f"measures the time at p = {target_p} itself"
    if after.max() > before.max() or after.min() < before.min():
        return f"reduces the extrapolation to p = {target_p} from {was}x to {then}x"
    return f"p = {target_p} is then a factor of {then} from a measured count, instead of {was}"
