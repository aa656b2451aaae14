"""Result of `compare`: the ratio of the times of two versions by count, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parcast.aliases import Array
from parcast.deciding.compare.changes import PartChange
from parcast.deciding.compare.ratios import Ratios
from parcast.saved.call import Call
from parcast.show.outline import columns_of
from parcast.show.result import Result
from parcast.timings.measure import Measure


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class VersionComparison(Result):
    """Times of two versions of a program beside each other."""

    _schema = "parcast/compare/1"
    _axes = "*base_s"
    _outline = """
        verdict rows interval changes base=names.base new=names.new measured?=measure.rated
        warnings inputs call?
    """
    _picture = "parcast.deciding.compare.picture:figure_of"
    _sheet = "parcast.deciding.compare.compared_sheet:sheet_of"
    _row: ClassVar[str] = "probability"

    ratios: Ratios
    probability: Array  # of such a difference anywhere if there is none, for all rows together [1]
    changes: tuple[PartChange, ...]  # of each kind of work; () with fewer than three counts
    names: Mapping[str, str]  # what `base` and `new` are: measured or forecast times
    measure: Measure  # what the times are
    verdict: str  # the answer in a sentence
    warnings: tuple[str, ...]
    interval: float = 0.9  # nominal coverage of the intervals [1]
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    call: Call | None = None  # what made it: for `parcast.load`

    @property
    def visible(self) -> None:
        """`None`: a comparison does not say what it can see."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each count and call path."""
        return self.ratios.rows(**columns_of(self, self._row))

    def __repr__(self) -> str:
        """Say the range of the ratios in one line."""
        known = self.ratios.ratio[np.isfinite(self.ratios.ratio)]
        return f"VersionComparison({len(known)} ratios: {known.min():.3g} to {known.max():.3g})"
