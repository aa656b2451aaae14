"""Tables of measurements as CSV files: read whole with every fault named, and written.

The first line names the columns: `p`, other axes, a time with its unit (`time_s`, `time_ms`) or
a pair `metric,value`, and optionally `machine`, `callpath` and `repetition`. Lines that begin with
`#` are comments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, Final, TextIO

import numpy as np
from numpy.typing import NDArray

from parcast.files.decoding import Block, Progress, numbered_lines, opened
from parcast.files.document import replacing, row_pieces
from parcast.files.faults import Faults
from parcast.timings.csv_header import Column, read_header
from parcast.timings.csv_rows import Table, byte_fault
from parcast.timings.measurements import Measurements
from parcast.timings.notes import warn_reader

ROWS_AT_A_TIME = 65536  # made into Python's numbers when writing
HOPELESS: Final = 10_000  # faults after which no more rows are looked at


def read_measurements(
    source: str | os.PathLike[str] | TextIO | BinaryIO,
    *,
    ignore: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    chunk: int = 2**18,
    progress: Progress | None = None,
) -> Measurements:
    r"""Read a table of measurements from a CSV file.

    Parameters
    ----------
    source : path, "-" or stream
        A CSV file; "-" is standard input. `parcast.import_timings` reads files of other tools.
    ignore : sequence of str, optional
        Columns to ignore, such as a date or a job id.
    columns : mapping of str to str, optional
        Columns with other names in the file: ``{"p": "nodes", "time_s": "seconds"}``.
    chunk : int, default 2**18
        Bytes to read at a time. [B]
    progress : callable, optional
        Called with the bytes read so far and the bytes of the file (None where unknown).

    Returns
    -------
    Measurements
        One row for each row of the file; with columns `metric,value`, one for each time.

    Raises
    ------
    FileProblems
        If something in the file is wrong: all faults, with their lines.
    ParameterError
        If it has no column named in `ignore` or `columns`.

    Examples
    --------
    >>> import io
    >>> read_measurements(io.StringIO("p,time_ms\n1,80\n2,41.5\n"))
    Measurements(2 rows: p 1 to 2, time 0.0415 to 0.08 s)
    """
    return read_table(source, ignore=ignore, columns=columns, chunk=chunk, progress=progress)


def read_table(
    source: str | os.PathLike[str] | TextIO | BinaryIO,
    *,
    ignore: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    chunk: int = 2**18,
    progress: Progress | None = None,
    of_speedups: bool = False,
) -> Measurements:
    """Read a table as `read_measurements` does, possibly with speedups where it has times."""
    with opened(source) as (name, stream):
        faults = Faults(name)
        table: Table | None = None
        for block in numbered_lines(stream, faults, chunk=chunk, progress=progress):
            if len(faults) > HOPELESS:
                break
            if table is not None and block.is_utf8 and table.add_plain(block.text):
                continue
            rows = _rows_in(block)
            if table is None and rows:
                line, header = rows.pop(0)
                if fault := byte_fault(header):
                    faults.refuse(fault, line=line)
                below = [text for _, text in rows[:100]]
                found = read_header(header, line, below, faults, ignore=ignore, columns=columns)
                if of_speedups:
                    found = [_as_speedups(column) for column in found]
                table = Table(found, faults)
            if table is not None and rows:
                table.add(rows, is_utf8=block.is_utf8)
        if table is None:
            faults.refuse("must contain a table, got nothing. Begin it with a line p,time_s.")
        measurements = table.measurements()
    warn_reader(name, (f"{note}." for note in table.left_out.notes))
    return measurements


def _as_speedups(column: Column | None) -> Column | None:
    """Take a column of times for one of speedups."""
    return replace(column, is_speedup=True) if column and column.name == "time" else column


def _rows_in(block: Block) -> list[tuple[int, str]]:
    """Count through the lines of a block, without comments and lines of nothing but commas."""
    numbered = enumerate(block.lines, block.first_line)
    return [row for row in numbered if row[1].strip(", \t") and row[1][0] != "#"]


def write_measurements(measurements: Measurements, path: str | os.PathLike[str]) -> None:
    """Write a table as a CSV file with `time_s`, which `read_measurements` reads back equal.

    If writing fails, what was there before is still there.
    """
    try:
        with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(measurements_pieces(measurements))
    except OSError as error:
        faults = Faults(os.fspath(path))
        faults.refuse(f"must be writable, got: {error.strerror or error}. Choose another place.")


def _written_rows(measurements: Measurements) -> Iterator[Sequence[object]]:
    """Go through the header and the rows, some thousands of which are in memory at a time."""
    columns = measurements.columns
    yield [f"{name}_s" if name == "time" else name for name in columns]
    for start in range(0, len(measurements), ROWS_AT_A_TIME):
        some = (column[start : start + ROWS_AT_A_TIME] for column in columns.values())
        yield from zip(*map(_plain, some), strict=True)


def _plain(column: NDArray[Any]) -> list[object]:
    """Take the values as Python writes them exactly; whole numbers without a point."""
    is_whole = column.dtype == np.float64 and np.all((column % 1 == 0) & (np.abs(column) < 2**53))
    values: list[object] = (column.astype(np.int64) if is_whole else column).tolist()
    return values


def measurements_pieces(measurements: Measurements) -> Iterator[str]:
    r"""Text of a CSV file, piece by piece, which `read_measurements` reads back equal.

    >>> "".join(measurements_pieces(Measurements(p=[1, 2], time=[8.0, 4.5])))
    'p,time_s\n1,8.0\n2,4.5\n'
    """
    return row_pieces(_written_rows(measurements))
