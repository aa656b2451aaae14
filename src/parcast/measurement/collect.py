"""What became of jobs, and their runs in one table: also of jobs that run, and that were ended."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from parcast.measurement.findings import findings_of
from parcast.measurement.job_run import MOST
from parcast.measurement.jobs import (
    ALL,
    INTERRUPTED,
    BatchJob,
    JobProgress,
    jobs_of,
    rows_of,
    step_name,
)
from parcast.measurement.launchers import has_launcher
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.result import MeasuredProgram
from parcast.measurement.slurm import SlurmState, memory_of_steps, states_of
from parcast.measurement.table import FAILED, TIMEOUT, RunRow, RunTable
from parcast.show.result import Result
from parcast.show.warning import Rank, RankedWarning
from parcast.units import format_quantity, quantity, shown

PATIENCE: Final = 300.0  # with the last words of a job whose time is over [s] [D]
WRITTEN, SUBMITTED, PENDING, RUNNING = "not submitted", "submitted", "pending", "running"
DONE, STOPPED, ENDED = "done", "stopped", "failed"
MEMORY: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGT])n?")  # of a node, as Slurm writes it


@dataclass(frozen=True, kw_only=True, slots=True)
class JobStanding:
    """What became of a job."""

    _outline: ClassVar[str] = (
        "job=job.number id nodes=job.nodes p=job.counts state=word why made# asked# "
        "time_limit_s=job.seconds time_limit_from=job.seconds_from script"
    )

    job: BatchJob
    word: str  # "not submitted", "submitted", "pending", "running", "done", "stopped", "failed"
    why: str = ""
    progress: JobProgress | None = None
    slurm: SlurmState | None = None
    rows: tuple[RunRow, ...] = ()  # of its table

    @property
    def id(self) -> str:
        """Number that the batch system gave it."""
        return (self.progress.id if self.progress else "") or self.job.id

    @property
    def made(self) -> int:
        """Runs that are made, those of earlier jobs among them."""
        return len(self.rows)

    @property
    def asked(self) -> int:
        """Runs that are asked for."""
        return self.job.runs * len(self.job.points)

    @property
    def script(self) -> str:
        """Path of its script."""
        return str(self.job.file("sh"))

    @property
    def is_unfinished(self) -> bool:
        """Whether runs may still come of it."""
        return self.word in (SUBMITTED, PENDING, RUNNING)

    @property
    def has_not_begun(self) -> bool:
        """Whether no run can have come of it."""
        return self.progress is None and not self.is_unfinished

    @property
    def output(self) -> str:
        """Path of what it printed."""
        name = f"{self.id}.txt" if self.job.system != "pbs" else "txt"
        return str(self.job.file(name))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class JobStandings(Result):
    """What became of the jobs of a table."""

    _schema: ClassVar[str] = "parcast/measurement-jobs/1"
    _outline: ClassVar[str] = "table rows warnings inputs?"
    _sheet: ClassVar[str] = "parcast.measurement.sheet:sheet_of_jobs"

    table: str  # path
    jobs: tuple[JobStanding, ...]
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] | None = field(default=None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each job."""
        from parcast.show.outline import document_of

        for standing in self.jobs:
            row = document_of(standing)
            yield row | {"p": ",".join(map(str, row["p"]))}


def standing_of(jobs: Sequence[BatchJob]) -> list[JobStanding]:
    """Say what became of jobs: by what they tell themselves, and by what Slurm knows."""
    told = {job.number: JobProgress.of(job) for job in jobs}
    ids = {x.number: (p.id if (p := told[x.number]) else "") or x.id for x in jobs}
    known = states_of(ids[x.number] for x in jobs if x.system == "slurm")
    found = []
    for job in jobs:
        progress, slurm = told[job.number], (known or {}).get(ids[job.number])
        word, why = _standing(job, progress, slurm, is_known=known is not None)
        found.append(
            JobStanding(
                job=job,
                word=word,
                why=why,
                progress=progress,
                slurm=slurm,
                rows=tuple(rows_of(job)),
            )
        )
    return found


