"""The answer to `predict` for a person: a title, a table, and what to think of it.

A prediction for a notebook: the facts of the printed answer, as a table and a few lines.

A prediction as a table for a person: a row for each point, as wide as the page allows.

What does not fit goes, the least needed first: the axes besides that of the rows become titles
above their rows, then columns that others imply are left out, and at last each row becomes a few
lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Final

from parcast.prediction.result import Prediction
from parcast.prediction.rows import (
    MOST_ROWS,
    SHORT,
    Points,
    Row,
    axis_text,
    blocks_of,
    fixed_axes,
    one_line,
    points_of,
    rows_of,
    spread_out,
    time_text,
    varied_axes,
)
from parcast.prediction.sheet_of_times import prediction_grid
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side, spans
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


def prediction_table(prediction: Prediction, page: Page, points: Points) -> list[str]:
    """Lines of the table of some points of a prediction.

    Parameters
    ----------
    prediction : Prediction
        What to show.
    page : Page
        Its width decides the layout.
    points : tuple of ndarray
        The points, as `points_of` gives them.

    Returns
    -------
    list of str
    """
    unit, rows = rows_of(prediction, points)
    *blocks, along = varied_axes(prediction) or ["p"]
    share = f"{(prediction.interval or 0) * 100:g} %"
    axes = rows[0].axes
    is_long = len({row.axes[along] for row in rows}) >= FEWEST_TITLED if blocks else False
    for layout in LAYOUTS:
        for titled in (blocks,) if is_long or not blocks else ([], blocks):
            names = [name for name in (*blocks, along) if name in axes and name not in titled]
            columns = [
                *(_axis_column(name, rows) for name in names),
                *_columns(layout, rows, unit, share),
            ]
            if laid_out := side_by_side(columns, page):
                return _with_titles(laid_out, rows, titled, page)
    return _in_full(rows, unit, share, page)


def _axis_column(name: str, rows: Sequence[Row]) -> Column:
    """Column of an axis, a long name in two lines."""
    table, dot, field = one_line(name).rpartition(".")
    cells = [row.axes[name] for row in rows]
    return Column(title=f"{table}{dot}" or field, unit=field if dot else "", cells=cells)


def _columns(layout: Sequence[str], rows: Sequence[Row], unit: str, share: str) -> list[Column]:
    """Columns of a layout besides those of the axes."""
    columns = [Column(title="time", unit=f"[{unit}]", cells=[row.time for row in rows])]
    if rows[0].lower:
        intervals = spans([row.lower for row in rows], [row.upper for row in rows])
        columns.append(Column(title=f"{share} interval", unit=f"[{unit}]", cells=intervals))
    if "speedup" in layout:
        columns.append(Column(title="speedup", cells=[row.speedup for row in rows]))
    if "efficiency" in layout:
        cells = [row.efficiency for row in rows]
        columns.append(Column(title="efficiency", unit="[%]", cells=cells))
    if "shares" in layout:
        for i, title in enumerate(SHORT.values()):
            columns.append(Column(title=title, unit="[%]", cells=[row.shares[i] for row in rows]))
    if "limited by" in layout:
        cells = [row.limited_by for row in rows]
        columns.append(Column(title="limited by", cells=cells, is_text=True))
    return columns


def _with_titles(
    laid_out: Sequence[str], rows: Sequence[Row], titled: Sequence[str], page: Page
) -> list[str]:
    """Put a title above each block of rows."""
    head, units, *lines = laid_out
    written = [page.bold(head), page.bold(units)] if units else [page.bold(head)]
    if not titled:
        return [*written, *lines]
    for block, group in groupby(
        zip(rows, lines, strict=True), key=lambda pair: [pair[0].axes[name] for name in titled]
    ):
        named = ", ".join(f"{name} = {x}" for name, x in zip(titled, block, strict=True))
        written += ["", *map(page.bold, page.wrapped(one_line(named), indent=0))]
        written += [line for _, line in group]
    return written


def _in_full(rows: Sequence[Row], unit: str, share: str, page: Page) -> list[str]:
    """Write each row as a few short lines, for a page too narrow for a table."""
    written: list[str] = []
    for row in rows:
        named = ", ".join(f"{name} = {value}" for name, value in row.axes.items())
        title = page.wrapped(one_line(named), indent=0) if named else []
        written += ["", *map(page.bold, title)]
        facts = [f"time        {row.time} {unit}"]
        if row.lower:
            facts.append(f"            {share} interval {row.lower} to {row.upper} {unit}")
        facts += [
            f"speedup     {row.speedup}",
            f"efficiency  {row.efficiency} %",
            f"limited by  {row.limited_by}",
        ]
        written += [f"  {fact}" for fact in facts]
    return written[1:]


MOST_BLOCKS: Final = 4  # of rows with everything in them; more become a grid of times,
FEW_ROWS: Final = 20  # unless there are so few rows in all


def prediction_answer(
    prediction: Prediction, page: Page, *, show_all: bool = False
) -> tuple[list[str], str]:
    """Lines of the answer, and what is to be said of what they leave out.

    Parameters
    ----------
    prediction : Prediction
        What to show.
    page : Page
        Where it is shown.
    show_all : bool, default False
        Whether to show every point; otherwise some of many.

    Returns
    -------
    lines : list of str
    left_out : str
        "" where nothing is left out.
    """
    table, left_out = _laid_out(prediction, page, show_all=show_all)
    title = page.wrapped(title_of(prediction), indent=0)
    lines = [*map(page.bold, title), "", *table, ""]
    name = ""
    for fact in facts_of(prediction):
        lines += page.entry("" if fact.name == name else fact.name, one_line(fact.text))
        name = fact.name
    for text in prediction.warnings:
        lines += page.entry("warning:", one_line(text), is_marked=True)
    return lines, left_out


def title_of(prediction: Prediction) -> str:
    """Say what runs on what, and what is the same at every point."""
    return one_line(f"{prediction.program} on {prediction.machine}{fixed_axes(prediction)}")


def _laid_out(prediction: Prediction, page: Page, *, show_all: bool) -> tuple[list[str], str]:
    """Write the table that suits the axes."""
    axes = varied_axes(prediction)
    blocks, along = blocks_of(prediction), len(prediction.axes[axes[-1]]) if axes else 1
    is_short = blocks * along <= (MOST_ROWS if blocks <= MOST_BLOCKS else FEW_ROWS)
    if show_all or is_short:
        return _table(prediction, page, points_of(prediction)), ""
    if blocks == 1:
        kept = spread_out(prediction.axes[axes[-1]], MOST_ROWS)
        some = points_of(prediction, {axes[-1]: kept})
        left_out = (
            f"{len(kept)} of {along} values of {axes[-1]} are shown. All of them: --all, --json "
            "or -o all.csv."
        )
        return _table(prediction, page, some), left_out
    lines, of_all = prediction_grid(prediction, page)
    only = f"{of_all} are shown, times only." if of_all else "times only are shown."
    return lines, f"{only} All of it: --all, --json or -o all.csv."


def _table(prediction: Prediction, page: Page, points: Points) -> list[str]:
    """Write some points, and what the titles mean."""
    legend = page.wrapped(_legend(prediction), indent=0)
    return [*prediction_table(prediction, page, points), "", *map(page.faint, legend)]


def _legend(prediction: Prediction) -> str:
    """Say what speedup is over, and what the shares are."""
    grows = ", of the work, which grows with p" if prediction.scaling == "weak" else ""
    return f"speedup: over one processor and one disk{grows}; waiting: for the slowest"


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to be said of the whole answer, and its name."""

    name: str
    text: str


