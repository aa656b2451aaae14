"""Parts of times in a table with columns `metric,value`: rows of their own beside each time.

`parcast run` and `parcast validate` write them. A part belongs to the time that agrees in all
other columns; of rows that agree in these too, as repetitions without a number do, the first
belongs to the first.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.timings.columns import PARTS, part_unit
from parcast.timings.tables.header import ColumnMeaning
from parcast.timings.tables.values import beside_time

OF_PARCAST: Final = {  # what its programs write, in seconds
    "compute_max": "compute_s",
    "compute": "compute_s",
    "communication": "communication_s",
    "disk": "disk_s",
}
RUN: Final = "\0run"  # name of the column with the numbers of runs, which no file can have


def part_named(metric: str) -> ColumnMeaning | None:
    """Part of the time that a metric is; None where it is none."""
    found = (OF_PARCAST[metric], "s") if metric in OF_PARCAST else part_unit(metric)
    return ColumnMeaning(found[0], metric, found[1]) if found else None


class PartsOfRuns:
    """Parts of the times that were met so far, and the numbers of the runs that they belong to."""

    def __init__(self, decimal: str) -> None:
        self._decimal = decimal
        self._numbers: dict[tuple[tuple[str, ...], int], int] = {}
        self._met: Counter[tuple[str, tuple[str, ...]]] = Counter()  # rows of a metric and run
        self._seconds: dict[str, dict[int, float]] = {}

    def runs(self, metrics: Sequence[str], keys: Sequence[Sequence[str]]) -> list[int]:
        """Numbers of the runs that some rows are of, by the columns that tell runs apart."""
        numbers = []
        of_rows = zip(*keys, strict=True) if keys else [()] * len(metrics)
        for metric, key in zip(metrics, of_rows, strict=True):
            own = tuple(cell.strip() for cell in key)
            place = own, self._met[metric, own]
            self._met[metric, own] += 1
            numbers.append(self._numbers.setdefault(place, len(self._numbers)))
        return numbers

    def keep(
        self, metrics: Sequence[str], values: Sequence[str], runs: Sequence[int]
    ) -> Iterator[tuple[int, ColumnMeaning]]:
        """Keep the parts among some rows; give the rows whose values are none."""
        for metric in dict.fromkeys(metrics):
            if (column := part_named(metric)) is None:
                continue
            rows = [i for i, x in enumerate(metrics) if x == metric]
            seconds, bad = beside_time([values[i] for i in rows], column, decimal=self._decimal)
            yield from ((rows[i], column) for i in np.flatnonzero(bad))
            kept = self._seconds.setdefault(column.name, {})
            for i, value in zip(rows, seconds.tolist(), strict=True):
                kept.setdefault(runs[i], value)

    def columns(self, runs: NDArray[Any]) -> Mapping[str, NDArray[np.float64]]:
        """Parts of some runs, by their numbers, NaN where there is none. [s]."""
        return {
            name: np.array([self._seconds[name].get(int(i), np.nan) for i in runs])
            for name in PARTS
            if name in self._seconds
        }
