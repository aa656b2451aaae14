"""Jobs that Slurm accounted for: `sacct -P` and `sacct --json`.

A job is one run; its steps are parts of it and tell only how many tasks it had. Its wall time is
what elapsed from its start to its end, in whole seconds, whatever it did besides computing.

The table is a header, then jobs and their steps, with bars between. The JSON is read in the
schemas from Slurm 21.08 on: newer ones wrap numbers ({"set": true, "number": 5}) and list the
states of a job.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from sys import intern
from typing import Any, Final

from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.files.numbers import is_number, whole
from parcast.importers.content import CUT_OFF, MOST_JOBS, first_line, json_document, text_lines
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.units import shown

ASK: Final = "sacct -P -o JobID,JobName,AllocCPUS,NTasks,Elapsed,State"  # prints all that is read
PARTS: Final = frozenset({"batch", "extern", "interactive"})  # steps that Slurm adds to a job
JOBS = re.compile(rb'"jobs"\s*:\s*\[')
KEYS = (b'"allocation_nodes"', b'"derived_exit_code"', b'"association"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One job of an account."""

    name: str
    cluster: str  # "" where it is not told
    state: str
    elapsed: float | None  # [s]
    tasks: int | None  # of its largest step [1]
    processors: int | None  # allocated to it [1]
    line: int | None = None  # its place in the file
    field: str = ""


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is what `sacct` prints."""
    if head.lstrip().startswith(b"{"):
        return bool(JOBS.search(head)) and sum(key in head for key in KEYS) >= 2
    first = head.lstrip().split(b"\n", 1)[0].lower()
    titles = {title.strip() for title in first.split(b"|")}
    return bool(titles & {b"jobid", b"jobidraw"} and titles & {b"elapsed", b"elapsedraw"})


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each job that completed. The only `metric` is "elapsed".

    Several names of jobs become `callpath`, several clusters `machine`. `p` are its tasks where
    they are given, else its processors.
    """
    jobs = [(job, faults) for path, faults in runs.files() for job in _jobs(path, faults)]
    done = [(job, faults) for job, faults in jobs if job.state == "COMPLETED"]
    if not done:
        states = sorted({job.state for job, _ in jobs})
        got = f"only {shown(', '.join(states))}" if states else "no job"
        runs.faults.refuse(f"must have jobs that are COMPLETED, got {got}. Select other jobs.")
    timed = [job for job, _ in done if job.elapsed != 0]
    has_names = len({job.name for job in timed}) > 1
    has_clusters = len({job.cluster for job in timed}) > 1
    for job, faults in done:
        runs.add(
            {"p": _processors(job, faults)},
            [_elapsed(job, faults)],
            faults,
            metric="elapsed",
            callpath=job.name if has_names else "",
            machine=job.cluster if has_clusters else "",
            line=job.line,
            field=job.field,
        )
    return runs.imported(metric=metric, notes=_notes(timed, len(jobs) - len(done)))


def _jobs(path: Path, faults: Faults) -> list[Job]:
    is_json = first_line(path, faults).startswith("{")
    return jobs_of_json(path, faults) if is_json else jobs_of_table(path, faults)


FORMAT = Format(title="Slurm sacct -P or --json", recognises=recognises, timings=read)


def _processors(job: Job, faults: Faults) -> int:
    """Give the tasks of a job where they are given, else its processors."""
    p = job.tasks or job.processors
    if not p:
        faults.refuse(
            f"must have the tasks or processors of each job, got neither. Print them: {ASK}",
            line=job.line,
            field=job.field,
        )
    return p


def _elapsed(job: Job, faults: Faults) -> float:
    """Give the wall time of a job. [s]."""
    if job.elapsed is None:
        faults.refuse(
            f"must have the elapsed time, got none. Print it: {ASK}",
            line=job.line,
            field=job.field,
        )
    return job.elapsed


def _notes(timed: Sequence[Job], others: int) -> list[str]:
    """Say what was left out, and what p is."""
    notes = []
    if others:
        are = "job is" if others == 1 else "jobs are"
        notes.append(f"{others} {are} left out: not COMPLETED.")
    by_tasks = sum(bool(job.tasks) for job in timed)
    if by_tasks == len(timed):
        notes.append("p is the number of tasks of each job.")
    elif by_tasks == 0:
        notes.append(
            "p is the number of processors allocated to each job, as the number of "
            "tasks is not given."
        )
    else:
        notes.append(
            f"p is the number of tasks for {by_tasks} of {len(timed)} jobs, and the number of "
            "allocated processors for the others, whose number of tasks is not given."
        )
    return notes


KEPT = {  # keys
    *("jobs", "name", "cluster", "state", "current", "time", "elapsed", "steps", "step", "id"),
    *("step_id", "tasks", "count", "tres", "allocated", "type", "required", "CPUs"),
    *("set", "number"),
}


def jobs_of_json(path: str | os.PathLike[str], faults: Faults) -> list[Job]:
    """Read the jobs of a document, each with the tasks of its largest step."""
    document = json_document(path, faults, hook=_kept)
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        faults.refuse("must be a list, got none. Print it with: sacct --json", field="jobs")
    read = []
    for i, job in enumerate(jobs):
        if not isinstance(job, dict):
            got = shown(repr(job), limit=30)
            faults.refuse(f"must be an object, got {got}. Print it again.", field=f"jobs[{i}]")
        read.append(_job(job, i, faults))
    return read


