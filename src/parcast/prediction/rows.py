"""Rows of a prediction as texts: which points are shown, in which order, in which unit."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10, prod
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.descriptions.breakdown import COMPONENTS
from parcast.prediction.result import Prediction
from parcast.show.sheet import Column
from parcast.units import TIME_UNITS
from parcast.words import (
    axis_value,
    common_unit,
    rounded,
    rounded_interval,
    supported_digits,
    whole_percent,
)

MOST_ROWS: Final = 60  # shown unless all are asked for
MOST_DIGITS: Final = 3  # of a time; a law is not known to more, whatever its parameters are
SHORT: Final = {  # what time is spent on, in a column's title
    "compute": "compute",
    "communication": "comm.",
    "io": "I/O",
    "synchronisation": "waiting",
}
Indices = NDArray[np.intp]
Points = tuple[Indices, ...]  # one index for each axis and point


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One point, as texts."""

    axes: Mapping[str, str]  # those with several values
    time: str
    lower: str  # "" where there is no interval
    upper: str
    speedup: str
    efficiency: str  # [%]
    shares: tuple[str, ...]  # of the time, in the order of the components [%]
    limited_by: str


def varied_axes(prediction: Prediction) -> list[str]:
    """Axes with several values, that of the rows last: p, if it has several."""
    names = [name for name, values in prediction.axes.items() if len(values) > 1]
    return [*names[1:], *names[:1]]


def fixed_axes(prediction: Prediction) -> str:
    """Say what the axes with one value are: ", d = 3"."""
    return "".join(
        f", {name} = {axis_text(prediction, name, 0)}"
        for name, values in prediction.axes.items()
        if len(values) == 1
    )


def axis_text(prediction: Prediction, name: str, i: int) -> str:
    """Write a value of an axis, with its unit."""
    return axis_value(float(prediction.axes[name][i]), prediction.dimensions.get(name, "count"))


def axis_column(name: str, cells: Sequence[str]) -> Column:
    """Column of an axis, a long name in two lines."""
    table, dot, key = name.rpartition(".")
    return Column(title=f"{table}{dot}" or key, unit=key if dot else "", cells=cells, heading=name)


def points_of(prediction: Prediction, chosen: Mapping[str, Sequence[int]] | None = None) -> Points:
    """Indices of the points, the axis of the rows fastest, of some values of some axes only."""
    order = varied_axes(prediction)
    order = [*(name for name in prediction.axes if name not in order), *order]
    kept = [
        np.asarray((chosen or {}).get(name, range(len(prediction.axes[name]))), dtype=np.intp)
        for name in order
    ]
    grid = dict(zip(order, np.meshgrid(*kept, indexing="ij"), strict=True))
    return tuple(grid[name].ravel() for name in prediction.axes)


def spread_out(values: NDArray[np.float64], most: int) -> list[int]:
    """Indices of some of many values, the first and the last among them.

    Those that double, if they are all there; else as even as may be, in logarithms if they grow.

    >>> spread_out(np.arange(1.0, 4097.0), 60)[:5]
    [0, 1, 3, 7, 15]
    >>> spread_out(np.arange(0.0, 10.0), 4)
    [0, 3, 6, 9]
    """
    count = len(values)
    if count <= most:
        return list(range(count))
    if values[0] <= 0 or (np.diff(values) <= 0).any():
        return _each_once(np.round(np.linspace(0, count - 1, most)))
    doublings = floor(np.log2(values[-1] / values[0]) * (1 + 1e-12)) + 1
    wanted = values[0] * 2.0 ** np.arange(doublings)
    there = np.minimum(np.searchsorted(values, wanted * (1 - 1e-9)), count - 1)
    if doublings < most and np.allclose(values[there], wanted, rtol=1e-9):
        return _each_once([*there, count - 1])
    wanted = np.geomspace(values[0], values[-1], most)
    return _each_once([0, *np.searchsorted(values, wanted[1:-1]), count - 1])


def _each_once(indices: ArrayLike) -> list[int]:
    """Sort indices and drop those that occur twice."""
    return [int(i) for i in np.unique(np.asarray(indices))]


def rows_of(prediction: Prediction, points: Points) -> tuple[str, list[Row]]:
    """Rows of some points as texts, and the unit that their times share."""
    times = prediction.time[points].tolist()
    unit = common_unit(times)
    axes = {
        name: [axis_text(prediction, name, i) for i in range(len(prediction.axes[name]))]
        for name in varied_axes(prediction)
    }
    place = {name: points[i].tolist() for i, name in enumerate(prediction.axes)}
    limited_by = limits_at(prediction, points).tolist()
    columns = zip(
        times,
        _ends(prediction.lower, points, times),
        _ends(prediction.upper, points, times),
        prediction.speedup[points].tolist(),
        prediction.efficiency[points].tolist(),
        zip(*_shares(prediction, points), strict=True),
        limited_by,
        strict=True,
    )
    second = TIME_UNITS[unit]
    has_interval = prediction.interval is not None
    rows = []
    for k, (time, lower, upper, speedup, efficiency, shares, limit) in enumerate(columns):
        digits = min(supported_digits(lower, upper), MOST_DIGITS)
        texts = (time_text(time / second), "", "")
        if has_interval:
            ends = lower / second, upper / second
            texts = rounded_interval(time / second, *ends, most=MOST_DIGITS)
        rows.append(
            Row(
                axes={name: axes[name][place[name][k]] for name in axes},
                time=texts[0],
                lower=texts[1],
                upper=texts[2],
                speedup=rounded(speedup, digits),
                efficiency=rounded(100 * efficiency, digits),
                shares=tuple(map(whole_percent, shares)),
                limited_by=SHORT[COMPONENTS[limit]],
            )
        )
    return unit, rows


def time_text(time: float) -> str:
    """Text of a time without an interval: three digits, and all those before the point.

    >>> time_text(3.14159), time_text(1234.5), time_text(0.00012345)
    ('3.14', '1234', '0.000123')
    """
    return rounded(time, min(max(floor(log10(time)) + 1, MOST_DIGITS), 7))


def limits_at(prediction: Prediction, points: Points) -> Indices:
    """Tell which component takes most of the time at some points."""
    return np.asarray(np.argmax([x[points] for _, x in prediction.breakdown.components()], axis=0))


def blocks_of(prediction: Prediction) -> int:
    """Count the lines of points along the axis of the rows."""
    return prod(len(prediction.axes[name]) for name in varied_axes(prediction)[:-1])


def _ends(end: NDArray[np.float64] | None, points: Points, times: list[float]) -> Sequence[float]:
    """Ends of the interval at some points; the times where there is none."""
    return times if end is None else end[points].tolist()


def _shares(prediction: Prediction, points: Points) -> Iterator[list[float]]:
    """Give the share of the time that each component takes at some points."""
    time = prediction.time[points]
    for _, component in prediction.breakdown.components():
        yield (component[points] / time).tolist()
