"""Forecast memory: of a rank and of all, with intervals, and the nodes that it fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.memory.curves import MemoryAt, MemoryCurve
from parcast.forecasting.memory.nodes import NodeMemory, NodesNeeded, need_of_node, running_out
from parcast.forecasting.memory.notes import MemoryNotes
from parcast.saved.call import Call
from parcast.show.outline import columns_of, table_rows
from parcast.show.result import Result
from parcast.show.warning import said_of, verdicts
from parcast.words import whole


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MemoryForecast(Result):
    """Forecast memory of a rank and of all ranks, with 90% intervals.

    The arrays have the shape of `p`; with columns that distinguish series (`by` is not empty), the
    series are one more axis, the first. What is not known is NaN.
    """

    _schema: ClassVar[str] = "parcast/memory-forecast/1"
    _axes = "*memory_B"
    _outline: ClassVar[str] = (
        "verdict rows interval *node nodes? warnings series=notes refused=_without_forecast "
        "inputs call?"
    )
    _row: ClassVar[str] = (
        "memory_B=memory memory_lower_B=lower memory_upper_B=upper memory_total_B=total "
        "memory_total_lower_B=total_lower memory_total_upper_B=total_upper reach "
        "measured_memory_B=observed measured_memory_total_B=observed_total "
        "node_B?=node_need out_of_memory?"
    )
    _sheet: ClassVar[str] = "parcast.forecasting.memory.sheet:sheet_of"
    _picture: ClassVar[str] = "parcast.forecasting.memory.picture:figure_of"

    p: Array  # processors asked for [1]
    memory: Array  # of the largest rank [B]
    lower: Array  # lower end of its interval [B]
    upper: Array  # upper end of its interval [B]
    total: Array  # of all ranks at a time [B]
    total_lower: Array  # lower end of its interval [B]
    total_upper: Array  # upper end of its interval [B]
    reach: Array  # how many times beyond the measured counts; 1 inside [1]
    observed: Array  # median of the largest rank measured there; `null` where none was [B]
    observed_total: Array  # median of all measured there; `null` where none was [B]
    by: tuple[str, ...]  # the columns that distinguish the series
    notes: tuple[MemoryNotes, ...]  # what the forecast of each series is based on
    refused: Mapping[str, str]  # label of each series without a forecast, and why
    curves: tuple[MemoryCurve | None, MemoryCurve | None]  # of a rank, and of all, at any count
    interval: float = 0.9  # nominal coverage of the intervals [1]
    node: NodeMemory | None = None  # what a node has, where it was given
    nodes: tuple[NodesNeeded, ...] = ()  # fewest of them that fit, one a series
    inputs: Mapping[str, Any] = field(default_factory=dict)  # files and options
    call: Call | None = None  # what made it: for `parcast.load`

    @property
    def node_need(self) -> Array | None:
        """Memory of the node that needs most [B]."""
        return None if self.node is None else self._need(self.node).value

    @property
    def out_of_memory(self) -> Array | None:
        """Probability that a node runs out of memory. [1]."""
        if self.node is None:
            return None
        return running_out(self.node.memory, self._need(self.node))

    def _need(self, node: NodeMemory) -> MemoryAt:
        rank = MemoryAt(self.memory, self.lower, self.upper)
        total = MemoryAt(self.total, self.total_lower, self.total_upper)
        both = (rank if self.curves[0] else None, total if self.curves[1] else None)
        return need_of_node(self.p, node.ranks, both)

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings of all series, each after the name of its series."""
        return tuple(
            said_of(note.label, text) if note.label else text
            for note in self.notes
            for text in note.warnings
        )

    @property
    def verdict(self) -> tuple[str, ...]:
        """What the answer is worth, said before it."""
        return tuple(verdicts(self.warnings))

    @property
    def _without_forecast(self) -> list[dict[str, str]]:
        """Series without a forecast: `series` and `why`."""
        return [{"series": name, "why": why} for name, why in self.refused.items()]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one tidy row for each series and count, with the keys of the JSON document."""
        shape = (len(self.notes), np.size(self.p))
        keys = {
            name: np.array([[note.key[name]] for note in self.notes], dtype=object)
            for name in self.by
        }
        values = {
            name: np.reshape(np.broadcast_to(x, self.memory.shape), shape)
            for name, x in columns_of(self, self._row).items()
        }
        rows = {**keys, "p": np.reshape(self.p, (1, -1)), **values}
        return table_rows(rows, shape, counts=(*keys, "p"))

    def __repr__(self) -> str:
        """Say how much was asked, in one line."""
        series = f"{len(self.notes)} series, " if self.by else ""
        counts = ", ".join(str(whole(x)) for x in np.ravel(self.p).tolist()[:6])
        return f"MemoryForecast({series}p = {counts}{', ...' if np.size(self.p) > 6 else ''})"
