"""Tables of measurements as files: read whole with every fault named, and written as CSV.

The first line names the columns: `p`, other axes, a time with its unit (`time_s`, `time_ms`) or
a pair `metric,value`, and optionally `machine`, `callpath` and `repetition`. Lines that begin with
`#` are comments. Other titles, separators and cells are read where they have one meaning.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from typing import Any, BinaryIO, Final, TextIO

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import TableLike
from parcast.errors import FileProblems, ParameterError
from parcast.files.decoding import LineBlock, Progress, numbered_lines, opened
from parcast.files.document import replacing, row_pieces, unguarded
from parcast.files.faults import Faults
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements, written_name
from parcast.timings.notes import warn_reader
from parcast.timings.tables.frames import WITH_LINES, is_of_measurements, text_of, with_index
from parcast.timings.tables.layout import MOST_LOOKED_AT, Line, find_layout, is_row
from parcast.timings.tables.meanings import is_only_a_name
from parcast.timings.tables.options import AS_IT_IS, TableOptions
from parcast.timings.tables.read_header import read_header
from parcast.timings.tables.rows import ColumnsRead, byte_fault
from parcast.timings.tables.titles import title_of

ROWS_AT_A_TIME = 65536  # made into Python's numbers when writing
MEASURED: Final = "# parcast: times are of "  # and what they are, where they are no wall times
VERBATIM: Final = "# parcast: all other columns are parameters"  # where titles say more
OF_NODES: Final = "# parcast: p counts nodes"
HOPELESS: Final = 10_000  # faults after which no more rows are looked at

Source = str | os.PathLike[str] | TextIO | BinaryIO | TableLike


def read_measurements(
    source: Source,
    *,
    ignore: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    rate: str | None = None,
    work: str | float | None = None,
    repeats: Sequence[str] = (),
    wide: str | None = None,
    separator: str = "",
    decimal: str = "",
    chunk: int = 2**18,
    progress: Progress | None = None,
) -> Measurements:
    r"""Read a table of measurements from a text file, or a data frame.

    What was understood beyond parcast's own names of columns, or left out, is an `ImportNote`,
    which is a warning.

    Parameters
    ----------
    source : path, "-", stream or table
        A table as text; "-" is standard input. `parcast.import_timings` reads files of other
        tools. A table in memory, such as a data frame, is read as it would be from a file.
    ignore : sequence of str, optional
        Columns to ignore, such as a date or a job id.
    columns : mapping of str to str, optional
        Columns with other names in the file: ``{"p": "nodes", "time_s": "seconds"}``; p may be
        a product: ``{"p": "ranks*threads"}``.
    rate : str, optional
        The column that is a rate, such as "SYPD": times are those of one unit of work.
    work : str or float, optional
        Amount of work that the times are of, such as "100 ns". Default: one unit of the rate.
    repeats : sequence of str, optional
        Columns that hold repetitions: ``["run1", "run2"]`` or ``["run*"]``.
    wide : str, optional
        "machine" or "callpath", where each column of times is of another one.
    separator : str, optional
        What stands between columns: a character, or "comma", "semicolon", "tab", "bar", "blank".
        Default: found from the first rows.
    decimal : str, optional
        The decimal mark: "point" or "comma". Default: likewise.
    chunk : int, default 2**18
        Bytes to read at a time. [B]
    progress : callable, optional
        Called with the bytes read so far and the bytes of the file (None where unknown).

    Returns
    -------
    Measurements
        One row for each run of the file; with columns `metric,value`, one for each time.

    Raises
    ------
    FileProblems
        If something in the file is wrong: all faults, with their lines.
    ParameterError
        If it has no column named in an argument.

    Examples
    --------
    >>> import io
    >>> read_measurements(io.StringIO("p,time_ms\n1,80\n2,41.5\n"))
    Measurements(2 rows: p 1 to 2, time 0.0415 to 0.08 s)
    """
    options = TableOptions(
        ignore=ignore,
        columns=columns or {},
        rate=rate,
        work=work,
        repeats=repeats,
        wide=wide,
        separator=separator,
        decimal=decimal,
    )
    if not isinstance(source, str | os.PathLike) and not hasattr(source, "read"):
        return _read_frame(source, options)
    with opened(source) as (name, stream):
        measurements, notes = read_table(stream, name, options, chunk=chunk, progress=progress)
    warn_reader(name, notes)
    return measurements


def _read_frame(table: TableLike, options: TableOptions) -> Measurements:
    """Read a table in memory as it would be read from a file."""
    table = with_index(table)
    if options == AS_IT_IS and is_of_measurements(table):
        return Measurements.from_table(table)
    options = replace(options, separator=options.separator or "comma")
    measurements, notes = read_table(text_of(table), WITH_LINES, options)
    warn_reader("table", notes)
    return measurements


def read_table(
    stream: TextIO | BinaryIO,
    name: str,
    options: TableOptions,
    *,
    chunk: int = 2**18,
    progress: Progress | None = None,
) -> tuple[Measurements, tuple[str, ...]]:
    """Read a table from a stream that messages call `name`; give what a reader must know, too.

    What an answer from it must say as well is a `RankedWarning` among these notes.
    """
    faults = Faults(name)
    blocks = numbered_lines(stream, faults, chunk=chunk, progress=progress)
    head: list[LineBlock] = []
    count = 0
    for block in blocks:
        head.append(block)
        count += sum(map(is_row, block.lines))
        if count > MOST_LOOKED_AT:
            break
    table, notes = _begun(head, faults, options, is_whole=count <= MOST_LOOKED_AT)
    for block in blocks:
        if len(faults) > HOPELESS:
            break
        _add(table, block)
    measurements = table.measurements()
    notes += table.notes
    return measurements, (*([f"{'; '.join(notes)}."] if notes else []), *table.warnings)


def _begun(
    head: Sequence[LineBlock], faults: Faults, options: TableOptions, *, is_whole: bool
) -> tuple[ColumnsRead, list[str]]:
    """Begin a table with the first lines of a file."""
    lines = [line for block in head for line in enumerate(block.lines, block.first_line)]
    found = find_layout(lines, faults, separator=options.separator, decimal=options.decimal)
    line, text = found.header
    if fault := byte_fault(text):
        faults.refuse(fault, line=line)
    is_verbatim = any(text.strip() == VERBATIM for _, text in lines)
    header = read_header(found, faults, options, is_whole=is_whole, is_verbatim=is_verbatim)
    header.measure = _measure_written(lines) or header.measure
    if any(text.strip() == OF_NODES for _, text in lines):
        header.measure = replace(header.measure, counts_nodes=True)
        header.said.append("p counts nodes")
    table = ColumnsRead(header, found.layout, faults)
    skipped = line
    if header.has_unit_row:
        skipped = found.rows[0][0]
    for block in head:
        _add(table, block, after=skipped)
    return table, [*found.notes, *header.notes]


def _measure_written(lines: Sequence[Line]) -> Measure | None:
    """What parcast noted above a table that it wrote of times that a rate or speedup gave."""
    for _, text in lines:
        if text.startswith(MEASURED):
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                return Measure.from_document(json.loads(text.removeprefix(MEASURED)))
    return None


def _add(table: ColumnsRead, block: LineBlock, *, after: int = 0) -> None:
    """Add the rows of a block that stand after a line."""
    last = block.first_line + block.text.count("\n")
    if last <= after:
        return
    if after >= block.first_line:
        rest = block.text.split("\n", after - block.first_line + 1)[-1]
        block = LineBlock(after + 1, rest, block.is_utf8)
    if block.is_utf8 and table.add_plain(block.text):
        return
    rows = _rows_in(block)
    if rows:
        table.add(rows, is_utf8=block.is_utf8)


def _rows_in(block: LineBlock) -> list[Line]:
    return [row for row in enumerate(block.lines, block.first_line) if is_row(row[1])]


def titles_of(head: bytes) -> list[str]:
    """Titles of the columns of a table that begins so; none where it is no table."""
    faults = Faults("")
    try:
        found = find_layout(_lines_of(head, faults), faults)
        return [unguarded(title.strip()) for title in found.layout.split_one(found.header[1])]
    except (FileProblems, csv.Error):
        return []


def tells_processors(head: bytes, options: TableOptions) -> bool:
    """Whether a table that begins so has the processors of its runs, or cannot be read."""
    faults = Faults("")
    try:
        found = find_layout(_lines_of(head, faults), faults)
        header = read_header(found, faults, options, is_whole=True)
    except (FileProblems, ParameterError):
        return True
    return header.has("p") or header.has("rank") or header.is_p_refused


def _lines_of(head: bytes, faults: Faults) -> list[Line]:
    """Lines of the beginning of a file, with their numbers."""
    blocks = numbered_lines(BytesIO(head), faults)
    return [line for block in blocks for line in enumerate(block.lines, block.first_line)]


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
    columns, cut_off = measurements.columns, measurements.cut_off
    titles = [written_name(name) for name in columns]
    yield titles if cut_off is None else [*titles, "status"]
    for start in range(0, len(measurements), ROWS_AT_A_TIME):
        some = (column[start : start + ROWS_AT_A_TIME] for column in columns.values())
        rows = zip(*map(_plain, some), strict=True)
        yield from rows if cut_off is None else ([*row, "ok"] for row in rows)
    if cut_off is not None:
        ended = cut_off.columns
        blank = [""] * len(cut_off)
        some_more = (_plain(ended[name]) if name in ended else blank for name in columns)
        yield from ([*row, "timeout"] for row in zip(*some_more, strict=True))


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
    if not measurements.measure.is_time:
        yield f"{MEASURED}{json.dumps(measurements.measure.to_document())}\n"
    if measurements.measure.counts_nodes:
        yield f"{OF_NODES}\n"
    if not all(is_only_a_name(title_of(axis)) for axis in measurements.axes):
        yield f"{VERBATIM}\n"
    yield from row_pieces(_written_rows(measurements))
