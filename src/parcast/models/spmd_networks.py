"""Times of a cycle of an SPMD phase: its three families of I/O as closed queueing networks.

K groups of processors are the customers. Each has a delay z between visits to the network (mean
service x), n times in a cycle, and then its I/O (mean service y). With R the response time and
X the throughput of the network [1]_::

    synchronous  all groups join, then one I/O serves all of them:
                 T = n * sum over i = 1..K of (z + R(i))/i + y    bursts geometric (16) [S]
                 T = `geometric_cycles_time` + y                  if times vary otherwise [D]
                 T = `fixed_cycles_time` + y                      bursts fixed [D]
    striped      `spmd_asynchronous`: a network of K customers with two queues
    clustered    the same with a queue of its own for each cluster

Of T, computing takes n u and the transfers n (f + x); I/O takes its response time; the rest is
waiting, for the network as long as a customer waits there in equilibrium, and for the slowest of
a group or of all [D].

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from parcast.breakdown import Array, Breakdown
from parcast.errors import ParameterError
from parcast.models.spmd_asynchronous import clustered, striped
from parcast.models.spmd_cycle import Cycle, burst_of, io_service
from parcast.models.spmd_demands import Demands
from parcast.queueing.fixed_cycles import MOST_SERVICE_CV, fixed_cycles_time
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.geometric_cycles import geometric_cycles_time
from parcast.queueing.repairman import repairman_equilibrium

if TYPE_CHECKING:
    from parcast.models.spmd import SpmdPhase


def cycle(phase: "SpmdPhase", asked: Demands) -> Cycle:
    """Time of one cycle that asks for `asked`, with its derivatives."""
    return FAMILIES[phase.io.kind](phase, asked)


def _synchronous(phase: "SpmdPhase", asked: Demands) -> Cycle:
    """All groups join before the I/O."""
    burst, x, n, y = burst_of(phase, asked), asked.queue, asked.bursts, io_service(phase, asked)
    jobs = asked.groups
    if phase.bursts == "geometric" and (phase.is_exponential or phase.reading == "published"):
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
            delay=burst.slowest * asked.computing,
            steady=asked.delay,
            service=x,
            delay_cv=burst.cv,
            service_cv=phase.communication.cv,
        )
        until_join, by_delay, by_queue = ended.value, ended.by_steady, ended.by_service
        by_computing = burst.slowest * ended.by_delay
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


def _require_tame_services(phase: "SpmdPhase") -> None:
    """The time until all join is known for services that do not vary too much."""
    if phase.communication.cv > MOST_SERVICE_CV:
        raise ParameterError(
            f"communication.variability must be at most {MOST_SERVICE_CV:g} where I/O is "
            f"synchronous, got {phase.communication.cv:g}. Simulate it."
        )


def _response(jobs: Array, delay: Array, service: Array) -> Array:
    """Response time at the network while all are under way; 0 where there is nothing to do."""
    nothing = (delay == 0) & (service == 0)
    found = repairman_equilibrium(jobs, delay=np.where(nothing, 1.0, delay), service=service)
    return np.asarray(found.response.value)


FAMILIES: dict[str, Callable[["SpmdPhase", Demands], Cycle]] = {
    "synchronous": _synchronous,
    "striped": striped,
    "clustered": clustered,
}
