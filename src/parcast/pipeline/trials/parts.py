"""What the parts of a traced run took: tasks, merges, messages, and the time between them."""

from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.pipeline.traces.trace import Events, Trace
from parcast.pipeline.trials.observation import Parts

QUICK: Final = 0.1  # of messages, which are taken up at once: the clocks differ by some us [1]


def parts_of(trace: Trace) -> Parts:
    """Means over the events of a trace."""
    tasks, merges, messages = trace.tasks, trace.merges, trace.messages
    items = max(float((tasks["stop"] - tasks["first"]).sum()), 1.0)
    merged = float((merges["inputs"] - 1).sum()) if len(merges) else 0.0
    sent = messages["received"] - messages["sent"]
    lengths = messages["bytes"].astype(np.float64)
    return Parts(
        task=_spent(tasks) / items,
        processor=float(tasks["processor"].sum()) / items,
        merge=_spent(merges) / merged if merged else None,
        message=float(sent.mean()) if len(sent) else None,
        exposed=_exposed(tasks, messages),
        quickest=float(np.quantile(sent, QUICK)) if len(sent) else None,
        bytes=float(lengths.mean()) if len(sent) else None,
        cv2=float(lengths.var() / lengths.mean() ** 2) if len(sent) else None,
        overhead=_between(tasks, merges),
    )


def _spent(events: Events) -> float:
    """Time in events, together [s]."""
    return float((events["end"] - events["start"]).sum())


def _exposed(tasks: Events, messages: Events) -> float | None:
    """Mean time of the messages that were sent when all tasks had ended [s]."""
    last = messages[messages["sent"] >= tasks["end"].max(initial=0.0)]
    return float((last["received"] - last["sent"]).mean()) if len(last) else None


def _between(tasks: Events, merges: Events) -> float | None:
    """Median time from the end of a piece of work to the next one on the same rank [s].

    At the median a rank has its next item already, so that it is the time of the messages.
    """
    gaps: list[Array] = []
    for rank in np.unique(tasks["rank"]):
        own = [x[x["rank"] == rank] for x in (tasks, merges)]
        start, end = (np.sort(np.concatenate([x[name] for x in own])) for name in ("start", "end"))
        gaps.append(np.maximum(start[1:] - end[:-1], 0.0))
    every = np.concatenate(gaps) if gaps else np.zeros(0)
    return float(np.median(every)) if len(every) else None
