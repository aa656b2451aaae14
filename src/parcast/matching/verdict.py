"""What must hold of a machine, how sure it is that it does, and what to do where nothing fits."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraints:
    """Longest time, highest cost, and how sure they must be kept."""

    within: float | None  # [s]
    budget: float | None  # [currency]
    certainty: float | None  # of both together; None: the middle of each must hold [1]

    def holds(self, found: Outcomes) -> Array:
        """Probability that both hold together, at each count. [1]."""
        kept = np.ones(found.times.shape, dtype=bool)
        if self.within is not None:
            kept = kept & (found.times <= self.within)
        if self.budget is not None and found.costs is not None:
            kept = kept & (found.costs <= self.budget)
        return np.asarray(kept.mean(axis=0))

    def fits(self, found: Outcomes) -> NDArray[np.bool_]:
        """Whether they hold as asked, at each count."""
        if self.certainty is None:
            return self.excess(found) <= 1.0
        return np.asarray(self.holds(found) >= self.certainty)

    def time(self, found: Outcomes) -> Array:
        """Time that must be allowed at each count, to be as sure as asked. [s]."""
        if self.certainty is None:
            return found.time
        return np.asarray(np.quantile(found.times, self.certainty, axis=0))

    def cost(self, found: Outcomes) -> Array:
        """Cost that must be allowed at each count; 0 where there is no price. [currency]."""
        if found.cost is None or found.costs is None:
            return np.zeros(len(found.p))
        if self.certainty is None:
            return found.cost
        return np.asarray(np.quantile(found.costs, self.certainty, axis=0))

    def excess(self, found: Outcomes) -> Array:
        """What must be allowed over what is, of the constraint that is missed most. [1]."""
        over_time = self.time(found) / self.within if self.within is not None else 0.0
        over_cost = self.cost(found) / self.budget if self.budget is not None else 0.0
        return np.asarray(np.maximum(over_time, over_cost) + np.zeros(len(found.p)))


def verdict_of(found: Sequence[Outcomes], asked: Constraints) -> tuple[str, ...]:
    """Say how each machine fails at the count that comes nearest, and what would fit.

    A sentence for each machine, the nearest first, then one of what would fit.
    """
    order = sorted(found, key=lambda x: float(asked.excess(x).min()))
    return (*(_failure(x, asked) for x in order), *_remedies(found, asked))


def _failure(found: Outcomes, asked: Constraints) -> str:
    """Say which constraint a machine misses, and by how much."""
    i = int(np.argmin(asked.excess(found)))
    misses = []
    if asked.within is not None and asked.time(found)[i] > asked.within:
        time = float(asked.time(found)[i])
        limit = format_quantity(asked.within, "time")
        misses.append(
            f"takes {format_quantity(time, 'time')}, {_over(time, asked.within)} {limit}"
        )
    if asked.budget is not None and asked.cost(found)[i] > asked.budget:
        cost = float(asked.cost(found)[i])
        misses.append(f"costs {rounded(cost, 3)}, {_over(cost, asked.budget)} {asked.budget:g}")
    sure = "" if asked.certainty is None else f" (to be kept with {percent(asked.certainty)})"
    both = " and ".join(misses) or "keeps each, but not both so surely"
    return f"{found.machine} comes nearest at p = {_count(found, i)}: it {both}{sure}."


def _remedies(found: Sequence[Outcomes], asked: Constraints) -> Iterator[str]:
    """Say what would have to be allowed for one machine to fit."""
    ways = []
    if asked.within is not None:
        for x, i, time in _least(found, asked, of_time=True):
            enough = _enough(x, i, asked, within=time)
            if enough and enough.within is not None:
                allowed = format_quantity(enough.within, "time")
                ways.append(f"{allowed} ({x.machine}, p = {_count(x, i)})")
    if asked.budget is not None:
        for x, i, cost in _least(found, asked, of_time=False):
            enough = _enough(x, i, asked, budget=cost)
            if enough and enough.budget is not None:
                allowed = rounded(enough.budget, 3)
                ways.append(f"a budget of {allowed} ({x.machine}, p = {_count(x, i)})")
    if ways:
        yield f"What would fit: {', or '.join(ways)}."
        return
    x = min(found, key=lambda x: float(asked.excess(x).min()))
    i = int(np.argmin(asked.excess(x)))
    time, cost = (float(y[i]) for y in (asked.time(x), asked.cost(x)))
    enough = _enough(x, i, asked, within=time, budget=cost)
    if enough and enough.within is not None and enough.budget is not None:
        yield (
            f"What would fit: {format_quantity(enough.within, 'time')} with a budget of "
            f"{rounded(enough.budget, 3)} ({x.machine}, p = {_count(x, i)}); no change of one of "
            "them alone is enough."
        )


def _enough(
    found: Outcomes,
    i: int,
    asked: Constraints,
    *,
    within: float | None = None,
    budget: float | None = None,
) -> Constraints | None:
    """Replace limits, and widen them until they hold at a count together, as surely as asked."""
    for step in range(MOST_STEPS):
        wider = asked
        if within is not None:
            unit = TIME_UNITS[readable_unit(within)]  # it will be printed in, so rounded up in
            wider = replace(wider, within=_up(within * WIDER**step / unit) * unit)
        if budget is not None:
            wider = replace(wider, budget=_up(budget * WIDER**step))
        if wider.fits(found)[i]:
            return wider
    return None


def _least(
    found: Sequence[Outcomes], asked: Constraints, *, of_time: bool
) -> Iterator[tuple[Outcomes, int, float]]:
    """Give the least time, or cost, among the counts that keep the other, and where it is."""
    best: tuple[Outcomes, int, float] | None = None
    for x in found:
        time, cost = asked.time(x), asked.cost(x)
        wanted, other = (time, cost) if of_time else (cost, time)
        limit = asked.budget if of_time else asked.within
        kept = np.where(other <= (np.inf if limit is None else limit), wanted, np.inf)
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


def _count(found: Outcomes, i: int) -> str:
    """Write a count of processors."""
    return str(whole(float(found.p[i])))
