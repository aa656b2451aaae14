"""Jobs that Slurm accounted for: `sacct -P` and `sacct --json`.

A job is one run; its steps are parts of it and tell only how many tasks it had, and whether its
program failed while the script went on. Its wall time is what elapsed from its start to its end,
in whole seconds, whatever it did besides computing. Components of a heterogeneous job are one run.

`MaxRSS` and `AveRSS` are memory of the tasks of a step. They are read of the steps that `srun`
started. In a job without them the script runs the program, or `mpirun` starts its ranks, and a
task of Slurm is all processes of a node: the steps `batch` and those of `mpirun` give the memory
of all together, and of one process only where one processor was allocated.

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
from typing import Any, Final, TypeAlias

from parcast.advice import Command
from parcast.files.bounds import require_at_most
from parcast.files.faults import Faults
from parcast.files.numbers import is_number, whole
from parcast.importers.content import (
    CUT_OFF,
    MOST_JOBS,
    first_line,
    json_document,
    keeping,
    text_lines,
)
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.timings.columns import MEMORY
from parcast.timings.notes import bounds_among
from parcast.units import shown

COLUMNS: Final = "JobID,JobName,AllocCPUS,NTasks,Elapsed,State,MaxRSS,AveRSS"  # all that is read
ASK: Final = Command(("sacct", "-P", "-o", COLUMNS))
OF_SCRIPT: Final = frozenset({"batch", "interactive"})  # steps in which a job itself runs
PARTS: Final = OF_SCRIPT | {"extern"}  # steps that Slurm adds to a job
HELPERS: Final = frozenset(  # steps in which mpirun and mpiexec start ranks on other nodes
    {"orted", "prted", "hydra_bstrap_proxy", "hydra_pmi_proxy", "pmi_proxy"}
)
FAILED: Final = frozenset(
    {"FAILED", "OUT_OF_MEMORY", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "CANCELLED"}
)
OUT_OF_TIME: Final = "TIMEOUT"  # state of a job that took longer than the time that it had
TIMED: Final = frozenset({"COMPLETED", OUT_OF_TIME})
JOBS = re.compile(rb'"jobs"\s*:\s*\[')
ALIGNED = re.compile(rb"\s*JobID(?:Raw)?[ \t]+[A-Za-z][A-Za-z \t]*\r?\n[ \t]*-{3}", re.IGNORECASE)
KEYS = (b'"allocation_nodes"', b'"derived_exit_code"', b'"association"')


@dataclass(frozen=True, kw_only=True, slots=True)
class SlurmJob:
    """One job of an account."""

    name: str
    cluster: str  # "" where it is not told
    state: str
    elapsed: float | None  # [s]
    tasks: int | None  # of its largest step [1]
    processors: int | None  # allocated to it [1]
    line: int | None = None  # its place in the file
    field: str = ""
    failed: str = ""  # state of its largest step, where it was not COMPLETED but the job was
    memory: float | None = None  # most of one task of its largest steps [B]
    memory_total: float | None = None  # of all tasks of one of them [B]
    is_of_script: bool = False  # whether the memory is that of the script and what it started

    @property
    def is_run(self) -> bool:
        """Whether it ran its program to the end."""
        return self.state == "COMPLETED" and not self.failed


@dataclass(slots=True)
class Steps:
    """What the steps of a job tell: those with most tasks ran its program."""

    tasks: int = 0
    failed: str = ""  # "" where one of the largest did not fail
    memory: float | None = None  # most of one task [B]
    memory_total: float | None = None  # of all tasks [B]
    beside: float = 0.0  # of all tasks of the steps that `srun` did not start [B]

    def add(
        self, tasks: int, state: str, memory: float | None = None, average: float | None = None
    ) -> None:
        """Take in a step that the job itself started, with the memory of its tasks."""
        failed = state if state in FAILED else ""
        total = average and average * tasks
        if tasks > self.tasks:
            self.tasks, self.failed = tasks, failed
            self.memory, self.memory_total = memory, total
        elif tasks == self.tasks:
            self.failed = self.failed and failed
            self.memory = most(self.memory, memory)
            self.memory_total = most(self.memory_total, total)

    def add_beside(self, tasks: int, memory: float | None, average: float | None) -> None:
        """Take in a step of the script, or of ranks that `mpirun` started elsewhere."""
        self.beside += average * tasks if average and tasks else memory or 0.0

    def of(self, job: SlurmJob) -> SlurmJob:
        """Say of a job what they tell."""
        memory, total = self.memory, self.memory_total
        if not self.tasks:
            total = self.beside or None
            memory = total if job.processors == 1 else None
        return replace(
            job,
            tasks=self.tasks or None,
            failed=self.failed if job.state == "COMPLETED" else "",
            memory=memory,
            memory_total=total,
            is_of_script=not self.tasks and total is not None,
        )


def most(*known: float | None) -> float | None:
    """Give the largest of what is known."""
    return max((x for x in known if x), default=None)


def joined(parts: Sequence[SlurmJob]) -> SlurmJob:
    """Make one run of the components of a heterogeneous job."""
    if len(parts) == 1:
        return parts[0]
    elapsed = [x.elapsed for x in parts]
    tasks, processors = [x.tasks for x in parts], [x.processors for x in parts]
    totals = [x.memory_total for x in parts]
    return replace(
        next((x for x in parts if not x.is_run), parts[0]),
        elapsed=None if None in elapsed else max(x for x in elapsed if x is not None),
        tasks=sum(x or 0 for x in tasks) if all(tasks) else None,
        processors=sum(x or 0 for x in processors) if all(processors) else None,
        memory=most(*(x.memory for x in parts)) if all(x.memory for x in parts) else None,
        memory_total=sum(x or 0 for x in totals) if all(totals) else None,
    )


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is what `sacct` prints, also without -P."""
    if head.lstrip().startswith(b"{"):
        return bool(JOBS.search(head)) and sum(key in head for key in KEYS) >= 2
    first = head.lstrip().split(b"\n", 1)[0].lower()
    if ALIGNED.match(head):
        return True
    titles = {title.strip() for title in first.split(b"|")}
    return bool(titles & {b"jobid", b"jobidraw"} and titles & {b"elapsed", b"elapsedraw"})


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row for each job that completed. The only `metric` is "elapsed".

    Several names of jobs become `callpath`, several clusters `machine`. `p` are its tasks where
    they are given, else its processors.
    """
    jobs = [(job, faults) for path, faults in runs.files() for job in _jobs(path, faults)]
    done = [(job, faults) for job, faults in jobs if job.is_run]
    if not done:
        states = sorted({job.failed or job.state for job, _ in jobs})
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
            memory={
                name: [value]
                for name, value in zip(MEMORY, (job.memory, job.memory_total), strict=True)
                if value
            },
        )
    ended = [job for job, _ in jobs if job.state == OUT_OF_TIME and job.elapsed]
    bounds = _add_cut_off(runs, ended, timed, has_names=has_names, has_clusters=has_clusters)
    failed = sum(bool(job.failed) for job, _ in jobs)
    notes = _notes(timed, len(jobs) - len(done), failed)
    if bounds:
        notes.insert(1, f"{bounds_among(bounds)}.")
    return runs.imported(metric=metric, notes=notes)


def _add_cut_off(
    runs: Runs,
    ended: Sequence[SlurmJob],
    timed: Sequence[SlurmJob],
    *,
    has_names: bool,
    has_clusters: bool,
) -> int:
    """Take in jobs that reached their time limit, of the programs that were timed; how many."""
    known = {(job.name, job.cluster) for job in timed}
    by_tasks = {bool(job.tasks) for job in timed}
    count = 0
    for job in ended:
        p = job.tasks or job.processors
        if not p or not job.elapsed or (job.name, job.cluster) not in known:
            continue
        if by_tasks == {bool(job.tasks)}:  # else p may not mean the same
            runs.add_cut_off(
                {"p": p},
                job.elapsed,
                callpath=job.name if has_names else "",
                machine=job.cluster if has_clusters else "",
            )
            count += 1
    return count


def _jobs(path: Path, faults: Faults) -> list[SlurmJob]:
    first = first_line(path, faults)
    if ALIGNED.match(first.encode() + b"\n---"):
        faults.refuse(
            "must have bars between its columns, got columns that are aligned with blanks, which "
            f"cannot be told apart where a cell is empty. Print it again: {ASK}"
        )
    is_json = first.startswith("{")
    return jobs_of_json(path, faults) if is_json else jobs_of_table(path, faults)


FORMAT = Format(title="Slurm sacct -P or --json", recognises=recognises, timings=read)


def _processors(job: SlurmJob, faults: Faults) -> int:
    """Give the tasks of a job where they are given, else its processors."""
    p = job.tasks or job.processors
    if not p:
        faults.refuse(
            f"must have the tasks or processors of each job, got neither. Print them: {ASK}",
            line=job.line,
            field=job.field,
        )
    return p


def _elapsed(job: SlurmJob, faults: Faults) -> float:
    """Give the wall time of a job. [s]."""
    if job.elapsed is None:
        faults.refuse(
            f"must have the elapsed time, got none. Print it: {ASK}",
            line=job.line,
            field=job.field,
        )
    return job.elapsed


def _notes(timed: Sequence[SlurmJob], others: int, failed: int) -> list[str]:
    """Say what was left out, of that how many as their largest step failed, and what p is."""
    notes = []
    for count, why in (
        (others - failed, "not COMPLETED"),
        (failed, "COMPLETED, but the step with most tasks failed"),
    ):
        if count:
            are = "job is" if count == 1 else "jobs are"
            notes.append(f"{count} {are} left out: {why}.")
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
    by_script = sum(job.is_of_script for job in timed)
    if by_script:
        of = "" if by_script == len(timed) else f" of {by_script} of {len(timed)} jobs"
        notes.append(f"Memory{of} is that of all processes of the job script, without srun.")
    return notes


KEPT = {  # keys
    *("jobs", "name", "cluster", "state", "current", "time", "elapsed", "steps", "step", "id"),
    *("step_id", "tasks", "count", "tres", "allocated", "type", "required", "CPUs"),
    *("set", "number", "het", "job_id", "requested", "max", "average"),
}


def jobs_of_json(path: str | os.PathLike[str], faults: Faults) -> list[SlurmJob]:
    """Read the jobs of a document, each with the tasks of its largest step."""
    document = json_document(path, faults, hook=keeping(KEPT))
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        faults.refuse(
            f"must be a list, got none. Print it: {Command(('sacct', '--json'))}", field="jobs"
        )
    read: dict[object, list[SlurmJob]] = {}
    for i, job in enumerate(jobs):
        if not isinstance(job, dict):
            got = shown(repr(job), limit=30)
            faults.refuse(f"must be an object, got {got}. Print it again.", field=f"jobs[{i}]")
        group = _count(_inside(job, "het", "job_id"))
        key = (str(job.get("cluster")), group) if group else i
        read.setdefault(key, []).append(_job(job, i, faults))
    return [joined(parts) for parts in read.values()]


def _job(job: dict[str, Any], i: int, faults: Faults) -> SlurmJob:
    elapsed = _number(_inside(job, "time", "elapsed"))
    if elapsed is not None and elapsed < 0:
        faults.refuse(
            f"must be a time above 0, got {elapsed}. Leave the job out.",
            field=f"jobs[{i}].time.elapsed",
        )
    told = SlurmJob(
        name=str(job.get("name") or ""),
        cluster=str(job.get("cluster") or ""),
        state=_state(job.get("state")),
        elapsed=elapsed,
        tasks=None,
        processors=_of_type(_inside(job, "tres", "allocated"), "cpu")
        or _count(_inside(job, "required", "CPUs")),
        field=f"jobs[{i}]",
    )
    return _steps(job).of(told)


def _state(state: Any) -> str:
    """Give the first state of a job, in whichever schema."""
    current = state.get("current") if isinstance(state, dict) else state
    if isinstance(current, list):
        current = current[0] if current else ""
    return str(current or "UNKNOWN").split(" ")[0]


def _steps(job: dict[str, Any]) -> Steps:
    """Look through the steps that the job itself started."""
    steps, listed = Steps(), job.get("steps")
    for step in listed if isinstance(listed, list) else []:
        number, name = _inside(step, "step", "id"), str(_inside(step, "step", "name"))
        number = number.get("step_id") if isinstance(number, dict) else number
        kind = str(number).rpartition(".")[2]
        kind = kind if kind in PARTS else name
        tasks = _count(_inside(step, "tasks", "count")) or 0
        memory, average = (
            _of_type(_inside(step, "tres", "requested", which), "mem")
            for which in ("max", "average")
        )
        if kind not in PARTS | HELPERS:
            state = _state(step.get("state") if isinstance(step, dict) else None)
            steps.add(tasks, state, memory, average)
        elif kind != "extern":
            steps.add_beside(tasks, memory, average)
    return steps


def _of_type(listed: Any, kind: str) -> int | None:
    """Give the number of a kind of resource in a list of them."""
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and one.get("type") == kind:
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
SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?)([KMGTPE]?)")
WANTED = (
    *("jobid", "jobname", "cluster", "state", "elapsed", "ntasks", "alloccpus"),
    *("maxrss", "averss"),
)
ANOTHER_MARK = (
    f"Print it with another delimiter ({Command(('sacct', '-P', '--delimiter=^'))}), or leave "
    "JobName out."
)
Key: TypeAlias = tuple[str, str, str]  # cluster, number, and component of a heterogeneous job
SAME = {"jobidraw": "jobid", "ncpus": "alloccpus"}  # told where the other is not


def jobs_of_table(path: str | os.PathLike[str], faults: Faults) -> list[SlurmJob]:
    """Read the jobs of a table, each with the tasks of its largest step."""
    columns: list[str] | None = None
    jobs: dict[Key, SlurmJob] = {}
    steps: dict[Key, Steps] = {}
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
        identity, dot, step = row["jobid"].partition(".")
        number, _, component = identity.partition("+")
        key = row.get("cluster", ""), number, component
        if not dot:
            jobs[key] = _job_of_row(row, line, faults)
        count = None if step == "extern" else _count_in_cell(row.get("ntasks"), line, faults)
        if count:
            memory, average = (size_of(row.get(x)) for x in ("maxrss", "averss"))
            state = _word(row["state"]) if dot else ""
            own = steps.setdefault(key, Steps())
            if step in OF_SCRIPT or row.get("jobname") in HELPERS:
                own.add_beside(count, memory, average)
            else:
                own.add(count, state, memory, average)
        require_at_most(MOST_JOBS, max(len(jobs), len(steps)), "jobs", faults, line=line)
    runs: dict[tuple[str, str], list[SlurmJob]] = {}
    for key, job in jobs.items():
        runs.setdefault(key[:2], []).append(steps.get(key, Steps()).of(job))
    return [joined(parts) for parts in runs.values()]


def _word(state: str) -> str:
    """Give a state without what follows it: "CANCELLED by 1000"."""
    return state.partition(" ")[0]


def _columns(titles: list[str], faults: Faults, line: int) -> list[str]:
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


def _job_of_row(cells: dict[str, str], line: int, faults: Faults) -> SlurmJob:
    state = _word(cells["state"])
    return SlurmJob(
        name=intern(cells.get("jobname", "")),
        cluster=intern(cells.get("cluster", "")),
        state=intern(state),
        elapsed=_seconds(cells["elapsed"], line, faults) if state in TIMED else None,
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
            f"Print it again: {ASK}",
            line=line,
        )
    return count


def size_of(text: str | None) -> float | None:
    """Read an amount of memory such as 1.5G, in units of 1024; None where there is none. [B].

    >>> size_of("18832K"), size_of("1.5M"), size_of("")
    (19283968.0, 1572864.0, None)
    """
    match = SIZE.fullmatch(text or "")
    return None if match is None else float(match[1]) * 1024.0 ** " KMGTPE".index(match[2] or " ")


def _seconds(text: str, line: int, faults: Faults) -> float:
    """Read [DD-]HH:MM:SS, or plain seconds. [s]."""
    is_plain = text.isascii() and text.isdigit()
    match = DURATION.fullmatch(text)
    if not (is_plain or match):
        faults.refuse(
            f"must have an elapsed time such as 1-02:03:04, got {shown(repr(text))}. "
            f"Print it again: {ASK}",
            line=line,
        )
    if match is None:
        return float(text)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds
