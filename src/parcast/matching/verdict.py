"""Limits on time and cost, the probability of meeting them, and what to do if nothing does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.matching.outcomes import Outcomes
from parcast.units import TIME_UNITS, format_quantity, percent
from parcast.words import readable_unit, rounded, whole

WIDER, MOST_STEPS = 1.01, 300  # how limits are widened until they hold together
TWICE = 2.0  # from here on a limit is missed by so many times, not by so many percent
HAIR = 1e-9  # of a limit, by which rounding may exceed it: 28 s are within 28 s in any unit


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraints:
    """Longest time, highest cost, and how sure they must be kept."""

    within: float | None  # [s]
    budget: float | None  # [currency]
    certainty: float  # of both together [1]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self.within is not None or self.budget is not None

    def holds(self, outcomes: Outcomes) -> Array:
        """Probability that both hold together, at each count. [1]."""
        kept = np.ones(outcomes.times.shape, dtype=bool)
        if self.within is not None:
            kept = kept & (outcomes.times <= self.within * (1 + HAIR))
        if self.budget is not None and outcomes.costs is not None:
            kept = kept & (outcomes.costs <= self.budget * (1 + HAIR))
        return np.asarray(kept.mean(axis=0))

    def fits(self, outcomes: Outcomes) -> NDArray[np.bool_]:
        """Whether they hold as asked, at each count."""
        return np.asarray(self.holds(outcomes) >= self.certainty)

    def time(self, outcomes: Outcomes) -> Array:
        """Time that must be allowed at each count, to be as sure as asked. [s]."""
        return np.asarray(np.quantile(outcomes.times, self.certainty, axis=0))

    def cost(self, outcomes: Outcomes) -> Array:
        """Cost that must be allowed at each count; 0 where there is no price. [currency]."""
        if outcomes.cost is None or outcomes.costs is None:
            return np.zeros(len(outcomes.p))
        return np.asarray(np.quantile(outcomes.costs, self.certainty, axis=0))

    def excess(self, outcomes: Outcomes) -> Array:
        """What must be allowed over what is, of the constraint that is missed most. [1]."""
        over_time = self.time(outcomes) / self.within if self.within is not None else 0.0
        over_cost = self.cost(outcomes) / self.budget if self.budget is not None else 0.0
        return np.asarray(np.maximum(over_time, over_cost) + np.zeros(len(outcomes.p)))


def verdict_of(outcomes: Sequence[Outcomes], constraints: Constraints) -> tuple[str, ...]:
    """Say how each machine fails at the count that comes nearest, and what would fit.

    A sentence for each machine, the nearest first, then one of what would fit.
    """
    order = sorted(outcomes, key=lambda x: float(constraints.excess(x).min()))
    return (*(_failure(x, constraints) for x in order), *_remedies(outcomes, constraints))


def _failure(outcomes: Outcomes, constraints: Constraints) -> str:
    """Say which constraint a machine misses, and by how much."""
    i = int(np.argmin(constraints.excess(outcomes)))
    misses = []
    time, cost = (float(x[i]) for x in (constraints.time(outcomes), constraints.cost(outcomes)))
    if constraints.within is not None and time > constraints.within * (1 + HAIR):
        limit = format_quantity(constraints.within, "time")
        misses.append(
            f"takes {format_quantity(time, 'time')}, {_over(time, constraints.within)} {limit}"
        )
    if constraints.budget is not None and cost > constraints.budget * (1 + HAIR):
        misses.append(
            f"costs {rounded(cost, 3)}, {_over(cost, constraints.budget)} {constraints.budget:g}"
        )
    both = ", and ".join(misses)
    required = f"the required probability of {percent(constraints.certainty)}"
    both = (
        f"{both} (at {required})" if misses else f"meets each limit, but not both with {required}"
    )
    return f"{outcomes.machine} at best (p = {_count(outcomes, i)}) {both}."


def _remedies(outcomes: Sequence[Outcomes], constraints: Constraints) -> Iterator[str]:
    """Say what would have to be allowed for one machine to fit."""
    ways = []
    if constraints.within is not None:
        for x, i, time in _least(outcomes, constraints, of_time=True):
            enough = _enough(x, i, constraints, within=time)
            if enough and enough.within is not None:
                allowed = format_quantity(enough.within, "time")
                ways.append(f"{allowed} ({x.machine}, p = {_count(x, i)})")
    if constraints.budget is not None:
        for x, i, cost in _least(outcomes, constraints, of_time=False):
            enough = _enough(x, i, constraints, budget=cost)
            if enough and enough.budget is not None:
                allowed = rounded(enough.budget, 3)
                ways.append(f"a budget of {allowed} ({x.machine}, p = {_count(x, i)})")
    if ways:
        yield f"To get a machine that fits, allow {', or '.join(ways)}."
        return
    x = min(outcomes, key=lambda x: float(constraints.excess(x).min()))
    i = int(np.argmin(constraints.excess(x)))
    time, cost = (float(y[i]) for y in (constraints.time(x), constraints.cost(x)))
    enough = _enough(x, i, constraints, within=time, budget=cost)
    if enough and enough.within is not None and enough.budget is not None:
        yield (
            f"To get a machine that fits, allow {format_quantity(enough.within, 'time')} and a "
            f"budget of {rounded(enough.budget, 3)} ({x.machine}, p = {_count(x, i)}); changing "
            "one of them is not enough."
        )


def _enough(
    outcomes: Outcomes, i: int, constraints: Constraints, **least: float
) -> Constraints | None:
    """Replace limits, and widen them until they hold at a count together, as surely as asked."""
    for step in range(MOST_STEPS):
        wider = constraints
        for name, limit in least.items():  # `within` is printed in a unit, so rounded up in it
            unit = TIME_UNITS[readable_unit(limit)] if name == "within" else 1.0
            wider = replace(wider, **{name: _up(limit * WIDER**step / unit) * unit})
        if wider.fits(outcomes)[i]:
            return wider
    return None


def _least(
    outcomes: Sequence[Outcomes], constraints: Constraints, *, of_time: bool
) -> Iterator[tuple[Outcomes, int, float]]:
    """Give the least time, or cost, among the counts that keep the other, and where it is."""
    best: tuple[Outcomes, int, float] | None = None
    for x in outcomes:
        time, cost = constraints.time(x), constraints.cost(x)
        wanted, other = (time, cost) if of_time else (cost, time)
        limit = constraints.budget if of_time else constraints.within
        kept = np.where(other <= (np.inf if limit is None else limit * (1 + HAIR)), wanted, np.inf)
        i = int(np.argmin(kept))
        if np.isfinite(kept[i]) and (best is None or kept[i] < best[2]):
            best = (x, i, float(kept[i]))
    if best is not None:
        yield best


def _over(value: float, limit: float) -> str:
    """Say by how much a limit is missed: "12% more than" or "3.1 times"."""
    ratio = value / limit
    return f"{percent(ratio - 1)} more than" if ratio < TWICE else f"{rounded(ratio, 2)} times"


def _up(value: float) -> float:
    """Round up to three digits, so that what is said to fit does fit."""
    digit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return float(np.ceil(value / digit - 1e-9) * digit)


def _count(outcomes: Outcomes, i: int) -> str:
    """Write a count of processors."""
    return str(whole(float(outcomes.p[i])))
