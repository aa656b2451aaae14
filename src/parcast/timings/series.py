"""Timings grouped into series: how the time of one thing goes with the processors.

A series is what a forecast is made from: one program region on one machine at one problem size,
with the median time at each number of processors and how far repetitions of it lie apart.
Thousands of series are grouped at once, without a loop over their rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument, ParameterError, selection
from parcast.numerics import distinct
from parcast.words import whole

Key = Mapping[str, str | float]  # {"machine": "T3E", "n": 64.0}: which series


SD_PER_MAD = 1.4826  # of a normal distribution: makes the median deviation comparable to an sd
SPREAD_OF_LAWS: Final = 0.05  # standard deviation of log(time) [D]
MOST_SPREAD: Final = 10.0  # a larger deviation says no more
SAMPLE: Final = 4096  # values that may show all that a column has
SPARSE: Final = 8  # numbers for each that is there, up to which a table of all of them is made
LONG_RUNS: Final = 16  # values, from which each run is sorted by itself
MOST_PADDED: Final = 20_000_000  # series times the most points of one: 32 bytes each


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

    @property
    def shows_spread(self) -> NDArray[np.bool_]:
        """Where repetitions or a known deviation give the spread, (series, counts).

        A deviation of 0 tells nothing: programs write it for the mean of a single run.
        """
        return (self.repetitions > 1) | (self.spread > 0)

    @property
    def weight(self) -> NDArray[np.float64]:
        """How much each point counts in a fit: less where a mean has a large deviation.

        1/(1 + (spread/0.05)^2) of means, with 5% as the error that laws have anyway [D]; 1 of
        medians of repetitions, whose few values tell their spread too roughly, (series, counts).
        """
        known = np.where(self.repetitions > 1, 0.0, np.nan_to_num(self.spread))
        return 1 / (1 + (known / SPREAD_OF_LAWS) ** 2)

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
    deviation: NDArray[np.float64] | None = None,
) -> Series:
    """Group timings by the columns named in `by`, and repetitions by their number of processors.

    `p`, `time` and its `deviation` [s] are arrays of shape (rows,), as is each of `columns`: text
    as objects, axes as floats. Series come in the order in which their labels first appear, and
    of the same labels by their numbers. Text that is not in `by` must not differ within a series,
    an axis not within one `p`; it may follow `p`, as under weak scaling the problem grows with
    the processors.
    """
    series_of_row, first_row = number_groups([columns[name] for name in by], len(p))
    code, values = _codes(p)
    code += series_of_row * len(values)  # of all of these arrays, few are in memory at a time
    point = _dense(code, len(first_row) * len(values))
    del code
    repetitions = np.bincount(point)
    start = np.cumsum(repetitions) - repetitions
    order = _order_of(point, len(start))
    del point
    row = series_of_row[order[start]]
    del series_of_row
    for name in [name for name in columns if name not in by]:
        column = columns[name][order]
        differs = _is_new(column)
        differs[start[_is_new(row)] if column.dtype == object else start] = False
        _refuse_folding(name, column, differs, by)

    known = None if deviation is None else _known_spread(deviation[order], time[order], start)
    p, ordered = p[order[start]], time[order]
    del order
    ordered = _sorted_within(ordered, start, repetitions)
    median = _medians(ordered, start, repetitions)
    np.log(ordered, out=ordered)
    ordered -= np.repeat(_medians(ordered, start, repetitions), repetitions)
    np.abs(ordered, out=ordered)  # deviations
    ordered = _sorted_within(ordered, start, repetitions)
    spread = SD_PER_MAD * _medians(ordered, start, repetitions)
    if known is not None:
        spread = np.fmax(spread, known)

    count = np.bincount(row)
    place = np.arange(len(start)) - np.repeat(np.cumsum(count) - count, count)
    shape = (len(count), int(count.max()))
    if shape[0] * shape[1] > MOST_PADDED:
        raise ParameterError(
            "series",
            must=f"fit into a table of {MOST_PADDED:,} places",
            got=f"{shape[0]:,} series, one of which has {shape[1]:,} processor counts",
            hint="Put series with many counts into a file of their own.",
        )

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
        p=padded(p, np.nan),
        time=padded(median, np.nan),
        repetitions=padded(repetitions, 0),
        spread=padded(spread, np.nan),
    )


def _known_spread(
    deviation: NDArray[np.float64], time: NDArray[np.float64], start: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Largest standard deviation of log(time) that means at each point have; NaN if untold."""
    return np.minimum(np.fmax.reduceat(deviation / time, start), MOST_SPREAD)


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
    """Count up the distinct rows of `columns`; say where each first is.

    Labels come as they first appear, and within these numbers in their order.

    >>> number_groups([np.array([3.0, 5, 3, 1])], 4)
    (array([1, 2, 1, 0]), array([3, 0, 1]))
    """
    group = np.zeros(rows, dtype=np.intp)
    labels = [column for column in columns if column.dtype == object]
    group = _grouped(group, labels)
    if labels:
        group = np.argsort(np.argsort(_first_rows(group)))[group]
    group = _grouped(group, [column for column in columns if column.dtype != object])
    return group, _first_rows(group)


def _grouped(group: NDArray[np.intp], columns: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
    """Divide groups by further columns, in the order of their codes."""
    for column in columns:
        code, values = _codes(column)
        group = _dense(group * len(values) + code, (int(group.max()) + 1) * len(values))
    return group


def _first_rows(group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where each group first is."""
    first_row = np.empty(int(group.max()) + 1, dtype=np.intp)
    first_row[group[::-1]] = np.arange(len(group) - 1, -1, -1)  # of equal ones the last is kept
    return first_row


def _codes(column: NDArray[Any]) -> tuple[NDArray[np.intp], Sequence[Any] | NDArray[Any]]:
    """Stand a small whole number for each distinct value, of numbers in their order."""
    if column.dtype == object:
        names = column.tolist()
        place = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return np.fromiter(map(place.__getitem__, names), np.intp, len(names)), list(place)
    few = distinct(column[:SAMPLE])  # which may be all that there are
    code = np.searchsorted(few[1:], column, side="right")
    if np.array_equal(few[code], column):
        return code, few
    values, code = np.unique(column, return_inverse=True)
    return code, values


def _dense(code: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Number those of the whole numbers below `size` that there are, in their order."""
    if size > SPARSE * len(code):
        return np.unique(code, return_inverse=True)[1]
    is_there = np.zeros(size, dtype=bool)
    is_there[code] = True
    return code if is_there.all() else (np.cumsum(is_there) - 1)[code]


def _order_of(code: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Give the order by whole numbers below `count`, which is quick where they are few."""
    return np.argsort(code.astype(np.uint16) if count <= 2**16 else code, kind="stable")


def _sorted_within(
    values: NDArray[np.float64], start: NDArray[np.intp], count: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Sort each run of `count` values that begins at `start`, in place where runs are long."""
    if len(values) > LONG_RUNS * len(start):
        for first, last in zip(start.tolist(), (start + count).tolist(), strict=True):
            values[first:last].sort()
        return values
    return values[np.lexsort((values, np.repeat(np.arange(len(start)), count)))]


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
