"""A prediction as a table for a person: a row for each point, as wide as the page allows.

What does not fit goes, the least needed first: the axes besides that of the rows become titles
above their rows, then columns that others imply are left out, and at last each row becomes a few
lines.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from parcast.prediction import Prediction
from parcast.text.columns import Column, side_by_side, spans
from parcast.text.page import Page
from parcast.text.prediction_rows import SHORT, Points, Row, one_line, rows_of, varied_axes

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
