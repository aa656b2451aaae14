"""Result of `simulate`: simulated times over a grid, and the times of the law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import Breakdown
from parcast.prediction.result import OnGrid
from parcast.queueing.simulation.rounds import LEVEL
from parcast.units import Dimension

INTERVAL: Final = LEVEL  # of a simulated mean


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Simulation(OnGrid):
    """Simulated mean times of a program on a machine, for every combination of its axes' values.

    Every array has one dimension for each axis, in their order.
    """

    _schema = "parcast/simulation/1"
    _outline = "rows interval precision seed simulated warnings law sources inputs program machine"
    _row: ClassVar[str] = (
        "time_s lower_s upper_s compute_s=breakdown.compute "
        "communication_s=breakdown.communication io_s=breakdown.io "
        "synchronisation_s=breakdown.synchronisation predicted_s difference cycles ended_by"
    )

    axes: Mapping[str, Array]  # "p", "d", "n", "network.bandwidth"; each of one dimension
    breakdown: Breakdown  # of the mean time [s]
    lower: Array  # lower end of the 90% interval of the mean of all such runs [s]
    upper: Array  # upper end of that interval [s]
    predicted: Array  # time by the law; NaN where the law has no answer [s]
    cycles: NDArray[np.intp]  # cycles of every group, all phases and replications together [1]
    ended_by: NDArray[np.str_]  # `precision`, `replications`, `most_cycles` or `most_seconds`
    # half width of the interval that was asked for, over the time; None without [1]
    precision: float | None
    seed: int  # of the random numbers
    simulated: tuple[str, ...]  # what was simulated, in words, one for each phase
    warnings: tuple[str, ...]
    law: str
    sources: tuple[str, ...]
    program: str  # their names
    machine: str
    interval: float = INTERVAL
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)  # of axes with a unit

    @property
    def difference(self) -> Array:
        """The law's time over the simulated one, less 1: above 0 where the law is too high [1]."""
        return np.asarray(self.predicted / self.time - 1.0)

    @property
    def reached(self) -> Array:
        """Half width of the interval over the time [1]."""
        return np.asarray((self.upper - self.time) / self.time)

    def __repr__(self) -> str:
        """Say what was simulated, in one line."""
        axes = ", ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        return f"Simulation({self.program} on {self.machine}: {axes})"