def _standing(
    job: BatchJob, progress: JobProgress | None, slurm: SlurmState | None, *, is_known: bool
) -> tuple[str, str]:
    """Give what became of a job in a word, and why; `is_known`: Slurm has been asked."""
    if progress is not None and progress.ended:
        return _as_it_says(progress, slurm)
    if slurm is not None:
        return _as_slurm_says(progress, slurm)
    if progress is not None:
        is_late = time.time() > progress.begun + job.seconds + PATIENCE
        is_gone = is_late or (is_known and job.system == "slurm")
        return (ENDED, _last_words("ended", progress)) if is_gone else (RUNNING, _now(progress))
    if not job.id:
        return WRITTEN, ""
    return (ENDED, "Slurm has forgotten it") if is_known else (SUBMITTED, "")


def _as_it_says(progress: JobProgress, slurm: SlurmState | None) -> tuple[str, str]:
    """Take the last words of a job."""
    if progress.ended == ALL:
        return DONE, ""
    if progress.ended == INTERRUPTED and slurm is not None and not slurm.is_running:
        return STOPPED, _last_words(slurm.state, progress)
    return ENDED if progress.is_failed else STOPPED, progress.ended


def _as_slurm_says(progress: JobProgress | None, slurm: SlurmState) -> tuple[str, str]:
    """Take what Slurm knows of a job that has not said that it ended."""
    if slurm.is_waiting:
        return PENDING, slurm.why
    if not slurm.is_running:
        return ENDED, _last_words(slurm.state, progress)
    return RUNNING, _now(progress) if progress else "it has made no run yet"


def _now(progress: JobProgress) -> str:
    if progress.point is None:
        return ""
    seconds = max(time.time() - progress.point_begun, 0.0)
    return f"{progress.point} for {format_quantity(seconds, 'time', 2)}"


def _last_words(state: str, progress: JobProgress | None) -> str:
    """Say how a job ended that did not say it itself."""
    if progress is None:
        return f"{state}: it has not begun, or its files are late"
    during = f" during {progress.point}" if progress.point else ""
    return f"{state}{during} on {progress.host}"


def cut_off(standing: JobStanding) -> RunRow | None:
    """Give the run during which Slurm ended a job, if that proves something."""
    job, progress, slurm = standing.job, standing.progress, standing.slurm
    if progress is None or progress.point is None or slurm is None:
        return None
    if progress.ended not in ("", INTERRUPTED):
        return None
    seconds = (slurm.end or progress.begun + job.seconds) - progress.point_begun
    if slurm.state == "OUT_OF_MEMORY":
        status, note = FAILED, f"needed more than {_memory(slurm.memory)}"
    elif slurm.state == "TIMEOUT" and seconds >= MOST * job.seconds:
        status = TIMEOUT
        note = f"took longer than {format_quantity(seconds, 'time')}, when the job was ended"
    else:
        return None
    if status == TIMEOUT and any(x.is_run and x.point == progress.point for x in standing.rows):
        return None
    return RunRow(
        point=progress.point,
        repetition=1 + sum(x.point == progress.point for x in standing.rows),
        seconds=max(seconds, 0.0),
        user=0.0,
        system=0.0,
        memory=None,
        memory_total=None,
        memory_from="",
        read=0,
        written=0,
        others=None,
        status=status,
        exit=None,
        host=progress.host,
        note=note,
    )


def _memory(text: str) -> str:
    """Write a size as Slurm does, which has powers of 1024, as others are."""
    found = MEMORY.fullmatch(text)
    if not found or not float(found[1]):
        return "the memory of the job"
    size = quantity(f"{found[1]} {found[2]}iB", "size", name="memory")
    return f"{format_quantity(size, 'size')} on a node"


def collected_rows(
    table: str, jobs: Sequence[BatchJob], standings: Sequence[JobStanding]
) -> list[RunRow]:
    """Add the runs of jobs to a table, which nobody else adds to meanwhile."""
    if not jobs:
        return []
    with closing(RunTable.begun(table, jobs[0].about, resume=True)) as whole:
        rows = {_key(x): x for x in whole.rows}
        for standing in standings:
            last = cut_off(standing)
            made = (*_with_memory(standing), *([last] if last else []))
            rows |= {_key(x): _knowing_more(x, rows.get(_key(x))) for x in made}
        whole.rows = [*_not_overcome([*rows.values()])]
        whole.save()
        return list(whole.rows)


