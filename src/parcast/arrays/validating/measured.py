"""Costs of the requests of one layout: of its reference requests, and of dry runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.arrays.measuring.dry_run import dry_run
from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.measure import Measuring
from parcast.arrays.measuring.regimes import costs_of
from parcast.arrays.running.observation import Control
from parcast.arrays.running.request import ArrayRequest, Layout
from parcast.arrays.validating.predicting import Measured

DRY: Final = "dry run of this request"


@dataclass(kw_only=True, slots=True)
class OfLayouts:
    """Measures costs on every layout; none of the requests is run for it."""

    rounds: int  # of each reference request, after one that is discarded
    is_over: Callable[[], bool] = bool  # whether the time is over for further ones
    measuring: Measuring | None = None
    figures: dict[Layout, list[Figure]] = field(default_factory=dict)

    def measure(self, layout: Layout, folder: Path) -> None:
        """Measure on the ranks of a layout."""
        if self.measuring is None:
            self.measuring = Measuring(folder=folder, rounds=self.rounds, is_over=self.is_over)
        self.figures[layout] = self.measuring.figures(layout)

    def controls(self, layout: Layout) -> list[Control]:
        """Give reference requests of a layout, and how long they took."""
        return [] if self.measuring is None else self.measuring.controls[layout]

    def costs(self, requests: Mapping[int, ArrayRequest], layout: Layout) -> dict[int, Measured]:
        """Give the costs of requests of a layout that was measured, by their places."""
        found = self.figures[layout]
        value = {figure.key: figure.value for figure in found}
        sources = {figure.key: f"reference requests: {figure.method}" for figure in found}
        known = {place: request.for_costs() for place, request in requests.items()}
        return {
            place: Measured(costs_of(each, dry_run(each), value), sources | {"computing": DRY})
            for place, each in known.items()
        }
