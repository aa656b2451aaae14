"""Tables in columns: Parquet, and Arrow or Feather files, read with pyarrow.

They are read as the same table in CSV would be. Columns of text or dates are left out where they
hold one value; where they hold several, they could tell series apart, and have to be called
callpath or machine.
"""

import io
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from parcast.errors import Argument, ParcastError
from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.importers.axes import tells_p
from parcast.importers.content import library, raised, refuse_unread
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import LABELS, MOST_COLUMNS, MOST_ROWS
from parcast.timings.tables.options import TableOptions
from parcast.units import TIME_UNITS, shown

STARTS: Final = (b"PAR1", b"ARROW1", b"FEA1")
EXTRA: Final = "parquet"
OTHERWISE: Final = "Or write the table as CSV, with pandas: frame.to_csv('timings.csv')"
INDEX: Final = "__index_level_"  # begins the name of a column that pandas adds


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a table in a format of pyarrow."""
    return head.startswith(STARTS)


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in the rows of all files. `metric` is the column that is the time."""
    from parcast.timings.tables.files import read_table

    tables = [(_table(path, faults), faults) for path, faults in runs.files()]
    names = [x for x in tables[0][0].column_names if not x.startswith(INDEX)]
    notes: list[str] = []
    counts = None
    if runs.patterns.count or not tells_p(names, runs.rename, runs.constants):
        counts, notes = runs.patterns.counts_of_files(runs.names, runs.faults)
    text = io.BytesIO()
    for i, (table, faults) in enumerate(tables):
        if [x for x in table.column_names if not x.startswith(INDEX)] != names:
            faults.refuse(
                f"must have the same columns as the files before, {shown(', '.join(names))}, got "
                f"{shown(', '.join(table.column_names))}. Import them separately."
            )
        constants = runs.constants | ({"p": counts[i]} if counts else {})
        kept = partial(_plain, table.select(names), runs.rename, faults, notes)
        _write(_guarded(kept, faults), constants, text, with_header=not i)
    text.seek(0)
    columns = {new: old for old, new in runs.rename.items()}
    options = TableOptions(columns=columns | ({"time_s": metric} if metric else {}))
    measurements, understood = read_table(text, runs.faults.path, options)
    return Imported(measurements=measurements, notes=(*dict.fromkeys(notes), *understood))


FORMAT = Format(
    title="Parquet, Arrow or Feather", recognises=recognises, timings=read, extra=EXTRA
)


def _table(path: Path, faults: Faults) -> Any:
    library("pyarrow", faults, extra=EXTRA, otherwise=OTHERWISE)
    from pyarrow import feather, parquet

    def whole() -> Any:
        with path.open("rb") as stream:
            is_parquet = stream.read(4) == STARTS[0]
        if is_parquet:
            _bounded(parquet.read_metadata(path), faults)
        table = parquet.read_table(path) if is_parquet else feather.read_table(path)
        _bounded(table, faults)
        table.validate(full=True)
        return table

    return _guarded(whole, faults)


def _bounded(table: Any, faults: Faults) -> None:
    """Refuse more rows and columns than a table may have."""
    require_at_most(MOST_ROWS, table.num_rows, "rows", faults)
    require_at_most(MOST_COLUMNS, table.num_columns, "columns", faults)


def _guarded(read: Callable[[], Any], faults: Faults) -> Any:
    """Turn whatever pyarrow raises, also of memory that a damaged file asks for, to a refusal."""
    why = ""
    try:
        answer = read()
    except ParcastError:
        raise
    except Exception as error:
        why = raised(error)
    if why:
        what = "a Parquet, Arrow or Feather file"
        refuse_unread("pyarrow", what, why, faults, "Write it again.")
    return answer


def _plain(table: Any, rename: Mapping[str, str], faults: Faults, notes: list[str]) -> Any:
    """Keep columns that are numbers or labels."""
    import pyarrow
    from pyarrow import compute, types

    kept: dict[str, Any] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if rename.get(name, name) in LABELS:
            kept[name] = column.cast(pyarrow.string())
        elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            kept[name] = column
        elif types.is_duration(kind):
            ticks = column.cast(pyarrow.int64()).cast(pyarrow.float64())
            kept[name] = compute.multiply(ticks, TIME_UNITS[kind.unit])
        elif compute.count_distinct(column, mode="all").as_py() > 1:
            renaming = Argument("rename", {name: "callpath"}, file=faults.path)
            faults.refuse(
                f"must have numbers in the column {shown(repr(name))}, got {shown(kind)} of "
                f"several values. If it distinguishes series: {renaming}"
            )
        else:
            notes.append(f"The column {shown(name)} is left out: it is no number.")
    return pyarrow.table(kept)


def _write(table: Any, constants: dict[str, Any], text: io.BytesIO, *, with_header: bool) -> None:
    """Write a table as CSV, with a column for each constant."""
    import pyarrow
    from pyarrow import csv

    for name, value in constants.items():
        table = table.append_column(name, pyarrow.array([value] * table.num_rows))
    csv.write_csv(table, text, csv.WriteOptions(include_header=with_header))
