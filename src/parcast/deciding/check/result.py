"""Result of `check`: each cell with its ratio, what could be seen, and whether it is slower."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.check.gate import Gate, GateRule
from parcast.deciding.compare.ratios import Ratios
from parcast.saved.call import Call
from parcast.show.outline import columns_of
from parcast.show.result import Result
from parcast.timings.measure import Measure

REGRESSION, AGAIN, NONE, PLAN = "regression", "measure again", "no regression", "not measured yet"
TOLERATED, CANNOT_TELL = "tolerated", "cannot tell"
UNSEEN: Final = 1.0  # smallest slowdown that is found, above which no answer is given [1] [D]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RegressionCheck(Result):
    """Whether a new version is slower than a base, for all counts and call paths together."""

    _schema = "parcast/check/1"
    _axes = "*base_s"
    _outline = """
        answer verdict rows level=rule.level confirm=rule.confirm tolerated=rule.tolerated
        between between_known measured?=measure.rated warnings inputs call?
    """
    _picture = "parcast.deciding.compare.picture:figure_of"
    _row: ClassVar[str] = "visible probability result"

    ratios: Ratios
    visible: Array  # smallest slowdown that is found with a probability of 95% [1]
    rule: GateRule
    gate: Gate | None  # None without new runs
    between: float  # standard deviation of log time among sessions [1]
    between_known: bool  # whether several sessions of a version tell it; else 1% is assumed
    measure: Measure  # what the times are
    verdict: str  # the answer in a sentence
    warnings: tuple[str, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    call: Call | None = None  # what made it: for `parcast.load`

    @property
    def answer(self) -> str:
        """`regression`, `no regression`, `measure again`, `cannot tell` or `not measured yet`.

        It cannot tell where it would not have found a program that takes twice as long.
        """
        return answer_of(self.gate, self.ratios, self.visible / (1 + self.rule.tolerated))

    @property
    def regressed(self) -> bool:
        """Whether anything is slower."""
        return self.answer == REGRESSION

    @property
    def probability(self) -> Array | None:
        """Probability of such a slowdown anywhere if nothing changed; None without runs [1]."""
        return (
            None
            if self.gate is None
            else np.where(self.ratios.in_both, self.gate.probability, np.nan)
        )

    @property
    def result(self) -> NDArray[np.object_]:
        """`slower`, `faster`, `tolerated`, `measure again`, `no change seen` or `not compared`."""
        return results_of(self.ratios, self.gate)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each count and call path."""
        return self.ratios.rows(**columns_of(self, self._row))

    def __repr__(self) -> str:
        """Say the answer in one line."""
        return f"RegressionCheck({self.answer}: {len(self.ratios)} cells)"


def answer_of(gate: Gate | None, ratios: Ratios, visible: Array) -> str:
    """Name the answer of a gate; `visible` are the slowdowns that are found at each cell [1]."""
    if gate is None:
        return PLAN
    if gate.is_slower.any():
        return REGRESSION
    if gate.waits.any():
        return AGAIN
    seen = visible[ratios.in_both & ~gate.is_faster]
    is_seen = seen.min() <= UNSEEN if seen.size else gate.is_faster.any()
    return NONE if is_seen else CANNOT_TELL


def results_of(ratios: Ratios, gate: Gate | None) -> NDArray[np.object_]:
    """Name what is decided of each cell."""
    if gate is None:
        return np.full(len(ratios), "", dtype=object)
    names = np.full(len(ratios), "no change seen", dtype=object)
    for some, name in (
        (gate.is_tolerated, TOLERATED),
        (gate.is_faster, "faster"),
        (~ratios.in_both, "not compared"),
        (gate.waits, AGAIN),
        (gate.is_slower, "slower"),
    ):
        names[some] = name
    return names
