"""Timings grouped into series: how the time of one thing goes with the processors.

A series is what a forecast is made from: one program region on one machine at one problem size,
with the median time at each number of processors and how far repetitions of it lie apart.
Thousands of series are grouped at once, without a loop over their rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument, ParameterError, selection
from parcast.words import whole

Key = Mapping[str, str | float]  # {"machine": "T3E", "n": 64.0}: which series


SD_PER_MAD = 1.4826  # of a normal distribution: makes the median deviation comparable to an sd


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Series:
    """Median times by number of processors, one row a series, padded on the right.

    Made by `Measurements.series`. Row `i` holds `count[i]` points; what stands to the right of
    them is padding. All arrays are read-only.
    """

    by: tuple[str, ...]  # the columns whose values tell the series apart
    keys: list[dict[str, str | float]]  # their values, one dict a series
    count: NDArray[np.int64]  # points of each series, shape (series,) [1]
    p: NDArray[np.float64]  # processors, ascending; NaN as padding, shape (series, counts) [1]
    time: NDArray[np.float64]  # median over the repetitions; NaN as padding [s]
    repetitions: NDArray[np.int64]  # timings behind each median; 0 as padding [1]
    spread: NDArray[np.float64]  # robust sd of log(time) at each p; NaN as padding [1]

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.keys)

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "Series":
        """Keep some of the series, by a mask, their numbers or a slice."""
        place = np.arange(len(self))[rows].tolist()
        columns = ("count", "p", "time", "repetitions", "spread")
        kept = {name: getattr(self, name)[rows] for name in columns}
        return replace(self, keys=[self.keys[i] for i in place], **kept)

    def __repr__(self) -> str:
        """Say how many series there are and what tells them apart."""
        apart = f" by {', '.join(self.by)}" if self.by else ""
        return f"Series({len(self)}{apart}, up to {self.p.shape[1]} values of p)"


def group_into_series(
    columns: Mapping[str, NDArray[Any]],
    *,
    by: Sequence[str],
    p: NDArray[np.float64],
    time: NDArray[np.float64],
) -> Series:
    """Group timings by the columns named in `by`, and repetitions by their number of processors.

    `p` and `time` [s] are arrays of shape (rows,), as is each of `columns`: text as objects, axes
    as floats. Series come in the order in which the combinations of `by` first appear. Text that
    is not in `by` must not differ within a series, an axis not within one `p`; it may follow `p`,
    as under weak scaling the problem grows with the processors.
    """
    series_of_row, first_row = number_groups([columns[name] for name in by], len(p))
    order = np.lexsort((time, p, series_of_row))
    series_of_row, p, time = series_of_row[order], p[order], time[order]
    new_series = _is_new(series_of_row)
    new_point = new_series | _is_new(p)
    for name in [name for name in columns if name not in by]:
        column = columns[name]
        boundary = new_series if column.dtype == object else new_point
        _refuse_folding(name, column, _is_new(column[order]) & ~boundary, by)

    start = np.flatnonzero(new_point)
    repetitions = np.diff(np.append(start, len(p)))
    point_of_row = np.cumsum(new_point) - 1
    log_time = np.log(time)
    deviation = np.abs(log_time - _medians(log_time, start, repetitions)[point_of_row])
    deviation = deviation[np.lexsort((deviation, point_of_row))]
    spread = SD_PER_MAD * _medians(deviation, start, repetitions)

    row = series_of_row[start]
    count = np.bincount(row)
    place = np.arange(len(start)) - np.repeat(np.cumsum(count) - count, count)
    shape = (len(count), int(count.max()))

    def padded(values: NDArray[Any], padding: float) -> NDArray[Any]:
        table = np.full(shape, padding, dtype=values.dtype)
        table[row, place] = values
        table.setflags(write=False)
        return table

    count.setflags(write=False)
    values = [columns[name][first_row].tolist() for name in by]
    return Series(
        by=tuple(by),
        keys=[dict(zip(by, key, strict=True)) for key in zip(*values, strict=True)] or [{}],
        count=count,
        p=padded(p[start], np.nan),
        time=padded(_medians(time, start, repetitions), np.nan),
        repetitions=padded(repetitions, 0),
        spread=padded(spread, np.nan),
    )


def follows_p(
    column: NDArray[np.float64], *, p: NDArray[np.float64], labels: Sequence[NDArray[Any]]
) -> bool:
    """Whether an axis has one value for each `p` and one `p` for each value, for equal labels.

    Such an axis does not tell series apart: it is the problem size of a weak-scaling study, or
    the nodes that go with the processors.
    """
    pairs, by_p, by_value = (
        len(number_groups([*labels, *columns], len(p))[1])
        for columns in ((p, column), (p,), (column,))
    )
    return pairs == by_p == by_value


def number_groups(
    columns: Sequence[NDArray[Any]], rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Count up the distinct rows of `columns` as they first appear; say where each first is.

    >>> number_groups([np.array([3.0, 5, 3])], 3)
    (array([0, 1, 0]), array([0, 1]))
    """
    group = np.zeros(rows, dtype=np.intp)
    for column in columns:
        code = _codes(column)
        group = np.unique(group * (code.max() + 1) + code, return_inverse=True)[1]
    first_row = np.unique(group, return_index=True)[1]
    by_appearance = np.argsort(first_row)
    return np.argsort(by_appearance)[group], first_row[by_appearance]


def _codes(column: NDArray[Any]) -> NDArray[np.intp]:
    """Stand a small whole number for each distinct value."""
    if column.dtype != object:
        return np.unique(column, return_inverse=True)[1]
    names = column.tolist()
    code = {name: i for i, name in enumerate(dict.fromkeys(names))}
    return np.fromiter((code[name] for name in names), dtype=np.intp, count=len(names))


def _is_new(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark each element that differs from the one before it; the first is new."""
    return np.append(True, ordered[1:] != ordered[:-1])


def _medians(
    ordered: NDArray[np.float64], start: NDArray[np.intp], count: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Take the median of each run of `count` ascending values that begins at `start`."""
    low, high = ordered[start + (count - 1) // 2], ordered[start + count // 2]
    middle: NDArray[np.float64] = low + (high - low) / 2
    return middle


def _refuse_folding(
    name: str, column: NDArray[Any], differs: NDArray[np.bool_], by: Sequence[str]
) -> None:
    """Refuse to take different machines, callpaths or sizes for repetitions of one another."""
    if differs.any():
        values = list(dict.fromkeys(column.tolist()))
        raise ParameterError(
            "by",
            must="name every column that varies within a series",
            got=(
                Argument("named columns", by, python=str(list(by))),
                f" where {name} takes {len(values)} values",
            ),
            hint=(
                f"Add {name!r} to ",
                Argument("by"),
                ", or select one value: ",
                selection(name, values[0]),
                ".",
            ),
        )


def label_of(key: Key) -> str:
    """Name a series by the values of its key: ``T3E, n = 64``.

    >>> label_of({"machine": "T3E", "n": 64.0})
    'T3E, n = 64'
    """
    return ", ".join(
        value if isinstance(value, str) else f"{name} = {whole(value)}"
        for name, value in key.items()
    )
