"""The trace of a pipeline's run: what every rank did and every message, written and read.

A trace is a text file of JSON lines, packed by gzip where its name ends in ``.gz``. The first line
is the header, each further line an event. Times are in seconds on the clock of rank 0 since the
run began, rounded to nanoseconds; the header states how far the clocks of the other ranks may be
off (`engine.recording`). Keys and events that a reader has no use for are ignored, so that
later versions may add some.

An event is an object with the key "event", one of `EVENTS`, and the fields of its columns:

======== =================================================================================
task     `rank` ran the items [first, stop) from `start` to `end`, local combining included
merge    `rank` merged `inputs` partial results into that of [first, stop)
message  a partial result went from `source` to `target`
fetch    rank 0 took `items` from the input
deliver  `rank` gave a completed reduction to the server stage
======== =================================================================================

`processor` is the processor time of a task or merge [s], `bytes` the length of what was sent.

Several reductions that ran one after the other, such as those of a search, are one trace, whose
header names them with their beginnings. The time between two of them, in which ranks may have been
started anew, is left out: the clock of the trace stands still.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from io import BufferedReader
from itertools import islice
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import require_kind
from parcast.files.decoding import opened
from parcast.files.document import replacing
from parcast.files.faults import Faults
from parcast.pipeline.traces.header import (
    LARGEST_TIME,
    TracedReduction,
    TraceHeader,
    name_one,
    read_header,
)
from parcast.units import format_quantity, shown
from parcast.words import listed

Events = NDArray[np.void]  # a structured array: one element an event, in the order of the file


_ITEMS: Final = [("first", np.int64), ("stop", np.int64)]  # of the input, [first, stop)
_SPAN: Final = [("start", np.float64), ("end", np.float64)]  # [s]
_WORK: Final = [("rank", np.int32), *_SPAN, ("processor", np.float64), *_ITEMS]
EVENTS: Final[dict[str, np.dtype[np.void]]] = {
    "task": np.dtype(_WORK),
    "merge": np.dtype([*_WORK, ("inputs", np.int32)]),
    "message": np.dtype(
        [
            ("source", np.int32),
            ("target", np.int32),
            ("sent", np.float64),
            ("received", np.float64),
            ("bytes", np.int64),
            *_ITEMS,
        ]
    ),
    "fetch": np.dtype([("rank", np.int32), *_SPAN, ("items", np.int64)]),
    "deliver": np.dtype([("rank", np.int32), *_SPAN, *_ITEMS, ("bytes", np.int64)]),
}

GZIP: Final = b"\x1f\x8b"
PIECE: Final = 2**22  # read at a time [B]
LONGEST: Final = 2**26  # of a line: a header of a million ranks [B]
HOPELESS: Final = 1_000  # faults after which no more lines are looked at
GROWTH: Final = 1.25  # of an array that has no room for more events
NANOSECONDS: Final = 9  # decimals of a time


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Trace:
    """A run of a pipeline, event by event; the columns of each kind are those of `EVENTS`."""

    header: TraceHeader
    tasks: Events
    merges: Events
    messages: Events
    fetches: Events
    deliveries: Events
    notes: tuple[str, ...] = ()  # what was ignored, and what is odd
    path: str = ""  # as messages name it

    def __repr__(self) -> str:
        return (
            f"Trace({self.header.program!r}, {self.header.ranks} ranks: {len(self.tasks)} tasks, "
            f"{len(self.merges)} merges, {len(self.messages)} messages)"
        )

    def events(self) -> Iterator[dict[str, Any]]:
        """Give all events as objects, in the order of their beginnings."""
        columns = self.tasks, self.merges, self.messages, self.fetches, self.deliveries
        each = (_objects(kind, events) for kind, events in zip(EVENTS, columns, strict=True))
        for _, event in merge(*each, key=itemgetter(0)):
            yield event


def _objects(kind: str, events: Events) -> Iterator[tuple[float, dict[str, Any]]]:
    """Give the events of one kind as objects, each with its beginning [s]."""
    begins = "sent" if kind == "message" else "start"
    names = events.dtype.names or ()
    for i in np.argsort(events[begins], kind="stable"):
        row = events[i]
        yield float(row[begins]), {"event": kind} | {name: row[name].item() for name in names}


def write_trace(
    path: str | os.PathLike[str], header: TraceHeader, events: Iterable[Mapping[str, Any]]
) -> None:
    """Write a trace, which takes the place of `path` when all events have been written.

    Events are taken one by one. After an error what was there before is still there.
    """
    with replacing(path) as draft, draft.open("wb") as raw, _packed(raw, path) as stream:
        stream.write(_line(header.to_document()))
        every = iter(events)
        while some := list(islice(every, 4096)):
            stream.write(b"".join(map(_line, some)))


@contextmanager
def _packed(raw: BinaryIO, path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Pack what is written where the name asks for it; the same events give the same bytes."""
    if Path(path).suffix.lower() != ".gz":
        yield raw
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=6, mtime=0) as stream:
        yield stream  # type: ignore[misc]  # it writes bytes as a BinaryIO does


