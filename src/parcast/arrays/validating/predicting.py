"""Times of requests by the law, with costs that were measured without running any of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from parcast.arrays.law.contention import Placement
from parcast.arrays.law.costs import Costs
from parcast.arrays.measuring.by_law import ByLaw, components_of
from parcast.arrays.planning.pricing import subchunks_of
from parcast.arrays.trials.observation import Components
from parcast.arrays.trials.request import ArrayRequest, Layout, RequestCase
from parcast.files.document import json_pieces, write_document

SCHEMA: Final = "parcast/array-io-predictions/1"


class Measured(NamedTuple):
    """Costs of one request, and how each was measured."""

    costs: Costs
    sources: Mapping[str, str]  # of costs by name


class CostSource(Protocol):
    """What measures the costs of requests; `OfLayouts` does."""

    def costs(
        self, cases: Sequence[RequestCase], layout: Layout, *, folder: Path, rounds: int
    ) -> Mapping[RequestCase, Measured]:
        """Measure on the ranks of a layout and in a folder; give the costs of its requests.

        `rounds` are the runs of each request that is run to measure costs [1].
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """A request by the law."""

    time: float  # [s]
    components: Components  # of the server that determines the time
    counted: Mapping[str, int]  # messages, subchunks and bytes of all servers
    bound: str  # what is shared and determines the time; "" where a server alone does
    measured: Measured

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        return {
            "time_s": self.time,
            **{f"{name}_s": x for name, x in self.components._asdict().items()},
            "bound": self.bound or None,
            **self.counted,
            "costs": costs_document(self.measured.costs),
            "sources": dict(self.measured.sources),
        }


def predicted(
    request: ArrayRequest, measured: Measured, placement: Placement | None = None
) -> Predicted:
    """Predict a request."""
    law = ByLaw(request, placement)
    time = law.time(measured.costs)
    subchunks = subchunks_of(law.known.schema, request.servers)
    return Predicted(
        time=time.time,
        components=components_of(time),
        counted={
            "messages": int(time.messages.sum()),
            "subchunks": subchunks,
            "bytes": int(time.size.sum()),
        },
        bound=time.bound.resource if time.is_bound else "",
        measured=measured,
    )


def costs_document(costs: Costs) -> dict[str, Any]:
    """Costs as numbers in SI units; those that are unlimited are left out."""
    document: dict[str, Any] = {"messages": asdict(costs.protocol), "files": dict(costs.files)}
    for name in ("clients", "servers"):
        part = getattr(costs, name)
        values = {field.name: np.asarray(getattr(part, field.name)) for field in fields(part)}
        document[name] = {key: x.tolist() for key, x in values.items() if np.isfinite(x).all()}
    return document


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """Predictions as they were before the first run of each."""

    at: str  # time of the first, in UTC
    path: str  # of their file; "" if none was asked for


@dataclass(kw_only=True, slots=True)
class Saving:
    """Notes when predictions were made, and writes them to a file if one was asked for."""

    path: str | None
    made: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, predictions: Iterable[tuple[ArrayRequest, Predicted]]) -> None:
        """Add predictions of a pass, and write all there are."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.made += [
            {"made": now, "pass": number, "request": request.to_document(), **each.to_document()}
            for request, each in predictions
        ]
        if self.path is not None:
            document = {"schema": SCHEMA, "predictions": self.made}
            write_document(self.path, json_pieces(document))

    def saved(self) -> Saved:
        """Where they are."""
        return Saved(at=self.made[0]["made"], path=self.path or "")
