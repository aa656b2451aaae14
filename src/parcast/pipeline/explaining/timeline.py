"""A traced run: what every rank spent its time on, and what limited the run.

The time of a rank is divided in this order: computing (a task runs), merging, communicating (none
of both, but a message of the rank, a fetch or a delivery is under way), idle. Idle time is before
the first task, after the last work, or between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.pipeline.traces.header import TraceHeader
from parcast.pipeline.traces.trace import Events, Trace, as_trace
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.units import percent
from parcast.words import counted

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
        **{kind: _without_gaps(getattr(trace, kind), gap) for kind in kinds},
        messages=SeenMessages(**{name: largest[name] for name in names}),
        message_count=len(messages),
        mean_bytes=float(messages["bytes"].mean()) if len(messages) else 0.0,
        mean_delay=float(delays.mean()) if len(messages) else 0.0,
    )


def _without_gaps(events: Events, gap: float) -> SeenSpans:
    """Join the events of each rank that no gap parts. [s]."""
    order = np.lexsort((events["start"], events["rank"]))
    rank, start, end = (events[name][order] for name in ("rank", "start", "end"))
    apart = np.ones(len(rank), dtype=bool)
    apart[1:] = (rank[1:] != rank[:-1]) | (start[1:] - end[:-1] > gap)
    first = np.flatnonzero(apart)
    last = np.append(first[1:], len(rank)) - 1 if len(rank) else first
    return SeenSpans(rank=rank[first], start=start[first], end=end[last])


KINDS: Final = ("computing", "merging", "communicating", "idle")  # of time
MOSTLY: Final = 0.85  # share of the time that ranks work on a core, from which work is the limit
IN_USE: Final = 0.5  # share of the cores' time that work uses, from which ranks wait for them [D]
AT_INPUT: Final = 0.5  # share of a run that rank 0 reads, from which ranks wait for the input [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class RankUse:
    """What one rank spent the time of the run on."""

    _outline = """
        rank host tasks merges items computing_s merging_s communicating_s idle_s starting_s
        ending_s processor_s
    """

    rank: int  # its number
    host: str  # where it ran
    tasks: int  # how many it ran, and their items [1]
    merges: int  # how many it ran, and their items [1]
    items: int  # how many it ran, and their items [1]
    computing: float  # time in which a task ran [s]
    merging: float  # time in which only a merge ran [s]
    communicating: float  # other time with a message, a fetch or a delivery under way [s]
    idle: float  # the rest [s]
    starting: float  # idle time before its first, and after its last work [s]
    ending: float  # idle time before its first, and after its last work [s]
    processor: float  # processor time of its tasks and merges [s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Timeline(Result):
    """A traced run of a pipeline, by rank."""

    _schema = "parcast/pipeline-timeline/1"
    _outline = """
        program=header.program schedule=header.schedule pipelines=header.pipelines seconds
        shares=_shares core_share limited_by warnings inputs rows=ranks call=_of_fields
    """
    _sheet = "parcast.pipeline.explaining.timeline_sheet:sheet_of"
    _picture = "parcast.pipeline.explaining.timeline_picture:figure_of"

    header: TraceHeader  # what the trace says of its run
    ranks: tuple[RankUse, ...]  # what each rank spent its time on
    events: SeenEvents  # as far as a picture shows them
    fetching: float  # share of the run in which rank 0 read items from the input [1]
    notes: tuple[str, ...] = ()  # what was ignored in the trace, and what is odd in it
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Timeline({self.header.program!r}, {len(self.ranks)} ranks, {self.seconds:g} s)"

    @property
    def seconds(self) -> float:
        """Wall time of the run. [s]."""
        return self.header.seconds

    def share(self, *names: str) -> float:
        """Share of the time of all ranks that went into some kinds. [1]."""
        total = self.seconds * len(self.ranks)
        spent = sum(getattr(rank, name) for rank in self.ranks for name in names)
        return float(spent / total) if total else 0.0

    @property
    def core_share(self) -> float:
        """Processor time over wall time of the work: below 1 where cores are shared. [1]."""
        wall = sum(rank.computing + rank.merging for rank in self.ranks)
        return min(sum(rank.processor for rank in self.ranks) / wall, 1.0) if wall else 1.0

    @property
    def limited_by(self) -> str:
        """What limited the run, in a sentence."""
        return _limit(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was ignored in the trace, what is odd in it, and what is missing."""
        items = self.header.items
        if items is not None:
            items *= max(len(self.header.reductions), 1)
        found = sum(rank.items for rank in self.ranks)
        if items is None or found >= items:
            return self.notes
        missing = (
            f"The trace has tasks of {found:,} of {counted(items, 'item')}: the end is missing, or"
            " the run was resumed from a checkpoint. If it was not, copy the file again: the "
            "shares are those of an incomplete run."
        )
        return (*self.notes, missing)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give each rank."""
        return map(document_of, self.ranks)

    @property
    def _shares(self) -> dict[str, float]:
        """Share of the time of all ranks of each kind [1]."""
        return {kind: self.share(kind) for kind in KINDS}


def timeline_of(trace: Trace | str | PathLike[str]) -> Timeline:
    """Divide the time of every rank of a traced run, and say what limited the run.

    Parameters
    ----------
    trace : Trace or path
        Of a run, as `run_pipeline` writes it with `trace`.

    Returns
    -------
    Timeline
        ``ranks`` (seconds of computing, merging, communicating and idle, of each), ``share`` of a
        kind over all ranks, and ``limited_by``, a sentence.

    Raises
    ------
    ParameterError
        If it is neither a trace nor a path.
    FileProblems
        If the file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> timeline = parcast.timeline_of("examples/pipeline/run.jsonl")
    >>> len(timeline.ranks), round(timeline.share("computing"), 2)
    (4, 0.14)
    """
    trace = as_trace(trace)
    fetches, seconds = trace.fetches, trace.header.seconds
    spent = _length(fetches["start"], fetches["end"], seconds)
    return Timeline(
        header=trace.header,
        ranks=tuple(_rank_uses(trace)),
        events=seen_of(trace),
        fetching=spent / seconds if seconds else 0.0,
        notes=trace.notes,
    )


def _rank_uses(trace: Trace) -> Iterator[RankUse]:
    header = trace.header
    of_rank = {
        name: _by_rank(events, key, header.ranks)
        for name, events, key in (
            ("task", trace.tasks, "rank"),
            ("merge", trace.merges, "rank"),
            ("fetch", trace.fetches, "rank"),
            ("deliver", trace.deliveries, "rank"),
            ("sent", trace.messages, "source"),
            ("received", trace.messages, "target"),
        )
    }
    for rank in range(header.ranks):
        mine = {name: events[rank] for name, events in of_rank.items()}
        yield _rank_use(rank, mine, trace)


def _by_rank(events: Events, key: str, ranks: int) -> list[Events]:
    ordered = events[np.argsort(events[key], kind="stable")]
    return np.split(ordered, np.searchsorted(ordered[key], np.arange(1, ranks)))


def _rank_use(rank: int, mine: Mapping[str, Events], trace: Trace) -> RankUse:
    tasks, merges = mine["task"], mine["merge"]
    end = trace.header.seconds
    spans = [(x["start"], x["end"]) for x in (tasks, merges)]
    others = [(mine[x]["start"], mine[x]["end"]) for x in ("fetch", "deliver")]
    others += [(mine[x]["sent"], mine[x]["received"]) for x in ("sent", "received")]
    computing = _length(*spans[0], end)
    working = _length(*_joined(spans), end)
    busy = _length(*_joined([*spans, *others]), end)
    start, stop = _joined([*spans, *others])
    first, last = (float(start.min()), float(stop.max())) if len(start) else (end, end)
    return RankUse(
        rank=rank,
        host=trace.header.hosts[rank],
        tasks=len(tasks),
        merges=len(merges),
        items=int((tasks["stop"] - tasks["first"]).sum()),
        computing=computing,
        merging=working - computing,
        communicating=busy - working,
        idle=max(end - busy, 0.0),
        starting=float(np.clip(first, 0.0, end)),
        ending=float(np.clip(end - last, 0.0, end)),
        processor=float(tasks["processor"].sum() + merges["processor"].sum()),
    )


def _joined(spans: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Put the beginnings and ends of several kinds of events together."""
    starts, ends = zip(*spans, strict=True)
    return np.concatenate(starts), np.concatenate(ends)


