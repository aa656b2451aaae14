"""A prediction over many values of two axes: times alone, one axis down and one across.

A letter behind each time says what takes most of it.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, product
from math import prod
from typing import Final, TypeAlias

import numpy as np

from parcast.descriptions.breakdown import COMPONENTS
from parcast.prediction.result import Prediction
from parcast.prediction.rows import (
    MOST_ROWS,
    Points,
    axis_text,
    limits_at,
    spread_out,
    time_text,
    varied_axes,
)
from parcast.show.sheet import Column, Form, Table
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
    letters = [LETTERS[COMPONENTS[i]][0] for i in limits_at(prediction, points).tolist()]
    times = (prediction.time[points] / TIME_UNITS[unit]).tolist()
    cells = [f"{time_text(x)} {y}" for x, y in zip(times, letters, strict=True)]
    wide = shape[2]
    titles = [
        ", ".join(f"{name} = {axis_text(prediction, name, x[k])}" for name, x in blocks.items())
        for k in range(pages)
    ]
    sides = [axis_text(prediction, down[0], i) for i in down[1]]
    letters_mean = ", ".join(f"{letter} {what}" for letter, what in LETTERS.values())
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
            f"time [{unit}], {down[0]} down and {across[0]} across; a letter says what takes "
            f"most of it: {letters_mean}"
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
    """Say what the grid leaves out, such as "13 of 4096 values of p are shown, times only"."""
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
    some = f"{' and '.join(parts)} are shown, times only" if parts else "times only are shown"
    return f"{some}. All of it"
