"""The answer to `predict` for a person: a title, a table, and what to think of it.

The table has a row for each point. What does not fit on a page goes, the least needed first: the
axes besides that of the rows become titles above their rows, then columns that others imply are
left out, and at last each row becomes a few lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parcast.prediction.result import Prediction
from parcast.prediction.rows import (
    MOST_ROWS,
    SHORT,
    Points,
    Row,
    axis_column,
    axis_text,
    blocks_of,
    fixed_axes,
    points_of,
    rows_of,
    spread_out,
    time_text,
    varied_axes,
)
from parcast.prediction.sheet_of_times import grid_of
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.units import TIME_UNITS
from parcast.words import common_unit

FEWEST_TITLED: Final = 4  # rows of a block that is worth a title
LAYOUTS: Final = (  # groups of columns, the first that fits is taken
    ("speedup", "efficiency", "shares", "limited by"),
    ("speedup", "efficiency", "shares"),
    ("speedup", "shares"),
    ("speedup", "efficiency", "limited by"),
    ("speedup", "limited by"),
    ("limited by",),
)
MOST_BLOCKS: Final = 4  # of rows with everything in them; more become a grid of times,
FEW_ROWS: Final = 20  # unless there are so few rows in all


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


def table_of(prediction: Prediction, points: Points) -> Table:
    """Table of some points of a prediction, as `points_of` gives them."""
    unit, rows = rows_of(prediction, points)
    *blocks, along = varied_axes(prediction) or ["p"]
    share = f"{(prediction.interval or 0) * 100:g} %"
    is_long = len({row.axes[along] for row in rows}) >= FEWEST_TITLED if blocks else False
    axes = {name: axis_column(name, [row.axes[name] for row in rows]) for name in rows[0].axes}
    columns = _columns(rows, unit, share)
    titles = [", ".join(f"{name} = {row.axes[name]}" for name in blocks) for row in rows]
    forms = []
    for layout in LAYOUTS:
        values = [x for name in ("time", *layout) for x in columns[name]]
        if not is_long:
            in_order = (axes[name] for name in (*blocks, along) if name in axes)
            forms.append(Form(columns=[*in_order, *values]))
        if blocks:
            forms.append(Form(columns=[axes[along], *values], titles=titles))
    return Table(
        forms=tuple(forms),
        in_full=tuple(_in_full(row, unit, share) for row in rows),
        legend=_legend(prediction),
    )


def _columns(rows: Sequence[Row], unit: str, share: str) -> dict[str, list[Column]]:
    """Columns besides those of the axes, by the names of layouts."""
    times = [Column(title="time", unit=f"[{unit}]", cells=[row.time for row in rows])]
    if rows[0].lower:
        times.append(
            interval_column(
                f"{share} interval", f"[{unit}]", [(row.lower, row.upper) for row in rows]
            )
        )
    efficiency = [row.efficiency for row in rows]
    limits = [row.limited_by for row in rows]
    return {
        "time": times,
        "speedup": [Column(title="speedup", cells=[row.speedup for row in rows])],
        "efficiency": [Column(title="efficiency", unit="[%]", cells=efficiency)],
        "shares": [
            Column(title=title, unit="[%]", cells=[row.shares[i] for row in rows])
            for i, title in enumerate(SHORT.values())
        ],
        "limited by": [Column(title="limited by", cells=limits, align="left")],
    }


def _in_full(row: Row, unit: str, share: str) -> Entry:
    """Give one row, for a page too narrow for a table."""
    interval = f"{share} interval {row.lower} to {row.upper} {unit}" if row.lower else ""
    return Entry(
        title=", ".join(f"{name} = {value}" for name, value in row.axes.items()),
        facts=(
            Fact("time", f"{row.time} {unit}"),
            Fact("", interval),
            Fact("speedup", row.speedup),
            Fact("efficiency", f"{row.efficiency} %"),
            Fact("limited by", row.limited_by),
        ),
    )


def _legend(prediction: Prediction) -> str:
    """Say what speedup is over, and what the shares are."""
    grows = ", of the work, which grows with p" if prediction.scaling == "weak" else ""
    return f"speedup: over one processor and one disk{grows}; waiting: for the slowest"


def _facts(prediction: Prediction) -> Iterator[Fact]:
    """Give what limits the program, between which bounds it lies, and where that is from."""
    for name, texts in (("limited by", prediction.limits), ("fastest", prediction.fastest)):
        for i, text in enumerate(texts):
            yield Fact("" if i else name, text)
    if bounds := _bounds(prediction):
        yield Fact("bounds", bounds)
    yield Fact("law", "; ".join(prediction.sources or [prediction.law]))


def _bounds(prediction: Prediction) -> str:
    """Say how much contention in the network may matter at the largest p."""
    free, bus = prediction.contention_free, prediction.single_bus
    if free is None or bus is None:
        return ""
    place = tuple(
        int(values.argmax()) if name == "p" else len(values) - 1
        for name, values in prediction.axes.items()
    )
    ends = [float(x[place]) for x in (free, bus)]
    unit = common_unit(ends)
    least, most = (f"{time_text(x / TIME_UNITS[unit])} {unit}" for x in ends)
    if least == most:
        return ""
    at = _at(prediction, dict(zip(prediction.axes, place, strict=True)))
    return f"{least} if every pair had a link of its own, {most} if all shared one bus, {at}"


def _at(prediction: Prediction, place: Mapping[str, int]) -> str:
    """Name a point by its axes: "at p = 64, d = 3"."""
    named = [
        f"{name} = {axis_text(prediction, name, i)}"
        for name, i in place.items()
        if name == "p" or len(prediction.axes[name]) > 1
    ]
    return f"at {', '.join(named)}"
