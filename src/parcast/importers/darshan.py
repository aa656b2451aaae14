"""Darshan logs: the run time of a job, and the I/O time of its slowest rank.

A log is read itself (the extra `darshan`), or as text, JSON or CSV, which need no library:

    darshan-parser LOG.darshan > log.txt
    python -m darshan to_json LOG.darshan > log.json
    python -m darshan job_stats --csv LOGS.darshan > jobs.csv

A forecast of a job wants its run time: it is the callpath `run`, and `p` its processes. What I/O
does as `p` grows is seen in `I/O POSIX`, `I/O MPI-IO` and `I/O STDIO`, which are parts of `run`
and not of each other: MPI-IO calls POSIX. Each is the time that the slowest rank spent reading,
writing and on metadata, as `darshan_job` describes.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn, Protocol

from parcast.files.faults import Faults
from parcast.importers import darshan_job, darshan_log, darshan_text
from parcast.importers.content import beginning
from parcast.importers.darshan_job import RUN, DarshanJob, Each
from parcast.importers.registry import Format
from parcast.importers.runs import Imported, Runs
from parcast.units import shown
from parcast.words import listed

LOG = re.compile(rb"\d\.\d\d?\0{4,5}(75d\0{5}|\0{5}d57)")  # version and magic number, either end
REPORT = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"metadata"\s*:\s*\{\s*"job"\s*:\s*\{')
STATS = re.compile(rb"log_file,(exe,)?job_id,uid,nprocs,")
UNTOLD_LOSS = 2.0  # of a run time in whole seconds: two ends cut to seconds, and 1 added [s]
PACKED = (b"\x1f\x8b", b"BZh")
TRACES = ("DXT_POSIX", "DXT_MPIIO")
MOST_NAMED = 3  # of what was left out


class _RecordReader(Protocol):
    """Gives the jobs of a file, and every record to `each`."""

    def __call__(
        self, path: Path, faults: Faults, each: Each | None = None
    ) -> Iterator[DarshanJob]: ...


def recognises(head: bytes, _: Path) -> bool:
    """Tell by its first bytes whether a file is a Darshan log, in any of the four forms."""
    return _form(head, darshan_log.Logs()) is not None


def read(runs: Runs, metric: str | None) -> Imported:
    """Take in a row `run` for each job, and one for each module that did I/O.

    `metric` is "run", "POSIX", "MPI-IO" or "STDIO", to have that time alone. Default: all. The
    files are logs, or what `darshan-parser`, `to_json` or `job_stats --csv` wrote of them.
    """
    jobs: list[DarshanJob] = []
    met: set[str] = set()
    with darshan_log.Logs() as logs:
        for path, faults in runs.files():
            for job in reader_of(path, faults, logs)(path, faults):
                is_new = not job.identity or f"run of {job.identity}" not in met
                met.add(f"run of {job.identity}")
                _add(job, runs, metric, with_run=is_new)
                jobs.append(job)
    if jobs and metric is not None and not _callpaths(jobs, metric):
        there = ", ".join(_callpaths(jobs, None))
        runs.faults.refuse(
            f"must have the time {shown(repr(metric))}, got {there}. Choose one of them."
        )
    return runs.imported(notes=_notes(jobs, metric))


FORMAT = Format(
    title="Darshan logs, or text, JSON, CSV",
    recognises=recognises,
    timings=read,
    extra="darshan",
    extra_for=".darshan",
)


def _form(head: bytes, logs: darshan_log.Logs) -> _RecordReader | None:
    """Tell the form by the first bytes."""
    if LOG.match(head):
        return logs.jobs
    if head.startswith(darshan_text.VERSION) or b"\n" + darshan_text.VERSION in head:
        return darshan_text.jobs
    if REPORT.match(head):
        return darshan_log.jobs_in_json
    return darshan_job.jobs if STATS.match(head) else None


def reader_of(path: Path, faults: Faults, logs: darshan_log.Logs) -> _RecordReader:
    """Find what reads a file, or say why nothing does."""
    head = beginning(path)
    reader = _form(head, logs)
    if reader is None and path.suffix == ".darshan" and head and not head.startswith(PACKED):
        reader = logs.jobs  # which says what is wrong with it
    if reader is None:
        _refuse_foreign(head, faults)
    return reader


def _refuse_foreign(head: bytes, faults: Faults) -> NoReturn:
    """Refuse a file that is in none of the forms."""
    if not head:
        faults.refuse("must be a Darshan log, got an empty file. Copy or write it again.")
    if head.startswith(PACKED):
        faults.refuse(
            "must be a log of Darshan 3 or text, got a compressed file. Unpack it; if it is a log "
            "of Darshan 2, turn it into text with darshan-parser of Darshan 2."
        )
    faults.refuse(
        "must be a Darshan log, or what darshan-parser, to_json or job_stats --csv wrote of one, "
        f"got {shown(repr(head[:24].decode(errors='replace')))}. Name the format if it is another."
    )


def _add(job: DarshanJob, runs: Runs, metric: str | None, *, with_run: bool) -> None:
    """Add the rows of one job that are wanted."""
    for callpath, time in _times(job).items():
        is_row = with_run if callpath == RUN else time > 0
        if is_row and _is_wanted(callpath, metric):
            runs.add(
                {"p": job.p}, [time], job.faults, metric="time_s", callpath=callpath, line=job.line
            )


def _times(job: DarshanJob) -> dict[str, float]:
    """Give the times of a job by callpath. [s]."""
    return {RUN: job.run_time} | {_io(module): time for module, time in job.io.items()}


def _io(module: str) -> str:
    """Name the callpath of the I/O of a module."""
    return "I/O" if module == darshan_job.UNTOLD else f"I/O {module}"


def _is_wanted(callpath: str, metric: str | None) -> bool:
    """Tell whether a time was asked for: all are where none is named."""
    return metric is None or metric in {callpath, callpath.removeprefix("I/O ")}


def _callpaths(jobs: Sequence[DarshanJob], metric: str | None) -> list[str]:
    there = dict.fromkeys(callpath for job in jobs for callpath in _times(job))
    return [callpath for callpath in there if _is_wanted(callpath, metric)]


def _notes(jobs: Sequence[DarshanJob], metric: str | None) -> list[str]:
    """Say what the times are, and what is uncertain about them."""
    notes = ["p is the number of processes of each log (nprocs)."]
    io = [x for x in _callpaths(jobs, metric) if x != RUN]
    if io:
        notes.append(
            f"{', '.join(io)}: read, write and metadata time of the slowest rank, included in "
            "the run time."
        )
    if "I/O" in io:
        notes.append(
            "job_stats does not name the module of its I/O time: POSIX is assumed "
            "where none is named."
        )
    old = [job.run_time for job in jobs if job.is_in_whole_seconds and job.run_time > 0]
    if old and _is_wanted(RUN, metric):
        share = 100 * min(1.0, UNTOLD_LOSS / min(old))
        notes.append(
            f"{_some(len(old), jobs)} in whole seconds, end minus start plus 1: the true run "
            f"time may be up to {UNTOLD_LOSS:g} s less, {share:.3g}% of the shortest "
            f"({min(old):g} s)."
        )
    if negative := [f"{x} ({_file(job)})" for job in jobs for x in job.negative]:
        some = "1 time below 0 is" if len(negative) == 1 else f"{len(negative)} times below 0 are"
        notes.append(f"{some} left out of the I/O times: {listed(negative, MOST_NAMED)}.")
    if unknown := [f"I/O {x} ({_file(job)})" for job in jobs for x in job.unknown]:
        notes.append(
            "Shared files without the time of their slowest rank are left out of "
            f"{listed(unknown, MOST_NAMED)}."
        )
    if partial := [f"{x} ({_file(job)})" for job in jobs for x in job.partial]:
        notes.append(
            "Darshan ran out of memory for records, so these counters are incomplete and their "
            f"I/O times too short: {listed(partial, MOST_NAMED)}."
        )
    for callpath in io:
        over = [job for job in jobs if _times(job).get(callpath, 0.0) > job.run_time > 0]
        if over:
            worst = max(over, key=lambda job: _times(job)[callpath] / job.run_time)
            notes.append(
                f"{callpath} is longer than the run in {_file(worst)}: "
                f"{_times(worst)[callpath]:.4g} s of {worst.run_time:.4g} s. Threads overlap, or "
                "a counter is wrong."
            )
    unread = list(dict.fromkeys(name for job in jobs for name in job.unread))
    if traces := [name for name in unread if name in TRACES]:
        notes.append(f"DXT traces are not read: {', '.join(traces)}.")
    if others := [shown(name) for name in unread if name not in TRACES]:
        notes.append(f"Not read: {', '.join(others)}.")
    programs = sorted({Path(job.program).name for job in jobs} - {""})
    if len(programs) > 1:
        notes.append(
            f"The logs are of several programs: {listed(map(shown, programs), MOST_NAMED)}. "
            "Import them separately."
        )
    return notes


def _some(count: int, jobs: Sequence[DarshanJob]) -> str:
    """Begin a sentence on some of the logs."""
    if count == len(jobs):
        return "The run time is" if count == 1 else "All run times are"
    return f"{count} of {len(jobs)} run times {'is' if count == 1 else 'are'}"


def _file(job: DarshanJob) -> str:
    """Name the file of a job without its folder."""
    return shown(Path(job.faults.path).name)
