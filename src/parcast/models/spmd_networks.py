"""Times of a cycle of an SPMD phase: its three families of I/O as closed queueing networks.

K groups of processors are the customers. Each has a delay z between visits to the network (mean
service x), n times in a cycle, and then its I/O (mean service y). With R the response time and
X the throughput of the network [1]_::

    synchronous  all groups join, then one I/O serves all of them:
                 T = n * sum over i = 1..K of (z + R(i))/i + y    bursts geometric (16) [S]
                 T = `fixed_cycles_time` + y                      bursts fixed [D]
    striped      T = K/X of K customers, delay n z, queues n x and y       (20)-(22) [S]
    clustered    T = k/X of clusters of k customers with a disk each, all sharing the network [S]

Where the clusters cannot be equal, T is that of the largest, with which a program ends [D]: up to
3 % too high where the network is busy, because the smaller ones end earlier and leave it to them,
and up to 2 % too low where several are the largest, because the last of them counts.

Of T, computing takes n u and the transfers n (f + x); I/O takes its response time; the rest is
waiting, for the network as long as a customer waits there in equilibrium, and for the slowest of
a group or of all [D].

Two readings of (20)-(22) exist. The text has K = p/c customers, which simulation confirms; the
equations have p, which is the "published" reading.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parcast.breakdown import Array, Breakdown
from parcast.errors import ParameterError
from parcast.models.spmd_demands import Demands
from parcast.queueing.clusters import clusters, deal
from parcast.queueing.fixed_cycles import fixed_cycles_time
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.general_service import two_general_queues
from parcast.queueing.order import deviation_of_maximum, expected_maximum
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.two_queues import two_queues

if TYPE_CHECKING:
    from parcast.models.spmd import SpmdPhase


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cycle:
    """One cycle: where its time goes, and how it follows what it asks for."""

    breakdown: Breakdown  # [s]
    by_computing: Array  # derivative of the time by u [1]
    by_delay: Array  # by f [1]
    by_queue: Array  # by x [1]
    by_io: Array  # by y [1]


def cycle(phase: "SpmdPhase", asked: Demands) -> Cycle:
    """Time of one cycle that asks for `asked`, with its derivatives."""
    return FAMILIES[phase.io.kind](phase, asked)


def io_service(phase: "SpmdPhase", asked: Demands) -> Array:
    """Service time of one I/O request, y, equation (14) [s]."""
    share = asked.d
    if phase.io.kind == "striped":
        share = asked.d * asked.groups
    elif phase.io.kind == "clustered":
        share = asked.groups
    return asked.io_startup + asked.io_transfer / share


def customers(phase: "SpmdPhase", asked: Demands) -> Array:
    """Customers of the network: groups, or processors in the published reading of (20)-(22)."""
    published = phase.reading == "published" and phase.io.kind != "synchronous"
    return asked.p if published else asked.groups


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Burst:
    """One burst: the slowest of a group computes z - f, which is h times as long as each."""

    slowest: Array  # h(c) [1]
    delay: Array  # z [s]
    cv: Array  # of what the slowest computes [1]


def _burst(phase: "SpmdPhase", asked: Demands) -> _Burst:
    """Delay of a burst, equation (15)."""
    law = phase.compute.law
    slowest = expected_maximum(asked.group, law).value
    delay = slowest * asked.computing + asked.delay
    cv = deviation_of_maximum(asked.group, law) / slowest
    return _Burst(slowest=slowest, delay=delay, cv=cv)


def _synchronous(phase: "SpmdPhase", asked: Demands) -> Cycle:
    """All groups join before the I/O."""
    burst, x, n, y = _burst(phase, asked), asked.queue, asked.bursts, io_service(phase, asked)
    jobs = asked.groups
    if phase.bursts == "geometric":
        joined = departure_sum(jobs, delay=burst.delay, service=x)
        until_join = n * joined.value
        by_delay, by_queue = n * joined.by_delay, n * joined.by_service
        by_computing = burst.slowest * by_delay
    else:
        _require_no_wild_services(phase)
        fixed = fixed_cycles_time(
            jobs,
            cycles=n,
            delay=burst.slowest * asked.computing,
            steady=asked.delay,
            service=x,
            delay_cv=burst.cv,
            service_cv=phase.communication.cv,
        )
        until_join, by_delay, by_queue = fixed.value, fixed.by_steady, fixed.by_service
        by_computing = burst.slowest * fixed.by_delay
    waiting = n * (_response(jobs, burst.delay, x) - x)
    spare = np.maximum(until_join - n * (asked.computing + asked.delay + x), 0.0)
    waiting = np.minimum(waiting, spare)
    compute, sending = n * asked.computing, n * (asked.delay + x)
    breakdown = Breakdown(
        compute=compute,
        communication=sending + waiting,
        io=y,
        synchronisation=np.maximum(until_join - compute - sending - waiting, 0.0),
    )
    return Cycle(
        breakdown=breakdown,
        by_computing=by_computing,
        by_delay=by_delay,
        by_queue=by_queue,
        by_io=np.ones(()),
    )


def _require_no_wild_services(phase: "SpmdPhase") -> None:
    """The time of fixed cycles is known for services up to exponential ones."""
    if phase.communication.cv > 1.0:
        raise ParameterError(
            "communication.variability must be at most 1 where bursts are fixed and I/O is "
            f"synchronous, got {phase.communication.cv:g}. Simulate it, or take "
            'bursts = "geometric".'
        )


def _response(jobs: Array, delay: Array, service: Array) -> Array:
    """Response time at the network while all are under way; 0 where there is nothing to do."""
    nothing = (delay == 0) & (service == 0)
    found = repairman_equilibrium(jobs, delay=np.where(nothing, 1.0, delay), service=service)
    return np.asarray(found.response.value)


def _striped(phase: "SpmdPhase", asked: Demands) -> Cycle:
    """Every group writes to all disks together when it is ready."""
    burst, n, y = _burst(phase, asked), asked.bursts, io_service(phase, asked)
    jobs, z, x = customers(phase, asked), n * burst.delay, n * asked.queue
    solved = two_queues(jobs, delay=z, x=x, y=y)
    at_network, at_disk = solved.response_x, solved.response_y
    if phase.communication.cv != 1.0 or phase.io.cv != 1.0:
        laws = phase.communication.service_law, phase.io.service_law
        network, disk = two_general_queues(jobs, delay=z, services=(x, y), laws=laws)
        at_network, at_disk = network.response, disk.response
    time = z + at_network + at_disk
    # As elasticities, which depend little on the law of the service times.
    slope = -time / solved.throughput
    by_delay, by_queue, by_io = (
        slope * solved.throughput_by_delay,
        slope * solved.throughput_by_x,
        slope * solved.throughput_by_y,
    )
    return _asynchronous(asked, burst, at_network, at_disk, (by_delay, by_queue, by_io))


def _clustered(phase: "SpmdPhase", asked: Demands) -> Cycle:
    """Every group writes to one of the disks when it is ready."""
    burst, n, y = _burst(phase, asked), asked.bursts, io_service(phase, asked)
    jobs, d = np.broadcast_arrays(customers(phase, asked), asked.d)
    if phase.reading == "published":
        _require_equal_clusters(jobs, d)
    each, count = deal(jobs, d)
    found = clusters(each, count, delay=n * burst.delay, own=y, shared=n * asked.queue)
    group = np.where(count[..., 1] > 0, 1, 0)[..., None]  # the larger clusters, if there are any

    def of_largest(column: Array) -> Array:
        column = np.broadcast_to(column, (*column.shape[:-1], 2))
        return np.take_along_axis(column, np.broadcast_to(group, (*column.shape[:-1], 1)), -1)[
            ..., 0
        ]

    throughput = of_largest(found.throughput)
    slope = -of_largest(np.broadcast_to(each, found.throughput.shape)) / throughput**2
    slopes = (
        slope * of_largest(found.throughput_by_delay),
        slope * of_largest(found.throughput_by_shared),
        slope * of_largest(found.throughput_by_own),
    )
    at_network, at_disk = of_largest(found.response_shared), of_largest(found.response_own)
    return _asynchronous(asked, burst, at_network, at_disk, slopes)


def _require_equal_clusters(jobs: Array, d: Array) -> None:
    """The published equations know equal clusters only."""
    uneven = np.mod(jobs, d) != 0
    if uneven.any():
        raise ParameterError(
            f'io.kind "clustered" must have p/c a multiple of d in the published reading, got '
            f"{jobs[uneven].flat[0]:g} and d = {d[uneven].flat[0]:g}. "
            'Leave that d out, or leave out reading = "published".'
        )


def _asynchronous(
    asked: Demands,
    burst: _Burst,
    at_network: Array,
    at_disk: Array,
    slopes: tuple[Array, Array, Array],
) -> Cycle:
    """A cycle without a join, from the response times in it."""
    n = asked.bursts
    by_delay, by_queue, by_io = slopes
    breakdown = Breakdown(
        compute=n * asked.computing,
        communication=n * asked.delay + at_network,
        io=at_disk,
        synchronisation=n * (burst.slowest - 1.0) * asked.computing,
    )
    return Cycle(
        breakdown=breakdown,
        by_computing=n * burst.slowest * by_delay,
        by_delay=n * by_delay,
        by_queue=n * by_queue,
        by_io=by_io,
    )


FAMILIES: dict[str, Callable[["SpmdPhase", Demands], Cycle]] = {
    "synchronous": _synchronous,
    "striped": _striped,
    "clustered": _clustered,
}
