"""The table that `sacct -P` prints: a header, then jobs and their steps, with bars between."""

import os
import re
from dataclasses import replace
from sys import intern

from parcast.io.faults import Faults
from parcast.io.formats.content import CUT_OFF, text_lines
from parcast.io.formats.slurm_job import ASK, PARTS, Job
from parcast.units import shown

DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
WANTED = ("jobid", "jobname", "cluster", "state", "elapsed", "ntasks", "alloccpus")
SAME = {"jobidraw": "jobid", "ncpus": "alloccpus"}  # told where the other is not


def jobs_of_table(path: str | os.PathLike[str], faults: Faults) -> list[Job]:
    """Read the jobs of a table, each with the tasks of its largest step.

    Raises
    ------
    FileProblems
        If the file is no such table.
    """
    columns: list[str] | None = None
    jobs: dict[str, Job] = {}
    tasks: dict[str, int] = {}
    for line, text in text_lines(path, faults):
        cells = text.split("|")
        if columns is None:
            columns = _columns(cells, faults, line)
            continue
        if len(cells) < len(columns):
            faults.refuse(
                f"must have {len(columns)} columns as the header has, got {len(cells)}. {CUT_OFF}",
                line=line,
            )
        # a bar in a name of a job cannot be told from one between columns
        if len(cells) > len(columns):
            faults.refuse(
                f"must have {len(columns)} columns as the header has, got {len(cells)}. "
                "Print it with another mark (sacct -P --delimiter), or leave JobName out.",
                line=line,
            )
        row = {x: y.strip() for x, y in zip(columns, cells, strict=True) if x in WANTED}
        job, dot, step = row["jobid"].partition(".")
        if not dot:
            jobs[job] = _job(row, line, faults)
        if step not in PARTS and (count := _count(row.get("ntasks"), line, faults)):
            tasks[job] = max(tasks.get(job, 0), count)
    return [replace(job, tasks=tasks[x]) if x in tasks else job for x, job in jobs.items()]


def _columns(titles: list[str], faults: Faults, line: int) -> list[str]:
    """Read the header."""
    columns = [title.strip().lower() for title in titles]
    for other, name in SAME.items():
        if name not in columns:
            columns = [name if column == other else column for column in columns]
    if "elapsed" not in columns or "elapsedraw" in columns:
        columns = [
            "elapsed" if x == "elapsedraw" else "" if x == "elapsed" else x for x in columns
        ]
    for name, title in (("jobid", "JobID"), ("state", "State"), ("elapsed", "Elapsed")):
        if name not in columns:
            faults.refuse(
                f"must have a column {title}, got {shown(', '.join(titles))}. Ask for it: {ASK}",
                line=line,
            )
    return columns


def _job(cells: dict[str, str], line: int, faults: Faults) -> Job:
    """Give what the line of a job tells."""
    state = cells["state"].split(" ")[0]  # "CANCELLED by 1000"
    return Job(
        name=intern(cells.get("jobname", "")),
        cluster=intern(cells.get("cluster", "")),
        state=intern(state),
        elapsed=_seconds(cells["elapsed"], line, faults) if state == "COMPLETED" else None,
        tasks=None,
        processors=_count(cells.get("alloccpus"), line, faults),
        line=line,
    )


def _count(text: str | None, line: int, faults: Faults) -> int | None:
    """Read a number of tasks or processors; None where it is not told."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        faults.refuse(
            f"must count tasks and processors in whole numbers, got {shown(repr(text))}. "
            "Print it again with sacct -P.",
            line=line,
        )
    return int(text)


def _seconds(text: str, line: int, faults: Faults) -> float:
    """Read [DD-]HH:MM:SS, or plain seconds. [s]."""
    is_plain = text.isascii() and text.isdigit()
    found = DURATION.fullmatch(text)
    if not (is_plain or found):
        faults.refuse(
            f"must have an elapsed time such as 1-02:03:04, got {shown(repr(text))}. "
            "Print it again with sacct -P.",
            line=line,
        )
    if found is None:
        return float(text)
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds
