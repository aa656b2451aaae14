"""Passes through the requests of a layout: each predicts them and then runs them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from parcast.arrays.running.launches import Launch, random_rounds
from parcast.arrays.running.observation import Observed
from parcast.arrays.running.precision import is_known, is_mean_known
from parcast.arrays.running.request import ArrayRequest, Layout
from parcast.arrays.validating.predicting import Predicted
from parcast.arrays.validating.result import Compared
from parcast.errors import ParameterError

MANY: Final = 0.15  # of the cores, that other programs may use without disturbing a run [1] [D]
ENOUGH: Final = 3  # undisturbed runs of a request, as far as so many are asked for [1]
MOST: Final = 4  # times the runs that are asked for, where times are not known
START: Final = 3.0  # of ranks, expected [s]
BETWEEN: Final = 0.3  # runs, to remove files and empty caches, expected [s]


@dataclass(kw_only=True, slots=True)
class Passes:
    """Requests of a layout, and what was predicted and run until now."""

    layout: Layout
    requests: Mapping[int, ArrayRequest]  # by their places
    repetitions: int  # of each request, at least
    cores: int
    predictions: list[Mapping[int, Predicted]] = field(default_factory=list)  # of each pass
    runs: list[Observed] = field(default_factory=list)

    def launch(self, rounds: int, random: np.random.Generator) -> Launch:
        """Give the launch that runs what was predicted last, in so many rounds that count."""
        usual = {place: each.time for place, each in self.predictions[-1].items()}
        all_rounds = random_rounds([*usual], 1 + rounds, random)
        return Launch(
            number=len(self.predictions),
            layout=self.layout,
            requests={place: self.requests[place] for place in usual},
            rounds=all_rounds,
            expected=START + sum(usual[i] + BETWEEN for each in all_rounds for i in each),
        )

    def add(self, run: Observed) -> None:
        """Add a run of what was predicted last."""
        if run.launch != len(self.predictions) or run.request not in self.predictions[-1]:
            raise ParameterError(
                "runner",
                must="report the requests of the launch that it was given",
                got=f"request {run.request} of launch {run.launch}",
                hint="Take the place of each request, and the number, from the launch.",
            )
        self.runs.append(run)

    def unknown(self) -> list[int]:
        """Places of requests that need another pass.

        Their predicted or measured time is not known to 10 %, or too few runs were undisturbed.
        """
        return [place for place in self.requests if self._is_worth_more(place)]

    def _is_worth_more(self, place: int) -> bool:
        """Whether more runs are needed, and would give enough that are not disturbed."""
        times = [run.time for run in self._quiet(place)]
        if MOST * len(times) < len(self._runs(place)):
            return False
        expected = [each.time for each in self._predicted(place).values()]
        return len(times) < self._enough or not (is_known(times) and is_mean_known(expected))

    def compared(self) -> Iterator[Compared]:
        """Give each request with its predictions and runs.

        Disturbed runs count where too few others were made.
        """
        for place, request in self.requests.items():
            own, quiet = self._runs(place), self._quiet(place)
            counting = quiet if len(quiet) >= self._enough else own
            yield Compared(
                number=place + 1,
                request=request,
                predictions=self._predicted(place),
                runs=tuple(counting),
                others=tuple(run for run in own if run not in counting),
                disturbed=len(own) - len(quiet),
            )

    @property
    def _enough(self) -> int:
        """Runs of a request that decide."""
        return min(ENOUGH, self.repetitions)

    def _predicted(self, place: int) -> dict[int, Predicted]:
        """Predictions of a request by their passes: those that runs followed, if any did."""
        made = {i: own[place] for i, own in enumerate(self.predictions, 1) if place in own}
        run = {run.launch for run in self._runs(place)}
        return {i: each for i, each in made.items() if i in run} or made

    def _runs(self, place: int) -> list[Observed]:
        return [run for run in self.runs if run.request == place]

    def _quiet(self, place: int) -> list[Observed]:
        """Runs that other programs did not disturb, as far as that is known."""
        most = MANY * self.cores
        return [run for run in self._runs(place) if not (run.others and run.others > most)]
