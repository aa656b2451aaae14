"""Time by what it is spent on: the result of every timing law.

    e_r = d ln T / d ln s_r        s_r: all service times of resource r

e_r is the elasticity of the time: a resource that is 1% faster saves e_r %. Times are sums of
service times, largest ones and waits for them, so that they are twice as long where every service
is, and the elasticities add up to 1 (Euler). What is waited for has the waiting: in a long queue
at the network it is the network that limits, however short each transfer is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point

RESOURCES: Final = ("compute", "communication", "io")
COMPONENTS: Final = (*RESOURCES, "synchronisation")
TABLES: Final = {  # of a machine: the resource whose speed they give
    "compute": "compute",
    "network": "communication",
    "primitives": "communication",
    "storage": "io",
}
LONGER: Final = {"time": 1.0, "rate": -1.0, "operation_rate": -1.0}  # where a resource is slower
STEP: Final = 1e-4  # of a logarithm, for differences


def _nothing() -> Array:
    return np.zeros(())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Breakdown:
    """Time of a phase or a program, by what it is spent on; arrays that broadcast together."""

    compute: Array  # computing, the mean over processors [s]
    communication: Array = field(default_factory=_nothing)  # sending, and waiting for it [s]
    io: Array = field(default_factory=_nothing)  # disks, and waiting for them [s]
    synchronisation: Array = field(default_factory=_nothing)  # waiting for the slowest [s]

    @property
    def time(self) -> Array:
        """All of it [s]."""
        return np.asarray(self.compute + self.communication + self.io + self.synchronisation)

    def components(self) -> Iterator[tuple[str, Array]]:
        """Give each component with its name."""
        for name in COMPONENTS:
            yield name, getattr(self, name)

    def causes(self) -> Iterator[tuple[str, Array]]:
        """Give the time by the resource that takes it: waiting for the slowest is computing."""
        yield "compute", np.asarray(self.compute + self.synchronisation)
        yield "communication", self.communication
        yield "io", self.io

    def __add__(self, other: "Breakdown") -> "Breakdown":
        """One after the other."""
        return Breakdown(**{name: x + getattr(other, name) for name, x in self.components()})

    def __mul__(self, cycles: Array) -> "Breakdown":
        """Several times the same."""
        return Breakdown(**{name: x * cycles for name, x in self.components()})


def fault_of(given: object, grid: tuple[int, ...]) -> str:
    """Say why something is no time at the points of a grid of this shape; "" if it is one."""
    if not isinstance(given, Breakdown):
        return f"{type(given).__name__} in place of a Breakdown"
    for name, part in given.components():
        try:
            values = np.asarray(part, dtype=np.float64)
            fits = np.broadcast_shapes(values.shape, grid) == grid
        except (TypeError, ValueError):  # no numbers, or a shape that goes with nothing
            fits = False
        if not fits:
            return f"{name} of the shape {np.shape(part)} on a grid of {grid}"
        wrong = ~(values >= 0)  # NaN as well
        if wrong.any():
            return f"{name} of {values[wrong].flat[0]:g} s"
    return ""


def slopes_by_differences(
    times: Callable[[Point], Breakdown],
    at: Point,
    amounts: Iterable[Amount],
    own: Mapping[str, str],
) -> Breakdown:
    """Derivatives of a time by the logarithms of the service times of each resource [s].

    `amounts` are those that give speeds, and `own` names the resource of those that no table of a
    machine does. What follows none of them is of the parts of the time that they leave over, and
    waiting is computing there.
    """
    scales: dict[str, dict[str, float]] = {name: {} for name in RESOURCES}
    for amount in amounts:
        resource = own.get(amount.name) or TABLES.get(amount.name.partition(".")[0])
        if resource and amount.dimension in LONGER:
            scales[resource][f"{amount.name}*"] = np.exp(-STEP * LONGER[amount.dimension])
    parts = times(at)
    slopes = {
        name: _slope(times, parts.time, at, scale) if scale else np.zeros(())
        for name, scale in scales.items()
    }
    rest = np.maximum(parts.time - sum(slopes.values()), 0.0)
    gaps = {name: np.maximum(part - slopes[name], 0.0) for name, part in parts.causes()}
    total = sum(gaps.values(), start=np.zeros(()))
    left = np.where(total > 0, rest / np.where(total > 0, total, 1.0), 0.0)
    return Breakdown(**{name: slopes[name] + left * gaps[name] for name in RESOURCES})


def _slope(
    times: Callable[[Point], Breakdown], time: Array, at: Point, scale: Mapping[str, float]
) -> Array:
    """Derivative by one resource, from its being a little faster."""
    faster = {name: np.asarray(at.get(name, 1.0)) * factor for name, factor in scale.items()}
    return np.asarray((time - times({**at, **faster}).time) / -np.expm1(-STEP))
