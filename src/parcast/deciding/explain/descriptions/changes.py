"""What could be made twice as good: speeds of a machine, times of a program, counts of parts.

Rates are doubled, times and levels of contention halved. `p` and `d` doubled are more processors
and more disks of the same kind. Amounts of work, such as operations and bytes, are no part of it:
half of them is what a rate twice as large does.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.breakdown import LONGER, TABLES
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.laws.spmd.demands import with_servers

TWICE: Final = 2.0
FREE: Final = 1e6  # times as fast: what is left of it is below any interval
MOST_PAIRED: Final = 8  # changes of which pairs are made, those that save most alone
CAPACITIES: Final = {"compute": "compute", "network": "communication", "disk": "io"}
OWN_TABLES: Final = {"compute": "compute", "communication": "communication", "io": "io"}
WHOLE: Final = 1e-3  # of an elasticity, by which the amounts of a resource must account for it
BETTER: Final = {"rate": 1.0, "operation_rate": 1.0, "time": -1.0, "fraction": -1.0}


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One thing, or two, twice as good."""

    what: tuple[str, ...]  # "network.bandwidth x 2"
    names: tuple[str, ...]
    factors: Mapping[str, float]  # of amounts, and of "p" and "d" [1]

    def with_other(self, other: "Change") -> "Change":
        """Both together."""
        return Change(
            what=self.what + other.what,
            names=self.names + other.names,
            factors={**self.factors, **other.factors},
        )


def doubled(name: str) -> Change:
    """Twice as many processors or disks."""
    return Change(what=(f"{name} x 2",), names=(name,), factors={name: TWICE})


def changes_of(
    program: Program, machine: Machine, names: Sequence[str], *, has_disks: bool
) -> list[Change]:
    """Give what may be changed alone: of amounts those in `names`, which have an effect."""
    own, theirs = program.parameters(), machine.parameters()
    levels = [name for name in names if name.endswith(".contention")]
    changes = []
    for name in names:
        amount = own.get(name) or theirs[name]
        power = BETTER.get(amount.dimension, 0.0)
        if amount.dimension == "fraction" and name not in levels:
            power = 0.0  # a share of a program, such as its serial one
        if power:
            text = f"{name} x 2" if power > 0 else f"{name} / 2"
            changes.append(Change(what=(text,), names=(name,), factors={name: TWICE**power}))
    return [*changes, doubled("p"), *([doubled("d")] if has_disks else [])]


def pairs_of(changes: Sequence[Change], saved: Sequence[float]) -> Iterator[Change]:
    """Give pairs of those changes that save something alone, of the best where many do."""
    order = sorted(range(len(changes)), key=lambda i: -saved[i])
    some = [changes[i] for i in order if saved[i] > 0][:MOST_PAIRED]
    for one, other in combinations(some, 2):
        yield one.with_other(other)


def freed(
    program: Program, machine: Machine, effects: Mapping[str, float], use: Mapping[str, float]
) -> dict[str, Change]:
    """By its name, each resource infinitely fast, where its amounts account for all it takes.

    `effects` are elasticities of the amounts, `use` those of the resources.
    """
    found = {}
    for resource, elasticity in use.items():
        amounts = {
            name: amount
            for name, amount in _speeds(program, machine).items()
            if name in effects and _resource_of(name, program) == resource
        }
        sizes = {name: abs(effects[name]) for name in amounts}
        if not amounts or elasticity <= 0 or abs(sum(sizes.values()) - elasticity) > WHOLE:
            continue
        factors = {name: FREE ** -LONGER[x.dimension] for name, x in amounts.items()}
        found[resource] = Change(what=(resource,), names=tuple(amounts), factors=factors)
    return found


def _speeds(program: Program, machine: Machine) -> dict[str, Amount]:
    """Amounts that say how long something takes."""
    every = machine.parameters() | program.parameters()
    return {name: x for name, x in every.items() if x.dimension in LONGER}


def _resource_of(name: str, program: Program) -> str:
    """Resource that an amount is of, by the table that it stands in; "" where that is unclear."""
    for phase in program.phase:
        for own, resource in phase.resources.items():
            if name == own or name.endswith(f".{own}"):
                return resource
    *tables, key = name.split(".")
    if "capacities" in tables:
        return CAPACITIES.get(key, "communication")
    named = [x for x in tables if x in OWN_TABLES]
    return OWN_TABLES[named[-1]] if named else TABLES.get(tables[0], "") if tables else ""


def times_of(
    program: Program,
    machine: Machine,
    at: Mapping[str, Array],
    changes: Sequence[Change],
    own: Mapping[str, Array],
) -> Array:
    """Times with each change at one point, all computed together: (samples, changes) [s].

    `own` are factors of the sets of amounts, (samples, 1) each.
    """
    point = dict(at)
    for name in {name for change in changes for name in change.factors}:
        factor = np.array([change.factors.get(name, 1.0) for change in changes])
        if name == "p":
            point[name] = np.asarray(at[name]) * factor
        elif name != "d":
            point[f"{name}*"] = factor * own.get(f"{name}*", 1.0)
    point = dict(with_servers(machine, {**own, **point}))
    point["d"] = point["d"] * np.array([change.factors.get("d", 1.0) for change in changes])
    samples = max((len(x) for x in own.values()), default=1)
    time = program.times(machine, point).time
    return np.broadcast_to(time, (samples, len(changes)))