def facts_of(prediction: Prediction) -> Iterator[Fact]:
    """Give what limits the program, between which bounds it lies, and where that is from."""
    for text in prediction.limits:
        yield Fact("limited by", text)
    for text in prediction.fastest:
        yield Fact("fastest", text)
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


def html_of_prediction(prediction: Prediction) -> str:
    """HTML of a prediction, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    axes = varied_axes(prediction)
    most = MOST_ROWS
    chosen = {}
    for name in reversed(axes):  # rows first, then blocks as far as there is room
        chosen[name] = spread_out(prediction.axes[name], max(most, 1))
        most //= len(chosen[name])
    unit, rows = rows_of(prediction, points_of(prediction, chosen))
    span = [f"{prediction.interval * 100:g} % interval [{unit}]"] if prediction.interval else []
    shares = [f"{title} [%]" for title in SHORT.values()]
    heads = [*axes, f"time [{unit}]", *span, "speedup", "efficiency [%]", *shares, "limited by"]
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(map(_row, rows))
    left_out = prediction.time.size - len(rows)
    more = f"<p>and {left_out} more rows; all of them: to_document()</p>" if left_out else ""
    facts = "<br>".join(escape(f"{fact.name}: {fact.text}") for fact in facts_of(prediction))
    warnings = "".join(f"<li>{escape(text)}</li>" for text in prediction.warnings)
    return (
        f"<p><b>{escape(title_of(prediction))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        f"<p>{facts}</p>" + (f"<ul>{warnings}</ul>" if warnings else "")
    )


def _row(row: Row) -> str:
    """One row of the table."""
    span = [f"{row.lower} to {row.upper}"] if row.lower else []
    cells = [*row.axes.values(), row.time, *span, row.speedup, row.efficiency, *row.shares]
    texts = [*cells, row.limited_by]
    return "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"
