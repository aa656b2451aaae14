"""`measure`: runs of a user's program at several points, in rounds of random order."""

from __future__ import annotations

import os
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

import numpy as np

from parcast.errors import ParameterError, RunFailed, as_number, as_whole, require
from parcast.measurement.adaptive import FEWEST, Adaptive, Goal
from parcast.measurement.findings import Frequencies, findings_of
from parcast.measurement.function import MeasuredFunction
from parcast.measurement.launchers import are_ranks_seen, takes_turns
from parcast.measurement.point import (
    MeasuredPoint,
    points_of,
    require_other_runs,
    require_values,
)
from parcast.measurement.reported import PROFILE, ProfileClock, clock_of, profile_clock
from parcast.measurement.result import MeasuredProgram
from parcast.measurement.table import (
    DISTURBED,
    FAILED,
    OVERSUBSCRIBED,
    TIMEOUT,
    RunRow,
    RunTable,
    row_of,
)
from parcast.mpi.find import available_cores
from parcast.needs import require_unix
from parcast.timings.disturbed import USED
from parcast.timings.measurements import Measurements
from parcast.timings.notes import ImportNote
from parcast.trials.campaign import Campaign, Rhythm
from parcast.trials.clock import Clock
from parcast.trials.command import CommandLauncher, Ran, filled, runner
from parcast.trials.disturbance import OTHERS
from parcast.trials.launcher import Launcher
from parcast.trials.trial import Launch, Trial
from parcast.words import listed

RUNS: Final = 5  # of each point [1]
ENOUGH: Final = 2  # undisturbed runs of a point, from which disturbed ones do not count [1]
TABLE: Final = "times.csv"

