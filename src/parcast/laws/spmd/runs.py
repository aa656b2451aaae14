"""Times of all cycles of an SPMD phase: N times a cycle, and for asynchronous I/O start and end.

Groups that join before each I/O have no more to wait for at the end than in every cycle. Groups
that never join begin together, get out of step, and the run ends with the last of them:
`makespan_excess` [D]. All of it is waiting for the slowest. The published equations have neither
start nor end [S]; nor has a phase of one cycle, which is what a description says that leaves the
number of cycles out: it is a cycle in the long run.
"""

from dataclasses import replace

import numpy as np

from parcast.aliases import Array
from parcast.laws.spmd.demands import Cycle, Demands, io_service
from parcast.laws.spmd.tables import SpmdTables
from parcast.queueing.clusters import deal
from parcast.queueing.makespan import Circulation, makespan_excess

FEW_CYCLES = 20  # from here on times are within 1.5 % of simulation, nearly always


def ends_apart(phase: SpmdTables) -> bool:
    """Whether a run has a start and an end of its own."""
    return phase.io.kind != "synchronous" and phase.reading != "published"


def run_of(phase: SpmdTables, demand: Demands, solved: Cycle, cycles: Array) -> Cycle:
    """So many cycles, each as `solved` in the long run, from their start to the last one's end."""
    run = replace(
        solved,
        breakdown=solved.breakdown * cycles,
        by_computing=solved.by_computing * cycles,
        by_delay=solved.by_delay * cycles,
        by_queue=solved.by_queue * cycles,
        by_io=solved.by_io * cycles,
    )
    if not ends_apart(phase):
        return run
    excess = _excess(phase, demand, solved, cycles)
    waiting = run.breakdown.synchronisation + excess[0]
    return replace(
        run,
        breakdown=replace(run.breakdown, synchronisation=waiting),
        by_computing=run.by_computing + solved.burst.slowest * excess[1],
        by_delay=run.by_delay + excess[2],
        by_queue=run.by_queue + excess[3],
        by_io=run.by_io + excess[4],
    )


def _excess(phase: SpmdTables, demand: Demands, solved: Cycle, cycles: Array) -> Array:
    """What start and end add, (5, points): its value, and its slopes by h u, f, x and y."""
    burst = solved.burst
    sharing, queues = _at_one_disk(phase, demand)
    columns = np.broadcast_arrays(
        demand.groups,
        sharing,
        queues,
        cycles,
        demand.bursts,
        burst.slowest * demand.computing,
        demand.delay,
        demand.queue,
        io_service(phase, demand),
        burst.cv,
        solved.breakdown.time,
        solved.by_computing / burst.slowest,
        solved.by_delay,
        solved.by_queue,
        solved.by_io,
    )
    excess = np.zeros((5, *columns[0].shape))
    groups, number, time = columns[0], columns[3], columns[10]
    some = (groups > 1) & (number > 1) & (time > 0) & np.isfinite(time)
    k, sharing, queues, cycles, n, delay, steady, x, y, cv, *cycle = (c[some] for c in columns)
    circulation = Circulation(
        jobs=k,
        sharing=sharing,
        queues=queues,
        cycles=cycles,
        visits=n,
        delay=delay,
        steady=steady,
        first=x,
        second=y,
        delay_cv=cv,
        first_cv=phase.communication.cv,
        second_cv=phase.io.cv,
        geometric=phase.bursts == "geometric",
    )
    if k.size:
        excess[:, some] = makespan_excess(circulation, np.stack(cycle))
    return excess


def _at_one_disk(phase: SpmdTables, demand: Demands) -> tuple[Array, Array]:
    """Groups that share a disk, in the largest clusters, and the number of these clusters."""
    if phase.io.kind == "striped":
        return demand.groups, np.ones(())
    each, count = deal(demand.groups, demand.d)
    larger = count[..., 1] > 0
    sharing, queues = (np.where(larger, of[..., 1], of[..., 0]) for of in (each, count))
    return sharing, queues
