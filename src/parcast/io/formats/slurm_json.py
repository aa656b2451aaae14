"""The JSON that `sacct --json` prints, in the schemas from Slurm 21.08 on.

Newer schemas wrap numbers ({"set": true, "number": 5}) and list the states of a job.
"""

import os
from typing import Any

from parcast.io.faults import Faults
from parcast.io.formats.content import json_document
from parcast.io.formats.slurm_job import PARTS, Job
from parcast.units import shown

KEPT = {  # keys
    *("jobs", "name", "cluster", "state", "current", "time", "elapsed", "steps", "step", "id"),
    *("step_id", "tasks", "count", "tres", "allocated", "type", "required", "CPUs"),
    *("set", "number"),
}


def jobs_of_json(path: str | os.PathLike[str], faults: Faults) -> list[Job]:
    """Read the jobs of a document, each with the tasks of its largest step.

    Raises
    ------
    FileProblems
        If the file is no such document.
    """
    document = json_document(path, faults, hook=_kept)
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        faults.add("must be a list, got none. Print it with: sacct --json", field="jobs")
        faults.raise_all()
    found = []
    for i, job in enumerate(jobs):
        if not isinstance(job, dict):
            got = shown(repr(job), limit=30)
            faults.add(f"must be an object, got {got}. Print it again.", field=f"jobs[{i}]")
            faults.raise_all()
        found.append(_job(job, i, faults))
    return found


def _kept(found: dict[str, Any]) -> dict[str, Any]:
    """Keep what is read of an object: a job has hundreds of other keys."""
    return {key: value for key, value in found.items() if key in KEPT}


def _job(job: dict[str, Any], i: int, faults: Faults) -> Job:
    """Give what is known of a job."""
    elapsed = _number(_inside(job, "time", "elapsed"))
    if elapsed is not None and elapsed < 0:
        faults.add(
            f"must be a time above 0, got {elapsed}. Leave the job out.",
            field=f"jobs[{i}].time.elapsed",
        )
        faults.raise_all()
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


def _inside(found: Any, *keys: str) -> Any:
    """Follow keys into objects; None where the path ends."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _number(value: Any) -> float | None:
    """Unwrap a number; None where none is set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_real else None


def _count(value: Any) -> int | None:
    """Unwrap a whole number above 0; None where none is set."""
    number = _number(value)
    return int(number) if number is not None and 0 < number < 1e9 else None
