"""What is launched for a calibration, how much each launch measures, and the launching in turn.

All jobs are launched again and again until their values are settled or time is over: in turn, so
that what changes meanwhile meets all of them, and what is interrupted has something of each.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from parcast.benchmarking.compiled import arguments_of
from parcast.benchmarking.records import BenchmarkPlan, MeasuredLaunch, read_launch
from parcast.errors import ParcastError, RunFailed
from parcast.mpi.find import ONE_THREAD, Mpi, available_cores
from parcast.mpi.launcher import run_ranks
from parcast.mpi.rank import PLACEMENT
from parcast.mpi.tied import tied

Part = Literal["processor", "network", "primitives", "storage"]
PARTS: Final[tuple[Part, ...]] = ("processor", "network", "primitives", "storage")
WITHOUT_MPI: Final = ("processor", "storage")  # parts that one process can measure alone

OCTAVES: Final = (0, *(1 << power for power in range(23)))  # 0 B to 4 MiB
FULL: Final = {
    "processor": BenchmarkPlan(sizes=(0,), budget=0.1),
    "network": BenchmarkPlan(sizes=OCTAVES, budget=0.05),
    "primitives": BenchmarkPlan(sizes=tuple(8 << 3 * power for power in range(7)), budget=0.04),
    "storage": BenchmarkPlan(
        sizes=tuple(1 << power for power in range(12, 25, 2)), budget=0.0, fewest=9
    ),
}
QUICK: Final = {
    "processor": BenchmarkPlan(sizes=(1 << 26,), budget=0.03),
    "network": BenchmarkPlan(
        sizes=(0, 1, 8, *(1 << x for x in (6, 9, 12, 13, 14, 16, 18, 20, 22))), budget=0.008
    ),
    "primitives": BenchmarkPlan(sizes=(8, 1 << 10, 1 << 15, 1 << 19), budget=0.008),
    "storage": BenchmarkPlan(
        sizes=tuple(1 << x for x in (12, 16, 18, 20, 23)), budget=0.0, fewest=5
    ),
}


@dataclass(kw_only=True, slots=True)
class BenchmarkJob:
    """One program that is launched again and again, and what its launches gave."""

    part: Part
    module: str  # within parcast.benchmarking
    ranks: int
    plan: BenchmarkPlan
    extra: tuple[str, ...] = ()
    program: Path | None = None  # the compiled one, which takes the place of a rank
    launches: list[MeasuredLaunch] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # why each launch that failed did
    seconds: float = 0.0  # of the last launch [s]

    @property
    def title(self) -> str:
        """What a person calls it."""
        return self.part if self.ranks == 1 else f"{self.part}, {self.ranks} ranks"

    @property
    def is_given_up(self) -> bool:
        """Whether it fails again and again."""
        return len(self.lost) > 1 + len(self.launches)


def counts_of(ranks: int, *, alike: int) -> tuple[int, ...]:
    """Rank counts that are measured: 2, 4, 8, ... and `ranks`; none of a single rank.

    Formulas in p need three counts, so 3 is one of them where else there are only 2 and 4. Up to
    `alike` ranks are placed as 2 are: more share a core, which is another formula.

    >>> counts_of(4, alike=2), counts_of(4, alike=64), counts_of(6, alike=6), counts_of(1, alike=1)
    ((2, 4), (2, 3, 4), (2, 4, 6), ())
    """
    doubled = [1 << power for power in range(1, ranks.bit_length()) if 1 << power < ranks]
    counts = (*doubled, ranks) if ranks > 1 else ()
    if [count for count in counts if count <= alike] == [2, 4]:
        return (2, 3, *counts[1:])
    return counts


def placement_of(ranks: int) -> str:
    """How the launcher pins so many ranks: "own", "one", or what the environment says."""
    placement = os.environ.get(PLACEMENT, "auto")
    if placement != "auto":
        return placement
    return "own" if ranks <= len(available_cores()) else "one"


def jobs_of(
    only: Sequence[str],
    *,
    ranks: int,
    quick: bool,
    directory: Path,
    mpi: Mpi | None,
    program: Path | None,
) -> list[BenchmarkJob]:
    """All jobs of a calibration, in the order in which they are launched.

    Without an MPI those of one process; without a compiled program Python sends the messages.
    """
    plans = QUICK if quick else FULL
    is_alike = placement_of(ranks) == placement_of(2)
    alike = ranks if is_alike else len(available_cores())
    counts = counts_of(ranks, alike=alike) if mpi is not None else ()
    jobs = []
    if "processor" in only:
        jobs.append(
            BenchmarkJob(part="processor", module="processor", ranks=1, plan=plans["processor"])
        )
    if "network" in only and counts and program is not None:
        jobs.append(
            BenchmarkJob(
                part="network", module="compiled", ranks=2, plan=plans["network"], program=program
            )
        )
    for part in ("network", "primitives"):
        if part in only:
            extra = ("compiled",) if part == "network" and program is not None else ()
            jobs += [
                BenchmarkJob(part=part, module=part, ranks=count, plan=plans[part], extra=extra)
                for count in counts
            ]
    if "storage" in only:
        plan = plans["storage"]
        plan = BenchmarkPlan(
            sizes=plan.sizes, budget=0.0, fewest=plan.fewest, directory=str(directory)
        )
        jobs += [
            BenchmarkJob(part="storage", module="storage", ranks=count, plan=plan)
            for count in (1, *counts)
        ]
    return jobs


Progress = Callable[[float, str], None]  # share that is done, and what is being done
# Launches a job that records to a file and is ended after so many seconds, or raises.
Starter = Callable[[BenchmarkJob, Path, float], None]

LAUNCH: Final = 300.0  # time after which a launch hangs [s]
FIRST: Final = 5.0  # that the first launch has at least, so that there is something [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchCourse:
    """How launching went."""

    was_interrupted: bool
    was_out_of_time: bool
    cut: str = ""  # title of the job whose launch was ended as the time was over


def starter(mpi: Mpi | None) -> Starter:
    """Give what launches a job: under an MPI, or in a process of its own where there is none."""

    def start(job: BenchmarkJob, record: Path, seconds: float) -> None:
        module = f"parcast.benchmarking.{job.module}"
        arguments = [str(record), job.plan.to_text(), *job.extra]
        if mpi is None:
            alone = ["alone"] if job.part == "storage" else []
            _start_alone(module, [*arguments, *alone], seconds)
            return
        if job.program is not None:
            arguments = [str(job.program), *arguments_of(job.plan, record)]
        run_ranks(module, arguments, ranks=job.ranks, time_limit=seconds, mpi=mpi)

    return start


def launch_all(
    jobs: Sequence[BenchmarkJob],
    start: Starter,
    records: Path,
    *,
    least: int,
    most: int,
    time_limit: float,
    is_settled: Callable[[BenchmarkJob], bool],
    progress: Progress,
    clock: Callable[[], float] = time.monotonic,
) -> LaunchCourse:
    """Launch jobs in turn, each `least` times and up to `most` times until it is settled.

    After `time_limit` [s] a launch that is under way is ended, and none begins that would end
    later, as far as is known; the first has 5 s at least. A KeyboardInterrupt ends it all. What a
    launch had recorded until then is kept.
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
            left_time = max(time_limit - elapsed, 0.0 if done else FIRST)
            try:
                if not _launch(job, start, record, left_time, clock):
                    progress(1.0, "done")
                    return LaunchCourse(was_interrupted=False, was_out_of_time=True, cut=job.title)
            except KeyboardInterrupt:
                partial = _read(job, record)
                if not partial.is_empty:
                    job.launches.append(partial)
                return LaunchCourse(was_interrupted=True, was_out_of_time=False)
            done += 1
        if is_out:
            break
    progress(1.0, "done")
    return LaunchCourse(was_interrupted=False, was_out_of_time=is_out)


