"""The launches of a calibration: what makes them, and which is made next.

All cases are launched again and again until their values are settled or time is over: in turn, so
that what changes meanwhile meets all of them, and what is interrupted has something of each.
"""

import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from parcast.benchmarking.compiled import arguments_of
from parcast.benchmarking.records import MeasuredLaunch, read_launch
from parcast.calibration.cases import BenchmarkCase, BenchmarkJob, placement_of
from parcast.errors import ParcastError, RunFailed
from parcast.mpi.find import ONE_THREAD, Mpi, available_cores
from parcast.mpi.launcher import run_ranks
from parcast.mpi.rank import PLACEMENT
from parcast.testbed.testbed import testbed_here
from parcast.trials.campaign import Campaign, Rhythm
from parcast.trials.clock import Clock
from parcast.trials.command import CoreAccount, runner
from parcast.trials.disturbance import Counted
from parcast.trials.launcher import Launcher
from parcast.trials.trial import Launch, Trial

BenchmarkTrial: TypeAlias = Trial[BenchmarkCase, MeasuredLaunch]
Progress: TypeAlias = Callable[[float, str], object]  # share that is done, and what is being done
Settled: TypeAlias = Callable[[BenchmarkJob, Sequence[BenchmarkJob]], bool]  # one of all

FIRST: Final = 5.0  # that the first launch has at least, so that there is something [s]
RHYTHM: Final = Rhythm(
    start=9.0,  # a launch hangs after 300 s, and 20 times what the one before it took
    is_cut=True,
)


@dataclass(frozen=True, slots=True)
class BenchmarkLauncher:
    """Starts a benchmark on ranks, or in a process of its own where there is no MPI.

    What it had recorded counts also where Ctrl-C or the end of the time ended it.
    """

    mpi: Mpi | None
    folder: Path  # for the records

    def __call__(
        self, launch: Launch[BenchmarkCase], *, report: Callable[[BenchmarkTrial], object]
    ) -> None:
        """Make the run of a launch."""
        (case,) = launch.cases
        record = self.folder / f"{len(list(self.folder.iterdir()))}.jsonl"
        account = CoreAccount.now()

        def told() -> MeasuredLaunch:
            made = read_launch(record, is_pinned=placement_of(case.ranks) == "own")
            seconds, others = account.until_now()
            if testbed_here() is not None:
                others = None  # its ranks are no processes of this one
            if not made.is_empty:
                report(launch.trial(case, seconds, made, repetition=1, others=others))
            return made

        try:
            self.start(case, record, launch.time_limit)
        except KeyboardInterrupt:
            told()
            raise
        except ParcastError:
            if account.until_now()[0] >= launch.left:
                told()
            raise
        made = told()
        if made.is_empty:
            raise RunFailed(str(made.facts.get("refused", "nothing was measured")))

    def start(self, case: BenchmarkCase, record: Path, time_limit: float) -> None:
        """Run a case that records to a file, for so long at most [s]."""
        module = f"parcast.benchmarking.{case.module}"
        arguments = [str(record), case.plan.to_text(), *case.extra]
        if case.program is not None:
            arguments = [str(case.program), *arguments_of(case.plan, record)]
        if self.mpi is not None:
            run_ranks(module, arguments, ranks=case.ranks, time_limit=time_limit, mpi=self.mpi)
            return
        placement = placement_of(1)
        alone = ["alone"] if case.part == "storage" else []
        own = {**ONE_THREAD, **os.environ, PLACEMENT: "one" if placement == "own" else placement}
        words = [sys.executable, "-m", module, *arguments, *alone]
        with runner() as run:
            ran = run(words, environment=own, time_limit=time_limit)
        if ran.failure:
            raise RunFailed(f"{module} {ran.failure}. Run it alone to see why.")


@dataclass(kw_only=True, slots=True)
class LaunchCourse:
    """Launches of cases in turn, each `least` times and up to `most` times until it is settled."""

    cases: Sequence[BenchmarkCase]
    launcher: Launcher[BenchmarkCase, MeasuredLaunch]
    least: int
    most: int
    time_limit: float  # [s]
    campaign: Campaign[BenchmarkCase, MeasuredLaunch] = field(init=False)
    lost: dict[BenchmarkCase, list[str]] = field(default_factory=lambda: defaultdict(list))
    was_out_of_time: bool = False
    cut: str = ""  # title of the case whose launch was ended as the time was over

    def __post_init__(self) -> None:
        """Begin."""
        self.campaign = Campaign(
            launcher=self.launcher,
            rhythm=replace(
                RHYTHM,
                enough={"calibration": self.least, "comparison": self.least},
                cores=len(available_cores()),
            ),
            clock=Clock(limit=max(self.time_limit, FIRST)),
            seconds=self.last,
            done=1.0,
        )

    @property
    def was_interrupted(self) -> bool:
        """Whether the user ended it."""
        return self.campaign.clock.interrupted

    def last(self, case: BenchmarkCase) -> float:
        """Time that a case took when it was launched last; 0 before [s]."""
        own = (x.seconds for x in reversed(self.campaign.trials) if x.case == case)
        return next(own, 0.0)

    def jobs(self) -> list[BenchmarkJob]:
        """Every case with what its launches gave: all of them where too few were undisturbed."""
        made = self.campaign.counted("calibration")
        none: Counted[BenchmarkCase, MeasuredLaunch] = Counted(counting=(), others=(), disturbed=0)
        return [
            BenchmarkJob(
                case=case,
                launches=[x.observed for x in made.get(case, none).counting],
                lost=self.lost[case],
                left_out=len(made.get(case, none).others),
            )
            for case in self.cases
        ]

    def make(self, is_settled: Settled, progress: Progress) -> None:
        """Launch until everything is settled, or time is over, or Ctrl-C.

        After the limit a launch that is under way is ended, and none begins that would end later,
        as far as is known.
        """
        clock, now = self.campaign.clock, ""

        def told(done: int, total: int | None) -> None:
            share = max(done / (total or 1), clock.seconds / self.time_limit)
            progress(min(share, 0.99), now)

        clock.progress = told
        while not self.was_out_of_time and (pending := self._pending(is_settled)):
            for case in pending:
                started = self.campaign.started
                begun = started.total()
                if begun and clock.seconds + self.last(case) >= self.time_limit:
                    self.was_out_of_time = True
                    continue
                now, clock.done = case.title, begun
                left = sum(max(self.least - started[x], 0) for x in pending)
                clock.total = begun + max(left, 1)
                clock.advance(0.0)
                self._launch(case)
                if self.was_interrupted:
                    return
                if self.cut:
                    break
                clock.limit = self.time_limit
        progress(1.0, "done")

    def _pending(self, is_settled: Settled) -> list[BenchmarkCase]:
        found, jobs = [], self.jobs()
        for job in jobs:
            made = len(job.launches) + job.left_out
            if made >= self.most or len(job.lost) > 1 + made:
                continue  # the latter fails again and again
            if made < self.least or not is_settled(job, jobs):
                found.append(job.case)
        return found

    def _launch(self, case: BenchmarkCase) -> None:
        """Launch a case once, and take down why it failed, if it did so by itself."""
        try:
            self.campaign.make([(case,)], "calibration")
        except ParcastError as failure:
            if self.campaign.clock.ended_by:
                self.was_out_of_time, self.cut = True, case.title
            else:
                self.lost[case].append(str(failure))
