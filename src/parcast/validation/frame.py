"""The course of every validation: calibrate, predict, save, run, and compare.

What is predicted is predicted before it is run. Cases that others disturbed are run again. Where
most of a pass was disturbed, or times are not known, further passes calibrate, predict and run
anew: both are then of the same minutes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Generic

import numpy as np

from parcast.trials.campaign import Campaign
from parcast.trials.clock import Clock, TimeIsOver
from parcast.trials.launcher import Launcher
from parcast.trials.precision import is_known, is_mean_known
from parcast.trials.trial import C, O, Trial
from parcast.validation.comparison import Comparison
from parcast.validation.subject import (
    Findings,
    Predicted,
    Saving,
    Subject,
    require_predicted,
    require_subject,
)

HALF: Final = 0.5  # of a pass, that calibration is, and comparison [1]
MOST: Final = 4  # times the undisturbed runs of a case, above which more of them are in vain [1]


@dataclass(kw_only=True, slots=True)
class Examined(Generic[C, O]):
    """A subject, and what is known of it until now."""

    subject: Subject[C, O]
    runs: Campaign[C, O]
    predictions: list[Mapping[C, Predicted]] = field(default_factory=list)  # of each pass
    busy: list[bool] = field(default_factory=list)  # whether its calibration was disturbed
    ended_by: str = ""  # why something was left to do

    @property
    def cases(self) -> Sequence[C]:
        """All that were predicted."""
        return list(dict.fromkeys(case for made in self.predictions for case in made))

    @property
    def is_calibration_busy(self) -> bool | None:
        """Whether most trials that calibrate were disturbed; None where it has none of them."""
        return self.runs.is_busy("calibration") if self.runs.of("calibration") else None

    def comparisons(self) -> Iterator[Comparison[C, O]]:
        """Give each case with its predictions and runs."""
        subject = self.subject
        for case in self.cases:
            own = self._runs(case)
            made = {i: x[case] for i, x in enumerate(self.predictions, 1) if case in x}
            turns = {run.turn for run in own}
            predictions = {i: each for i, each in made.items() if i in turns} or made
            first = next(iter(predictions.values()))
            counted = self.runs.judge.counted(
                own, self.runs.rhythm.enough["comparison"], launches=self.runs.rhythm.launches
            )
            parts = [subject.parts(run) for run in counted.counting]
            yield Comparison(
                case=case,
                kind=subject.kind(case),
                predictions=predictions,
                counted=counted,
                labels=subject.labels(case, first),
                observed={
                    name: median(each[name] for each in parts) for name in (parts or [{}])[0]
                },
            )

    def findings(self) -> Findings:
        """What the subject says of itself."""
        return self.subject.findings(self.runs)

    def wanted(self) -> list[C]:
        """Cases that need another pass."""
        if not self.subject.passes.until_known:
            is_busy = self.runs.is_busy("calibration") or self.runs.is_busy("comparison")
            return list(self.predictions[-1]) if is_busy else []
        return [case for case in self.cases if self._is_worth_more(case)]

    def turn(
        self,
        times: Sequence[int],
        wanted: Sequence[C] | None,
        saving: Saving,
        begun: "Callable[[Examined[C, O]], object]",
    ) -> None:
        """Make a pass: calibrate, predict, save, and run cases so many times in each launch."""
        subject, runs = self.subject, self.runs
        runs.turn = len(self.predictions) + 1
        self.ended_by = runs.clock.ended_by
        if self.ended_by:
            return
        try:
            subject.calibrate(runs, wanted)
        except TimeIsOver:
            self.ended_by = "time limit"
            return
        except KeyboardInterrupt:
            runs.clock.interrupted = True
        if runs.clock.interrupted:
            if not self.predictions:
                raise KeyboardInterrupt
            self.ended_by = runs.clock.ended_by
            return
        cases = list(wanted or subject.cases())
        predictions = {x: require_predicted(subject, x, subject.predict(x)) for x in cases}
        saving.add(subject.name, runs.turn, predictions)
        self.predictions.append(predictions)
        self.busy.append(bool(self.is_calibration_busy))
        if runs.done is not None:
            runs.clock.advance(runs.done)
        begun(self)
        for count in times:
            runs.make(runs.dealt(dict.fromkeys(cases, count)))
        made = sum(x.turn == runs.turn for x in runs.of("comparison"))
        if made < sum(times) * len(cases):
            self.ended_by = runs.clock.ended_by
        elif not runs.is_busy("comparison"):
            until = runs.clock.seconds * (1.0 + subject.passes.patience)
            runs.again(dict.fromkeys(cases, times[0]), rounds=subject.passes.again, until=until)
            if runs.lacking(cases):
                self.ended_by = runs.clock.ended_by

    def _is_worth_more(self, case: C) -> bool:
        """Whether more runs are needed, and would give enough that are not disturbed."""
        own, judge = self._runs(case), self.runs.judge
        times = [run.seconds for run in own if not judge.is_disturbed(run)]
        if MOST * len(times) < len(own):
            return False
        expected = [made[case].time for made in self.predictions if case in made]
        enough = self.runs.rhythm.enough["comparison"]
        return len(times) < enough or not (is_known(times) and is_mean_known(expected))

    def _runs(self, case: C) -> list[Trial[C, O]]:
        """Runs of the passes whose calibration was as quiet as the last one was."""
        last = self.busy[-1] if self.busy else False
        alike = {i for i, is_busy in enumerate(self.busy, 1) if is_busy == last}
        own = [x for x in self.runs.of("comparison") if x.case == case]
        return [x for x in own if x.turn in alike] or own


def compared(
    subject: Subject[C, O],
    *,
    clock: Clock,
    random: np.random.Generator,
    saving: Saving,
    launcher: Launcher[C, O] | None = None,
    begun: Callable[[Examined[C, O]], object] = lambda _: None,
) -> Examined[C, O]:
    """Take a subject through its passes; a `launcher` takes the place of its own.

    `begun` gets the outcome when something was predicted.
    """
    require_subject(subject)
    passes = subject.passes
    outcome = Examined(
        subject=subject,
        runs=Campaign(
            launcher=launcher or subject.launcher,
            rhythm=subject.rhythm,
            clock=clock,
            random=random,
            seconds=subject.seconds,
            done=HALF if passes.until_known else None,
        ),
    )
    clock.done, clock.total = 0.0, float(len(passes.first))
    for number, times in enumerate((*passes.first, *passes.further), 1):
        is_further = number > len(passes.first)
        wanted = outcome.wanted() if is_further else None
        if is_further and not wanted:
            break
        if passes.until_known and is_further:
            clock.total += 1.0
        outcome.turn(times, wanted, saving, begun)
        if outcome.ended_by:
            break
    return outcome
