"""Result of `check_traffic`: what messages are like, and which formula for delays they support."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, ClassVar, Final, Self

import numpy as np
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.pipeline.traces.traffic.channel import FreeChannel, Messages
from parcast.pipeline.traces.traffic.conditions import NAMES, Condition
from parcast.saved.fields import NOT_SAVED
from parcast.show.outline import document_of
from parcast.show.result import Result

BINS: Final = 40
MOST_POINTS: Final = 2000  # of successive values: more are a blot, and a large file


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Occurrences:
    """How often values occur between 0 and the largest, in classes of equal width."""

    counts: tuple[int, ...]  # (BINS,)
    largest: float  # in the unit of the values
    mean: float

    @classmethod
    def of(cls, values: Array) -> Self:
        """Count values of at least 0."""
        largest, mean = (float(f()) if len(values) else 0.0 for f in (values.max, values.mean))
        edges = np.linspace(0, (largest or 1.0) * (1 + 1e-9), BINS + 1)
        counts, _ = np.histogram(values, edges)
        return cls(counts=tuple(counts.tolist()), largest=largest, mean=mean)

    @property
    def edges(self) -> Array:
        """Ends of the classes."""
        return np.linspace(0, self.largest * (1 + 1e-9), len(self.counts) + 1)

    @property
    def expected(self) -> Array:
        """How often values of an exponential distribution with the same mean would occur."""
        return np.asarray(sum(self.counts) * -np.diff(np.exp(-self.edges / self.mean)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Successive:
    """Places of values among all, the least first, and those of the next, evenly thinned."""

    first: Array  # from 1; the mean where values are equal [1]
    second: Array  # [1]
    count: int  # of all values

    @classmethod
    def of(cls, values: Array) -> Self:
        """Rank values that follow one another."""
        ranks = stats.rankdata(values)
        pairs = max(len(values) - 1, 0)
        kept = np.unique(np.linspace(0, pairs - 1, min(pairs, MOST_POINTS)).astype(int))
        return cls(first=ranks[kept], second=ranks[kept + 1], count=len(values))

    def in_percent(self) -> tuple[Array, Array]:
        """Give both as shares of all values. [%]."""
        first, second = (100 * (x - 0.5) / self.count for x in (self.first, self.second))
        return first, second


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

    _outline = "quantity=name unit mean lower upper cv2 cv2_lower cv2_upper least median largest"

    name: str  # `gap`, `length`, `service` or `delay`
    mean: float  # in `unit`
    lower: float  # lower end of the 90% interval of the mean
    upper: float  # upper end of that interval
    cv2: float  # squared coefficient of variation [1]
    cv2_lower: float  # lower end of its 90% interval [1]
    cv2_upper: float  # upper end of that interval [1]
    least: float  # in `unit`
    median: float  # in `unit`
    largest: float  # in `unit`

    @property
    def unit(self) -> str:
        """Unit of what it holds."""
        return "B" if self.name == "length" else "s"


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanDelay:
    """Mean delay of a message by a formula, by the trace-driven queue, or as measured."""

    _outline = "delay=name mean_s lower_s upper_s"

    name: str  # a formula, `queue` (trace-driven) or `measured`
    mean: float  # its mean; None where utilisation is not below 1 or unknown [s]
    lower: float = np.nan  # lower end of the 90% interval of a mean over the messages [s]
    upper: float = np.nan  # upper end of that interval [s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TrafficCheck(Result):
    """What the messages of a traced run say of the formulas for their delay."""

    _schema = "parcast/traffic/1"
    _outline = """
        rows=conditions formula reason messages=count rate_per_s interval quantities
        capacity_B_per_s=channel.capacity capacity_lower_B_per_s=channel.lower
        capacity_upper_B_per_s=channel.upper capacity_from=channel.source
        latency_s=channel.latency utilisation delays conditions=_names program ranks warnings
        inputs call=_of_fields
    """
    _picture = "parcast.pipeline.traces.traffic.picture:figure_of_traffic"

    interval: ClassVar[float] = INTERVAL  # share of outcomes that intervals hold [1]

    program: str
    ranks: int  # of the run [1]
    count: int  # messages of the run [1]
    gaps: Occurrences  # times between messages [s]
    lengths: Occurrences  # of messages [B]
    successive: Successive  # gaps
    rate: float  # messages in a second; NaN below two [1/s]
    quantities: tuple[Quantity, ...]  # gaps, lengths, services and delays
    conditions: tuple[Condition, ...]  # that formulas assume; none below 30 messages
    channel: FreeChannel
    utilisation: float  # of the channel; NaN: unknown [1]
    delays: tuple[MeanDelay, ...]  # by each formula, by the trace, and measured
    formula: str  # that the data support: `mm1`, `md1`, `mg1`, `none` or `undecided`
    reason: str  # why, in words
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)
    # every one; None of a result that was read from its document
    messages: Messages | None = field(default=None, metadata=NOT_SAVED)

    def __repr__(self) -> str:
        return f"TrafficCheck({self.program}: {self.count} messages, {self.formula})"

    def quantity(self, name: str) -> Quantity:
        """Return one of the quantities by its name."""
        return next(x for x in self.quantities if x.name == name)

    def delay(self, name: str) -> MeanDelay:
        """Return one of the mean delays by its name."""
        return next(x for x in self.delays if x.name == name)

    @property
    def _names(self) -> dict[str, str]:
        """The names in `rows`, in words."""
        return dict(NAMES)

    @property
    def violated(self) -> tuple[str, ...]:
        """Names of the conditions that are violated."""
        return tuple(x.name for x in self.conditions if x.is_violated)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each condition."""
        return map(document_of, self.conditions)

    def message_rows(self) -> Iterator[dict[str, Any]]:
        """One row for each message, in the order in which they were sent.

        Raises
        ------
        ParameterError
            If it was read from its document, which has not every message.
        """
        messages = self.messages
        if messages is None:
            raise ParameterError(
                "A saved check has no messages. Check the trace again to have them."
            )
        first = [np.nan] if len(messages) else []
        columns: dict[str, Array] = {
            "sent_s": messages.sent,
            "gap_s": np.concatenate([first, messages.gaps]),
            "length_B": messages.lengths,
            "service_s": self.channel.service(messages.lengths),
            "delay_s": messages.delays,
        }
        for row in zip(*(x.tolist() for x in columns.values()), strict=True):
            each = dict(zip(columns, map(_known, row), strict=True))
            yield each | {"length_B": int(row[2])}


def _known(value: float) -> float | None:
    """Turn what is not known into None."""
    return float(value) if isfinite(value) else None
