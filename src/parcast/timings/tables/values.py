"""A column of cells brought to numbers in SI, and what is wrong with a cell that holds none.

A column of plain numbers is read at once. Only where some cell is more than a number, all cells
are read one by one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Text
from parcast.files.faults import Faults
from parcast.files.numbers import is_no_float, number
from parcast.timings.columns import (
    AXIS,
    DOMAINS,
    LIMITS,
    MAY_BE_UNKNOWN,
    MEMORY,
    PARTS,
    label_meant,
)
from parcast.timings.tables.cells import Cell, processors_in, read_cell
from parcast.timings.tables.header import ColumnMeaning, called, ignored
from parcast.units import NUMBER, TIME_UNITS, shown

Numbers = NDArray[np.float64]
UNKNOWN: Final = {"", "nan", "-"}  # cells of memory or a part of the time that is not known
CLOCK: Final = "clock"  # unit of cells such as 1m40s, which have their own


def runs_of_ranks(
    columns: dict[str, NDArray[Any]], faults: Faults
) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """Make runs of rows that each hold one rank, numbered from 0 or 1 anew in every run.

    p is the number of ranks unless it is given, time and deviation are those of the slowest; all
    else must be the same for all ranks of a run. A run of which a rank failed has failed: the
    second value names each of these.
    """
    rank = columns["rank"]
    rank = rank - rank[0] if rank[0] in {0, 1} else rank
    start = np.flatnonzero(rank == 0)
    count = np.diff(np.append(start, len(rank)))
    numbered = np.arange(len(rank)) - np.repeat(start, count) if start.size else rank
    if not start.size or start[0] != 0 or not np.array_equal(rank, numbered):
        faults.refuse(
            "must number the ranks of each run 0, 1, 2, got others. Sort the rows, and number "
            "them from 0.",
            field="rank",
        )
    run = np.repeat(np.arange(len(start)), count)
    by_time = np.lexsort((columns["time"], run))  # NaN last
    slowest = by_time[np.cumsum(count) - 1]
    runs = {name: column[slowest] for name, column in columns.items() if name != "rank"}
    for name in runs.keys() - {"time", *MAY_BE_UNKNOWN}:
        if np.any(runs[name][run] != columns[name]):
            faults.refuse("must be the same for all ranks of a run, got others.", field=name)
    ran = ~np.isnan(runs["time"])
    if not ran.any():
        faults.refuse("must have a run of which no rank failed. Add the times of other runs.")
    runs = {"p": count.astype(np.float64)} | runs
    failed = [f"a rank of {n}" for n in count[~ran].tolist()]
    return {name: column[ran] for name, column in runs.items()}, failed


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """Times, rates, speedups or deviations of some rows."""

    values: Numbers  # NaN for runs that failed; times in seconds
    deviations: Numbers  # of cells such as 105±3, in the same unit; NaN elsewhere
    bad: NDArray[np.bool_]  # which cells are none
    is_relative: NDArray[np.bool_]  # which deviations are shares of the time
    has_units: bool  # whether cells have units


def measured(
    cells: Sequence[str],
    column: ColumnMeaning,
    *,
    decimal: str,
    scale: float | None,
    has_units: bool | None,
) -> MeasuredRows:
    """Read a column of what was measured.

    `scale` takes the place of the column's, `has_units` says whether earlier cells had units.
    """
    of_percent = column.unit == "%"
    factor = scale or (column.scale if column.quantity == "time" else 1.0)
    factor = 0.01 if of_percent else factor
    values = None if has_units else _floats(cells, decimal)
    if values is not None and _is_fine(values, column, factor).all():
        with np.errstate(over="ignore"):
            values *= factor
        none = np.zeros(len(cells), dtype=bool)
        is_relative = np.full(len(cells), of_percent)
        return MeasuredRows(
            values, np.full(len(cells), np.nan), none, is_relative, has_units=False
        )
    read = [read_cell(cell.strip(), decimal, column.clock) for cell in cells]
    has_units = has_units or any(x.unit in TIME_UNITS for x in read)
    factors = np.array([_factor(x, column, factor, has_units=has_units) for x in read])
    values = np.array([x.value for x in read], dtype=np.float64)
    failed = np.array([bool(x.failed) for x in read], dtype=bool)
    bad = ~failed & ~(_is_fine(values, column, factors) & (factors > 0))
    is_relative = np.array([of_percent or x.unit == "%" for x in read], dtype=bool)
    if column.name == "deviation":
        factors = np.where(is_relative, 0.01, factors)
        is_number = ~np.isnan(values) & (factors > 0)
        bad = ~failed & ~(_is_fine(values, column, factors) & is_number)
    values[failed] = np.nan
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = np.array([x.deviation for x in read], dtype=np.float64) * factors
        return MeasuredRows(values * factors, deviations, bad, is_relative, has_units=has_units)


def _factor(cell: Cell, column: ColumnMeaning, factor: float, *, has_units: bool) -> float:
    """What turns a cell into SI; 0 where its unit is not that of its column."""
    if cell.failed:
        return 1.0
    if cell.factors:
        return 0.0
    if column.quantity != "time":
        return 1.0 if cell.unit in {"", "x"} else 0.0
    if cell.unit == CLOCK:
        return 1.0
    if cell.unit not in TIME_UNITS:
        is_bare = not cell.unit and (bool(column.unit) or not has_units)
        return factor if is_bare else 0.0
    return TIME_UNITS[cell.unit] if column.unit in {"", cell.unit} else 0.0


def numbers(
    cells: Sequence[str], column: ColumnMeaning, *, decimal: str
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Read a column of processors, of a parameter or of repetitions; say which are none."""
    values = _floats(cells, decimal)
    if values is not None and _is_fine(values, column, 1.0).all():
        return values, np.zeros(len(cells), dtype=bool)
    values = np.array([_number(cell, column, decimal) for cell in cells], dtype=np.float64)
    return values, ~_is_fine(values, column, 1.0)


