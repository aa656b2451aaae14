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

from parcast.instrument.accounts import core_seconds, waited_for_core
from parcast.mpi.find import available_cores
from parcast.mpi.launched import one_world
from parcast.pipeline.result import PipelineResult
from parcast.pipeline.run import run_pipeline
from parcast.pipeline.traces.trace import read_trace
from parcast.pipeline.trials.observation import Layout, Point
from parcast.pipeline.trials.parts import parts_of
from parcast.pipeline.trials.work import Job, job_from
from parcast.testbed.testbed import testbed_here
from parcast.trials.worker import task_of, tell

if TYPE_CHECKING:
    from mpi4py import MPI

TINY: Final = 4  # items a rank in the run that is not counted [1]


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
        point = Point(**{**run, "layout": Layout(*run["layout"])})
        document = _made(comm, point, work, task)
        if comm.Get_rank() == 0:
            tell(task, {"run": i, **document})


def _made(comm: "MPI.Intracomm", point: Point, work: Job, task: dict[str, Any]) -> dict[str, Any]:
    """Make a run, and tell of it on the first rank."""
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
