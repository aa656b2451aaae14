"""A prediction over many values of two axes: times alone, one axis down and one across.

A letter behind each time says what takes most of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

import numpy as np

from parcast.descriptions.breakdown import COMPONENTS
from parcast.prediction.result import Prediction
from parcast.prediction.rows import (
    MOST_ROWS,
    Points,
    axis_text,
    limits_at,
    one_line,
    spread_out,
    time_text,
    varied_axes,
)
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side
from parcast.units import TIME_UNITS
from parcast.words import common_unit

Axis: TypeAlias = tuple[str, Sequence[int]]  # its name, and which of its values are shown

MOST_COLUMNS: Final = 12
FEWEST_ROWS: Final = 4  # of a block that is cut short
LETTERS: Final = {  # behind a time
    "compute": ("c", "computing"),
    "communication": ("m", "communication"),
    "io": ("i", "I/O"),
    "synchronisation": ("w", "waiting for the slowest"),
}


def prediction_grid(prediction: Prediction, page: Page) -> tuple[list[str], str]:
    """Lines of the times of a prediction with at least two axes of several values.

    Parameters
    ----------
    prediction : Prediction
        What to show.
    page : Page
        Its width decides how many columns there are.

    Returns
    -------
    lines : list of str
    left_out : str
        What they leave out, such as "13 of 4096 values of p are shown"; "" if nothing.
    """
    *blocks, across, down = _order(prediction)
    rows = spread_out(prediction.axes[down], MOST_ROWS)
    pages = list(product(*(range(len(prediction.axes[name])) for name in blocks)))
    if len(pages) * len(rows) > MOST_ROWS:
        rows = spread_out(prediction.axes[down], max(MOST_ROWS // len(pages), FEWEST_ROWS))
        most = max(MOST_ROWS // len(rows), 1)
        pages = [pages[i] for i in spread_out(np.arange(len(pages), dtype=np.float64), most)]
    most, laid_out = MOST_COLUMNS, list[str]()
    while not laid_out:  # two columns are always shown, however narrow the page
        columns = spread_out(prediction.axes[across], most)
        room = page if most > 2 else replace(page, width=None)
        unit, laid_out = _blocks(
            prediction, room, (blocks, pages), across=(across, columns), down=(down, rows)
        )
        most -= 1
    letters = ", ".join(f"{letter} {what}" for letter, what in LETTERS.values())
    caption = (
        f"time [{unit}], {down} down and {across} across; a letter says what takes most of it: "
        f"{letters}"
    )
    left_out = [
        f"{shown} of {there} {what}"
        for shown, there, what in (
            (len(rows), len(prediction.axes[down]), f"values of {down}"),
            (len(columns), len(prediction.axes[across]), f"values of {across}"),
            (len(pages), _count(prediction, blocks), f"blocks of {', '.join(blocks)}"),
        )
        if shown < there
    ]
    return [*map(page.faint, page.wrapped(one_line(caption), indent=0)), *laid_out], one_line(
        " and ".join(left_out)
    )


def _order(prediction: Prediction) -> list[str]:
    """Axes with several values: those of blocks, the one across, the one down."""
    across, *blocks, down = varied_axes(prediction)
    return [*blocks, across, down]


def _count(prediction: Prediction, names: Sequence[str]) -> int:
    """Count the points of some axes."""
    return int(np.prod([len(prediction.axes[name]) for name in names], dtype=np.int64))


def _blocks(
    prediction: Prediction,
    page: Page,
    shown: tuple[Sequence[str], Sequence[tuple[int, ...]]],
    *,
    across: Axis,
    down: Axis,
) -> tuple[str, list[str]]:
    """Write a block for each combination of the other axes; [] if the page is too narrow."""
    blocks, pages = shown
    places = [
        _points(prediction, dict(zip(blocks, place, strict=True)), across, down) for place in pages
    ]
    unit = common_unit(np.concatenate([prediction.time[points] for points in places]).tolist())
    written: list[str] = []
    for place, points in zip(pages, places, strict=True):
        lines = _block(prediction, page, unit, points, across=across, down=down)
        if not lines:
            return unit, []
        named = ", ".join(
            f"{name} = {axis_text(prediction, name, i)}"
            for name, i in zip(blocks, place, strict=True)
        )
        title = (
            [page.bold(text) for text in page.wrapped(one_line(named), indent=0)] if named else []
        )
        written += ["", *title, *lines]
    return unit, written


def _points(
    prediction: Prediction,
    place: dict[str, int],
    across: Axis,
    down: Axis,
) -> Points:
    """Points of one block, row by row."""
    rows, columns = np.meshgrid(down[1], across[1], indexing="ij")
    found = {down[0]: rows.ravel(), across[0]: columns.ravel()}
    nowhere = np.zeros(rows.size, dtype=np.intp)
    return tuple(found.get(name, nowhere + place.get(name, 0)) for name in prediction.axes)


def _block(
    prediction: Prediction,
    page: Page,
    unit: str,
    points: Points,
    *,
    across: Axis,
    down: Axis,
) -> list[str]:
    """Write one block; [] if the page is too narrow."""
    letters = [LETTERS[COMPONENTS[i]][0] for i in limits_at(prediction, points).tolist()]
    times = prediction.time[points] / TIME_UNITS[unit]
    cells = [f"{time_text(x)} {y}" for x, y in zip(times.tolist(), letters, strict=True)]
    wide = len(across[1])
    columns = [
        Column(title=one_line(down[0]), cells=[axis_text(prediction, down[0], i) for i in down[1]])
    ]
    columns += [
        Column(title=f"{axis_text(prediction, across[0], i)}  ", cells=cells[k::wide])
        for k, i in enumerate(across[1])
    ]
    laid_out = side_by_side(columns, page)
    return [page.bold(laid_out[0]), *laid_out[2:]] if laid_out else []
