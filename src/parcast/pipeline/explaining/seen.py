"""The events of a traced run as far as a picture tells them apart: few, however long it was."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.pipeline.traces.trace import Events, Trace

Numbers = NDArray[np.int64]  # of ranks
POINTS: Final = 3000  # of the width of a picture: what is closer cannot be told apart
MOST_MESSAGES: Final = 200  # that are drawn, those with the most bytes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeenSpans:
    """Events of one kind, those of a rank joined where a gap cannot be seen."""

    rank: Numbers
    start: Array  # [s]
    end: Array  # [s]

    def __len__(self) -> int:
        return len(self.rank)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeenMessages:
    """The largest messages."""

    source: Numbers
    target: Numbers
    sent: Array  # [s]
    received: Array  # [s]

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeenEvents:
    """What a picture shows of a run, and of its messages what the text says."""

    tasks: SeenSpans
    merges: SeenSpans
    fetches: SeenSpans
    deliveries: SeenSpans
    messages: SeenMessages
    message_count: int  # of all [1]
    mean_bytes: float  # of a message; 0 without any [B]
    mean_delay: float  # of a message; 0 without any [s]


def seen_of(trace: Trace) -> SeenEvents:
    """Take what can be seen of a trace."""
    kinds = ("tasks", "merges", "fetches", "deliveries")
    gap, messages = trace.header.seconds / POINTS, trace.messages
    largest = messages
    if len(messages) > MOST_MESSAGES:
        largest = messages[np.argsort(messages["bytes"], kind="stable")[-MOST_MESSAGES:]]
    names = ("source", "target", "sent", "received")
    delays = messages["received"] - messages["sent"]
    return SeenEvents(
        **{kind: _joined(getattr(trace, kind), gap) for kind in kinds},
        messages=SeenMessages(**{name: largest[name] for name in names}),
        message_count=len(messages),
        mean_bytes=float(messages["bytes"].mean()) if len(messages) else 0.0,
        mean_delay=float(delays.mean()) if len(messages) else 0.0,
    )


def _joined(events: Events, gap: float) -> SeenSpans:
    """Join the events of each rank that no gap parts. [s]."""
    order = np.lexsort((events["start"], events["rank"]))
    rank, start, end = (events[name][order] for name in ("rank", "start", "end"))
    apart = np.ones(len(rank), dtype=bool)
    apart[1:] = (rank[1:] != rank[:-1]) | (start[1:] - end[:-1] > gap)
    first = np.flatnonzero(apart)
    last = np.append(first[1:], len(rank)) - 1 if len(rank) else first
    return SeenSpans(rank=rank[first], start=start[first], end=end[last])
