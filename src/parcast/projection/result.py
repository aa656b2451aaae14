"""Results of `project`: times on a machine with their intervals, and what they consist of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.show.outline import columns_of, table_rows
from parcast.show.result import Result
from parcast.words import listed, whole

PARTS: Final = ("compute", "imbalance", "startups", "pairs", "shared", "collectives")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedProjection(Result):
    """Times of a counted program on a machine; arrays have one element for each `p`."""

    _schema = "parcast/counted-projection/1"
    _axes = "*time_s"
    _outline = "rows interval pace pace_from donors program machine warnings"
    _row: ClassVar[str] = (
        "machine p# time_s lower_s upper_s compute_s=parts.compute imbalance_s=parts.imbalance "
        "startups_s=parts.startups pairs_s=parts.pairs shared_s=parts.shared "
        "collectives_s=parts.collectives donors_factor=factor"
    )

    interval: ClassVar[float] = 0.9  # probability of the intervals [1]

    p: Array  # processors [1]
    time: Array  # projected time [s]
    lower: Array  # lower end of its 90% interval [s]
    upper: Array  # upper end of it [s]
    parts: Mapping[str, Array]  # parts of the time, before the correction by donors [s]
    factor: Array  # by which donors change the time of the model [1]
    pace: float  # time on the machine for a second where it was counted [1]
    pace_from: str  # what the pace is based on, in words
    donors: Mapping[str, Array]  # share of each in the correction [1]
    program: str
    machine: str  # name of the machine
    warnings: tuple[str, ...] = field(default=())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each processor count."""
        return table_rows(columns_of(self, self._row), np.shape(self.p), counts=["p"])

    def __repr__(self) -> str:
        """Say in one line what was projected."""
        counts = listed(str(whole(x)) for x in self.p.tolist())
        return f"CountedProjection({self.program} on {self.machine}: p = {counts})"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Projection(Result):
    """Times of a base machine projected onto another; arrays have one element for each `p`."""

    _schema = "parcast/projection/1"
    _axes = "*time_s"
    _outline = "rows interval ratio ratio_from program base target half_widths=widths warnings"
    _row: ClassVar[str] = "machine=target p# time_s lower_s upper_s scaled_s communication_s io_s"
    _sheet = "parcast.projection.sheet:sheet_of_ratio"

    interval: ClassVar[float] = 0.9  # probability of the intervals [1]

    p: Array  # processors [1]
    time: Array  # projected time [s]
    lower: Array  # lower end of its 90% interval [s]
    upper: Array  # upper end of it [s]
    scaled: Array  # part that was scaled by the ratio [s]
    communication: Array | None  # part computed for the target; None: no call path is known [s]
    ratio: float  # kappa, time here over that on the base machine [1]
    ratio_from: str  # what it is based on, in words
    widths: Mapping[str, Array]  # half-widths of log time by what they come from [1]
    base: str  # machine whose times are scaled
    target: str  # machine that is projected onto
    warnings: tuple[str, ...] = field(default=())
    io: Array | None = None  # part of files, computed for the target; None: not known [s]
    axes: Mapping[str, float] = field(default_factory=dict)  # besides p, such as n [1]
    program: str = "a program"

    def __repr__(self) -> str:
        """Say in one line what was projected."""
        counts = listed(str(whole(x)) for x in self.p.tolist())
        return f"Projection({self.program} on {self.target}, from {self.base}: p = {counts})"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one tidy row for each count."""
        columns = columns_of(self, self._row)
        columns = {"machine": self.target, "p": self.p, **self.axes} | columns
        return table_rows(columns, np.shape(self.p), counts=["p", *self.axes])