Report = Callable[[RunRow, int, int], object]  # a run, how many there are, and of how many


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCommand:
    """What is run at each point, and around the runs."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    setup: str = ""  # before the first run of a point
    prepare: str = ""  # before each run
    cleanup: str = ""  # after the last run of a point
    time_pattern: str = ""
    timeout: float | None = None  # of a run [s]
    ignore_failure: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if isinstance(self.command, str) or not self.command:
            raise ParameterError(
                "command",
                must="be a program and its arguments",
                got=repr(self.command)[:60] if self.command else "nothing",
                hint='Write for example ["mpiexec", "-n", "{p}", "./app"].',
            )
        if self.timeout is not None:
            hint = "Give it in seconds."
            ok = as_number("timeout", self.timeout, hint=hint) > 0
            require("timeout", self.timeout, ok, must="be above 0", hint=hint)
        if self.time_pattern == PROFILE:
            profile_clock(self.environment)

    @property
    def texts(self) -> list[str]:
        """All that has names in braces."""
        around = (self.setup, self.prepare, self.cleanup)
        return [*self.command, *self.environment.values(), *around]

    @property
    def launcher(self) -> CommandLauncher:
        """What makes its runs."""
        return CommandLauncher(
            command=self.command,
            environment=self.environment,
            timeout=self.timeout,
            prepare=shlex.split(self.prepare),
            clock=self._clock(),
            are_reported=True,
            is_any_status_good=self.ignore_failure,
        )

    def _clock(self) -> Callable[[str], float] | None:
        """What tells the time of a run; None: the wall clock."""
        if self.time_pattern == PROFILE:
            return profile_clock(self.environment)
        return clock_of(self.time_pattern) if self.time_pattern else None

    def about(self) -> dict[str, Any]:
        """What tells a measurement from others."""
        return {
            "command": list(self.command),
            "environment": dict(self.environment),
            "time_pattern": self.time_pattern,
        }


def measured(
    command: MeasuredCommand | MeasuredFunction,
    points: Sequence[MeasuredPoint],
    *,
    runs: int = RUNS,
    warmup: int = 0,
    seed: int = 0,
    time_limit: float | None = None,
    output: str = TABLE,
    resume: bool = False,
    goal: Goal | None = None,
    each: Report = lambda *_: None,
    launcher: Launcher[MeasuredPoint, Ran] | None = None,
    cores: int | None = None,
) -> MeasuredProgram:
    """Measure, keep each run in a table at once, and say what spoils the measurement.

    The runs are made by a `launcher` of the command, on so many `cores`; by default here.
    """
    require_unix("Measuring a program needs")
    cores = cores or len(available_cores())
    runs = as_whole("runs", runs, least=1, hint="Give 1 or more.")
    warmup = as_whole("warmup", warmup, least=0, hint="Give 0 or more.")
    require_values(command.texts, points[0].columns)
    if launcher is None:
        require_other_runs(command.texts, points)
        launcher = command.launcher
    about = command.about() | {"parameters": [*points[0].columns]}
    with runner(), closing(RunTable.begun(output, about, resume=resume)) as table:
        campaign = _Measurement(
            command, launcher, table, runs=runs, points=points, cores=cores, each=each
        )
        campaign.make(warmup=warmup, seed=seed, time_limit=time_limit, goal=goal)
        table.rows = campaign.judged()
        table.save()
    return MeasuredProgram(
        command=tuple(command.command),
        points=tuple(points),
        runs=runs,
        table=tuple(table.rows),
        path=output,
        cores=cores,
        ended_by=campaign.ended_by,
        stopped=campaign.stopped,
        is_narrow=campaign.is_narrow,
        findings=(
            *findings_of(
                command.command,
                table.rows,
                cores,
                outputs=campaign.outputs,
                environment=command.environment,
            ),
            *campaign.frequencies.findings(),
        ),
    )


class _Measurement:
    """A campaign whose runs go into a table."""

    def __init__(
        self,
        command: MeasuredCommand | MeasuredFunction,
        launcher: Launcher[MeasuredPoint, Ran],
        table: RunTable,
        *,
        runs: int,
        points: Sequence[MeasuredPoint],
        cores: int,
        each: Report,
    ) -> None:
        self.cores = cores  # that its runs may use [1]
        self.command, self.launcher, self.table = command, launcher, table
        self.runs, self.points, self.each = runs, points, each
        self.turns = {x for x in points if takes_turns(command.command, x.columns["p"], cores)}
        self.made = Counter(row.point for row in table.rows)
        self.failed = {row.point for row in table.rows if not row.is_run}
        self.begun: set[MeasuredPoint] = set()
        self.stopped, self.is_narrow = "", True  # where a goal was given
        self.outputs: dict[MeasuredPoint, str] = {}  # of the last run of each point
        self.ended_by = ""
        self.frequencies = Frequencies()

    def make(self, *, warmup: int, seed: int, time_limit: float | None, goal: Goal | None) -> None:
        """Make all runs that are missing, or those that a goal needs."""
        self.campaign = Campaign(
            launcher=self._kept,
            rhythm=Rhythm(start=0.0, cores=self.cores),
            clock=Clock(limit=time_limit),
            random=np.random.default_rng(seed),
            seconds=lambda _: None,
            done=1.0,
        )
        self.warmup = warmup
        try:
            if goal is None:
                self._make_all()
            else:
                self._make_for(goal)
        except KeyboardInterrupt:
            self.campaign.clock.interrupted = True
        is_whole = bool(self.stopped) or all(map(self._is_done, self.points))
        self.ended_by = "" if is_whole else self.campaign.clock.ended_by

    def _make_all(self) -> None:
        """Make one run of each point in every round, in random order."""
        waiting = [x for x in self.points if not self._is_done(x)]
        for _ in range(self.runs):
            left = [x for x in waiting if not self._is_done(x)]
            for [point] in self.campaign.dealt(dict.fromkeys(left, 1)):
                self._make_one(point)
                if self.campaign.clock.ended_by:
                    return

    def _make_for(self, goal: Goal) -> None:
        """Make the runs that narrow the interval most for their cost."""
        points = [x for x in self.points if x not in self.turns]
        if len({x.columns["p"] for x in points}) < FEWEST:
            within = "on a larger machine" if self.cores < FEWEST else "at more counts up to them"
            counts = sorted({x.columns["p"] for x in self.points})
            raise ParameterError(
                "until",
                must=f"have {FEWEST} counts or more within the cores",
                got=f"p = {listed(map(str, counts))} and {self.cores} cores",
                hint=f"Measure {within}, or without it.",
            )
        choice = Adaptive(goal=goal, points=points, most=self.runs)
        while not self.campaign.clock.ended_by:
            rows = self.judged()
            timed = [(x.point, x.seconds) for x in rows if x.counts]
            choice.stopped = [x for x in rows if x.status == TIMEOUT]
            point = choice.following(timed, self.made, self.failed)
            if point is None:
                break
            self._make_one(point)
        self.stopped, self.is_narrow = choice.ended_by, choice.is_narrow

    def _make_one(self, point: MeasuredPoint) -> None:
        """Run a point once, with what is around its first and its last run."""
        if point not in self.begun:
            self.begun.add(point)
            self._first(point, self.warmup)
        self.campaign.make([(point,)])
        if self._is_done(point):
            self._around(self.command.cleanup, point)

    def judged(self) -> list[RunRow]:
        """Rows, with runs that others disturbed marked where enough others are at hand."""
        rows = [
            # the time of one that failed is no bound either
            replace(x, status=OVERSUBSCRIBED if x.is_run else FAILED)
            if x.point in self.turns
            else x
            for x in self.table.rows
        ]
        quiet = Counter(x.point for x in rows if x.is_run and not self._is_disturbed(x))
        return [
            replace(x, status=DISTURBED if quiet[x.point] >= ENOUGH else USED)
            if x.counts and self._is_disturbed(x)
            else x
            for x in rows
        ]

    def _is_disturbed(self, row: RunRow) -> bool:
        """Whether other programs used too many cores."""
        return (row.others or 0.0) > OTHERS * self.cores

    def _is_done(self, point: MeasuredPoint) -> bool:
        return self.made[point] >= self._wanted(point) or point in self.failed

    def _wanted(self, point: MeasuredPoint) -> int:
        """Runs that a point is to have; one shows whether it runs where they do not count."""
        return 1 if point in self.turns else self.runs

    def _first(self, point: MeasuredPoint, warmup: int) -> None:
        """Do what comes before the first run of a point."""
        self._around(self.command.setup, point)
        if warmup:
            launch = Launch(number=0, cases=(point,) * warmup, expected=None, discarded=warmup)
            self.launcher(launch, report=lambda _: None)

    def _around(self, text: str, point: MeasuredPoint) -> None:
        """Run a command that is not timed."""
        if not text:
            return
        words = filled(shlex.split(text), point.columns)
        with runner() as run:
            ran = run(words)
        if ran.failure:
            raise RunFailed(f"{text} {ran.failure}. Run it alone to see why.")

    def _kept(
        self,
        launch: Launch[MeasuredPoint],
        *,
        report: Callable[[Trial[MeasuredPoint, Ran]], object],
    ) -> None:
        """Launcher that keeps each run in the table before it is reported."""

        def keep(trial: Trial[MeasuredPoint, Ran]) -> None:
            self.made[trial.case] += 1
            is_seen = are_ranks_seen(self.command.command, os.environ)
            row = row_of(trial, self.made[trial.case], are_ranks_seen=is_seen)
            self.table.add(row)
            self.frequencies.look()
            self.outputs[trial.case] = trial.observed.output
            clock = getattr(self.launcher, "clock", None)
            if isinstance(clock, ProfileClock) and row.is_run:
                clock.keep(row)
            if not row.is_run:
                self.failed.add(trial.case)
            self.each(row, len(self.table.rows), sum(map(self._wanted, self.points)))
            report(trial)

        self.launcher(launch, report=keep)


def measure(
    command: Sequence[str] | Callable[..., object],
    p: Iterable[int],
    *,
    runs: int = RUNS,
    warmup: int = 0,
    formulas: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    setup: str = "",
    prepare: str = "",
    cleanup: str = "",
    time_pattern: str = "",
    timeout: float | None = None,
    ignore_failure: bool = False,
    time_limit: float | None = None,
    output: str | os.PathLike[str] = TABLE,
    resume: bool = False,
    seed: int = 0,
    until: float | None = None,
    at: Iterable[int] = (),
    budget: float = inf,
    **parameters: Iterable[float],
) -> Measurements:
    """Run a program at several processor counts, and give its times.

    Parameters
    ----------
    command : sequence of str, or callable
        The program and its arguments; ``{p}`` and other names in braces are replaced. Or a
        function, which is called here with the values by their names: ``run(p=2, n=1e5)``; what
        concerns programs alone, such as `environment` and `timeout`, is then left out.
    p : iterable of int
        Processor counts. [1]
    runs : int, default 5
        Runs of each combination of values, in rounds of random order. [1]
    warmup : int, default 0
        Runs before the first one of each combination, which do not count. [1]
    formulas : mapping, optional
        Values that follow from others: ``{"n": "{p}*1000"}``.
    environment : mapping, optional
        Environment variables, such as ``{"OMP_NUM_THREADS": "{p}"}``.
    setup, prepare, cleanup : str, optional
        Commands that are run before the first run of each combination, before each run, and after
        its last run; they are not timed.
    time_pattern : str, optional
        Regular expression whose group, in one line of the output, is the time that the program
        tells of itself, in the unit that stands at it; or
        "lammps", "gromacs" or "time"; or "profile", the time of the regions that it writes to
        PARCAST_PROFILE of `environment`. By default the wall time of the command.
    timeout : float, optional
        Time after which a run is ended; it is recorded as one that took longer. [s]
    ignore_failure : bool
        Whether runs that end with another status than 0 count.
    time_limit : float, optional
        Time after which no run begins. [s]
    output : path, default "times.csv"
        Table of the runs, each written when it has ended.
    resume : bool
        Whether to go on with a table that is there.
    seed : int
        Of the order of the runs.
    until : float, optional
        Make only the runs that are needed until the 90% interval of the forecast at all counts
        of `at` ends so near to the time: 0.2 is 20%. `p` and `parameters` are then what may be
        run, and `runs` how often at most. [1]
    at : iterable of int
        Counts to forecast, for `until`. [1]
    budget : float, optional
        Wall time of all runs together, for `until`. [s]
    **parameters : iterable of float
        Values of other names in braces: ``n=[1e5, 1e6]``.

    Returns
    -------
    Measurements
        Times of all runs that count.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, or the table is of another command.
    RunFailed
        If no run ended well.

    Examples
    --------
    >>> import parcast
    >>> runs = parcast.measure(["mpiexec", "-n", "{p}", "./app"], [1, 2, 4])  # doctest: +SKIP
    >>> parcast.forecast(runs, 64)  # doctest: +SKIP
    """
    told = (
        MeasuredFunction(command)
        if callable(command)
        else MeasuredCommand(
            command=command,
            environment=environment or {},
            setup=setup,
            prepare=prepare,
            cleanup=cleanup,
            time_pattern=time_pattern,
            timeout=timeout,
            ignore_failure=ignore_failure,
        )
    )
    found = measured(
        told,
        points_of({"p": p, **parameters}, formulas or {}),
        runs=runs,
        warmup=warmup,
        seed=seed,
        time_limit=time_limit,
        output=os.fspath(output),
        resume=resume,
        goal=None if until is None else Goal(until=until, at=tuple(at), seconds=budget),
    )
    for text in found.findings:
        warnings.warn(ImportNote(text), stacklevel=2)
    return found.measurements()
