"""Result of `check_traffic`: what messages are like, and which formula for delays they support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.pipeline.traces.traffic.channel import Channel
from parcast.pipeline.traces.traffic.conditions import NAMES, Condition
from parcast.pipeline.traces.traffic.messages import Messages
from parcast.show.result import Result

INTERVAL: Final = 0.9
FORMULAS: Final = {  # delay formulas, and what each assumes beyond Poisson arrivals
    "mm1": "exponential lengths",
    "md1": "equal lengths",
    "mg1": "any lengths",
}
QUEUE, MEASURED = "queue", "measured"


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """A quantity of every message, in SI units."""

    name: str  # "gap", "length", "service" or "delay"
    mean: float
    lower: float  # of the 90 % interval of the mean
    upper: float
    cv2: float  # squared coefficient of variation [1]
    cv2_lower: float
    cv2_upper: float
    least: float
    median: float
    largest: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanDelay:
    """Mean delay of a message by a formula, by the trace-driven queue, or as measured."""

    name: str  # one of FORMULAS, QUEUE or MEASURED
    mean: float  # NaN: it has none, as utilisation is not below 1 or unknown [s]
    lower: float = np.nan  # of the 90 % interval of a mean over the messages [s]
    upper: float = np.nan


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrafficCheck(Result):
    """What the messages of a traced run say of the formulas for their delay."""

    _sheet: ClassVar[str] = "parcast.pipeline.traces.traffic.sheet:sheet_of"
    _picture: ClassVar[str] = "parcast.pipeline.traces.traffic.picture:figure_of_traffic"

    program: str
    ranks: int
    messages: Messages
    rate: float  # of messages; NaN below two [1/s]
    quantities: tuple[Quantity, ...]  # of the gaps, lengths, services and delays
    conditions: tuple[Condition, ...]  # none where messages are too few
    channel: Channel
    utilisation: float  # of the channel; NaN: unknown [1]
    delays: tuple[MeanDelay, ...]
    formula: str  # supported by the data: "mm1", "md1", "mg1", "none" or "undecided"
    reason: str
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        """Say in one line what was checked, and with which result."""
        return f"TrafficCheck({self.program}: {len(self.messages)} messages, {self.formula})"

    def quantity(self, name: str) -> Quantity:
        """Return one of the quantities by its name."""
        return next(x for x in self.quantities if x.name == name)

    def delay(self, name: str) -> MeanDelay:
        """Return one of the mean delays by its name."""
        return next(x for x in self.delays if x.name == name)

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the conditions that are violated."""
        return tuple(x.name for x in self.conditions if x.is_violated)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each condition."""
        for x in self.conditions:
            yield {
                "condition": x.name,
                "violated": x.is_violated,
                "detected": x.is_detected,
                "p": x.p,
                "p_adjusted": x.adjusted,
                "effect": x.effect.value,
                "effect_measure": x.effect.measure,
                "matters_from": x.effect.matters_from,
            }

    def message_rows(self) -> Iterator[dict[str, Any]]:
        """One row for each message, in the order in which they were sent."""
        first = [np.nan] if len(self.messages) else []
        columns: dict[str, Array] = {
            "sent_s": self.messages.sent,
            "gap_s": np.concatenate([first, self.messages.gaps]),
            "length_B": self.messages.lengths,
            "service_s": self.channel.service(self.messages.lengths),
            "delay_s": self.messages.delays,
        }
        for row in zip(*(x.tolist() for x in columns.values()), strict=True):
            each = dict(zip(columns, map(_known, row), strict=True))
            yield each | {"length_B": int(row[2])}

    def to_document(self) -> dict[str, Any]:
        """Everything but single messages as one JSON document, schema ``parcast/traffic/1``."""
        units = {"length": "B"}
        return {
            "schema": "parcast/traffic/1",
            "rows": list(self.rows()),
            "formula": self.formula,
            "reason": self.reason,
            "messages": len(self.messages),
            "rate_per_s": _known(self.rate),
            "interval": INTERVAL,
            "quantities": [
                {
                    "quantity": x.name,
                    "unit": units.get(x.name, "s"),
                    **{
                        name: _known(getattr(x, name))
                        for name in Quantity.__dataclass_fields__
                        if name != "name"
                    },
                }
                for x in self.quantities
            ],
            "capacity_B_per_s": _known(self.channel.capacity),
            "capacity_lower_B_per_s": _known(self.channel.lower),
            "capacity_upper_B_per_s": _known(self.channel.upper),
            "capacity_from": self.channel.source,
            "latency_s": _known(self.channel.latency),
            "utilisation": _known(self.utilisation),
            "delays": [
                {
                    "delay": x.name,
                    "mean_s": _known(x.mean),
                    "lower_s": _known(x.lower),
                    "upper_s": _known(x.upper),
                }
                for x in self.delays
            ],
            "conditions": dict(NAMES),
            "program": self.program,
            "ranks": self.ranks,
            "warnings": list(self.warnings),
            "inputs": dict(self.inputs or {}),
        }


def _known(value: float) -> float | None:
    """Turn what is not known into None."""
    return float(value) if isfinite(value) else None
