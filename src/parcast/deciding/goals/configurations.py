"""Ways to run a program, as arrays: counts on machines, with times, costs and what is known.

A `Weighed` table also knows what is asked for, and how surely each configuration meets it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.goals.goals import Goals
from parcast.descriptions.machine import HOUR
from parcast.forecasting.request import Request, request_for, way_up
from parcast.numerics import probability_up_to

HAIR: Final = 1e-9  # of a limit, by which rounding may exceed it
CLOSE: Final = 0.05  # of the least time, by which what costs less may take longer [D]
MINUTE: Final = 60.0  # in which wall-time limits are written [s]
MOST_KEPT: Final = 400  # configurations that an answer holds beside its front
AS_GOOD: Final = 1e-6  # relative difference of times or costs that makes none better


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ConfigurationTable:
    """All that are considered; arrays of one dimension."""

    machines: tuple[str, ...]  # names
    of: NDArray[np.intp]  # which machine each is on
    p: Array  # processors [1]
    disks: Array  # NaN where they are none of the question [1]
    nodes: Array  # NaN where the size of a node is not known [1]
    cores: Array  # NaN where only nodes are known [1]
    time: Array  # [s]
    lower: Array  # of the 90% interval [s]
    upper: Array  # of the 90% interval [s]
    efficiency: Array  # of the cores that are used [1]
    of_charged: Array  # efficiency of the cores that are charged [1]
    rate: Array  # cost of an hour, in `unit`; NaN without a price
    dearest: Array  # factor by which a price may be higher, at which budgets hold [1]
    is_base: NDArray[np.bool_]  # whether efficiencies are over it: its own is 1, without error
    is_told: NDArray[np.bool_]  # whether there is a forecast
    known: NDArray[np.bool_]  # whether the program was run there
    out_of_memory: Array  # probability of running out; 0 where memory is not asked for [1]
    unit: str  # of costs: `core-hours`, `node-hours` or a currency

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.p)

    def take(self, places: NDArray[Any]) -> "ConfigurationTable":
        """Keep some."""
        return replace(self, **{name: getattr(self, name)[places] for name in columns()})

    @property
    def cost(self) -> Array:
        """Cost of each, in `unit`."""
        return self.rate * self.time / HOUR

    @property
    def cost_ends(self) -> tuple[Array, Array]:
        """90% interval of each cost, from those of the time and of the price."""
        price = np.log(self.dearest)
        below, above = (np.hypot(np.log(x), price) for x in self._sides)
        return self.cost * np.exp(-below), self.cost * np.exp(above)

    @property
    def _sides(self) -> tuple[Array, Array]:
        """How far the interval of the time reaches below and above it. [1]."""
        return self.time / self.lower, self.upper / self.time

    @property
    def has_nodes(self) -> bool:
        """Whether it is known of all how many nodes they take."""
        return not np.isnan(self.nodes).any()

    @property
    def asked(self) -> Array:
        """What one asks for: nodes, or cores where the size of some node is not known. [1]."""
        return self.nodes if self.has_nodes else self.cores

    def kept(self, certainty: float) -> Array:
        """Time that is not exceeded with a certainty, of each. [s]."""
        return np.asarray(self.time * (self.upper / self.time) ** way_up(certainty))


def columns() -> list[str]:
    """Names of the fields that are arrays."""
    return [x.name for x in fields(ConfigurationTable) if x.name not in ("machines", "unit")]


def joined_tables(tables: Sequence[ConfigurationTable]) -> ConfigurationTable:
    """Put those of several machines into one table."""
    if len(tables) == 1:
        return tables[0]
    arrays = {name: np.concatenate([getattr(x, name) for x in tables]) for name in columns()}
    names = tuple(dict.fromkeys(name for x in tables for name in x.machines))
    of = [names.index(x.machines[i]) for x in tables for i in x.of.tolist()]
    return ConfigurationTable(**arrays | {"of": np.array(of)}, machines=names, unit=tables[0].unit)


def front_of(time: Array, cost: Array) -> NDArray[np.intp]:
    """Places of those than which no other takes less time and costs no more, by rising cost.

    >>> front_of(np.array([9.0, 5.0, 6.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [0, 1, 3]
    """
    order = np.lexsort((time, cost))
    least = np.minimum.accumulate(np.append(np.inf, time[order])[:-1])
    return np.asarray(order[time[order] < least * (1 - AS_GOOD)])


@dataclass(frozen=True, kw_only=True, eq=False)
class Weighed:
    """ConfigurationTable beside what is asked for."""

    table: ConfigurationTable
    goals: Goals

    def limit(self, goal: str) -> Array:
        """Longest time by which each configuration meets one goal; infinite without it. [s]."""
        goals, table = self.goals, self.table
        value: Any = np.inf
        if goal == "within" and goals.within is not None:
            value = goals.within
        if goal == "budget" and goals.budget is not None:
            value = goals.budget.amount / (table.rate * table.dearest) * HOUR
        if goal == "efficiency" and goals.efficiency is not None:
            value = table.time * self.efficiency / goals.efficiency
            by_definition = table.is_base & (self.efficiency >= goals.efficiency * (1 - HAIR))
            value = np.where(by_definition, np.inf, value)
        return np.asarray(value * (1 + HAIR) + np.zeros(len(table)))

    @property
    def efficiency(self) -> Array:
        """Efficiency of the cores charged; of those used where a goal of it is given. [1]."""
        is_given = self.goals.efficiency is not None and not self.goals.is_default
        return self.table.efficiency if is_given else self.table.of_charged

    @cached_property
    def longest(self) -> Array:
        """Longest time by which each meets all goals. [s]."""
        limits = [self.limit(name) for name in self.goals.asked]
        return np.min(limits, axis=0) if limits else np.full(len(self.table), np.inf)

    def sure_of(self, longest: Array) -> Array:
        """Probability of a time, of each configuration. [1]."""
        table, sure = self.table, np.ones(len(self.table))
        is_limited = np.isfinite(longest)
        if is_limited.any():
            times = (x[is_limited] for x in (table.time, table.lower, table.upper))
            sure[is_limited] = probability_up_to(longest[is_limited], *times)
        return sure

    @cached_property
    def sure(self) -> Array:
        """Probability of meeting all goals together; memory errs independently [D]. [1]."""
        return np.asarray(self.sure_of(self.longest) * (1 - self.table.out_of_memory))

    @cached_property
    def sure_by(self) -> Mapping[str, Array]:
        """Probability of meeting each goal on time by itself. [1]."""
        return {name: self.sure_of(self.limit(name)) for name in self.goals.asked}

    def request(self, i: int) -> Request:
        """What a run of one takes, with its wall-time limit.

        Where it meets the goals the limit is not above the longest time, rounded up to minutes.
        """
        table, within, holds = self.table, self.goals.within, self.goals.limit_holds
        time, lower, upper = (float(x[i]) for x in (table.time, table.lower, table.upper))
        no_cores = bool(np.isnan(table.cores[i]))
        count = float((table.nodes if no_cores else table.cores)[i])
        how: dict[str, Any] = {"certainty": holds, "is_of_nodes": no_cores}
        told = request_for(count, time, lower, upper, **how)
        limit = np.inf if within is None else np.ceil(within / MINUTE * (1 - HAIR)) * MINUTE
        if told.time_limit <= limit or not self.fits[i]:
            return told
        sure = float(probability_up_to(limit, *(np.array([x]) for x in (time, lower, upper)))[0])
        return replace(told, time_limit=float(limit), certainty=sure)

    @cached_property
    def is_front(self) -> NDArray[np.bool_]:
        """Whether each is on the front."""
        found = np.zeros(len(self.table), dtype=bool)
        found[self.front()] = True
        return found

    @cached_property
    def fits(self) -> NDArray[np.bool_]:
        """Whether each meets the goals as surely as asked, where there is a forecast."""
        return np.asarray((self.sure >= self.goals.certainty - HAIR) & self.table.is_told)

    @cached_property
    def excess(self) -> Array:
        """Time that must be allowed over the longest one, of each: up to 1 where it fits. [1]."""
        over = self.table.kept(self.goals.certainty) / self.longest
        return np.where(self.table.is_told & self.has_memory, over, np.inf)

    @property
    def has_memory(self) -> NDArray[np.bool_]:
        """Whether each has the memory by itself as surely as asked."""
        return np.asarray(1 - self.table.out_of_memory >= self.goals.certainty - HAIR)

    def best(self) -> int | None:
        """Place of what is recommended: least cost in time, else least time for its cost."""
        if not self.fits.any():
            return None
        table = self.table
        cost, kept = table.cost, table.kept(self.goals.certainty)
        fits = self.fits
        if self.goals.within is None:
            fits = fits & (kept <= kept[fits].min() * (1 + CLOSE))
        cost = np.where(fits, cost, np.inf)
        near = cost <= cost.min() * (1 + AS_GOOD)
        return int(np.argmin(np.where(near, kept, np.inf)))

    def nearest(self) -> int:
        """Place of what comes nearest to the goals; where memory lacks, of the least lack."""
        if np.isfinite(self.excess).any():
            return int(np.argmin(self.excess))
        out = np.where(self.table.is_told, self.table.out_of_memory, np.inf)
        return int(np.argmin(out))

    def front(self) -> NDArray[np.intp]:
        """Places of the front of time and cost among those with a forecast and the memory."""
        allowed = np.flatnonzero(self.table.is_told & self.has_memory)
        if not allowed.size:
            allowed = np.flatnonzero(self.table.is_told)
        some = self.table.take(allowed)
        return np.asarray(allowed[front_of(some.time, some.cost)])

    def thinned(self, *places: int | None) -> tuple["Weighed", Mapping[int, int]]:
        """Keep the front, some places and a sample of the others; and where places are now."""
        wanted = [x for x in places if x is not None]
        sample = np.unique(np.linspace(0, len(self.table) - 1, MOST_KEPT).round().astype(int))
        front = self.front()
        front = front[np.unique(np.linspace(0, len(front) - 1, MOST_KEPT).round().astype(int))]
        kept = np.unique(np.concatenate([front, sample, np.array(wanted, dtype=int)]))
        now = {old: new for new, old in enumerate(kept.tolist())}
        return Weighed(table=self.table.take(kept), goals=self.goals), now
