"""Jobs that Slurm accounted for: `sacct -P` and `sacct --json`.

A job is one run; its steps are parts of it and tell only how many tasks it had. Its wall time is
what elapsed from its start to its end, in whole seconds, whatever it did besides computing.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from parcast.io.faults import Faults
from parcast.io.formats.axes import Constants
from parcast.io.formats.content import first_line
from parcast.io.formats.imported import Imported
from parcast.io.formats.runs import Runs
from parcast.io.formats.slurm_job import ASK, Job
from parcast.io.formats.slurm_json import jobs_of_json
from parcast.io.formats.slurm_table import jobs_of_table
from parcast.units import shown

JOBS = re.compile(rb'"jobs"\s*:\s*\[')
KEYS = (b'"allocation_nodes"', b'"derived_exit_code"', b'"association"')


def recognises(head: bytes, path: Path) -> bool:  # noqa: ARG001 - every format is given the path
    """Tell by its first bytes whether a file is what `sacct` prints."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.lstrip().startswith(b"{"):
        return bool(JOBS.search(head)) and sum(key in head for key in KEYS) >= 2
    first = head.lstrip().split(b"\n", 1)[0].lower()
    titles = {title.strip() for title in first.split(b"|")}
    return bool(titles & {b"jobid", b"jobidraw"} and titles & {b"elapsed", b"elapsedraw"})


def read(
    paths: Sequence[Path],
    *,
    metric: str | None = None,
    rename: Mapping[str, str] | None = None,
    constants: Constants | None = None,
) -> Imported:
    """Read accounts of Slurm, one after the other.

    Parameters
    ----------
    paths : sequence of path
        What `sacct -P` or `sacct --json` printed.
    metric : str, optional
        "elapsed", the only one there is.
    rename : mapping of str to str, optional
        New names of parameters: the only one is `p`.
    constants : mapping, optional
        Axes that the files do not tell: ``{"n": 1000}``.

    Returns
    -------
    Imported
        One row for each job that completed. Several names of jobs become `callpath`, several
        clusters `machine`. `p` are its tasks where they are told, else its processors.

    Raises
    ------
    FileProblems
        If a file is no account, or no job in it completed.
    ParameterError
        If what is to be renamed is not there.
    """
    runs = Runs(rename=rename, constants=constants)
    sources: list[tuple[Faults, list[Job]]] = []
    for path in paths:
        faults = Faults(str(path))
        if first_line(path, faults).startswith("{"):
            found = jobs_of_json(path, faults)
        else:
            found = jobs_of_table(path, faults)
        sources.append((faults, found))
    done = [job for _, jobs in sources for job in jobs if job.state == "COMPLETED"]
    if not done:
        states = sorted({job.state for _, jobs in sources for job in jobs})
        got = f"only {shown(', '.join(states))}" if states else "no job"
        sources[-1][0].refuse(f"must have jobs that are COMPLETED, got {got}. Ask for others.")
    timed = [job for job in done if job.elapsed != 0]
    has_names = len({job.name for job in timed}) > 1
    has_clusters = len({job.cluster for job in timed}) > 1
    for faults, jobs in sources:
        for job in jobs:
            if job.state == "COMPLETED":
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
    others = sum(len(jobs) for _, jobs in sources) - len(done)
    return runs.imported(sources[-1][0], metric=metric, notes=_notes(timed, others))


def _processors(job: Job, faults: Faults) -> int:
    """Give the tasks of a job where they are told, else its processors."""
    p = job.tasks or job.processors
    if not p:
        faults.add(
            f"must tell the tasks or processors of each job, got neither. Ask for them: {ASK}",
            line=job.line,
            field=job.field,
        )
        faults.raise_all()
    return p


def _elapsed(job: Job, faults: Faults) -> float:
    """Give the wall time of a job. [s]."""
    if job.elapsed is None:
        faults.add(
            f"must tell the time that elapsed, got none. Ask for it: {ASK}",
            line=job.line,
            field=job.field,
        )
        faults.raise_all()
    return job.elapsed


def _notes(timed: Sequence[Job], others: int) -> list[str]:
    """Say what was left out, and what p is."""
    notes = []
    if others:
        are = "job is" if others == 1 else "jobs are"
        notes.append(f"{others} {are} left out, not being COMPLETED.")
    by_tasks = sum(bool(job.tasks) for job in timed)
    if by_tasks == len(timed):
        notes.append("p is the number of tasks of each job.")
    elif by_tasks == 0:
        notes.append("p is the number of processors allocated to each job: tasks are not told.")
    else:
        notes.append(
            f"p is the number of tasks of {by_tasks} of {len(timed)} jobs; of the others, which "
            "do not tell it, the number of processors allocated."
        )
    return notes
