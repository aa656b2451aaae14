"""A run of a pipeline that is followed event by event here, and written as a trace."""

import random

from parcast.pipeline.traces.header import TraceHeader
from parcast.pipeline.traces.trace import write_trace


def header(ranks, seconds, **others):
    """Header of a run on one host with a core for each rank."""
    facts = {
        "program": "count words",
        "schedule": "adaptive",
        "ranks": ranks,
        "hosts": ("node1",) * ranks,
        "cores": ranks,
        "offset": (0.0,) * ranks,
        "residual": (2e-6,) * ranks,
        "seconds": seconds,
    }
    return TraceHeader(**{**facts, **others})


def followed(ranks, items, *, task=0.02, merge=0.005, delay=0.001, core=1.0, seed=3):
    """Events of a run: ranks merge neighbours that they can get, and else take items."""
    rng = random.Random(seed)
    free = [(0.001 * rank, rank) for rank in range(ranks)]
    results, events, taken = {}, [], 0  # first item: (stop, rank, ready)
    while taken < items or len(results) > 1:
        now, rank = min(free)
        free.remove((now, rank))
        pair = joinable(results, rank, now, items)
        if pair:
            (first, middle), stop = pair, results[pair[1]][0]
            start = now
            for part in pair:
                end, owner, ready = results.pop(part)
                if owner != rank:
                    events.append(message(owner, rank, (now, now + delay), (part, end)))
                    start = now + delay
            end = start + merge * rng.uniform(0.5, 1.5)
            events.append(work("merge", rank, (start, end), core, (first, stop)) | {"inputs": 2})
            results[first] = (stop, rank, end)
            assert middle < stop
        elif taken < items:
            fetched = now + 2e-4
            events.append({"event": "fetch", "rank": 0, "start": now, "end": fetched, "items": 1})
            end = fetched + task * rng.uniform(0.5, 1.5)
            events.append(work("task", rank, (fetched, end), core, (taken, taken + 1)))
            results[taken] = (taken + 1, rank, end)
            taken += 1
        else:
            end = now + 0.001
        free.append((end, rank))
    [(first, (stop, rank, ready))] = results.items()
    last = {"event": "deliver", "rank": rank, "start": ready, "end": ready + 0.002}
    return [*events, last | {"first": first, "stop": stop, "bytes": 640}]


def joinable(results, rank, now, items):
    """Beginnings of two results of one node, one of them the rank's own."""
    for first, (stop, owner, ready) in sorted(results.items()):
        width = 1 << (stop - first - 1).bit_length()
        right = first + width
        if first % (2 * width) or right not in results or max(ready, results[right][2]) > now:
            continue
        is_whole = results[right][0] == min(first + 2 * width, items)
        if is_whole and rank in {owner, results[right][1]}:
            return first, right
    return None


def work(event, rank, span, core, items):
    start, end = span
    when = {"event": event, "rank": rank, "start": start, "end": end}
    return when | {"processor": core * (end - start), "first": items[0], "stop": items[1]}


def message(source, target, span, items):
    first, stop = items
    ends = {"event": "message", "source": source, "target": target, "sent": span[0]}
    return ends | {"received": span[1], "bytes": 64 * (stop - first), "first": first, "stop": stop}


def traced(path, ranks=4, items=40, *, facts=None, **options):
    events = followed(ranks, items, **options)
    seconds = max(x.get("end", 0.0) for x in events) + 0.001
    write_trace(path, header(ranks, seconds, **(facts or {})), events)
    return path
