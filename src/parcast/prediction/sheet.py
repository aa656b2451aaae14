"""A prediction as a sheet: a title, a table, facts and warnings.

There is one row for each point, as wide as the page allows. What does not fit is left out, the
least important first: axes other than that of the rows become titles above their rows, then
columns that others imply are omitted, and at last each row becomes a few lines. Many values of two
axes become a grid of times only, one axis down and one across, with a letter after each time that
names what limits it. Parts that are 0 everywhere have no column.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, product
from math import floor, log10, prod
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.prediction.notes import law_error_of
from parcast.prediction.result import OnGrid, Prediction
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, facts_of, interval_column
from parcast.units import TIME_UNITS
from parcast.words import (
    axis_value,
    common_unit,
    rounded,
    rounded_interval,
    supported_digits,
    whole_percent,
)

FEWEST_TITLED: Final = 4  # rows of a block that is worth a title
LAYOUTS: Final = (  # groups of columns, the first that fits is taken
    ("speedup", "efficiency", "cost", "shares"),
    ("speedup", "cost", "shares"),
    ("speedup", "efficiency", "cost", "limited by"),
    ("speedup", "cost", "limited by"),
    ("cost", "limited by"),
)
MOST_BLOCKS: Final = 4  # of rows with everything in them; more become a grid of times,
FEW_ROWS: Final = 20  # unless there are so few rows in all
Axis: TypeAlias = tuple[str, Sequence[int]]  # its name, and which of its values are shown
MOST_COLUMNS: Final = 12
FEWEST_ROWS: Final = 4  # of a block that is cut short
LETTERS: Final = {  # behind a time
    "compute": ("c", "computing"),
    "communication": ("m", "communication"),
    "io": ("i", "I/O"),
}
MOST_ROWS: Final = 60  # shown unless all are asked for
FAR: Final = 1000  # ratio of two times from which on each has its own unit
MOST_DIGITS: Final = 3  # of a time; a law is not known to more, whatever its parameters are
SHORT: Final = {  # what time is spent on, in a column's title
    "compute": "compute",
    "communication": "comm.",
    "io": "I/O",
    "synchronisation": "waiting",
}
Indices = NDArray[np.intp]
Points = tuple[Indices, ...]  # one index for each axis and point


def sheet_of(prediction: Prediction, *, show_all: bool = False) -> Sheet:
    """Everything that is said of a prediction; of many points some, unless all are asked for."""
    table, left_out = _table(prediction, show_all=show_all)
    return Sheet(
        title=title_of(prediction),
        tables=(table,),
        facts=tuple(_facts(prediction)),
        warnings=prediction.warnings,
        left_out=left_out,
    )


def title_of(prediction: Prediction) -> str:
    """Say what runs on what, and what is the same at every point."""
    return f"{prediction.program} on {prediction.machine}{fixed_axes(prediction)}"


def _table(prediction: Prediction, *, show_all: bool) -> tuple[Table, str]:
    """Give the table that suits the axes, and what it leaves out."""
    axes = varied_axes(prediction)
    blocks, along = blocks_of(prediction), len(prediction.axes[axes[-1]]) if axes else 1
    is_short = blocks * along <= (MOST_ROWS if blocks <= MOST_BLOCKS else FEW_ROWS)
    if show_all or is_short:
        return table_of(prediction, points_of(prediction)), ""
    if blocks == 1:
        kept = spread_out(prediction.axes[axes[-1]], MOST_ROWS)
        some = points_of(prediction, {axes[-1]: kept})
        left_out = f"{len(kept)} of {along} values of {axes[-1]} are shown. All of them"
        return table_of(prediction, some), left_out
    return grid_of(prediction), ""


def _facts(prediction: Prediction) -> Iterator[Fact]:
    """Give what limits the program, where it is fastest, what contention may do, and the law."""
    yield from facts_of("limited by", prediction.limits)
    yield from facts_of("fastest", prediction.fastest)
    if contention := _contention(prediction):
        yield Fact("contention", contention)
    yield Fact("law", "; ".join(prediction.sources or [prediction.law]))
    yield from facts_of("law error", law_error_of(prediction.law_errors))


def _contention(prediction: Prediction) -> str:
    """Say how much contention in the network may matter at the largest p."""
    free, bus = prediction.contention_free, prediction.single_bus
    if free is None or bus is None:
        return ""
    place = tuple(
        int(values.argmax()) if name == "p" else len(values) - 1
        for name, values in prediction.axes.items()
    )
    ends = [float(x[place]) for x in (free, bus)]
    is_far = min(ends) * FAR < max(ends)
    units = [common_unit([x] if is_far else ends) for x in ends]
    least, most = (
        f"{time_text(x / TIME_UNITS[unit])} {unit}" for x, unit in zip(ends, units, strict=True)
    )
    if least == most:
        return ""
    at = _at(prediction, dict(zip(prediction.axes, place, strict=True)))
    return f"{at}: {least} with a link for each pair of processors, {most} with one shared bus"


def _at(prediction: Prediction, place: Mapping[str, int]) -> str:
    """Name a point by its axes: "at p = 64, d = 3"."""
    named = [
        f"{name} = {axis_text(prediction, name, i)}"
        for name, i in place.items()
        if name == "p" or len(prediction.axes[name]) > 1
    ]
    return f"at {', '.join(named)}"


def table_of(prediction: Prediction, points: Points) -> Table:
    """Table of some points of a prediction, as `points_of` gives them."""
    varied = varied_axes(prediction)
    *blocks, along = varied or ["p"]
    cells = axis_cells(prediction, points)
    is_long = len(set(cells[along])) >= FEWEST_TITLED if blocks else False
    axes = {name: axis_column(name, cells[name]) for name in varied}
    columns = _columns(prediction, points)
    count = len(points[0])
    titles = [", ".join(f"{name} = {cells[name][k]}" for name in blocks) for k in range(count)]
    forms = []
    for layout in LAYOUTS:
        values = [x for name in ("time", *layout) for x in columns[name]]
        legend = _legend(prediction, {x.title for x in values})
        if not is_long:
            forms.append(Form(columns=[*axes.values(), *values], legend=legend))
        if blocks:
            forms.append(Form(columns=[axes[along], *values], titles=titles, legend=legend))
    return Table(
        forms=tuple(forms),
        in_full=tuple(
            _in_full({name: cells[name][k] for name in varied}, columns, k) for k in range(count)
        ),
        legend=_legend(prediction, {"speedup"}),
    )


def _columns(prediction: Prediction, points: Points) -> dict[str, list[Column]]:
    """Columns besides those of the axes, by the names of layouts."""
    time = prediction.time[points]
    lower, upper = (
        (time if end is None else end[points]).tolist()
        for end in (prediction.lower, prediction.upper)
    )
    digits = [min(supported_digits(*ends), MOST_DIGITS) for ends in zip(lower, upper, strict=True)]
    speedup, efficiency = (
        [rounded(x, most) for x, most in zip(values[points].tolist(), digits, strict=True)]
        for values in (prediction.speedup, 100 * prediction.efficiency)
    )
    limits = [SHORT[x] for x in prediction.limited_by[points].tolist()]
    return {
        "time": _time_columns(prediction, time.tolist(), lower, upper),
        "speedup": [Column(title="speedup", cells=speedup)],
        "efficiency": [Column(title="efficiency", unit="[%]", cells=efficiency)],
        "cost": _cost_columns(prediction, points, digits),
        "shares": share_columns(prediction, points),
        "limited by": [Column(title="limited by", cells=limits, align="left")],
    }


def _time_columns(
    prediction: Prediction, time: list[float], lower: list[float], upper: list[float]
) -> list[Column]:
    """Column of times [s], and one of their intervals if there are any."""
    unit = common_unit(time)
    second = TIME_UNITS[unit]
    if prediction.interval is None:
        return [
            Column(title="time", unit=f"[{unit}]", cells=[time_text(x / second) for x in time])
        ]
    texts = [
        rounded_interval(*(x / second for x in values), most=MOST_DIGITS)
        for values in zip(time, lower, upper, strict=True)
    ]
    share = f"{prediction.interval * 100:g}% interval"
    return [
        Column(title="time", unit=f"[{unit}]", cells=[x[0] for x in texts]),
        interval_column(share, f"[{unit}]", [x[1:] for x in texts]),
    ]


def _cost_columns(prediction: Prediction, points: Points, digits: list[int]) -> list[Column]:
    """Column of the cost, none where the machine has no price; it is known as the time is."""
    if prediction.cost is None:
        return []
    costs = np.broadcast_to(prediction.cost, prediction.shape)[points].tolist()
    unit = f"[{prediction.currency}]" if prediction.currency else ""
    cells = [rounded(x, most) for x, most in zip(costs, digits, strict=True)]
    return [Column(title="cost", unit=unit, cells=cells)]


def _in_full(axes: Mapping[str, str], columns: Mapping[str, list[Column]], k: int) -> Entry:
    """Give row `k`, for a page too narrow for a table."""
    time, *intervals = columns["time"]
    unit = time.unit.strip("[]")
    speedup, efficiency, limit = (
        columns[name][0].cells[k] for name in ("speedup", "efficiency", "limited by")
    )
    return Entry(
        title=", ".join(f"{name} = {value}" for name, value in axes.items()),
        facts=(
            Fact("time", f"{time.cells[k]} {unit}"),
            *(Fact("", f"{x.title} {x.cells[k]} {unit}") for x in intervals),
            Fact("speedup", speedup),
            Fact("efficiency", f"{efficiency}%"),
            *(Fact("cost", f"{x.cells[k]} {x.unit}".rstrip()) for x in columns["cost"]),
            Fact("limited by", limit),
        ),
    )


def _legend(prediction: Prediction, titles: set[str]) -> str:
    """Say what the columns with some of these titles mean."""
    meanings = []
    if "speedup" in titles:
        grows = "scaled, as the work grows with p, " if prediction.scaling == "weak" else ""
        meanings.append(f"speedup: {grows}relative to one processor and one disk")
    if "cost" in titles and not prediction.currency:
        meanings.append("cost: in the unit of the price")
    if shares := legend_of_shares(titles):
        meanings.append(shares)
    return "; ".join(meanings)


def grid_of(prediction: Prediction) -> Table:
    """Times over at least two axes with several values, in fewer and fewer columns."""
    across, *blocks, down = varied_axes(prediction)
    rows = spread_out(prediction.axes[down], MOST_ROWS)
    pages = list(product(*(range(len(prediction.axes[name])) for name in blocks)))
    if len(pages) * len(rows) > MOST_ROWS:
        rows = spread_out(prediction.axes[down], max(MOST_ROWS // len(pages), FEWEST_ROWS))
        most = max(MOST_ROWS // len(rows), 1)
        pages = [pages[i] for i in spread_out(np.arange(len(pages), dtype=np.float64), most)]
    shown = dict(zip(blocks, zip(*pages, strict=True), strict=True))
    choices = (spread_out(prediction.axes[across], x) for x in range(MOST_COLUMNS, 1, -1))
    forms = tuple(
        _form(prediction, shown, across=(across, columns), down=(down, rows))
        for columns, _ in groupby(choices)
    )
    return Table(forms=forms)


def _form(
    prediction: Prediction, blocks: Mapping[str, Sequence[int]], *, across: Axis, down: Axis
) -> Form:
    """Give a block of times for each combination of the other axes."""
    pages = len(next(iter(blocks.values()), [0]))
    shape = (pages, len(down[1]), len(across[1]))
    points = _points(prediction, blocks, across, down)
    unit = common_unit(prediction.time[points].tolist())
    letters = [LETTERS[x][0] for x in prediction.limited_by[points].tolist()]
    times = (prediction.time[points] / TIME_UNITS[unit]).tolist()
    cells = [f"{time_text(x)} {y}" for x, y in zip(times, letters, strict=True)]
    wide = shape[2]
    titles = [
        ", ".join(f"{name} = {axis_text(prediction, name, x[k])}" for name, x in blocks.items())
        for k in range(pages)
    ]
    sides = [axis_text(prediction, down[0], i) for i in down[1]]
    used = set(letters)
    letters_mean = ", ".join(f"{x} {what}" for x, what in LETTERS.values() if x in used)
    return Form(
        columns=[
            Column(title=down[0], cells=sides * pages),
            *(
                Column(title=f"{axis_text(prediction, across[0], i)}  ", cells=cells[k::wide])
                for k, i in enumerate(across[1])
            ),
        ],
        titles=[title for title in titles for _ in down[1]],
        is_split=True,
        caption=(
            f"time [{unit}] for {down[0]} (rows) and {across[0]} (columns); letter: what "
            f"limits it ({letters_mean})"
        ),
        left_out=_left_out(prediction, shape, list(blocks), across[0], down[0]),
    )


def _points(
    prediction: Prediction, blocks: Mapping[str, Sequence[int]], across: Axis, down: Axis
) -> Points:
    """Points of all blocks, row by row."""
    place = {
        **{name: np.reshape(x, (-1, 1, 1)) for name, x in blocks.items()},
        down[0]: np.reshape(down[1], (-1, 1)),
        across[0]: np.asarray(across[1]),
    }
    grids = np.broadcast_arrays(*(place.get(name, np.intp(0)) for name in prediction.axes))
    return tuple(x.ravel() for x in grids)


def _left_out(
    prediction: Prediction, shape: tuple[int, int, int], blocks: list[str], across: str, down: str
) -> str:
    """Say what the grid leaves out, such as "13 of 4096 values of p are shown, only times"."""
    pages, rows, columns = shape
    there = [len(prediction.axes[name]) for name in blocks]
    parts = [
        f"{shown} of {count} {what}"
        for shown, count, what in (
            (rows, len(prediction.axes[down]), f"values of {down}"),
            (columns, len(prediction.axes[across]), f"values of {across}"),
            (pages, prod(there), f"blocks of {', '.join(blocks)}"),
        )
        if shown < count
    ]
    some = f"{' and '.join(parts)} are shown, only times" if parts else "only times are shown"
    return f"{some}. Everything"


def varied_axes(prediction: Prediction) -> list[str]:
    """Axes with several values, that of the rows last: p, if it has several."""
    names = [name for name, values in prediction.axes.items() if len(values) > 1]
    return [*names[1:], *names[:1]]


def fixed_axes(result: OnGrid) -> str:
    """Say what the axes with one value are: ", d = 3"."""
    return "".join(
        f", {name} = {axis_text(result, name, 0)}"
        for name, values in result.axes.items()
        if len(values) == 1
    )


def axis_text(result: OnGrid, name: str, i: int) -> str:
    """Write a value of an axis, with its unit."""
    return axis_value(float(result.axes[name][i]), result.dimensions.get(name, "count"))


def axis_column(name: str, cells: Sequence[str]) -> Column:
    """Column of an axis, a long name in two lines."""
    table, dot, key = name.rpartition(".")
    return Column(title=f"{table}{dot}" or key, unit=key if dot else "", cells=cells, heading=name)


def axis_cells(result: OnGrid, points: Points) -> dict[str, list[str]]:
    """Texts of the axes with several values at some points."""
    cells = {}
    for (name, values), places in zip(result.axes.items(), points, strict=True):
        if len(values) > 1:
            texts = [axis_text(result, name, i) for i in range(len(values))]
            cells[name] = [texts[i] for i in places.tolist()]
    return cells


def share_columns(result: OnGrid, points: Points) -> list[Column]:
    """Columns of the share of each component in the time; none where there is only one."""
    time = result.time[points]
    shares = {name: part[points] / time for name, part in result.breakdown.components()}
    used = {name: share for name, share in shares.items() if share.any()}
    return [
        Column(
            title=SHORT[name],
            unit="[%]",
            cells=[whole_percent(x) for x in share.tolist()],
        )
        for name, share in used.items()
        if len(used) > 1
    ]


def legend_of_shares(titles: Collection[str]) -> str:
    """Say what the columns of shares mean; "" where these titles have none of them."""
    *most, waiting = SHORT.values()
    named = [title for title in most if title in titles]
    shares = "shares" if len(named) > 1 else "share"
    texts = [f"{', '.join(named)}: {shares} of the time"] if named else []
    if waiting in titles:
        texts.append(f"{waiting}: share spent waiting for the slowest processor")
    return "; ".join(texts)


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


def time_text(time: float) -> str:
    """Text of a time without an interval: three digits, and all those before the point.

    >>> time_text(3.14159), time_text(1234.5), time_text(0.00012345)
    ('3.14', '1234', '0.000123')
    """
    return rounded(time, min(max(floor(log10(time)) + 1, MOST_DIGITS), 7))


def blocks_of(prediction: Prediction) -> int:
    """Count the lines of points along the axis of the rows."""
    return prod(len(prediction.axes[name]) for name in varied_axes(prediction)[:-1])