def _line(document: Mapping[str, Any]) -> bytes:
    """Write one object as a line of strict JSON."""
    rounded = {
        key: round(value, NANOSECONDS) if isinstance(value, float) else value
        for key, value in document.items()
    }
    return json.dumps(rounded, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def as_trace(trace: Trace | str | os.PathLike[str]) -> Trace:
    """Read a trace, unless it is one."""
    if isinstance(trace, str | os.PathLike):
        return read_trace(trace)
    require_kind("trace", trace, Trace, hint="Give a trace, or the path of one.")
    return trace


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Read the trace of a run, as `run_pipeline` writes it with `trace`.

    Parameters
    ----------
    path : path
        JSON lines, packed with gzip or not; "-" is standard input.

    Returns
    -------
    Trace
        ``header`` (program, ranks, seconds ..), and as NumPy structured arrays ``tasks``,
        ``merges``, ``messages``, ``fetches`` and ``deliveries``, their times in seconds since the
        beginning of the run.

    Raises
    ------
    FileProblems
        If it cannot be read, is no trace, is incomplete, or a line has wrong values; all faults
        come together.

    Examples
    --------
    >>> import parcast
    >>> trace = parcast.read_trace("examples/pipeline/poisson.jsonl.gz")
    >>> len(trace.messages) > 100
    True
    """
    with opened(path, largest=inf) as (name, stream):
        faults = Faults(name)
        reader: _TraceReader | None = None
        count = 0
        for lines, is_cut in _blocks(stream, faults):  # type: ignore[arg-type]  # it has bytes
            events = lines
            if reader is None:
                is_all = is_cut and len(lines) == 1
                reader = _TraceReader(_header(lines[0], faults, is_cut=is_all), faults)
                events, count = lines[1:], 1
            reader.take(events, first_line=count + 1, is_cut=is_cut)
            count += len(events)
        if reader is None:
            faults.refuse(f"must be a trace, but is empty. {name_one()}")
        if len(faults):
            faults.raise_all()
        return reader.trace(name)


def _blocks(raw: BinaryIO, faults: Faults) -> Iterator[tuple[list[bytes], bool]]:
    """Read whole lines, many at a time, unpacked; and whether the last of them has no end."""
    stream = raw if hasattr(raw, "peek") else BufferedReader(raw)  # type: ignore[type-var]  # it reads
    is_packed = stream.peek(2)[:2] == GZIP
    plain = gzip.GzipFile(fileobj=stream) if is_packed else stream
    rest, count = b"", 0
    while True:
        try:
            read = plain.read(PIECE)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            faults.refuse("must be complete, got a gzip file that was cut. Copy it again.")
        except OSError as error:
            faults.refuse(f"must be readable, got: {error.strerror or error}.")
        if not read:
            break
        if b"\0" in read:
            faults.refuse(f"must be text, got a NUL byte. {name_one()}")
        *lines, rest = (rest + read).split(b"\n")
        if len(rest) > LONGEST:
            faults.refuse(
                f"must be lines of JSON, got a line of more than 64 MiB. {name_one()}",
                line=count + len(lines) + 1,
            )
        count += len(lines)
        if lines:
            yield lines, False
    if rest:
        yield [rest], True


def _document(line: bytes, number: int, faults: Faults, *, is_cut: bool = False) -> Any:
    """Parse one line as a JSON object; None if it is none, which is noted."""
    advice = name_one()
    try:
        document = json.loads(line)
    except (UnicodeDecodeError, RecursionError):
        faults.add(f"must be JSON in UTF-8. {advice}", line=number)
        return None
    except ValueError as error:
        if is_cut:
            message = "must be complete, but was cut. Copy the file again, or delete this line."
        else:
            reason = getattr(error, "msg", str(error)).lower()
            message = f"must be a JSON object: {reason}. {advice}"
        faults.add(message, line=number, kind="JSON")
        return None
    if not isinstance(document, dict):
        got = shown(line.decode(errors="replace"), limit=30)
        faults.add(f"must be a JSON object, got {got}. {advice}", line=number, kind="object")
        return None
    return document


def _header(line: bytes, faults: Faults, *, is_cut: bool) -> TraceHeader:
    """Read the first line, or refuse the file."""
    document = _document(line.removeprefix(b"\xef\xbb\xbf"), 1, faults, is_cut=is_cut)
    if document is None:
        faults.raise_all()
    return read_header(document, faults)


class _TraceReader:
    """Events into columns, thousands at a time."""

    def __init__(self, header: TraceHeader, faults: Faults) -> None:
        self.faults = faults
        self.header = header
        self._kept = {kind: np.empty(0, dtype) for kind, dtype in EVENTS.items()}
        self._counts = dict.fromkeys(EVENTS, 0)  # of the events in each, which has room for more
        self._residual = np.asarray(header.residual)
        self._unknown: Counter[str] = Counter()
        self._early: list[tuple[int, float]] = []  # messages, the longest time [s]
        self._first_early = 0  # its line

    def take(self, lines: Sequence[bytes], *, first_line: int, is_cut: bool) -> None:
        """Read consecutive lines; the last of a file may be cut."""
        if len(self.faults) > HOPELESS:
            return
        numbered = [(i, line) for i, line in enumerate(lines, first_line) if line.strip()]
        by_kind: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        for number, document in self._documents(numbered, is_cut=is_cut):
            kind = document.get("event")
            if isinstance(kind, str):
                by_kind.setdefault(kind, []).append((number, document))
            else:
                self._note_kind(number, kind)
        for kind, events in by_kind.items():
            if kind in EVENTS:
                self._add(kind, [x for x, _ in events], [x for _, x in events])
            else:
                self._unknown[kind] += len(events)

    def _documents(
        self, numbered: Sequence[tuple[int, bytes]], *, is_cut: bool
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """Parse lines: all at once, and one by one where one of them is wrong."""
        try:
            documents = json.loads(b"[" + b",".join(line for _, line in numbered) + b"]")
        except (ValueError, RecursionError):
            documents = []
        if len(documents) == len(numbered) and all(type(x) is dict for x in documents):
            yield from zip((number for number, _ in numbered), documents, strict=True)
            return
        for number, line in numbered:
            document = _document(line, number, self.faults, is_cut=is_cut)
            if document is not None:
                yield number, document

    def _note_kind(self, number: int, kind: Any) -> None:
        got = "none" if kind is None else shown(repr(kind))
        self.faults.add(f"must be the kind of an event, got {got}.", line=number, field="event")

    def _add(
        self, kind: str, numbers: Sequence[int], documents: Sequence[Mapping[str, Any]]
    ) -> None:
        """Keep events of one kind, or note what is wrong with them."""
        dtype, before = EVENTS[kind], len(self.faults)
        events = np.empty(len(documents), dtype)
        for name in dtype.names or ():
            values = [document.get(name) for document in documents]
            allowed = {int} if dtype[name].kind == "i" else {int, float}
            try:
                is_right = allowed.issuperset(map(type, values))
                if is_right:
                    events[name] = values
            except OverflowError:
                is_right = False
            if not is_right:
                self._note_values(name, dtype[name], numbers, values)
        if len(self.faults) == before:
            for name, wrong, must in _limits(kind, events, self.header.ranks):
                for i in np.flatnonzero(wrong):
                    message = f"must be {must}, got {events[name][i]:.12g}."
                    self.faults.add(message, line=numbers[int(i)], field=name, kind=must)
        if len(self.faults) == before:
            self._keep(kind, events)
            if kind == "message":
                self._note_early(events, numbers)

    def _note_values(
        self, name: str, dtype: np.dtype[Any], numbers: Sequence[int], values: Sequence[Any]
    ) -> None:
        """Note values of a column that are missing, no numbers, or too large for one."""
        is_whole = dtype.kind == "i"
        must = "a whole number" if is_whole else "a number"
        largest = int(np.iinfo(dtype).max if is_whole else np.finfo(dtype).max)
        for number, value in zip(numbers, values, strict=True):
            is_kind = type(value) is int or (type(value) is float and not is_whole)
            if not is_kind or (type(value) is int and abs(value) > largest):
                got = "none" if value is None else shown(repr(value), limit=30)
                message = f"must be {must}, got {got}."
                self.faults.add(message, line=number, field=name, kind=must)

    def _note_early(self, messages: Events, numbers: Sequence[int]) -> None:
        """Count messages that arrived before they were sent by more than clocks may be off."""
        residual = self._residual[messages["source"]] + self._residual[messages["target"]]
        early = messages["sent"] - messages["received"]
        beyond = early > residual + 10.0**-NANOSECONDS  # the times are rounded
        if beyond.any():
            if not self._early:
                self._first_early = numbers[int(np.argmax(beyond))]
            self._early.append((int(beyond.sum()), float(early[beyond].max())))

    def trace(self, name: str) -> Trace:
        """Join everything that was read, or refuse messages that arrive before they are sent."""
        notes = []
        if self._unknown:
            kinds = listed(shown(x, limit=20) for x in sorted(self._unknown))
            count = self._unknown.total()
            notes.append(f"{count:,} event{'s' * (count > 1)} of unknown kind ignored: {kinds}.")
        count = sum(x for x, _ in self._early)
        if count:
            most = format_quantity(max(x for _, x in self._early), "time")
            of = self._counts["message"]
            text = f"{count:,} of {of:,} messages arrive before they are sent, by up to {most}"
            if 2 * count > of:
                self.faults.refuse(
                    f"must be a time after sent: {text}. Are the columns or the clocks confused?",
                    line=self._first_early,
                    field="received",
                )
            notes.append(f"{text}, which is more than the stated residual of the clocks.")
        return Trace(
            header=self.header,
            tasks=self._joined("task"),
            merges=self._joined("merge"),
            messages=self._joined("message"),
            fetches=self._joined("fetch"),
            deliveries=self._joined("deliver"),
            notes=tuple(notes),
            path=name,
        )

    def _keep(self, kind: str, events: Events) -> None:
        """Append events; the array grows in place, so that it never exists twice."""
        kept, before = self._kept[kind], self._counts[kind]
        count = before + len(events)
        if count > len(kept):
            kept.resize(max(count, int(GROWTH * before)), refcheck=False)
        kept[before:count] = events
        self._counts[kind] = count

    def _joined(self, kind: str) -> Events:
        kept = self._kept[kind]
        kept.resize(self._counts[kind], refcheck=False)
        return kept


def _limits(kind: str, events: Events, ranks: int) -> Iterator[tuple[str, NDArray[np.bool_], str]]:
    """Give what is required of the columns: a name, where it is violated, and how it must be."""
    names = EVENTS[kind].names or ()
    for name in ("rank", "source", "target"):
        if name in names:
            wrong = (events[name] < 0) | (events[name] >= ranks)
            yield name, wrong, f"a rank from 0 to {ranks - 1}"
    for name in ("start", "end", "sent", "received", "processor"):
        if name in names:
            is_time = np.abs(events[name]) <= LARGEST_TIME
            yield name, ~is_time, f"a number of seconds up to {LARGEST_TIME:g}"
    if "end" in names:
        yield "end", events["end"] < events["start"], "a time not before start"
    for name, least in (("processor", 0), ("bytes", 0), ("items", 0), ("first", 0), ("inputs", 1)):
        if name in names:
            yield name, events[name] < least, f"at least {least}"
    if "stop" in names:
        yield "stop", events["stop"] < events["first"], "at least first"


TIMES: Final = ("start", "end", "sent", "received")  # of events [s]


def joined(
    traces: Sequence[Trace], *, program: str
) -> tuple[TraceHeader, Iterator[Mapping[str, Any]]]:
    """Header and events of one trace of runs on the same ranks, in their order."""
    starts = [0.0]
    for trace in traces[:-1]:  # the clocks of ranks may be a little ahead of the end
        starts.append(starts[-1] + max(trace.header.seconds, _last(trace)))
    first, last = traces[0].header, traces[-1].header
    header = replace(
        last,
        program=program,
        cores=max(trace.header.cores for trace in traces),
        residual=tuple(map(max, zip(*(trace.header.residual for trace in traces), strict=True))),
        seconds=starts[-1] + last.seconds,
        started=first.started,
        reductions=tuple(
            TracedReduction(trace.header.program, start)
            for trace, start in zip(traces, starts, strict=True)
        ),
    )
    return header, _shifted(traces, starts)


def reductions_of(trace: Trace) -> tuple[Trace, ...]:
    """Each reduction of a trace as a trace of its own; where there is but one, the trace."""
    listed = trace.header.reductions
    if len(listed) < 2:
        return (trace,)
    ends = [*(each.start for each in listed[1:]), np.inf]
    return tuple(
        replace(
            trace,
            header=replace(
                trace.header,
                program=each.program,
                seconds=min(end, max(trace.header.seconds, each.start)) - each.start,
                reductions=(),
            ),
            tasks=_between(trace.tasks, each.start, end),
            merges=_between(trace.merges, each.start, end),
            messages=_between(trace.messages, each.start, end),
            fetches=_between(trace.fetches, each.start, end),
            deliveries=_between(trace.deliveries, each.start, end),
        )
        for each, end in zip(listed, ends, strict=True)
    )


def _last(trace: Trace) -> float:
    """When the last event of a trace ended. [s]."""
    kinds = (trace.tasks, trace.merges, trace.fetches, trace.deliveries)
    ends = [events["end"].max(initial=0.0) for events in kinds]
    return float(max(*ends, trace.messages["received"].max(initial=0.0)))


def _shifted(traces: Sequence[Trace], starts: Sequence[float]) -> Iterator[Mapping[str, Any]]:
    """Give the events of all traces on one clock."""
    for trace, start in zip(traces, starts, strict=True):
        for event in trace.events():
            yield event | {name: event[name] + start for name in TIMES if name in event}


def _between(events: Events, start: float, end: float) -> Events:
    """Events that began in a span of time, on the clock of its beginning."""
    begun = events["sent" if "sent" in (events.dtype.names or ()) else "start"]
    part = events[(begun >= start) & (begun < end)].copy()
    for name in set(TIMES).intersection(part.dtype.names or ()):
        part[name] -= start
    return part
