"""Result of `predict`: times over a grid of configurations, and what each is spent on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import RESOURCES, Breakdown
from parcast.laws.allowances import LawError
from parcast.saved.call import Call
from parcast.show.outline import columns_of, table_rows
from parcast.show.result import Result
from parcast.units import Dimension


class OnGrid(Result):
    """Times of a program at every combination of the values of some axes."""

    __slots__ = ()

    _axes = "*time_s"
    _row: ClassVar[str]  # outline of a row, but for the axes
    axes: Mapping[str, Array]
    dimensions: Mapping[str, Dimension]
    breakdown: Breakdown

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each point, the last axis fastest, as in the JSON document."""
        grid = np.meshgrid(*self.axes.values(), indexing="ij", copy=False)
        axes = dict(zip(self.axes, grid, strict=True))
        return table_rows(axes | columns_of(self, self._row), self.shape, counts=self.axes)

    @property
    def time(self) -> Array:
        """Time of the program [s]."""
        return self.breakdown.time

    @property
    def shape(self) -> tuple[int, ...]:
        """Values of each axis [1]."""
        return tuple(len(values) for values in self.axes.values())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prediction(OnGrid):
    """Predicted times of a program on a machine, for every combination of the values of its axes.

    The arrays have one dimension for each axis, in their order.
    """

    _schema = "parcast/forecast/1"
    _outline = """
        rows interval currency? law_error=law_errors limited_by=limits fastest warnings law sources
        inputs program machine scaling call?
    """
    _row: ClassVar[str] = (
        "time_s lower_s upper_s law_error compute_s=breakdown.compute "
        "communication_s=breakdown.communication io_s=breakdown.io "
        "synchronisation_s=breakdown.synchronisation speedup efficiency contention_free_s "
        "single_bus_s cost? cost_lower? cost_upper? compute_elasticity=elasticity.compute "
        "communication_elasticity=elasticity.communication io_elasticity=elasticity.io limited_by"
    )
    _picture = "parcast.prediction.picture:figure_of_prediction"

    axes: Mapping[str, Array]  # "p", "d", "n", "network.bandwidth"; each of one dimension
    breakdown: Breakdown  # [s]
    lower: Array | None  # lower end of its interval; None where there is none [s]
    upper: Array | None  # upper end of its interval [s]
    contention_free: Array | None  # time if every pair had a link of its own, w = 0 [s]
    single_bus: Array | None  # time if all shared one bus, w = 1 [s]
    speedup: Array  # over one processor and one disk; of the work, where `scaling` is `weak` [1]
    efficiency: Array  # speedup over `p` [1]
    scaling: str  # `strong`, or `weak` where the work grows with p
    limits: tuple[str, ...]  # the resource the time follows most and where that changes, in words
    warnings: tuple[str, ...]
    law: str
    sources: tuple[str, ...]
    program: str  # their names
    machine: str
    fastest: tuple[str, ...] = ()  # with how many processors, where more were asked for
    interval: float | None = None  # probability of the interval, 0.9
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)  # of axes with a unit
    cost: Array | None = None  # price of the run; None without a price [currency]
    cost_lower: Array | None = None  # lower end of its interval, of time and price [currency]
    cost_upper: Array | None = None  # upper end of its interval [currency]
    currency: str = ""  # of the cost, as the machine names it
    by_resource: Breakdown | None = None  # derivative of the time by each one's slowness [s]
    call: Call | None = None  # what made it, with the descriptions: for `parcast.load`
    # allowed for the error of the law in the interval, as +-; None where none is [1]
    law_error: Array | None = None
    # `least` and `most` that are allowed for each law and kind of platform [1]
    law_errors: tuple[LawError, ...] = ()

    @property
    def elasticity(self) -> Mapping[str, Array]:
        """By how many percent a resource that is 1% faster shortens the time [1].

        By resource: "compute", "communication" and "io", each with the shape of the grid.
        """
        known = self.by_resource
        slopes = self.breakdown.causes() if known is None else known.components()
        return {
            name: np.broadcast_to(slope / self.time, self.shape)
            for name, slope in slopes
            if name in RESOURCES
        }

    @property
    def limited_by(self) -> NDArray[np.str_]:
        """Resource with the largest elasticity of time, at every point."""
        most = np.argmax(np.stack(list(self.elasticity.values())), axis=0)
        return np.asarray(np.asarray(RESOURCES)[most])

    def __repr__(self) -> str:
        """Say what was predicted, in one line."""
        axes = ", ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        return f"Prediction({self.program} on {self.machine}: {axes})"
