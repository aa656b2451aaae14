"""What the families of I/O of an SPMD phase share: bursts, I/O requests and customers of a cycle.

K = p/c groups of processors are the customers. Before each visit to the network one takes z, of
which the slowest of its c processors computes h(c) u [1]_::

    z = h(c) u + f    (15)        y, the service of one I/O request    (14)

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parcast.breakdown import Array, Breakdown
from parcast.models.spmd_demands import Demands
from parcast.queueing.order import deviation_of_maximum, expected_maximum

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
class Burst:
    """One burst: the slowest of a group computes z - f, which is h times as long as each."""

    slowest: Array  # h(c) [1]
    delay: Array  # z [s]
    cv: Array  # of what the slowest computes [1]


def burst_of(phase: "SpmdPhase", asked: Demands) -> Burst:
    """Delay of a burst, equation (15)."""
    law = phase.compute.law
    slowest = expected_maximum(asked.group, law).value
    delay = slowest * asked.computing + asked.delay
    cv = deviation_of_maximum(asked.group, law) / slowest
    return Burst(slowest=slowest, delay=delay, cv=cv)
