"""Jobs for the runs that a measurement lacks: one for each number of nodes, and their scripts."""

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.cli.batch_script import Allocation, BatchSystem, submission, wrapped
from parcast.errors import Argument, ParameterError, ParcastError
from parcast.files.document import check_place, write_document
from parcast.forecasting.forecast import forecast
from parcast.measurement.collect import collected_rows, standing_of
from parcast.measurement.jobs import (
    BatchJob,
    folder_of,
    jobs_of,
    new_numbers,
    require_one,
    step_name,
)
from parcast.measurement.measure import MeasuredCommand
from parcast.measurement.point import MeasuredPoint, require_other_runs, require_values
from parcast.measurement.result import with_ended
from parcast.measurement.table import TIMEOUT, RunRow, RunTable
from parcast.timings.measurements import Measurements
from parcast.trials.command import as_typed
from parcast.units import shown
from parcast.words import counted, listed

USUAL: Final = 3600.0  # that a job is given where nothing is known of its runs [s] [D]
STARTS: Final = 60.0  # more than the runs: for the start of the job and its end [s] [D]
TOO_WIDE: Final = 30.0  # upper end over the forecast, from which nothing is known [1]
SCRIPT: Final = """\
#!/bin/sh
# Measures {what} on {nodes}: {points}, {runs} each.
# Check the lines marked EDIT, then submit the script: {submit}
{directives}
# EDIT: make the program and its MPI available on every node.
# module load openmpi

cd {folder} || exit 1
exec {python} -P -m parcast measure job {file} \\
    {command}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchRequest:
    """What jobs ask the batch system for."""

    system: BatchSystem = "slurm"
    ranks_per_node: int | None = None  # None: all on one node
    cpus_per_rank: int = 1
    partition: str = ""
    account: str = ""
    seconds: float | None = None  # of each job; None: as its runs need [s]


def write_jobs(
    command: MeasuredCommand,
    points: Sequence[MeasuredPoint],
    asked: BatchRequest,
    *,
    runs: int,
    warmup: int = 0,
    seed: int = 0,
    output: str,
    resume: bool = False,
) -> list[BatchJob]:
    """Write the scripts of jobs for the runs that a table lacks, beside it."""
    require_values(command.texts, points[0].columns)
    by_nodes = _by_nodes(points, asked.ranks_per_node)
    if not _is_given_its_tasks(command.command):
        for own in by_nodes.values():
            require_other_runs(command.texts, own)
    about = command.about() | {"parameters": [*points[0].columns]}
    known = _known(output, about, resume=resume)
    numbers = new_numbers(output)
    jobs = []
    for nodes, own in by_nodes.items():
        largest = max(x.columns["p"] for x in own)
        job = BatchJob(
            number=next(numbers),
            command=command,
            points=tuple(own),
            runs=runs,
            warmup=warmup,
            seed=seed,
            system=asked.system,
            nodes=nodes,
            ranks_per_node=largest // nodes,
            cpus_per_rank=asked.cpus_per_rank,
            seconds=asked.seconds or USUAL,
            seconds_from="as asked for"
            if asked.seconds
            else "by default, as nothing is known of its runs",
            folder=str(folder_of(output)),
        )
        job = _within_time(job, asked, known)
        rows = _before(job, known)
        if any(missing_runs(job, rows).values()):
            jobs.append(job)
            _write(job, asked, rows)
    return jobs


def missing_runs(job: BatchJob, rows: Sequence[RunRow]) -> dict[MeasuredPoint, int]:
    """Runs of each point that are still to be made; none where one has failed."""
    made = Counter(x.point for x in rows)
    failed = {x.point for x in rows if not x.is_run}
    return {x: 0 if x in failed else max(job.runs - made[x], 0) for x in job.points}


def _known(output: str, about: Mapping[str, Any], *, resume: bool) -> list[RunRow]:
    """Runs that are known, with those of jobs that have ended; other jobs must be none."""
    folder = folder_of(output)
    exists = folder.is_dir() and any(folder.glob("*.json"))
    if not resume:
        RunTable.begun(str(output), about, resume=False).close()  # refuses one that is there
        if exists:
            raise ParameterError(
                "output",
                must="be of a new measurement",
                got=f"{shown(output)}, which has jobs in {shown(folder)}",
                hint=(
                    "Go on with it: ",
                    Argument("resume", True),
                    ", or choose another name.",
                ),
            )
        folder.mkdir(exist_ok=True)
        check_place(folder / "1.sh")
        return []
    folder.mkdir(exist_ok=True)
    jobs = jobs_of(output) if exists else []
    require_one(about, jobs)
    standings = standing_of(jobs)
    for job, standing in zip(jobs, standings, strict=True):
        if standing.is_unfinished:
            raise ParameterError(
                "resume",
                must="be given when all jobs have ended",
                got=f"job {job.number}, which is {standing.word}",
                hint="Wait for it, or cancel it.",
            )
    rows = collected_rows(output, jobs, standings)
    for job, standing in zip(jobs, standings, strict=True):
        if standing.has_not_begun:  # it is replaced: nothing has come of it
            for path in folder.glob(f"{job.number}.*"):
                path.unlink()
    return rows


def _by_nodes(
    points: Sequence[MeasuredPoint], ranks_per_node: int | None
) -> dict[int, list[MeasuredPoint]]:
    found: dict[int, list[MeasuredPoint]] = {}
    for point in points:
        p = point.columns["p"]
        most = ranks_per_node or p
        if p > most and p % most:
            raise ParameterError(
                "p",
                must=f"be at most {most} (ranks_per_node), or a multiple of it",
                got=f"{p}",
                hint="One node would have fewer ranks than the others.",
            )
        found.setdefault(ceil(p / most), []).append(point)
    return dict(sorted(found.items()))


def _before(job: BatchJob, known: Sequence[RunRow]) -> list[RunRow]:
    """Runs of a job that are made; not those that took longer than there was time."""
    return [
        x
        for x in known
        if x.point in job.points and not (x.status == TIMEOUT and x.seconds < _most(job))
    ]


def _most(job: BatchJob) -> float:
    """Most time that a run of a job may take [s]."""
    limit = job.command.timeout
    return min(job.seconds - STARTS, limit) if limit else job.seconds - STARTS


def _within_time(job: BatchJob, asked: BatchRequest, known: Sequence[RunRow]) -> BatchJob:
    """Give a job the time that its runs need, by their forecast at 95%."""
    if asked.seconds:
        return job
    missing = missing_runs(job, [x for x in known if x.point in job.points and x.is_run])
    missing = {x: count + job.warmup for x, count in missing.items() if count}
    upper = upper_times(known, list(missing))
    if upper and missing:
        seconds = STARTS + sum(count * upper[x] for x, count in missing.items())
        return replace(job, seconds=seconds, seconds_from="the forecast of its runs at 95%")
    if job.command.timeout and missing:
        seconds = STARTS + sum(missing.values()) * job.command.timeout
        return replace(job, seconds=seconds, seconds_from="the time limit of each run")
    return job


def upper_times(
    rows: Sequence[RunRow], points: Sequence[MeasuredPoint]
) -> dict[MeasuredPoint, float]:
    """Times that 95% of runs do not exceed [s]; none where one of them is not known."""
    runs = [x for x in rows if x.is_run]
    found = {
        point: max(upper, *(x.seconds for x in runs if x.point == point), 0.0)
        for point, (time, upper) in _forecasts_at(points, rows).items()
        if upper <= TOO_WIDE * time
    }
    return found if len(found) == len(points) else {}


def _forecasts_at(
    points: Sequence[MeasuredPoint], rows: Sequence[RunRow]
) -> dict[MeasuredPoint, tuple[float, float]]:
    """Forecast and the upper end of its 90% interval at points [s]; without those it has not."""
    found: dict[MeasuredPoint, tuple[float, float]] = {}
    for others in dict.fromkeys(x.values[1:] for x in points):
        own = [x for x in rows if x.point.values[1:] == others]
        asked = [x for x in points if x.values[1:] == others]
        made, ended = [x for x in own if x.is_run], [x for x in own if x.status == TIMEOUT]
        with suppress(ParcastError):
            runs = Measurements(
                p=[x.point.columns["p"] for x in made], time=[x.seconds for x in made]
            )
            told = forecast(with_ended(runs, ended), [x.columns["p"] for x in asked])
            ends = zip(np.ravel(told.time).tolist(), np.ravel(told.upper).tolist(), strict=True)
            found |= dict(zip(asked, ends, strict=True))
    return found


def _is_given_its_tasks(command: Sequence[str]) -> bool:
    """Whether a job tells it how many ranks there are."""
    return os.path.basename(command[0]) == "srun"


def started_with(job: BatchJob) -> list[str]:
    """Command of a job: srun is given what the job has, before what its user has given it."""
    words = [*job.command.command]
    if not _is_given_its_tasks(words):
        return words
    per_node = "{p}" if job.nodes == 1 else str(job.ranks_per_node)
    return [
        words[0],
        f"--nodes={job.nodes}",
        "--ntasks={p}",
        f"--ntasks-per-node={per_node}",
        f"--cpus-per-task={job.cpus_per_rank}",
        f"--job-name={step_name(job)}",
        *words[1:],
    ]


def _write(job: BatchJob, asked: BatchRequest, rows: Sequence[RunRow]) -> None:
    """Write the files of a job: its script, what it measures, and the runs that are made."""
    job.save()
    if rows:
        RunTable(str(job.file("csv")), job.about, rows).save()
    script = str(job.file("sh"))
    stem = re.sub(r"[^A-Za-z0-9_]", "_", Path(job.folder).stem)[:10]
    allocation = Allocation(
        name=f"m_{stem}_{job.number}"[:15],
        seconds=job.seconds,
        output=str(job.file("{}.txt")),
        nodes=job.nodes,
        ranks=job.nodes * job.ranks_per_node,
        ranks_per_node=job.ranks_per_node,
        cpus_per_rank=job.cpus_per_rank,
        is_exclusive=True,
        partition=asked.partition,
        account=asked.account,
    )
    text = SCRIPT.format(
        what=shown(as_typed(job.command.command), limit=40),
        nodes=counted(job.nodes, "node"),
        points=f"p = {listed(map(str, job.counts))}",
        runs=counted(job.runs, "run"),
        submit=submission(script, job.system).line(),
        directives=allocation.directives(job.system),
        folder=shlex.quote(os.getcwd()),
        python=shlex.quote(sys.executable),
        file=shlex.quote(str(job.file("json"))),
        command=wrapped(started_with(job)),
    )
    write_document(script, [text])
