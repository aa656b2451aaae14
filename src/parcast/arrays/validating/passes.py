"""Passes through the requests of a layout: each predicts them and then runs them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from parcast.arrays.trials.observation import RequestTrial, ServerRun
from parcast.arrays.trials.request import Layout, RequestCase
from parcast.arrays.validating.predicting import Predicted
from parcast.arrays.validating.result import Compared
from parcast.trials.campaign import Campaign
from parcast.trials.precision import is_known, is_mean_known

ENOUGH: Final = 3  # undisturbed runs of a request, as far as so many are asked for [1]
MOST: Final = 4  # times the runs that are asked for, where times are not known


@dataclass(kw_only=True, slots=True)
class Passes:
    """Requests of a layout, and what was predicted and run until now."""

    layout: Layout
    cases: tuple[RequestCase, ...]
    repetitions: int  # of each request, at least
    campaign: Campaign[RequestCase, tuple[ServerRun, ...]]
    predictions: list[Mapping[RequestCase, Predicted]] = field(default_factory=list)

    def run(self, rounds: int) -> None:
        """Run what was predicted last, in so many rounds that count."""
        self.campaign.turn = len(self.predictions)
        usual = self.predictions[-1]
        self.campaign.seconds = lambda case: usual[case].time
        self.campaign.make(self.campaign.dealt(dict.fromkeys(usual, rounds)))

    def unknown(self) -> list[RequestCase]:
        """Requests that need another pass.

        Their predicted or measured time is not known to 10 %, or too few runs were undisturbed.
        """
        return [case for case in self.cases if self._is_worth_more(case)]

    def _is_worth_more(self, case: RequestCase) -> bool:
        """Whether more runs are needed, and would give enough that are not disturbed."""
        own = self._runs(case)
        times = [run.seconds for run in own if not self.campaign.judge.is_disturbed(run)]
        if MOST * len(times) < len(own):
            return False
        expected = [each.time for each in self._predicted(case).values()]
        return len(times) < self._enough or not (is_known(times) and is_mean_known(expected))

    def compared(self) -> Iterator[Compared]:
        """Give each request with its predictions and runs.

        Disturbed runs count where too few others were made.
        """
        for case in self.cases:
            found = self.campaign.judge.counted(self._runs(case), self._enough)
            yield Compared(
                number=case.number,
                request=case.request,
                predictions=self._predicted(case),
                runs=found.counting,
                others=found.others,
                disturbed=found.disturbed,
            )

    @property
    def _enough(self) -> int:
        """Runs of a request that decide."""
        return min(ENOUGH, self.repetitions)

    def _predicted(self, case: RequestCase) -> dict[int, Predicted]:
        """Predictions of a request by their passes: those that runs followed, if any did."""
        made = {i: own[case] for i, own in enumerate(self.predictions, 1) if case in own}
        run = {run.turn for run in self._runs(case)}
        return {i: each for i, each in made.items() if i in run} or made

    def _runs(self, case: RequestCase) -> list[RequestTrial]:
        return [run for run in self.campaign.trials if run.case == case]