def _length(start: Array, end: Array, most: float) -> float:
    """Time that is covered by spans, which may overlap, between 0 and `most`. [s].

    >>> _length(np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 9.0]), 6.0)
    4.0
    """
    order = np.argsort(start, kind="stable")
    start, end = np.clip(start[order], 0.0, most), np.clip(end[order], 0.0, most)
    reached = np.maximum.accumulate(np.concatenate([[0.0], end]))[:-1]
    return float(np.maximum(end - np.maximum(start, reached), 0.0).sum())


def _limit(timeline: Timeline) -> str:
    computing, merging = timeline.share("computing"), timeline.share("merging")
    work = f"ranks compute {percent(computing)} and merge {percent(merging)} of the time"
    busy, on_core = computing + merging, timeline.core_share
    if busy * on_core >= MOSTLY:
        return f"{'computing' if computing >= merging else 'merging'}: {work}"
    lost = {
        "starting": timeline.share("starting"),
        "ending": timeline.share("ending"),
        "communicating": timeline.share("communicating"),
        "inside": busy * (1 - on_core),
    }
    lost["waiting"] = timeline.share("idle") - lost["starting"] - lost["ending"]
    worst = max(lost, key=lambda kind: lost[kind])
    part = percent(lost[worst])
    if worst == "waiting" and timeline.fetching > AT_INPUT:
        return (
            f"the input: rank 0 reads items {percent(timeline.fetching)} of the run, and ranks "
            f"wait {part} of the time between their tasks and merges"
        )
    return {
        "starting": f"the start: ranks wait {part} of the time for their first items",
        "ending": f"the last merges: ranks have no more work for {part} of the time",
        "communicating": f"communication: ranks wait for messages {part} of the time",
        "inside": _inside(timeline),
        "waiting": f"waiting: ranks are idle between tasks and merges {part} of the time",
    }[worst] + f"; {work}"


def _inside(timeline: Timeline) -> str:
    """Say what tasks and merges waited for: cores, where there are fewer than ranks, or others."""
    cores, ranks = timeline.header.cores, len(timeline.ranks)
    used = percent(timeline.core_share)
    if ranks > cores and timeline.core_share * ranks >= IN_USE * cores:
        return (
            f"processor cores: {ranks} ranks share {counted(cores, 'core')}, and tasks and merges "
            f"used {used} of one each"
        )
    return (
        f"waiting inside tasks and merges: they used a core {used} of their time (they sleep, "
        "wait for files or the network, or other processes use the cores)"
    )
