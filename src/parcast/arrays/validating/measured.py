"""Costs of the requests of one layout: of its reference requests, and of dry runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.measure import ROUNDS, Measuring
from parcast.arrays.measuring.regimes import costs_of
from parcast.arrays.running.request import ArrayRequest, Layout
from parcast.arrays.validating.predicting import Measured

DRY: Final = "dry run of this request"


@dataclass(kw_only=True, slots=True)
class OfLayouts:
    """Measures costs in each pass, with slow disks only in the first; runs no request for it."""

    measuring: Measuring | None = None
    figures: dict[Layout, list[Figure]] = field(default_factory=dict)  # measured last

    def costs(
        self, requests: Mapping[int, ArrayRequest], layout: Layout, *, folder: Path, rounds: int
    ) -> dict[int, Measured]:
        """Measure on the ranks of a layout, and give the costs of its requests by their places."""
        if self.measuring is None:
            self.measuring = Measuring(folder=folder)
        if layout not in self.figures or not self.measuring.is_slow(layout):
            own = min(rounds, ROUNDS)
            self.figures[layout] = self.measuring.figures(layout, rounds=own, further=0)
        found = self.figures[layout]
        value = {figure.key: figure.value for figure in found}
        sources = {figure.key: f"reference requests: {figure.method}" for figure in found}
        known = {place: request.for_costs() for place, request in requests.items()}
        return {
            place: Measured(
                costs_of(each, self.measuring.dry(each), value), sources | {"computing": DRY}
            )
            for place, each in known.items()
        }