def _with_memory(standing: JobStanding) -> list[RunRow]:
    """Give the runs of a job with the memory that Slurm accounts for in the steps of srun."""
    unknown = Counter(x.point for x in standing.rows if x.memory is None)
    if standing.job.system != "slurm" or not standing.id or not unknown:
        return list(standing.rows)
    name, steps = step_name(standing.job), memory_of_steps(standing.id)
    known = {x: steps.get(name.format(**x.columns), [])[standing.job.warmup :] for x in unknown}
    left = {
        x: iter(known[x]) for x in unknown if len(known[x]) == unknown[x]
    }  # else: whose is it?
    rows = []
    for row in standing.rows:
        if row.memory is None and row.point in left:
            memory, total = next(left[row.point])
            source = "sacct" if total else ""
            rows.append(replace(row, memory=memory, memory_total=total, memory_from=source))
        else:
            rows.append(row)
    return rows


def _knowing_more(row: RunRow, before: RunRow | None) -> RunRow:
    """Keep the memory of a run that is known from before, when Slurm has forgotten it."""
    return before if before is not None and row.memory is None else row


def _not_overcome(rows: Sequence[RunRow]) -> Iterator[RunRow]:
    """Leave out that a point took longer than some time where a later job had time for it."""
    known = {x.point for x in rows if x.is_run}
    return (x for x in rows if not (x.status == TIMEOUT and x.point in known))


def _key(row: RunRow) -> tuple[object, ...]:
    """What tells runs apart: two of different jobs may be the first of their point."""
    return row.point, row.repetition, row.seconds


def collect(table: str) -> MeasuredProgram:
    """Gather the runs of the jobs of a table in it, and say what spoils them."""
    jobs = jobs_of(table)
    standings = standing_of(jobs)
    rows = collected_rows(table, jobs, standings)
    last = jobs[-1]
    points = dict.fromkeys([x for job in jobs for x in job.points] + [x.point for x in rows])
    cores = max(x.nodes * x.ranks_per_node * x.cpus_per_rank for x in jobs)
    return MeasuredProgram(
        command=tuple(last.command.command),
        points=tuple(sorted(points, key=lambda x: x.values)),
        runs=last.runs,
        table=tuple(rows),
        path=table,
        cores=cores,
        findings=(
            *_of_jobs(standings),
            *findings_of(
                last.command.command,
                rows,
                cores,
                outputs={},
                environment=last.command.environment,
            ),
        ),
    )


def warnings_of(jobs: Sequence[BatchJob]) -> Iterator[str]:
    """Say what a person should know of jobs before they run."""
    for job in jobs:
        words = job.command.command
        if job.nodes > 1 and not has_launcher(words):
            yield RankedWarning(
                f"Job {job.number} has {job.nodes} nodes, but {shown(words[0])} is no launcher "
                "that is known here: see that it starts ranks on all of them.",
                kind="launcher",
            )


def _of_jobs(standings: Sequence[JobStanding]) -> Iterator[str]:
    """Say which jobs have not made their runs, and what only they could see."""
    latest: dict[MeasuredPoint, int] = {}
    for standing in standings:
        latest |= dict.fromkeys(standing.job.points, standing.job.number)
    for standing in standings:
        if standing.job.number in latest.values():
            yield from _of_job(standing)
    seen = {x for each in standings if each.progress for x in each.progress.findings}
    for text in sorted(seen):
        yield RankedWarning(text, kind="ranks", rank=Rank.UNUSABLE)


def _of_job(standing: JobStanding) -> Iterator[str]:
    if standing.word == DONE:
        return
    number = f"Job {standing.job.number}"
    called = f"{number} ({standing.id})" if standing.id else number
    became = "failed" if standing.word == ENDED else f"is {standing.word}"
    why = f": {standing.why.rstrip('.')}" if standing.why else ""
    text = f"{called} {became}{why}; {standing.made} of {standing.asked} runs are made."
    if standing.word == STOPPED:
        text += " Resume the measurement to have the others made in another job."
    if standing.word == ENDED:
        text += f" See {shown(standing.output)}."
    rank = Rank.SERIOUS if standing.word == ENDED else Rank.PLAIN
    yield RankedWarning(text, kind=number, rank=rank)
