"""Tables of measurements in several files, which are joined: `runs/p4.csv`, `runs/p8.csv`.

Each is read as it is alone. Where the files have no processor counts, their names tell them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.files.decoding import opened
from parcast.files.faults import Faults
from parcast.importers.content import beginning
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import MAY_BE_UNKNOWN
from parcast.timings.measurements import Measurements, measurements_of
from parcast.timings.tables.files import tells_processors
from parcast.timings.tables.options import TableOptions
from parcast.units import shown


def read(runs: Runs, metric: str | None) -> Imported:
    """Join the rows of all files. `metric` is the column that is the time."""
    columns = {new: old for old, new in runs.rename.items()}
    options = replace(runs.table, columns=columns | ({"time_s": metric} if metric else {}))
    paths = [path for path, _ in runs.files()]
    counts: list[int | None] = [options.p] * len(paths)
    notes: list[str] = []
    without = [i for i, path in enumerate(paths) if not tells_processors(beginning(path), options)]
    if without and options.p is None:
        in_names, notes = runs.patterns.counts_of_files(runs.names, runs.faults)
        if in_names is not None:
            counts = [in_names[i] if i in without else None for i in range(len(paths))]
    found = list(_tables(paths, options, counts))
    tables = [table for table, _ in found]
    notes += dict.fromkeys(note for _, of_one in found for note in of_one)
    joined = _joined(tables, runs)
    if options.along and not any(options.along in table.axes for table in tables):
        in_names, said = runs.patterns.counts_of_files(runs.names, runs.faults, options.along)
        if in_names is not None:
            joined[options.along] = np.repeat(in_names, [len(table) for table in tables])
            notes += said
    return Imported(measurements=measurements_of(joined, tables[0].measure), notes=tuple(notes))


BESIDE: Final = ("repetition", *MAY_BE_UNKNOWN)
FORMAT = Format(title="Tables in several files", recognises=lambda *_: False, timings=read)


def _tables(
    paths: Sequence[Path], options: TableOptions, counts: Sequence[int | None]
) -> Iterator[tuple[Measurements, tuple[str, ...]]]:
    """Read each file, with the processors that are not in it."""
    from parcast.timings.tables.files import read_table

    for path, p in zip(paths, counts, strict=True):
        with opened(path) as (name, stream):
            yield read_table(stream, name, replace(options, p=p))


def _joined(tables: list[Measurements], runs: Runs) -> dict[str, Any]:
    """Put the columns of tables below each other, without the numbers of repetitions."""
    parts = [{x: y for x, y in t.columns.items() if x not in BESIDE} for t in tables]
    for column in MAY_BE_UNKNOWN:
        if any(column in table.columns for table in tables):
            for part, table in zip(parts, tables, strict=True):
                part[column] = table.columns.get(column, np.full(len(table), np.nan))
    names = [*parts[0]]
    for part, table, name in zip(parts, tables, runs.names, strict=True):
        if replace(table.measure, title="") != replace(tables[0].measure, title=""):
            Faults(name).refuse(
                f"must have the measure of the files before, {tables[0].measure.of_time}, got "
                f"{table.measure.of_time}. Import them separately."
            )
        if sorted(part) != sorted(names):
            Faults(name).refuse(
                f"must have the same columns as the files before, {shown(', '.join(names))}, got "
                f"{shown(', '.join(part))}. Import them separately."
            )
    joined: dict[str, Any] = {x: np.concatenate([part[x] for part in parts]) for x in names}
    return joined | {
        x: np.full(len(joined["time"]), y, dtype=object if isinstance(y, str) else float)
        for x, y in runs.constants.items()
    }
