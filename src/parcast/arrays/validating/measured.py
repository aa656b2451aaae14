"""Costs of the requests of one layout: of its reference requests, and of dry runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parcast.arrays.measuring.figure import Figure
from parcast.arrays.measuring.measure import ROUNDS, Measuring
from parcast.arrays.measuring.regimes import costs_of
from parcast.arrays.trials.request import Layout, RequestCase
from parcast.arrays.validating.predicting import Measured

DRY: Final = "dry run of this request"


@dataclass(kw_only=True, slots=True)
class OfLayouts:
    """Measures costs in each pass, with slow disks only in the first; runs no request for it."""

    measuring: Measuring | None = None
    figures: dict[Layout, list[Figure]] = field(default_factory=dict)  # measured last

    def costs(
        self, cases: Sequence[RequestCase], layout: Layout, *, folder: Path, rounds: int
    ) -> dict[RequestCase, Measured]:
        """Measure on the ranks of a layout, and give the costs of its requests."""
        if self.measuring is None:
            self.measuring = Measuring(folder=folder)
        if layout not in self.figures or not self.measuring.is_slow(layout):
            own = min(rounds, ROUNDS)
            self.figures[layout] = self.measuring.figures(layout, rounds=own, further=0)
        found = self.figures[layout]
        value = {figure.key: figure.value for figure in found}
        sources = {figure.key: f"reference requests: {figure.method}" for figure in found}
        known = {case: case.request.for_costs() for case in cases}
        return {
            case: Measured(
                costs_of(each, self.measuring.dry(each), value), sources | {"computing": DRY}
            )
            for case, each in known.items()
        }
