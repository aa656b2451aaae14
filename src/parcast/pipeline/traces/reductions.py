"""Several reductions that ran one after the other, such as those of a search, as one trace.

The header of the trace names them with their beginnings. The time between two of them, in which
ranks may have been started anew, is left out: the clock of the trace stands still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.pipeline.traces.header import TracedReduction, TraceHeader

if TYPE_CHECKING:
    from parcast.pipeline.traces.trace import Events, Trace

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
