"""What the ranks of a launch execute: runs of the job, one after another, after a tiny one.

The tiny run is not told: it loads the code and opens the connections.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.instrument.accounts import core_seconds, waited_for_core
from parcast.mpi.find import available_cores
from parcast.mpi.launched import one_world
from parcast.pipeline.result import PipelineResult
from parcast.pipeline.run import run_pipeline
from parcast.pipeline.traces.trace import Events, Trace, read_trace
from parcast.pipeline.trials.observation import Parts, PipelineLayout, Point
from parcast.pipeline.trials.work import TimedJob, job_from
from parcast.testbed.testbed import testbed_here
from parcast.trials.launcher import task_of, tell

if TYPE_CHECKING:
    from mpi4py import MPI


TINY: Final = 4  # items a rank in the run that is not counted [1]


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


@dataclass(frozen=True, slots=True)
class Accounts:
    """What the system says of processors at a moment; None where it does not."""

    busy: float | None  # of the cores of all ranks of this host [s]
    own: float  # of this process [s]
    waited: float | None  # of this thread for its core [s]
    at: float  # [s]

    @classmethod
    def now(cls) -> "Accounts":
        """Read them."""
        return cls(core_seconds(), process_time(), waited_for_core(), perf_counter())


def main(arguments: Sequence[str]) -> None:
    """Run what a file asks for."""
    comm = one_world()
    task = task_of(comm, arguments)
    work = job_from(task["work"])
    tiny = work.warm_up()
    items = tiny.items(TINY * comm.Get_size())
    for schedule in dict.fromkeys(run["schedule"] for run in task["runs"]):
        run_pipeline(items, **tiny.functions(), comm=comm, schedule=schedule)
    for i, run in enumerate(task["runs"]):
        point = Point(**{**run, "layout": PipelineLayout(*run["layout"])})
        document = _made(comm, point, work, task)
        if comm.Get_rank() == 0:
            tell(task, {"run": i, **document})


def _made(
    comm: "MPI.Intracomm", point: Point, work: TimedJob, task: dict[str, Any]
) -> dict[str, Any]:
    trace = str(Path(task["folder"]) / "trace.jsonl") if task["is_traced"] else None
    items, functions = work.items(point.items), work.functions()
    comm.Barrier()
    before = Accounts.now()
    result = run_pipeline(
        items,
        **functions,
        comm=comm,
        schedule=point.schedule,
        pipelines=point.layout.pipelines,
        batch=task["batch"] if point.schedule == "adaptive" else "auto",
        trace=trace,
    )
    places = comm.gather((available_cores(), before, Accounts.now()))
    if places is None:
        return {}
    return {
        "seconds": result.seconds,
        "waiting": _waiting(result, places),
        "parts": None if trace is None else asdict(parts_of(read_trace(trace))),
    }


def _waiting(
    result: PipelineResult, places: Sequence[tuple[Sequence[int], Accounts, Accounts]]
) -> float | None:
    """Share of a run that others had the processors of its ranks; None where it is unknown. [1].

    Ranks with a core of their own never wait for it: the longest wait of one of them. Those that
    share cores do: what all cores did that was not done by ranks. A host of a testbed computes
    for its share of the time: how far it was below it.
    """
    testbed = testbed_here()
    if testbed is not None and testbed.cap is not None:
        return _missing_share(result, testbed.cap, testbed.hosts)
    elapsed = max(after.at - before.at for _, before, after in places)
    cores = {core for own, _, _ in places for core in own}
    if len(places) <= len(cores):
        waits = [
            after.waited - before.waited
            for _, before, after in places
            if after.waited is not None and before.waited is not None
        ]
        return max(waits) / elapsed if len(waits) == len(places) else None
    _, before, after = places[0]
    if before.busy is None or after.busy is None:
        return None
    own = sum(after.own - before.own for _, before, after in places)
    return max(after.busy - before.busy - own, 0.0) / (elapsed * len(cores))


def _missing_share(result: PipelineResult, cap: float, hosts: int) -> float:
    """How far the share of a core that ranks had in tasks was below that of their hosts [1]."""
    beside = Counter(share.rank % hosts for share in result.ranks)
    shares = [
        share.processor / (share.tasks + share.merges) * beside[share.rank % hosts] / cap
        for share in result.ranks
        if share.tasks + share.merges > 0 and beside[share.rank % hosts] == 1
    ]
    return max(1.0 - min(shares), 0.0) if shares else 0.0


if __name__ == "__main__":
    main(sys.argv[1:])