def beside_time(
    cells: Sequence[str], column: ColumnMeaning, *, decimal: str
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Read memory or a part of the time, NaN where a cell is empty; say which are none."""
    is_known = np.array([cell.strip().lower() not in UNKNOWN for cell in cells], dtype=bool)
    values = np.full(len(cells), np.nan)
    values[is_known] = [
        _number(cell.strip(), column, decimal)
        for cell, known in zip(cells, is_known, strict=True)
        if known
    ]
    values *= column.scale
    return values, (is_known & np.isnan(values)) | ~_is_fine(values, column, 1.0)


def in_domain(values: Numbers, column: ColumnMeaning) -> tuple[Numbers, NDArray[np.bool_]]:
    """Bring numbers to SI in place; say which are not in the domain of their column."""
    is_scaled = (column.name == "time" and column.quantity == "time") or (
        column.name in (*MEMORY, *PARTS)
    )
    factor = column.scale if is_scaled else 1.0
    bad = ~_is_fine(values, column, factor)
    with np.errstate(over="ignore"):
        values *= factor
    return values, bad


def _is_fine(values: Numbers, column: ColumnMeaning, factor: float | Numbers) -> NDArray[np.bool_]:
    """Whether numbers are in the domain of their column, and can be computed with."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = values * factor
    limit = LIMITS.get(column.name, column.domain)
    if column.name == "time" and column.quantity != "time":
        limit = column.domain
    return np.asarray(column.domain.ok(values) & limit.ok(values))


def _floats(cells: Sequence[str], decimal: str) -> Numbers | None:
    """Turn cells into numbers, all at once; None where one of them is not plain."""
    together = "".join(cells)
    if decimal != "." or "_" in together or not together.isascii():
        return None
    try:
        return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None


def _number(cell: str, column: ColumnMeaning, decimal: str) -> float:
    """Turn one cell into a number; NaN, which is in no domain, where it is none."""
    read = number(cell, named=True) if decimal == "." else None
    if read is not None:
        return read
    understood = processors_in(cell, decimal) if column.name == "p" else read_cell(cell, decimal)
    return np.nan if understood.unit else understood.value


def cell_fault(
    column: ColumnMeaning, cell: str, *, decimal: str, has_units: bool
) -> tuple[str, str, Text]:
    """Say what one cell must be, what it is, and what to do."""
    got = repr(shown(cell)) if cell else "nothing"
    if column.is_text:
        return "be a name", got, "Fill it in, or remove the column."
    domain, value = column.domain, _number(cell, column, decimal)
    is_number = not np.isnan(value) and domain.ok(np.asarray(value))
    if column.name in LIMITS and (is_number or is_no_float(cell, value)):
        domain = LIMITS[column.name]
    hint = axis_hint(column.title) if domain is AXIS else domain.hint
    unit = read_cell(cell, decimal, column.clock).unit
    if column.name == "time" and has_units and not (unit or column.unit) and value > 0:
        hint = "Write the unit in every cell, or in the header alone."
        return "have its unit as other cells have", got, hint
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+", cell):
        hint = "Write decimals with a point."
    elif column.name == "time" and unit in TIME_UNITS:
        of = f"in {column.unit}" if column.unit else "with a unit in each cell"
        return "be a time", f"{got} in a column {of}", "Write all of them in one unit."
    elif column.name == "time" and re.fullmatch("[0-9]+:[0-9]+", cell):
        hint = (
            "Write it as 0:12:30 (hours, minutes, seconds), or name the unit [min:s] or [h:min]."
        )
    elif re.fullmatch(rf"{NUMBER}\s*[a-zA-Z%]+", cell):
        hint = "Write the number alone; the header has its unit."
    elif column.name in DOMAINS and cell.lower() not in {"", "nan"} and np.isnan(value):
        hint = "Write it as a number."
    return domain.must, got, hint


def axis_hint(title: str) -> Text:
    """Say what to do about a value of an axis that is no number, with the arguments to do it."""
    label = label_meant(title)
    if label:
        names = f"If it names the {label}, use "
        return (names, called(label, title), ", or ", ignored(title), ".")
    text = "Only callpath and machine may be text: "
    return (text, called("machine", title), ", or leave it out: ", ignored(title), ".")
