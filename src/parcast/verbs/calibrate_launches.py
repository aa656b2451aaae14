"""Launches all jobs in turn, again and again, until their values are settled or time is over.

In turn, so that what changes while it measures meets all of them, and so that what is interrupted
has something of each.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parcast.errors import ParcastError, RunFailed
from parcast.run.bench.compiled import arguments_of
from parcast.run.bench.records import Launch, read_launch
from parcast.run.launcher import run_ranks
from parcast.run.mpi import ONE_THREAD, Mpi
from parcast.run.rank import PLACEMENT
from parcast.run.tied import tied
from parcast.verbs.calibrate_jobs import Job, placement_of

Progress = Callable[[float, str], None]  # share that is done, and what is being done
Starter = Callable[[Job, Path], None]  # launches a job that records to a file, or raises

LAUNCH: Final = 300.0  # time after which a launch hangs [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """How launching went."""

    was_interrupted: bool
    was_out_of_time: bool


def starter(mpi: Mpi | None) -> Starter:
    """Give what launches a job: under an MPI, or in a process of its own where there is none."""

    def start(job: Job, record: Path) -> None:
        module = f"parcast.run.bench.{job.module}"
        arguments = [str(record), job.plan.to_text(), *job.extra]
        if mpi is None:
            _start_alone(module, [*arguments, *(["alone"] if job.part == "storage" else [])])
            return
        if job.program is not None:
            arguments = [str(job.program), *arguments_of(job.plan, record)]
        run_ranks(module, arguments, ranks=job.ranks, time_limit=LAUNCH, mpi=mpi)

    return start


def launch_all(
    jobs: Sequence[Job],
    start: Starter,
    records: Path,
    *,
    least: int,
    most: int,
    time_limit: float,
    is_settled: Callable[[Job], bool],
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> Course:
    """Launch jobs in turn.

    Parameters
    ----------
    jobs : sequence of Job
        To which launches are added.
    start : callable
        Launches one.
    records : path
        Folder for what they write.
    least, most : int
        Launches of each.
    time_limit : float
        After which no launch is started that would end later, as far as is known. Each job is
        launched once where the time has not passed already. [s]
    is_settled : callable
        Whether a job needs no more than `least` launches.
    progress : callable
    clock : callable, default time.monotonic

    Returns
    -------
    Course
        A KeyboardInterrupt ends it; what the launch had recorded is kept.
    """
    began, done = clock(), 0
    is_out = False
    while pending := [job for job in jobs if _goes_on(job, least, most, is_settled)]:
        for job in pending:
            elapsed = clock() - began
            if elapsed + job.seconds > time_limit and done:
                is_out = True
                continue
            left = sum(max(least - len(x.launches) - len(x.lost), 0) for x in pending)
            planned = done + max(left, 1)
            progress(min(max(done / planned, elapsed / time_limit), 0.99), job.title)
            record = records / f"{done}.jsonl"
            try:
                _launch(job, start, record, clock)
            except KeyboardInterrupt:
                partial = _read(job, record)
                if not partial.is_empty:
                    job.launches.append(partial)
                return Course(was_interrupted=True, was_out_of_time=False)
            done += 1
        if is_out:
            break
    progress(1.0, "done")
    return Course(was_interrupted=False, was_out_of_time=is_out)


def _goes_on(job: Job, least: int, most: int, is_settled: Callable[[Job], bool]) -> bool:
    """Tell whether a job is to be launched again."""
    if job.is_given_up or len(job.launches) >= most:
        return False
    return len(job.launches) < least or not is_settled(job)


def _read(job: Job, record: Path) -> Launch:
    """Read what a launch of a job recorded."""
    return read_launch(record, is_pinned=placement_of(job.ranks) == "own")


def _launch(job: Job, start: Starter, record: Path, clock: Callable[[], float]) -> None:
    """Launch a job once, and add what it gave, or why it gave nothing."""
    began = clock()
    try:
        start(job, record)
    except ParcastError as failure:
        job.lost.append(str(failure))
    else:
        found = _read(job, record)
        if found.is_empty:
            job.lost.append(str(found.facts.get("refused", "it measured nothing")))
        else:
            job.launches.append(found)
    job.seconds = clock() - began


def _start_alone(module: str, arguments: Sequence[str]) -> None:
    """Run a module in a process of its own, pinned to a core."""
    placement = placement_of(1)
    variables = {
        **ONE_THREAD,
        **os.environ,
        PLACEMENT: "one" if placement == "own" else placement,
    }
    command = [sys.executable, "-m", module, *arguments]
    try:
        done = subprocess.run(
            tied(command),
            check=False,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LAUNCH,
            start_new_session=True,  # Ctrl-C is ours to hand on
        )
    except subprocess.TimeoutExpired as late:
        raise RunFailed(
            f"{module} did not end within {LAUNCH:g} s and was killed. Ask for less."
        ) from late
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        reason = f": {said[-1].strip()}" if said else ""
        raise RunFailed(f"{module} ended with status {done.returncode}{reason}. Try it again.")
