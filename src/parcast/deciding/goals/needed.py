"""What is needed where nothing reaches a goal: how far each goal has to give, and what would help.

Of runs it is the share of the time above ideal scaling (serial work, communication, imbalance)
that has to go, or how much faster all of the program has to be. Of descriptions it is the smallest
factor of each parameter: by division where more of it never makes things worse, else by a scan.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.configurations import HAIR, ConfigurationTable, Weighed
from parcast.deciding.goals.goals import amount_text
from parcast.descriptions.amount import Amount
from parcast.descriptions.machine import HOUR, Machine
from parcast.descriptions.program import Program
from parcast.errors import ParcastError
from parcast.forecasting.request import way_up
from parcast.prediction.predict import predict
from parcast.units import TIME_UNITS, Dimension, format_quantity, percent, percent_in_full
from parcast.words import joined, readable_unit, rounded, whole

MOST_CHANGED: Final = 1000.0  # factor of a parameter that is looked at
SCANNED: Final = 31  # factors that are looked at first, and again between two of them
DIVISIONS: Final = 6  # of what is between two factors, each into
PARTS: Final = 17
TWICE: Final = 2.0  # from here on a limit is missed by so many times, not by so many percent
ROUNDS: Final = 3  # in which the width of the interval follows the change
MOST_COUNTS: Final = 64  # nearest to the goals, and as many others, at which it is computed
BETTER_LESS: Final = ("time", "size", "operations", "fraction")  # dimensions of costs


@dataclass(frozen=True, kw_only=True, slots=True)
class Needed:
    """A parameter, and the least change of it by which some configuration meets the goals."""

    _outline: ClassVar[str] = "parameter now needed factor machine p# dimension"

    parameter: str  # "network.bandwidth", or `d`, disks
    now: float  # at that configuration [SI]
    needed: float  # the least change with which the goals are met [SI]
    factor: float  # needed over now [1]
    machine: str
    p: float  # where the goals are met then [1]
    dimension: Dimension  # of the parameter: `rate`, `time`, ...

    def __str__(self) -> str:
        """Say it."""
        if self.parameter == "d":
            return f"{self.needed:.0f} disks instead of {self.now:.0f} (p = {whole(self.p)})"
        enough = float(rounded(self.needed, 3, up=self.factor > 1))
        now, needed = (format_quantity(x, self.dimension, digits=3) for x in (self.now, enough))
        return f"{self.parameter}: {needed} instead of {now} (p = {whole(self.p)})"


def reachable(weighed: Weighed) -> Iterator[str]:
    """Say of each goal what would be reached with the others as they are, or of all together."""
    goals, table = weighed.goals, weighed.table
    kept = table.kept(goals.certainty)
    usable = table.is_told & weighed.has_memory
    value = {
        "within": kept,
        "budget": kept * table.rate * table.dearest / HOUR,
        "efficiency": -weighed.efficiency * np.where(table.is_base, 1.0, table.time / kept),
    }
    found = False
    for name in goals.asked:
        others = [weighed.limit(x) for x in goals.asked if x != name]
        longest = np.min(others, axis=0) if others else np.full(len(table), np.inf)
        ok = usable & (kept <= longest)
        if not ok.any():
            continue
        found = True
        rest = ", the other goals being met" if others else ""
        best = int(np.argmin(np.where(ok, value[name], np.inf)))
        yield f"{_least(name, float(value[name][best]), table.unit)}{rest} ({place(table, best)})"
    if not found and usable.any() and len(goals.asked) > 1:
        near = weighed.nearest()
        every = [_least(x, float(value[x][near]), table.unit) for x in goals.asked]
        yield f"{joined(every)} ({place(table, near)}); changing one of them is not enough"


def _least(name: str, value: float, unit: str) -> str:
    """Name what is reached of a goal, so rounded that it is."""
    if name == "within":
        return f"within {_time_up(value)}"
    if name == "budget":
        return f"a cost of {amount_text(value, up=True)} {unit}"
    return f"an efficiency of {_reached(-value)}"


def _time_up(seconds: float) -> str:
    """Text of a time, so rounded that it is kept."""
    step = TIME_UNITS[readable_unit(seconds)]
    return format_quantity(float(rounded(seconds / step, 3, up=True)) * step, "time")


def _reached(efficiency: float) -> str:
    """Text of an efficiency, so rounded that it is reached."""
    return percent(np.floor(100 * efficiency * (1 + HAIR)) / 100)


def missed(weighed: Weighed, i: int) -> str:
    """Say by how much a configuration misses each goal, as surely as asked."""
    goals, table = weighed.goals, weighed.table
    kept = float(table.kept(goals.certainty)[i])
    over = {name: kept / float(weighed.limit(name)[i]) for name in goals.asked}
    texts = []
    if goals.within is not None and over["within"] > 1:
        limit = format_quantity(goals.within, "time")
        texts.append(f"takes {_time_up(kept)}, {_more(over['within'])} {limit}")
    if goals.budget is not None and over["budget"] > 1:
        cost = rounded(goals.budget.amount * over["budget"], 3)
        texts.append(f"costs {cost}, {_more(over['budget'])} {goals.budget.amount:g}")
    if goals.efficiency is not None and over["efficiency"] > 1:
        reached = _reached(goals.efficiency / over["efficiency"])
        wanted = percent_in_full(goals.efficiency)
        texts.append(f"has an efficiency of {reached}, and not of {wanted}")
    if goals.memory is not None and not weighed.has_memory[i]:
        out = percent(float(table.out_of_memory[i]))
        texts.append(f"runs out of memory with a probability of {out}")
    both = ", and ".join(texts) or "meets each limit, but not all of them together"
    return f"{both} (at the required probability of {percent_in_full(goals.certainty)})"


def _more(ratio: float) -> str:
    """Say by how much a limit is missed: "12% more than" or "3.1 times"."""
    return f"{percent(ratio - 1)} more than" if ratio < TWICE else f"{rounded(ratio, 2)} times"


def place(table: ConfigurationTable, i: int) -> str:
    """Name a configuration."""
    on = f" on {table.machines[table.of[i]]}" if len(table.machines) > 1 else ""
    disks = f", d = {whole(float(table.disks[i]))}" if np.isfinite(table.disks[i]) else ""
    return f"p = {whole(float(table.p[i]))}{disks}{on}"


def needed_of_runs(weighed: Weighed) -> Iterator[str]:
    """Say how much faster a program that was run has to become."""
    table, certainty = weighed.table, weighed.goals.certainty
    usable = table.is_told & weighed.has_memory & np.isfinite(weighed.longest)
    if not usable.any():
        return
    kept = table.kept(certainty)
    ideal = kept * np.minimum(table.efficiency, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (kept - weighed.longest) / (kept - ideal)
    share = np.where(usable & (kept > ideal) & (share <= 1), share, np.inf)
    i, what = int(np.argmin(share)), "the whole program"
    if np.isfinite(share[i]):
        what = "or the whole program"
        above = format_quantity(float(table.time[i] * (1 - min(table.efficiency[i], 1.0))), "time")
        yield (
            f"{percent(float(share[i]))} of the {above} above ideal scaling must go at "
            f"{place(table, i)} (serial work, communication and imbalance)"
        )
    i = int(np.argmin(np.where(usable, weighed.excess, np.inf)))
    factor = float(weighed.excess[i])
    if factor > 1:
        times = rounded(factor, 3, up=True)
        yield f"{what} must be {times} times as fast ({place(table, i)})"


def needed_of_program(
    program: Program,
    machines: Sequence[Machine],
    weighed: Weighed,
    at: Mapping[str, Any],
    *,
    law_error: bool,
) -> list[Needed]:
    """Find the least change of each parameter on each machine, the smallest change first."""
    found = []
    for machine in machines:
        rows = np.flatnonzero(
            np.array([weighed.table.machines[i] == machine.name for i in weighed.table.of])
        )
        if not rows.size:
            continue
        nearest = np.argsort(weighed.excess[rows], kind="stable")[:MOST_COUNTS]
        spread = np.linspace(0, len(rows) - 1, MOST_COUNTS).round().astype(int)
        rows = rows[np.union1d(nearest, spread)]
        own = Weighed(table=weighed.table.take(rows), goals=weighed.goals)
        search = _LeastChange(program, machine, own, at, law_error=law_error)
        for name, amount in (machine.parameters() | program.parameters()).items():
            needed = search.amount(name, amount)
            found += [needed] if needed is not None else []
        disks = search.disks()
        found += [disks] if disks is not None else []
    return sorted(found, key=lambda x: abs(float(np.log(x.factor))))


class _LeastChange:
    """Looks for the least change of one parameter of a machine or a program."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        weighed: Weighed,
        at: Mapping[str, Any],
        *,
        law_error: bool,
    ) -> None:
        table = weighed.table
        self.program, self.machine, self.weighed = program, machine, weighed
        own = machine.servers({"p": table.p})
        if np.isfinite(table.disks).any():
            own = table.disks
        self.at = {**at, "d": own, "p": table.p}
        self.above = (table.upper / table.time) ** way_up(weighed.goals.certainty)
        self.first_above = self.above
        self.law_error = law_error
        self.alone = self._alone({})

    def _alone(self, changed: Mapping[str, Any]) -> Array:
        """Time on one processor, of which efficiency is a share. [s]."""
        one = {**self.at, **changed, "p": np.ones(1), "d": np.ones(1)}
        return np.asarray(self.program.alone.times(self.machine, one).time)

    def excess(self, changed: Mapping[str, Any]) -> Array:
        """Time that must be allowed over the longest one; counts are the last axis. [1]."""
        weighed = self.weighed
        time = self.program.times(self.machine, {**self.at, **changed}).time
        limits = [weighed.limit(x) for x in weighed.goals.asked if x != "efficiency"]
        if weighed.goals.efficiency is not None:
            change = self._alone(changed) / self.alone
            limits.append(weighed.limit("efficiency") * change)
        return np.asarray(time * self.above / reduce(np.minimum, limits))

    def amount(self, name: str, amount: Amount) -> Needed | None:
        """Least change of an amount; None where none reaches the goals."""
        away = 1 / MOST_CHANGED if amount.dimension in BETTER_LESS else MOST_CHANGED

        def least(factors: Array) -> Array:
            each = self.excess({f"{name}*": factors[:, None]})
            return np.broadcast_to(each.min(axis=-1), factors.shape)

        self.above = self.first_above
        for _ in range(ROUNDS):
            factor = least_factor(least, away)
            if factor is None:
                return None
            found = factor
            excess = self.excess({f"{name}*": np.asarray(factor)})
            i = int(np.argmin(excess))
            point = {key: np.broadcast_to(x, excess.shape)[i] for key, x in self.at.items()}
            now = float(amount(point))
            self.above = self._above(i, point, {name: now * factor})
        return self._needed(name, now, found, at=i, dimension=amount.dimension)

    def _above(self, i: int, point: Mapping[str, Any], changed: Mapping[str, float]) -> Array:
        """How far the time that is kept lies above the middle, after a change at one count. [1].

        With less of one part, another whose time is less certain takes a larger share.
        """
        told = predict(
            self.program,
            self.machine,
            p=float(point["p"]),
            d=changed.get("d", float(point["d"])),
            n=point.get("n"),
            vary={name: x for name, x in changed.items() if name != "d"},
            bounds=False,
            law_error=self.law_error,
        )
        if told.upper is None:
            return self.first_above
        ratio = float(np.ravel(told.upper / told.time)[0])
        share = way_up(self.weighed.goals.certainty)
        return np.asarray(self.first_above * ratio**share / self.first_above[i])

    def disks(self) -> Needed | None:
        """Least number of disks; None where more of them do not reach the goals."""
        if self.machine.node.servers is not None:
            return None  # their number follows that of the nodes
        now, self.above = int(np.max(self.at["d"])), self.first_above

        def meets(d: int) -> bool:
            return bool(np.min(self.excess({"d": float(d)})) <= 1)

        try:
            few, many = now, now
            while not meets(many):
                few, many = many, 2 * many
                if many > MOST_CHANGED * now:
                    return None
            while many - few > 1:
                middle = (few + many) // 2
                few, many = (few, middle) if meets(middle) else (middle, many)
            i = int(np.argmin(self.excess({"d": float(many)})))
            point = {key: np.broadcast_to(x, self.above.shape)[i] for key, x in self.at.items()}
            self.above = self._above(i, point, {"d": float(many)})
            while not meets(many):
                many += 1
        except ParcastError:
            return None
        return self._needed("d", float(now), many / now, at=i, dimension="count")

    def _needed(
        self, name: str, now: float, factor: float, *, at: int, dimension: Dimension
    ) -> Needed:
        return Needed(
            parameter=name,
            now=now,
            needed=now * factor,
            factor=factor,
            machine=self.machine.name,
            p=float(self.weighed.table.p[at]),
            dimension=dimension,
        )


def least_factor(excess: Callable[[Array], Array], away: float) -> float | None:
    """Find the factor nearest to 1, towards `away`, at which an excess is at most 1.

    Between two factors it is looked for by division where the excess only falls on the way, else
    by a scan.

    >>> least_factor(lambda x: 3 / x, 1000.0)
    3.0...
    """
    factors = np.geomspace(1.0, away, SCANNED)
    try:
        values = excess(factors)
    except ParcastError:
        return None  # no formula for so much of it
    if values[0] <= 1 or not np.any(values <= 1):
        return None
    bad, met = _first(factors, values)
    if np.any(np.diff(values) > HAIR * values[:-1]):  # not monotone: look between as well
        between = np.geomspace(bad, met, SCANNED)
        bad, met = _first(between, excess(between))
    for _ in range(DIVISIONS):
        between = np.geomspace(bad, met, PARTS + 1)
        bad, met = _first(between, excess(between))
    return met


def _first(factors: Array, values: Array) -> tuple[float, float]:
    """Find the first factor at which an excess is at most 1, else the last, and the one before."""
    j = int(np.argmax(np.append(values[:-1] <= 1, True)))
    return float(factors[max(j - 1, 0)]), float(factors[j])
