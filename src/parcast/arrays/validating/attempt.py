"""An attempt at a layout: its requests as predicted, and the runs that were made after that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from math import ceil
from typing import Final

import numpy as np

from parcast.arrays.running.launches import Launch, random_rounds
from parcast.arrays.running.observation import Control, Observed
from parcast.arrays.running.precision import change_of, is_known, is_unchanged
from parcast.arrays.running.request import ArrayRequest, Layout
from parcast.arrays.validating.predicting import Predicted

MANY: Final = 0.15  # of the cores, that other programs may use without disturbing a run [1] [D]
ENOUGH: Final = 3  # undisturbed runs of a request, as far as so many are asked for [1]
MOST: Final = 4  # times the runs that are asked for, where their median is not known
CONTROLS: Final = 2  # reference requests in a round, at least [1]
CONTROL_RUNS: Final = 10  # of reference requests in all, at least [1]
START: Final = 3.0  # of ranks, expected [s]
BETWEEN: Final = 0.3  # runs, to remove files and empty caches, expected [s]


@dataclass(kw_only=True, slots=True)
class Attempt:
    """Runs of the requests of a layout, and of some reference requests beside them."""

    layout: Layout
    requests: Mapping[int, ArrayRequest]  # by their places
    predictions: Mapping[int, Predicted]  # of each
    controls: Mapping[int, Control]  # reference requests, by places of their own
    repetitions: int  # of each request, at least
    cores: int
    runs: list[Observed] = field(default_factory=list)
    control_runs: list[Observed] = field(default_factory=list)
    turns: Iterator[int] = field(init=False)  # of the reference requests

    def __post_init__(self) -> None:
        """Begin with the first reference request."""
        self.turns = cycle(self.controls)

    def launch(
        self, number: int, places: Sequence[int], rounds: int, random: np.random.Generator
    ) -> Launch:
        """Give a launch that runs some of the requests, in so many rounds that count."""
        few = max(CONTROLS, ceil(CONTROL_RUNS / self.repetitions))
        few = min(few, len(self.controls))
        beside = [list(islice(self.turns, few)) for _ in range(rounds)]
        used = sorted({place for each in beside for place in each})
        usual = {place: self.controls[place].time for place in used}
        usual |= {place: self.predictions[place].time for place in places}
        all_rounds = random_rounds(
            [[*places, *used], *([*places, *each] for each in beside)], random
        )
        return Launch(
            number=number,
            layout=self.layout,
            requests={
                **{place: self.requests[place] for place in places},
                **{place: self.controls[place].request for place in used},
            },
            rounds=all_rounds,
            expected=START + sum(usual[i] + BETWEEN for each in all_rounds for i in each),
        )

    def add(self, run: Observed) -> None:
        """Add a run that was made."""
        (self.control_runs if run.request in self.controls else self.runs).append(run)

    @property
    def change(self) -> float:
        """Logarithm of how much slower the machine has become since costs were measured."""
        usual = {place: control.time for place, control in self.controls.items()}
        runs = self._quiet(self.control_runs) or self.control_runs
        return change_of(runs, usual) if usual else 0.0

    @property
    def is_unchanged(self) -> bool:
        """Whether it is as fast, to 10 %."""
        return is_unchanged(self.change)

    @property
    def is_complete(self) -> bool:
        """Whether every request has as many runs as are enough."""
        return all(len(self.of(place)) >= self.enough for place in self.requests)

    @property
    def enough(self) -> int:
        """Runs of a request that decide."""
        return min(ENOUGH, self.repetitions)

    def of(self, place: int) -> list[Observed]:
        """Runs of a request."""
        return [run for run in self.runs if run.request == place]

    def quiet(self, place: int) -> list[Observed]:
        """Those that other programs did not disturb, as far as that is known."""
        return self._quiet(self.of(place))

    def _quiet(self, runs: Sequence[Observed]) -> list[Observed]:
        most = MANY * self.cores
        return [run for run in runs if not (run.others and run.others > most)]

    def unknown(self) -> list[int]:
        """Places of requests to run again, as their medians are not known to 10 %."""
        return [place for place in self.requests if self._is_worth_more(place)]

    def _is_worth_more(self, place: int) -> bool:
        """Whether more runs are needed, and would give enough that are not disturbed."""
        made, times = len(self.of(place)), [run.time for run in self.quiet(place)]
        if made >= MOST * self.repetitions or MOST * len(times) < made:
            return False
        return len(times) < self.enough or not is_known(times)

    def counting(self, place: int) -> tuple[list[Observed], bool]:
        """Runs of a request that count: undisturbed ones, or all where these are too few.

        And whether they are undisturbed, and of a machine that has not changed.
        """
        own, quiet = self.of(place), self.quiet(place)
        are_enough = len(quiet) >= self.enough
        return (quiet if are_enough else own), are_enough and self.is_unchanged
