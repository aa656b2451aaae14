"""A campaign of launches: in random order, until time is over, and again where too few counted.

Launches of all layouts are dealt into rounds and each round is shuffled, so that a machine that
grows slower or faster meanwhile does so for all of them.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic

import numpy as np

from parcast.timings.disturbed import WAITING
from parcast.trials.clock import Clock
from parcast.trials.disturbance import Counted, Judge, by_case
from parcast.trials.launcher import Launcher, require_every_case, require_trial
from parcast.trials.trial import C, Launch, O, Purpose, Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Rhythm:
    """How launches are made: measured accuracy depends on it, so every subject has its own."""

    start: float = 3.0  # of ranks, expected [s]
    between: float = 0.0  # trials, expected [s]
    patience: tuple[float, float] = (0.0, 0.0)  # so long, and times what is expected [s], [1]
    discarded: int = 0  # first runs of each case in a launch, which do not count
    in_rounds: bool = False  # whether a launch runs every case once before one is run again
    is_cut: bool = False  # whether a launch that runs when time is over is ended
    enough: Mapping[Purpose, int] = field(  # undisturbed trials of a case, for each purpose [1]
        default_factory=lambda: {"calibration": 1, "comparison": 1}
    )
    launches: int = 1  # that they come from, if as many were made
    cores: int = 1  # that are shared with other programs [1]
    waiting: float = WAITING  # share of a trial that others may have a core of a rank [1]


@dataclass(kw_only=True, slots=True)
class Campaign(Generic[C, O]):
    """Launches that are made, and their trials."""

    launcher: Launcher[C, O]
    rhythm: Rhythm
    clock: Clock = field(default_factory=Clock)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    seconds: Callable[[C], float | None] = lambda _: 0.0  # expected of a run; None: unknown [s]
    judge: Judge = field(init=False)
    turn: int = 1  # pass through calibration and comparison
    done: float | None = None  # that a launch is, in the unit of the clock; None: its seconds
    trials: list[Trial[C, O]] = field(default_factory=list)
    started: Counter[Hashable] = field(default_factory=Counter)  # launches of each layout

    def __post_init__(self) -> None:
        """Tolerate what the rhythm does."""
        self.judge = Judge(cores=self.rhythm.cores, waiting=self.rhythm.waiting)

    def dealt(self, times: Mapping[C, int]) -> list[tuple[C, ...]]:
        """Give one launch for each layout: its cases, each so many times, in random orders."""
        found: list[tuple[C, ...]] = []
        layouts = list(dict.fromkeys(case.layout for case in times))
        for i in self.random.permutation(len(layouts)).tolist():
            own = [case for case in times if case.layout == layouts[i]]
            if self.rhythm.in_rounds:
                rounds = range(self.rhythm.discarded + max(times[case] for case in own))
                found.append(tuple(x for _ in rounds for x in self._shuffled(own)))
            else:
                found.append(self._shuffled([x for x in own for _ in range(times[x])]))
        return found

    def expected(self, cases: Iterable[C]) -> float | None:
        """Time that a launch of some cases should take; None where that is unknown [s]."""
        each = [self.seconds(case) for case in cases]
        known = [x + self.rhythm.between for x in each if x is not None]
        return self.rhythm.start + sum(known) if len(known) == len(each) else None

    def make(self, orders: Iterable[Sequence[C]], purpose: Purpose = "comparison") -> None:
        """Make launches until time is over; Ctrl-C ends them, and what was made is kept."""
        for cases in orders:
            if self.clock.ended_by:
                return
            launch = self._launch(cases, purpose)
            made: list[Trial[C, O]] = []

            def report(
                trial: Trial[C, O],
                launch: Launch[C] = launch,
                made: list[Trial[C, O]] = made,
            ) -> None:
                require_trial(launch, trial)
                made.append(trial)

            try:
                self.launcher(launch, report=report)
                require_every_case(launch, made)
            except KeyboardInterrupt:
                self.clock.interrupted = True
            finally:
                self.trials += made
                self.judge.learn(made)
            self.clock.advance(self.done or launch.expected or self.rhythm.start)

    def again(
        self,
        times: Mapping[C, int],
        purpose: Purpose = "comparison",
        *,
        rounds: int,
        until: float = inf,
    ) -> None:
        """Run cases again, in at most so many rounds, of which too few were undisturbed.

        No launch begins after `until` on the clock [s].
        """
        for _ in range(rounds):
            for cases in self.dealt({x: times[x] for x in self.lacking(times, purpose)}):
                if self.clock.seconds > until:
                    return
                self.make([cases], purpose)

    def lacking(self, cases: Iterable[C], purpose: Purpose = "comparison") -> list[C]:
        """Cases that were run, but not often enough undisturbed.

        A case without a trial is not lacking: time was over.
        """
        made = by_case(self.of(purpose))
        return [x for x in cases if x in made and not self.are_enough(made[x], purpose)]

    def is_busy(self, purpose: Purpose) -> bool:
        """Whether most cases that were run are lacking: others use the machine all the time."""
        made = by_case(self.of(purpose))
        return 2 * len(self.lacking(made, purpose)) > len(made)

    def are_enough(self, trials: Sequence[Trial[C, O]], purpose: Purpose) -> bool:
        """Whether enough trials of a case are undisturbed."""
        rhythm = self.rhythm
        return self.judge.are_enough(trials, rhythm.enough[purpose], launches=rhythm.launches)

    def of(self, purpose: Purpose) -> list[Trial[C, O]]:
        """Trials for a purpose, without those that failed."""
        return [x for x in self.trials if x.purpose == purpose and not x.failure]

    def counted(self, purpose: Purpose = "comparison") -> dict[C, Counted[C, O]]:
        """Trials of each case that was run: those that count, and the others."""
        enough, launches = self.rhythm.enough[purpose], self.rhythm.launches
        return {
            case: self.judge.counted(own, enough, launches=launches)
            for case, own in by_case(self.of(purpose)).items()
        }

    def _launch(self, cases: Sequence[C], purpose: Purpose) -> Launch[C]:
        """Number a launch, and say how long it may take and wait."""
        layout, expected = cases[0].layout, self.expected(cases)
        self.started[layout] += 1
        patience, share = self.rhythm.patience
        return Launch(
            number=self.started[layout],
            cases=tuple(cases),
            expected=expected,
            purpose=purpose,
            turn=self.turn,
            discarded=self.rhythm.discarded,
            patience=patience + share * (expected or 0.0),
            left=self.clock.left if self.rhythm.is_cut else inf,
            quantum=self.judge.quanta.get(layout),
        )

    def _shuffled(self, cases: Sequence[C]) -> tuple[C, ...]:
        return tuple(cases[i] for i in self.random.permutation(len(cases)).tolist())