def _goes_on(
    job: BenchmarkJob, least: int, most: int, is_settled: Callable[[BenchmarkJob], bool]
) -> bool:
    """Tell whether a job is to be launched again."""
    if job.is_given_up or len(job.launches) >= most:
        return False
    return len(job.launches) < least or not is_settled(job)


def _read(job: BenchmarkJob, record: Path) -> MeasuredLaunch:
    """Read what a launch of a job recorded."""
    return read_launch(record, is_pinned=placement_of(job.ranks) == "own")


def _launch(
    job: BenchmarkJob, start: Starter, record: Path, left: float, clock: Callable[[], float]
) -> bool:
    """Launch a job once, and add what it gave, or why it gave nothing.

    Tell whether it ended by itself, or hung, and not because only so much time was `left` [s].
    """
    began, is_whole = clock(), True
    try:
        start(job, record, min(left, LAUNCH))
    except ParcastError as failure:
        is_whole = left >= LAUNCH or clock() - began < left
        if is_whole:
            job.lost.append(str(failure))
        elif not (partial := _read(job, record)).is_empty:
            job.launches.append(partial)
    else:
        launch = _read(job, record)
        if launch.is_empty:
            job.lost.append(str(launch.facts.get("refused", "nothing was measured")))
        else:
            job.launches.append(launch)
    job.seconds = clock() - began
    return is_whole


def _start_alone(module: str, arguments: Sequence[str], seconds: float) -> None:
    """Run a module in a process of its own, pinned to a core, for so long at most."""
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
            timeout=seconds,
            start_new_session=True,  # Ctrl-C is ours to hand on
        )
    except subprocess.TimeoutExpired as late:
        raise RunFailed(
            f"{module} did not end within {seconds:.3g} s and was killed. Measure fewer parts."
        ) from late
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        reason = f": {lines[-1].strip()}" if lines else ""
        raise RunFailed(f"{module} ended with status {done.returncode}{reason}. Try it again.")
