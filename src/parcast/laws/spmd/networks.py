"""Times of a cycle of an SPMD phase: its three families of I/O as closed queueing networks.

Groups that join before each I/O have no more to wait for at the end than in every cycle. Groups
that never join begin together, get out of step, and the run ends with the last of them:
`makespan_excess` [D]. All of it is waiting for the slowest. The published equations have neither
start nor end [S]; nor has a phase of one cycle, which is what a description says that leaves the
number of cycles out: it is a cycle in the long run.

K groups of processors are the customers. Each has a delay z between visits to the network (mean
service x), n times in a cycle, and then its I/O (mean service y). With R the response time and
X the throughput of the network [1]_::

    synchronous  all groups join, then one I/O serves all of them:
                 T = n * sum over i = 1..K of (z + R(i))/i + y    bursts geometric (16) [S]
                 T = `geometric_cycles_time` + y                  if times vary otherwise [D]
                 T = `fixed_cycles_time` + y                      bursts fixed [D]
    striped      T = K/X of K customers, delay n z, queues n x and y       (20)-(22) [S]
    clustered    T = k/X of clusters of k customers with a disk each, all sharing the network [S]

Of T, computing takes n u and the transfers n (f + x); I/O takes its response time; the rest is
waiting, for the network as long as a customer waits there in equilibrium, and for the slowest of
a group or of all [D].

The last two, whose processors never join, assume exponential services; for others T is multiplied
by what `two_varied_queues` says of them over what it says of exponential ones [D]. Then the
computing times count as well. Where the clusters cannot be equal, T is that of the largest, with
which a program ends [D]: up to 3% too high where the network is busy, because the smaller ones
end earlier and leave it to them, and up to 2% too low where several are the largest, because the
last of them counts. Of the number of customers of (20)-(22) the print says two things: p in (20)
and (21), p/c in (22) and in the text. It is p/c, which simulation confirms.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from parcast.advice import SIMULATE
from parcast.aliases import Array
from parcast.descriptions.breakdown import Breakdown
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import Burst, CycleDemands, Demands, burst_of, io_service
from parcast.laws.spmd.tables import SpmdTables
from parcast.queueing.clusters import clusters, deal
from parcast.queueing.fixed_cycles import MOST_SERVICE_CV, fixed_cycles_time, geometric_cycles_time
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.makespan import Circulation, makespan_excess
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.time_laws import ServiceLaw, exponential_service
from parcast.queueing.two_queues import two_queues
from parcast.queueing.varied_queues import VariedQueues, two_varied_queues

FEW_CYCLES = 20  # from here on times are within 1.5% of simulation, nearly always


def ends_apart(phase: SpmdTables) -> bool:
    """Whether a run has a start and an end of its own."""
    return phase.io.kind != "synchronous" and phase.reading != "published"


def run_of(
    phase: SpmdTables, demand: Demands, solved: CycleDemands, cycles: Array
) -> CycleDemands:
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


def _excess(phase: SpmdTables, demand: Demands, solved: CycleDemands, cycles: Array) -> Array:
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


def cycle(phase: SpmdTables, demand: Demands) -> CycleDemands:
    """Time of one cycle that asks for `demand`, with its derivatives."""
    return FAMILIES[phase.io.kind](phase, demand)


def _synchronous(phase: SpmdTables, demand: Demands) -> CycleDemands:
    """All groups join before the I/O."""
    burst, x, n, y = (
        burst_of(phase, demand),
        demand.queue,
        demand.bursts,
        io_service(phase, demand),
    )
    jobs = demand.groups
    exponential = phase.is_exponential and not np.any(demand.interruption)
    if phase.bursts == "geometric" and (exponential or phase.reading == "published"):
        joined = departure_sum(jobs, delay=burst.delay, service=x)
        until_join = n * joined.value
        by_delay, by_queue = n * joined.by_delay, n * joined.by_service
        by_computing = burst.slowest * by_delay
    else:
        _require_tame_services(phase)
        solver = fixed_cycles_time if phase.bursts == "fixed" else geometric_cycles_time
        ended = solver(
            jobs,
            cycles=n,
            delay=burst.slowest * demand.computing,
            steady=demand.delay,
            service=x,
            delay_cv=burst.cv,
            service_cv=phase.communication.cv,
        )
        until_join, by_delay, by_queue = ended.value, ended.by_steady, ended.by_service
        by_computing = burst.slowest * ended.by_delay
    waiting = n * (_response(jobs, burst.delay, x) - x)
    spare = np.maximum(until_join - n * (demand.computing + demand.delay + x), 0.0)
    waiting = np.minimum(waiting, spare)
    compute, sending = n * demand.computing, n * (demand.delay + x)
    breakdown = Breakdown(
        compute=compute,
        communication=sending + waiting,
        io=y,
        synchronisation=np.maximum(until_join - compute - sending - waiting, 0.0),
    )
    return CycleDemands(
        breakdown=breakdown,
        burst=burst,
        by_computing=by_computing,
        by_delay=by_delay,
        by_queue=by_queue,
        by_io=np.ones(()),
    )


def _require_tame_services(phase: SpmdTables) -> None:
    """The time until all join is known for services that do not vary too much."""
    if phase.communication.cv > MOST_SERVICE_CV:
        raise ParameterError(
            "communication.variability",
            must=f"be at most {MOST_SERVICE_CV:g} if I/O is synchronous",
            got=f"{phase.communication.cv:g}",
            hint=f"Simulate it: {SIMULATE}",
        )


def _response(jobs: Array, delay: Array, service: Array) -> Array:
    """Response time at the network while all are under way; 0 where there is nothing to do."""
    nothing = (delay == 0) & (service == 0)
    solved = repairman_equilibrium(jobs, delay=np.where(nothing, 1.0, delay), service=service)
    return np.asarray(solved.response.value)


def _striped(phase: SpmdTables, demand: Demands) -> CycleDemands:
    """Every group writes to all disks together when it is ready."""
    burst, n, y = burst_of(phase, demand), demand.bursts, io_service(phase, demand)
    jobs, x = demand.groups, demand.queue
    solved = two_queues(jobs, delay=n * burst.delay, x=n * x, y=y)
    slope = -jobs / solved.throughput**2
    exact = _Circulation(
        at_network=solved.response_x,
        at_disk=solved.response_y,
        by_delay=n * slope * solved.throughput_by_delay,
        by_queue=n * slope * solved.throughput_by_x,
        by_io=slope * solved.throughput_by_y,
    )
    return _asynchronous(phase, demand, burst, exact, jobs)


def _clustered(phase: SpmdTables, demand: Demands) -> CycleDemands:
    """Every group writes to one of the disks when it is ready."""
    burst, n, y = burst_of(phase, demand), demand.bursts, io_service(phase, demand)
    jobs, d = np.broadcast_arrays(demand.groups, demand.d)
    if phase.reading == "published":
        _require_equal_clusters(jobs, d)
    each, count = deal(jobs, d)
    solved = clusters(each, count, delay=n * burst.delay, own=y, shared=n * demand.queue)
    group = np.where(count[..., 1] > 0, 1, 0)[..., None]  # the larger clusters, if there are any

    def of_largest(column: Array) -> Array:
        column = np.broadcast_to(column, (*column.shape[:-1], 2))
        return np.take_along_axis(column, np.broadcast_to(group, (*column.shape[:-1], 1)), -1)[
            ..., 0
        ]

    throughput, largest = of_largest(solved.throughput), of_largest(each)
    slope = -largest / throughput**2
    exact = _Circulation(
        at_network=of_largest(solved.response_shared),
        at_disk=of_largest(solved.response_own),
        by_delay=n * slope * of_largest(solved.throughput_by_delay),
        by_queue=n * slope * of_largest(solved.throughput_by_shared),
        by_io=slope * of_largest(solved.throughput_by_own),
    )
    return _asynchronous(phase, demand, burst, exact, largest)


def _require_equal_clusters(jobs: Array, d: Array) -> None:
    """The published equations know equal clusters only."""
    uneven = np.mod(jobs, d) != 0
    if uneven.any():
        raise ParameterError(
            'io.kind "clustered"',
            must="have p/c a multiple of d in the published reading",
            got=f"{jobs[uneven].flat[0]:g} and d = {d[uneven].flat[0]:g}",
            hint='Leave that d out, or leave out reading = "published".',
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Circulation:
    """A cycle without a join: response times in it, and how its time follows the demands."""

    at_network: Array  # of all bursts [s]
    at_disk: Array  # [s]
    by_delay: Array  # derivative of the time by the delay of a burst, z [1]
    by_queue: Array  # by x [1]
    by_io: Array  # by y [1]


def _asynchronous(
    phase: SpmdTables, demand: Demands, burst: Burst, exact: _Circulation, sharing: Array
) -> CycleDemands:
    """A cycle without a join, from that of exponential services; `sharing` jobs use one disk."""
    n = demand.bursts
    by_computing, cycled = burst.slowest * exact.by_delay, exact
    exponential = (phase.communication.cv, phase.io.cv) == (1.0, 1.0)
    if not exponential and phase.reading != "published":
        by_computing, cycled = _varied(phase, demand, burst, exact, sharing)
    breakdown = Breakdown(
        compute=n * demand.computing,
        communication=n * demand.delay + cycled.at_network,
        io=cycled.at_disk,
        synchronisation=n * (burst.slowest - 1.0) * demand.computing,
    )
    return CycleDemands(
        breakdown=breakdown,
        burst=burst,
        by_computing=by_computing,
        by_delay=cycled.by_delay,
        by_queue=cycled.by_queue,
        by_io=cycled.by_io,
    )


def _varied(
    phase: SpmdTables, demand: Demands, burst: Burst, exact: _Circulation, sharing: Array
) -> tuple[Array, _Circulation]:
    """What other services make of an exact cycle, and its slope by the computing of a burst."""
    n, y = demand.bursts, io_service(phase, demand)
    away = n * burst.delay

    def approximate(*laws: ServiceLaw) -> VariedQueues:
        return two_varied_queues(
            demand.groups,
            sharing,
            visits=n,
            delay=burst.slowest * demand.computing,
            steady=demand.delay,
            first=demand.queue,
            second=y,
            delay_cv=burst.cv,
            laws=(laws[0], laws[1]),
            geometric=phase.bursts == "geometric",
        )

    of_laws = approximate(phase.communication.service_law, phase.io.service_law)
    exponential = approximate(exponential_service(), exponential_service())
    longer = of_laws.time / exponential.time
    time = (away + exact.at_network + exact.at_disk) * longer

    def slope(of_exact: Array, one: Array, other: Array) -> Array:
        return of_exact * longer + time * (one / of_laws.time - other / exponential.time)

    at_queues = of_laws.response_first + of_laws.response_second
    scale = np.divide(time - away, at_queues, out=np.ones_like(time), where=at_queues > 0)
    by_computing = slope(exact.by_delay, of_laws.by_delay, exponential.by_delay)
    return burst.slowest * by_computing, _Circulation(
        at_network=of_laws.response_first * scale,
        at_disk=of_laws.response_second * scale,
        by_delay=slope(exact.by_delay, of_laws.by_steady, exponential.by_steady),
        by_queue=slope(exact.by_queue, of_laws.by_first, exponential.by_first),
        by_io=slope(exact.by_io, of_laws.by_second, exponential.by_second),
    )


FAMILIES: dict[str, Callable[[SpmdTables, Demands], CycleDemands]] = {
    "synchronous": _synchronous,
    "striped": _striped,
    "clustered": _clustered,
}
