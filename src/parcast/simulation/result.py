"""Result of `simulate`: simulated times over a grid, and the times of the law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import Breakdown
from parcast.prediction.result import OnGrid
from parcast.queueing.simulation.rounds import LEVEL
from parcast.units import Dimension
from parcast.words import whole

INTERVAL: Final = LEVEL  # of a simulated mean


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Simulation(OnGrid):
    """Simulated mean times of a program on a machine, for every combination of its axes' values.

    Every array has one dimension for each axis, in their order.
    """

    _sheet: ClassVar[str] = "parcast.simulation.sheet:sheet_of"

    axes: Mapping[str, Array]  # "p", "d", "n", "network.bandwidth"; each of one dimension
    breakdown: Breakdown  # of the mean time [s]
    lower: Array  # of the 90 % interval of the mean time: how far the simulation may be off [s]
    upper: Array  # [s]
    predicted: Array  # time by the law; NaN where the law has no answer [s]
    cycles: NDArray[np.intp]  # that every group went through, all phases and replications [1]
    ended_by: NDArray[np.str_]  # "precision", "replications", "most_cycles" or "most_seconds"
    precision: float | None  # requested half width of the interval, over the time [1]
    seed: int
    simulated: tuple[str, ...]  # what was simulated, in words, one for each phase
    warnings: tuple[str, ...]
    law: str
    sources: tuple[str, ...]
    program: str  # their names
    machine: str
    interval: float = INTERVAL
    inputs: Mapping[str, Any] | None = None  # files, what was asked: set by who reads
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)  # of axes with a unit

    @property
    def difference(self) -> Array:
        """The law's time over the simulated one, less 1: above 0 where the law is too high [1]."""
        return np.asarray(self.predicted / self.time - 1.0)

    @property
    def reached(self) -> Array:
        """Half width of the interval over the time [1]."""
        return np.asarray((self.upper - self.time) / self.time)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each point, the last axis fastest, as in the JSON document."""
        columns: dict[str, NDArray[Any]] = {
            "time_s": self.time,
            "lower_s": self.lower,
            "upper_s": self.upper,
            **{f"{name}_s": column for name, column in self.breakdown.components()},
            "predicted_s": self.predicted,
            "difference": self.difference,
            "cycles": self.cycles,
            "ended_by": self.ended_by,
        }
        for place in np.ndindex(self.shape):
            axes = {
                name: whole(float(values[i]))
                for (name, values), i in zip(self.axes.items(), place, strict=True)
            }
            yield axes | {name: _plain(column[place].item()) for name, column in columns.items()}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/simulation/1``."""
        return {
            "schema": "parcast/simulation/1",
            "rows": list(self.rows()),
            "interval": self.interval,
            "precision": self.precision,
            "seed": self.seed,
            "simulated": list(self.simulated),
            "warnings": list(self.warnings),
            "law": self.law,
            "sources": list(self.sources),
            "inputs": dict(self.inputs or {}),
            "program": self.program,
            "machine": self.machine,
        }

    def __repr__(self) -> str:
        """Say what was simulated, in one line."""
        axes = ", ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        return f"Simulation({self.program} on {self.machine}: {axes})"


def _plain(value: Any) -> Any:
    """Turn NaN, which no document has, into None."""
    return None if isinstance(value, float) and isnan(value) else value
