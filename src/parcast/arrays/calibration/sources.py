"""Costs of the requests that are predicted: of reference requests, and of dry runs of each."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from parcast.arrays.calibration.figure import Figure
from parcast.arrays.calibration.measure import ROUNDS, Measuring
from parcast.arrays.calibration.regimes import costs_of
from parcast.arrays.law.costs import Costs
from parcast.arrays.trials.request import Layout, RequestCase
from parcast.trials.clock import Clock

DRY: Final = "dry run of this request"


class MeasuredRequest(NamedTuple):
    """Costs of one request, and how each was measured."""

    costs: Costs
    sources: Mapping[str, str]  # of costs by name


class CostSource(Protocol):
    """What measures the costs of requests; `OfLayouts` does."""

    def costs(
        self,
        cases: Sequence[RequestCase],
        layout: Layout,
        *,
        folder: Path,
        rounds: int,
        clock: Clock,
    ) -> Mapping[RequestCase, MeasuredRequest]:
        """Measure on the ranks of a layout and in a folder; give the costs of its requests.

        `rounds` are the runs of each request that is run to measure costs [1]. A TimeIsOver says
        that the limit of the `clock` was reached before they were known.
        """


@dataclass(kw_only=True, slots=True)
class OfLayouts:
    """Measures costs in each pass, with slow disks only in the first; runs no request for it."""

    measuring: Measuring | None = None
    figures: dict[Layout, list[Figure]] = field(default_factory=dict)  # measured last

    def costs(
        self,
        cases: Sequence[RequestCase],
        layout: Layout,
        *,
        folder: Path,
        rounds: int,
        clock: Clock,
    ) -> dict[RequestCase, MeasuredRequest]:
        """Measure on the ranks of a layout, and give the costs of its requests."""
        if self.measuring is None:
            self.measuring = Measuring(folder=folder, clock=clock)
        if layout not in self.figures or not self.measuring.is_slow(layout):
            own = min(rounds, ROUNDS)
            self.figures[layout] = self.measuring.figures(layout, rounds=own, further=0)
        found = self.figures[layout]
        value = {figure.key: figure.value for figure in found}
        sources = {figure.key: f"reference requests: {figure.method}" for figure in found}
        dry = {case: self.measuring.dry(case.request) for case in cases}
        return {
            case: MeasuredRequest(
                costs_of(case.request, dry[case], value), sources | {"computing": DRY}
            )
            for case in cases
        }


def costs_document(costs: Costs) -> dict[str, Any]:
    """Costs as numbers in SI units; those that are unlimited are left out."""
    document: dict[str, Any] = {"messages": asdict(costs.protocol), "files": dict(costs.files)}
    for name in ("clients", "servers"):
        part = getattr(costs, name)
        values = {field.name: np.asarray(getattr(part, field.name)) for field in fields(part)}
        document[name] = {key: x.tolist() for key, x in values.items() if np.isfinite(x).all()}
    return document
