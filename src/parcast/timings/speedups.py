"""Tables of timings or of speedups for a fit.

A table of speedups has a column `speedup` in place of a time, or a pair `metric,value` whose
metric is `speedup`. Speedups s(p, d) are over one processor and one disk; they are kept as times
in units of the time there, 1/s.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import BinaryIO, Literal, TextIO

from parcast.errors import FileProblems
from parcast.files.decoding import opened
from parcast.files.faults import Faults
from parcast.timings.csv_files import read_measurements, read_table
from parcast.timings.measurements import Measurements

LARGEST = 100_000_000  # bytes of a table of runs


def read_runs(
    source: str | os.PathLike[str] | TextIO | BinaryIO,
    *,
    ignore: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> tuple[Measurements, Literal["time", "speedup"]]:
    r"""Read a table of timings or of speedups, and say which it is.

    Parameters
    ----------
    source : path, "-" or stream
        The file; "-" is standard input.
    ignore : sequence of str, optional
        Columns to ignore.
    columns : mapping of str to str, optional
        Columns with other names in the file: ``{"p": "nodes"}``.

    Returns
    -------
    measurements : Measurements
        As `read_measurements` gives them; of speedups the times are 1/s.
    quantity : str
        "time" or "speedup", as `fit` takes it.

    Raises
    ------
    FileProblems
        If something in the file is wrong: all faults, with their lines.

    Examples
    --------
    >>> runs, quantity = read_runs(io.StringIO("p,d,speedup\n2,1,1.6\n4,1,2.5\n"))
    >>> quantity, runs.time
    ('speedup', array([0.625, 0.4  ]))
    """
    with opened(source) as (name, stream):
        read = stream.read(LARGEST + 1)
    content = read.encode() if isinstance(read, str) else read
    if len(content) > LARGEST:
        Faults(name).refuse(f"must have at most {LARGEST:,} bytes. Select the runs to fit.")
    called = dict(columns or {})
    where = _speedups_in(content, called)
    if not where:
        stream = NamedContent(name, content)
        return read_measurements(stream, ignore=ignore, columns=called), "time"
    if where == "column":
        called["time_s"] = called.pop("speedup", "speedup")
    try:
        stream = NamedContent(name, content)
        table = read_table(stream, ignore=ignore, columns=called, of_speedups=True)
    except FileProblems as refusal:
        raise _of_speedups(refusal) from None
    values = table.columns
    return Measurements(**values | {"time": 1.0 / values["time"]}), "speedup"


class NamedContent(io.BytesIO):
    """Bytes of a file, with its name for messages."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


def _speedups_in(content: bytes, columns: Mapping[str, str]) -> Literal["", "column", "metric"]:
    """Tell where a table has its speedups; "" where it has none, or times as well."""
    lines = [
        line
        for line in content[: 2**16].decode("utf-8-sig", errors="replace").splitlines()
        if line.strip(", \t") and line[0] != "#"
    ]
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines[:1000])]
    names = {old: new for new, old in columns.items()}
    titles = [names.get(title, title) for title in (rows[0] if rows else [])]
    if any(title.lower().startswith("time") for title in titles):
        return ""
    if "speedup" in titles:
        return "column"
    if "metric" not in titles:
        return ""
    metrics = {row[titles.index("metric")] for row in rows[1:] if len(row) == len(titles)}
    has_times = any(x.lower().startswith("time") for x in metrics)
    return "metric" if "speedup" in metrics and not has_times else ""


def _of_speedups(refusal: FileProblems) -> FileProblems:
    """Name the column that is wrong as it stands in the file."""
    problems = [
        replace(x, field="speedup") if x.field == "time_s" else x for x in refusal.problems
    ]
    return FileProblems(refusal.path, problems, unlisted=refusal.unlisted)
