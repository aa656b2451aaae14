"""Messages of a trace, their channel with its capacity, and the delays of a queue before it."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.pipeline.traces.trace import Trace

MOST_GROUPS: Final = 20  # of lengths, in each of which the fastest message counts
FASTEST: Final = 0.02  # quantile of the delays of a group that counts: one clock may be off
PASSES: Final = 3  # until the fastest of a group no longer change
FEWEST_ALONE: Final = 10  # messages that met no other, from which only they count
INTERVAL: Final = 0.9
UNKNOWN: Final = "not determined, as the shortest delays are not above 0; give it"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Messages:
    """Columns of messages, ordered by the times at which they were sent."""

    sent: Array  # [s]
    lengths: Array  # [B]
    delays: Array  # from sent to received [s]
    residual: Array  # how far each delay may be off, as the clocks of its ranks may be [s]

    def __len__(self) -> int:
        return len(self.sent)

    @property
    def gaps(self) -> Array:
        """Times between one message and the next; one fewer than messages. [s]."""
        return np.diff(self.sent)


def messages_of(trace: Trace) -> Messages:
    """Take the messages of a trace."""
    events = trace.messages[np.argsort(trace.messages["sent"], kind="stable")]
    residual = np.asarray(trace.header.residual, dtype=np.float64)
    return Messages(
        sent=events["sent"].copy(),
        lengths=events["bytes"].astype(np.float64),
        delays=events["received"] - events["sent"],
        residual=residual[events["source"]] + residual[events["target"]],
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class FreeChannel:
    """What a message takes without others: its length over the capacity, and the latency."""

    capacity: float  # of the channel; NaN: not determined [B/s]
    latency: float = 0.0  # time of a message without length [s]
    source: str  # where the capacity is from, in words
    lower: float = np.nan  # lower end of its 90% interval [B/s]
    upper: float = np.nan  # upper end of it [B/s]

    def service(self, lengths: Array) -> Array:
        """Times for which messages occupy the channel. [s]."""
        return lengths / self.capacity


def channel_of(messages: Messages, capacity: float | None, latency: float | None) -> FreeChannel:
    """Describe the channel by what is given, and the fastest messages where something is not."""
    if capacity is not None:
        least = _fastest(messages.delays - messages.lengths / capacity)
        own = max(least, 0.0) if latency is None else latency
        return FreeChannel(capacity=capacity, latency=own, source="given")
    found = _estimated(messages)
    return found if latency is None else replace(found, latency=latency)


def _estimated(messages: Messages) -> FreeChannel:
    """Estimate capacity and latency by a robust line through the fastest messages.

    Of messages that found no other under way the delay is length over capacity, and the latency.
    """
    alone = _alone(messages)
    is_alone = len(alone) >= FEWEST_ALONE
    lengths, delays = (x[alone] if is_alone else x for x in (messages.lengths, messages.delays))
    which = "messages that met no other" if is_alone else "messages, as few met no other"
    groups = _groups(lengths)
    if len(groups) >= 3:
        slope = 0.0
        for _ in range(PASSES):
            rest = delays - slope * lengths
            fastest = [group[_place(rest[group])] for group in groups]
            slope, latency, low, high = stats.theilslopes(
                delays[fastest], lengths[fastest], alpha=INTERVAL
            )
        if low > 0:
            return FreeChannel(
                capacity=float(1 / slope),
                latency=max(float(latency), 0.0),
                source=f"estimated from the fastest {which}, of {len(groups)} lengths",
                lower=float(1 / high),
                upper=float(1 / low),
            )
    least = _fastest(delays / np.maximum(lengths, 1.0))
    if least <= 0 or not lengths.any():
        return FreeChannel(capacity=np.nan, source=UNKNOWN)
    source = f"length over delay of the fastest {which}; a latency is not determined"
    return FreeChannel(capacity=1 / least, source=source)


def _alone(messages: Messages) -> NDArray[np.intp]:
    """Places of messages that were sent when all before them had been received."""
    received = np.maximum.accumulate(messages.sent + messages.delays)
    return np.flatnonzero(np.concatenate([[True], messages.sent[1:] >= received[:-1]]))


def _groups(lengths: Array) -> list[NDArray[np.intp]]:
    """Indices of messages of about the same length, 20 groups at most."""
    order = np.argsort(lengths, kind="stable")
    distinct = np.flatnonzero(np.diff(lengths[order])) + 1
    if len(distinct) < MOST_GROUPS:
        return np.split(order, distinct)
    return np.array_split(order, MOST_GROUPS)


def _place(values: Array) -> int:
    return int(np.argsort(values, kind="stable")[int(FASTEST * len(values))])


def _fastest(values: Array) -> float:
    return float(values[_place(values)])


def queue_delays(gaps: Array, service: Array) -> Array:
    """Delays in a queue that is driven by recorded gaps and service times (Lindley). [s].

    A message waits for those before it: W_k = max(0, W_(k-1) + S_(k-1) - gap_k). `service` has one
    element more than `gaps`, that of the first message, which does not wait.

    >>> queue_delays(np.array([1.0, 1.0, 9.0]), np.array([3.0, 1.0, 1.0, 2.0]))
    array([3., 3., 3., 2.])
    """
    work = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps)])
    return np.asarray(work - np.minimum.accumulate(work) + service)
