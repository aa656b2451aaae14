"""Darshan logs as the table that `python -m darshan job_stats --csv` prints, one job a row.

The table does not say of which module its I/O times are: `job_stats -m` chose it, POSIX unless
told otherwise. It needs no library here.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from parcast.io.faults import Faults
from parcast.io.formats.content import text_lines
from parcast.io.formats.darshan_job import Job, counted_in_whole_seconds
from parcast.units import shown

COLUMNS = ("job_id", "nprocs", "start_time", "end_time", "run_time", "time_by_slowest")
FLAG = "partial_flag"  # the last column: one that is cut off is none of these
FLAGS = ("True", "False")
UNTOLD = "one module"  # what the I/O times are of
ASK = "Write it again: python -m darshan job_stats --csv FILES > jobs.csv"


def jobs(path: Path, faults: Faults) -> Iterator[Job]:
    """Read the jobs of a table of `job_stats`.

    Raises
    ------
    FileProblems
        If it is no such table, or a value is no number.
    """
    titles: list[str] = []
    for line, text in text_lines(path, faults):
        try:
            [cells] = csv.reader([text], strict=True)
        except csv.Error as error:
            faults.refuse(f"must be a row of job_stats, got one that is not: {error}.", line=line)
        if not titles:
            titles = cells
            if missing := [name for name in (*COLUMNS, FLAG) if name not in titles]:
                faults.refuse(f"must have a column {missing[0]}, got none. {ASK}", line=line)
            continue
        if len(cells) != len(titles):
            faults.refuse(
                f"must have {len(titles)} values as its header has, got {len(cells)}. {ASK}",
                line=line,
            )
        yield _job(dict(zip(titles, cells, strict=True)), line, faults)


def _job(row: dict[str, str], line: int, faults: Faults) -> Job:
    """Make a job of one row."""
    value = {}
    for name in COLUMNS:
        try:
            value[name] = float(row[name])
        except ValueError:
            value[name] = float("nan")
        if value[name] - value[name] != 0 or (name == "time_by_slowest" and value[name] < 0):
            got = shown(repr(row[name]))
            faults.add(f"must be a number of at least 0, got {got}. {ASK}", line=line, field=name)
            faults.raise_all()
    if row[FLAG] not in FLAGS:
        got = shown(repr(row[FLAG]))
        faults.add(f"must be True or False, got {got}. {ASK}", line=line, field=FLAG)
        faults.raise_all()
    return Job(
        faults=faults,
        p=value["nprocs"],
        run_time=value["run_time"],
        line=line,
        is_in_whole_seconds=counted_in_whole_seconds(
            value["run_time"], value["start_time"], value["end_time"]
        ),
        identity=" ".join((row.get("log_file", ""), row["job_id"], row["start_time"])),
        io={UNTOLD: value["time_by_slowest"]},
        partial=[UNTOLD] if row[FLAG] == "True" else [],
    )