def _kept(keys: dict[str, Any]) -> dict[str, Any]:
    """Keep what is read of an object: a job has hundreds of other keys."""
    return {key: value for key, value in keys.items() if key in KEPT}


def _job(job: dict[str, Any], i: int, faults: Faults) -> Job:
    """Give what is known of a job."""
    elapsed = _number(_inside(job, "time", "elapsed"))
    if elapsed is not None and elapsed < 0:
        faults.refuse(
            f"must be a time above 0, got {elapsed}. Leave the job out.",
            field=f"jobs[{i}].time.elapsed",
        )
    return Job(
        name=str(job.get("name") or ""),
        cluster=str(job.get("cluster") or ""),
        state=_state(job.get("state")),
        elapsed=elapsed,
        tasks=_tasks(job),
        processors=_allocated(job) or _count(_inside(job, "required", "CPUs")),
        field=f"jobs[{i}]",
    )


def _state(state: Any) -> str:
    """Give the first state of a job, in whichever schema."""
    current = state.get("current") if isinstance(state, dict) else state
    if isinstance(current, list):
        current = current[0] if current else ""
    return str(current or "UNKNOWN").split(" ")[0]


def _tasks(job: dict[str, Any]) -> int | None:
    """Give the tasks of the largest step that the job itself started."""
    steps = job.get("steps")
    counts = []
    for step in steps if isinstance(steps, list) else []:
        name = _inside(step, "step", "id")
        name = name.get("step_id") if isinstance(name, dict) else name
        if str(name).rpartition(".")[2] in PARTS or str(_inside(step, "step", "name")) in PARTS:
            continue
        counts.append(_count(_inside(step, "tasks", "count")) or 0)
    return max(counts, default=0) or None


def _allocated(job: dict[str, Any]) -> int | None:
    """Give the processors allocated to a job."""
    listed = _inside(job, "tres", "allocated")
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("type") == "cpu":
            return _count(one.get("count"))
    return None


def _inside(value: Any, *keys: str) -> Any:
    """Follow keys into objects; None where the path ends."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _number(value: Any) -> float | None:
    """Unwrap a number; None where none is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    return value if is_number(value) else None


def _count(value: Any) -> int | None:
    """Unwrap a whole number above 0; None where none is set."""
    return whole(_number(value), least=1)


DURATION = re.compile(r"(?:([0-9]+)-)?(?:([0-9]+):)?([0-9]+):([0-9]+(?:\.[0-9]+)?)")
WANTED = ("jobid", "jobname", "cluster", "state", "elapsed", "ntasks", "alloccpus")
ANOTHER_MARK = "Print it with another delimiter (sacct -P --delimiter), or leave JobName out."
SAME = {"jobidraw": "jobid", "ncpus": "alloccpus"}  # told where the other is not


def jobs_of_table(path: str | os.PathLike[str], faults: Faults) -> list[Job]:
    """Read the jobs of a table, each with the tasks of its largest step."""
    columns: list[str] | None = None
    jobs: dict[str, Job] = {}
    tasks: dict[str, int] = {}
    for line, text in text_lines(path, faults):
        cells = text.split("|")
        if columns is None:
            columns = _columns(cells, faults, line)
            continue
        if len(cells) != len(columns):
            # a bar in a name of a job cannot be told from one between columns
            hint = CUT_OFF if len(cells) < len(columns) else ANOTHER_MARK
            faults.refuse(
                f"must have {len(columns)} columns as the header has, got {len(cells)}. {hint}",
                line=line,
            )
        row = {x: y.strip() for x, y in zip(columns, cells, strict=True) if x in WANTED}
        job, dot, step = row["jobid"].partition(".")
        if not dot:
            jobs[job] = _job_of_row(row, line, faults)
        if step not in PARTS and (count := _count_in_cell(row.get("ntasks"), line, faults)):
            tasks[job] = max(tasks.get(job, 0), count)
        require_at_most(MOST_JOBS, max(len(jobs), len(tasks)), "jobs", faults, line=line)
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
                f"must have a column {title}, got {shown(', '.join(titles))}. Print it: {ASK}",
                line=line,
            )
    return columns


def _job_of_row(cells: dict[str, str], line: int, faults: Faults) -> Job:
    """Give what the line of a job tells."""
    state = cells["state"].split(" ")[0]  # "CANCELLED by 1000"
    return Job(
        name=intern(cells.get("jobname", "")),
        cluster=intern(cells.get("cluster", "")),
        state=intern(state),
        elapsed=_seconds(cells["elapsed"], line, faults) if state == "COMPLETED" else None,
        tasks=None,
        processors=_count_in_cell(cells.get("alloccpus"), line, faults),
        line=line,
    )


def _count_in_cell(text: str | None, line: int, faults: Faults) -> int | None:
    """Read a number of tasks or processors; None where it is not told."""
    if not text:
        return None
    count = whole(text)
    if count is None:
        faults.refuse(
            f"must count tasks and processors in whole numbers, got {shown(repr(text))}. "
            "Print it again with sacct -P.",
            line=line,
        )
    return count


def _seconds(text: str, line: int, faults: Faults) -> float:
    """Read [DD-]HH:MM:SS, or plain seconds. [s]."""
    is_plain = text.isascii() and text.isdigit()
    match = DURATION.fullmatch(text)
    if not (is_plain or match):
        faults.refuse(
            f"must have an elapsed time such as 1-02:03:04, got {shown(repr(text))}. "
            "Print it again with sacct -P.",
            line=line,
        )
    if match is None:
        return float(text)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds
