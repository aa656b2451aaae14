"""The runs of a job, made inside its allocation: `measured`, within the time of the job."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from parcast.errors import ParcastError, RunFailed
from parcast.measurement.jobs import ALL, INTERRUPTED, NO_TIME, BatchJob, JobProgress, rows_of
from parcast.measurement.measure import measured
from parcast.measurement.point import MeasuredPoint
from parcast.measurement.result import MeasuredProgram
from parcast.measurement.table import RunRow
from parcast.mpi.find import available_cores
from parcast.show.warning import ranked
from parcast.trials.command import CommandLauncher, Ran
from parcast.trials.trial import Launch, Trial
from parcast.units import format_quantity

LAST: Final = 20.0  # of a job, in which nothing is run: runs are ended, tables written [s] [D]
# A run that the end of a job cuts off tells something if it had most of the job [1] [D].
MOST: Final = 0.5
NUMBERS: Final = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")  # environment, as the next
# What Slurm writes of a step that it ended for its memory, with what the step or the job writes.
JOB_ENDED: Final = re.compile(r"Slurm job \d+ has expired")  # says srun
OUT_OF_MEMORY: Final = re.compile(
    r"^(?:slurmstepd(?:-\S+)?|srun): .*"
    r"(?:oom[-_ ]?kill|out of memory|exceeded (?:\w+ )?memory limit)",
    re.IGNORECASE | re.MULTILINE,
)


def run_job(
    job: BatchJob, words: Sequence[str], *, each: Callable[[RunRow, int, int], object]
) -> MeasuredProgram:
    """Make the runs of a job by a command, which its script has, and say how far it is."""
    begun = time.time()
    number = next((os.environ[x] for x in NUMBERS if x in os.environ), "")
    progress = JobProgress(id=number, host=os.uname().nodename, begun=begun)
    progress.save(job)
    launcher = _LauncherInJob(
        job=job, launcher=replace(job.command.launcher, command=words), end=_end(job, begun)
    )
    launcher.progress = progress
    launcher.made.update(x.point for x in rows_of(job) if x.is_run)
    try:
        _require_cores(job)
        found = measured(
            job.command,
            job.points,
            runs=job.runs,
            warmup=job.warmup,
            seed=job.seed,
            time_limit=max(launcher.end - time.time(), 1.0),
            output=str(job.file("csv")),
            resume=True,
            each=each,
            launcher=launcher,
            cores=len(available_cores()) * job.nodes,
        )
    except ParcastError as failure:
        replace(launcher.progress, ended=str(failure), is_failed=True).save(job)
        raise
    why = found.ended_by and (NO_TIME if launcher.is_over else INTERRUPTED)
    last = replace(
        launcher.progress,
        made=len(found.table),
        ended=why or ALL,
        findings=tuple(str(x) for x in found.findings if ranked(x).kind == "ranks"),
    )
    last.save(job)
    return found


def _end(job: BatchJob, begun: float) -> float:
    """When the last run has to be over, since the epoch [s]."""
    told = os.environ.get("SLURM_JOB_END_TIME", "")  # since version 23.02
    end = float(told) if told.isdigit() and job.system == "slurm" else begun + job.seconds
    return end - LAST


def _require_cores(job: BatchJob) -> None:
    """Refuse a node on which ranks would take turns."""
    cores, needed = len(available_cores()), job.ranks_per_node * job.cpus_per_rank
    if cores < needed:
        raise RunFailed(
            f"The node has {cores} cores for this job, fewer than the {needed} of "
            f"{job.ranks_per_node} ranks per node, {job.cpus_per_rank} for each. Ask for fewer."
        )


@dataclass(kw_only=True)
class _LauncherInJob:
    """Makes runs that end before the job does, and tells what is run before it is."""

    job: BatchJob
    launcher: CommandLauncher
    end: float  # since the epoch [s]
    made: Counter[MeasuredPoint] = field(default_factory=Counter)
    progress: JobProgress = field(default_factory=JobProgress)

    @property
    def is_over(self) -> bool:
        """Whether no run may begin."""
        return time.time() >= self.end

    def __call__(
        self,
        launch: Launch[MeasuredPoint],
        *,
        report: Callable[[Trial[MeasuredPoint, Ran]], object],
    ) -> None:
        """Make the runs of a launch, one after another."""
        left = max(self.end - time.time(), 0.1)
        own = self.launcher.timeout or inf
        self.progress = self.progress.running(launch.cases[0], self.made.total())
        self.progress.save(self.job)
        before = len(self._output())

        def told(trial: Trial[MeasuredPoint, Ran]) -> None:
            ran = trial.observed
            if trial.failure and JOB_ENDED.search(ran.output):
                raise KeyboardInterrupt  # the program did not begin: the job was cancelled
            if ran.status is None and left < own:
                if self.made[trial.case] or trial.seconds < MOST * self.job.seconds:
                    raise KeyboardInterrupt  # it tells nothing: it is made in another job
                took = format_quantity(trial.seconds, "time")
                failure = f"took longer than {took}, when the time of the job was over"
                trial = replace(trial, failure=failure)
            elif trial.failure and any(
                map(OUT_OF_MEMORY.search, (ran.output, self._output()[before:]))
            ):
                trial = replace(trial, failure=f"needed more than {memory_limit(os.environ)}")
            self.made[trial.case] += not trial.failure
            report(replace(trial, observed=replace(ran, others=None)))  # it has its nodes alone

        replace(self.launcher, timeout=min(own, left))(launch, report=told)

    def _output(self) -> str:
        """What the job has printed so far."""
        with suppress(OSError):
            path = self.job.file(f"{self.progress.id}.txt")
            return path.read_text(encoding="utf-8", errors="replace")
        return ""


def memory_limit(known: Mapping[str, str]) -> str:
    """Memory that a node of a job had, as Slurm tells it, in MiB."""
    per_node, per_core = (known.get(f"SLURM_MEM_PER_{x}", "") for x in ("NODE", "CPU"))
    cores = known.get("SLURM_CPUS_ON_NODE", "")
    megabytes = int(per_node) if per_node.isdigit() else 0
    if not megabytes and per_core.isdigit() and cores.isdigit():
        megabytes = int(per_core) * int(cores)
    return (
        f"{format_quantity(megabytes * 2.0**20, 'size')} on a node"
        if megabytes
        else ("the memory of the job")
    )
