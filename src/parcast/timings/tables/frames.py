"""Tables in memory, such as data frames, as the text that they would be in a file.

So any title, unit and cell that is read in a file is read in a data frame. Columns that are named
as those of `Measurements` need no reading.
"""

import csv
from io import StringIO
from numbers import Number
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import TableLike
from parcast.errors import ParameterError
from parcast.timings.columns import BESIDE, LABELS, MEMORY, is_name_of_time, time_unit
from parcast.timings.measurements import broadcast, column_names
from parcast.units import shown

WITH_LINES: Final = "table (line 1: its titles)"  # what messages call it that name lines
MISSING: Final = frozenset({"nan", "NaT", "<NA>", "None"})
NO_PARAMETERS: Final = frozenset(BESIDE) - frozenset(MEMORY)


def with_index(table: TableLike) -> TableLike:
    """Make columns of what names the rows of a data frame, such as p after `groupby`."""
    names = getattr(getattr(table, "index", None), "names", None) or ()
    there = [None, *getattr(table, "columns", [getattr(table, "name", None)])]
    new = [name for name in names if name not in there]
    return table.reset_index(new) if new else table


def is_of_measurements(table: TableLike) -> bool:
    """Whether the columns are named as those of measurements are, and hold numbers or labels."""
    names = column_names(table)
    times = [name for name in names if is_name_of_time(name)]
    if "p" not in names or len(times) != 1 or NO_PARAMETERS.intersection(names):
        return False
    if times[0] != "time" and time_unit(times[0]) is None:
        return False
    return all(
        _is_numeric(table[name], may_be_missing=name not in ("p", *times))
        for name in names
        if name not in LABELS
    )


def _is_numeric(column: ArrayLike, *, may_be_missing: bool) -> bool:
    cells = np.asarray(column)
    if cells.dtype.kind == "O":
        return all(isinstance(x, Number) for x in cells.ravel().tolist())
    return cells.dtype.kind in "biuf" and (may_be_missing or not np.isnan(cells).any())


def text_of(table: TableLike) -> StringIO:
    """Write a table as the text of a file with commas."""
    names = column_names(table)
    columns = {name: np.array(table[name]) for name in names}
    for name, cells in columns.items():
        if cells.ndim > 1:
            got = f"cells of {cells.ndim} dimensions in {shown(name)}"
            hint = "Give every row one value in each column."
            raise ParameterError("table", must="have one value in each cell", got=got, hint=hint)
    titled = [_written(name, cells) for name, cells in broadcast(columns).items()]
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(title for title, _ in titled)
    writer.writerows(zip(*(cells for _, cells in titled), strict=True))
    stream.seek(0)
    return stream


def _written(name: str, cells: NDArray[Any]) -> tuple[str, list[str]]:
    """Title and cells as a file has them: durations in seconds, "" for what is missing."""
    kind, title = cells.dtype.kind, name
    if kind == "m":
        cells, title = cells / np.timedelta64(1, "s"), f"{name} [s]"
    elif kind == "M":
        cells = np.datetime_as_string(cells)
    elif name == "time" and kind in "iuf":
        title = "time [s]"
    return title, ["" if x in MISSING else x for x in map(str, cells.tolist())]
