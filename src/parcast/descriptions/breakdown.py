"""Time by what it is spent on: the result of every timing law."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from parcast.aliases import Array

RESOURCES: Final = ("compute", "communication", "io")
COMPONENTS: Final = (*RESOURCES, "synchronisation")


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
        return Breakdown(
            compute=self.compute + other.compute,
            communication=self.communication + other.communication,
            io=self.io + other.io,
            synchronisation=self.synchronisation + other.synchronisation,
        )

    def __mul__(self, cycles: Array) -> "Breakdown":
        """Several times the same."""
        return Breakdown(
            compute=self.compute * cycles,
            communication=self.communication * cycles,
            io=self.io * cycles,
            synchronisation=self.synchronisation * cycles,
        )


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
