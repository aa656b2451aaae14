"""Time of one call of a communication primitive: measured, or from latency and bandwidth.

The description of a measured machine gives startup and rate of a primitive for every P
(`parcast.laws.primitives.measured`). If it does not, textbook formulas are used [D], with startup
``a`` of a message, time ``b`` of a byte, the volume m of one partner, and L = ceil(lg P):

    send, receive        a + b*m                       one message
    broadcast, reduce    L * (a + b*m)                 binomial tree                  [1]_ [2]_
    allreduce            2 * L * (a + b*m)             a reduction, then a broadcast  [2]_
    gather, scatter      L * a + (P - 1) * b*m         binomial tree                  [1]_
    allgather            L * a + (P - 1) * b*m         Bruck, recursive doubling      [1]_
    alltoall             (P - 1) * (a + b*m)           exchange in pairs              [1]_
    barrier              L * a                         dissemination                  [3]_

One processor does not communicate. Use the table only if nothing was measured: an MPI library uses
other algorithms for long messages and for ranks that share a memory, and the formulas contain no
waiting, so a measured primitive is always better. Of the many algorithms in the sources these are
used for every length [D].

The volume m of a call is the buffer of one partner, like the count in the MPI call and as printed
by the benchmarks of OSU and Intel: for gather, scatter and allgather what one rank sends or
receives, for alltoall what one rank sends to each other one; see
`parcast.descriptions.machine.VOLUMES`. So a gather of 1 MB each among 8 ranks has a volume of
1 MB, and its root receives 7 MB. A barrier has none.

References
----------
.. [1] R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication
   operations in MPICH," Int. J. High Perform. Comput. Appl., vol. 19, no. 1, pp. 49-66, 2005,
   :doi:`10.1177/1094342005051521`, its costs of a binomial tree, of recursive doubling and of
   exchange in pairs; n there is all the bytes of a gather, or those one rank gives in an
   all-to-all: P * m here.
.. [2] E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
   practice, and experience," Concurrency Comput. Pract. Exper., vol. 19, no. 13, pp. 1749-1783,
   2007, :doi:`10.1002/cpe.1206`.
.. [3] D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization,"
   Int. J. Parallel Program., vol. 17, no. 1, pp. 1-17, 1988, :doi:`10.1007/BF01379320`.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.machine import Barrier, Machine, Primitive
from parcast.errors import ParameterError, require

SLACK = 1e-9  # by which lg P may exceed a whole number by rounding
Counts = Callable[[Array], tuple[Array, Array]]  # startups and volumes after one another


def primitive_time(name: str, machine: Machine, at: Point, volume: Array) -> Array:
    """Time of one call of a primitive on a machine [s], of `volume` bytes; 0 on one processor."""
    if name == "barrier":
        hint = "A barrier sends no bytes: leave its volume out."
        require("volume", np.asarray(volume), np.asarray(volume) == 0, must="be 0", hint=hint)
    p = np.asarray(at["p"], dtype=np.float64)
    known = figures_of(machine, name)
    if known is not None:
        alone = np.maximum(p, 2.0)  # a formula need not have a value where nothing is sent
        there = {**at, "p": alone}
        time = known.startup(there) if known.startup is not None else np.zeros(())
        if np.any(volume > 0):
            time = time + volume / _rate(known.bandwidth, name, machine, there)
        return np.asarray(np.where(p > 1, time, 0.0))
    network = machine.network
    startup = network.latency(at) if network.latency is not None else np.zeros(())
    byte = np.zeros(())
    if np.any(volume > 0):
        byte = 1.0 / machine.need("network.bandwidth", at, why=f"a region of kind {name}")
    return standard_time(name, p, volume, startup=startup, byte=byte)


def figures_of(machine: Machine, name: str) -> Primitive | Barrier | None:
    """What a machine file says of a primitive; None where it says nothing."""
    figures: Primitive | Barrier = getattr(machine.primitives, name)
    is_given = figures.startup is not None or figures.bandwidth is not None
    return figures if is_given else None


def _rate(bandwidth: Amount | None, name: str, machine: Machine, at: Point) -> Array:
    """Rate of the bytes of a message, above 0."""
    key = f"primitives.{name}.bandwidth"
    if bandwidth is None:
        raise ParameterError(
            key,
            must=f"be given in the description of {machine.name}: a region sends bytes with it",
            hint="Add it beside its startup.",
        )
    rate = bandwidth(at)
    ok = (rate > 0) & np.isfinite(rate)
    require(key, rate, ok, must="be above 0", hint="Give the rate that was measured.")
    return rate


def standard_time(
    name: str, p: ArrayLike, volume: ArrayLike, *, startup: ArrayLike, byte: ArrayLike
) -> Array:
    """Time of one call [s] from `startup` [s] and time of a `byte` [s/B] of a message.

    Eight ranks give the root 1 MB each: three startups of 10 us, and 7 MB at 1 GB/s.

    >>> round(float(standard_time("gather", 8, 1e6, startup=10e-6, byte=1e-9)), 6)
    0.00703
    """
    p = np.asarray(p, dtype=np.float64)
    messages, volumes = COUNTS[name](np.maximum(p, 2.0))
    time = messages * np.asarray(startup) + volumes * np.asarray(byte) * np.asarray(volume)
    return np.asarray(np.where(p > 1, time, 0.0))


def levels(p: Array) -> Array:
    """Levels of a tree of `p` processors: ceil(lg p), at least 1 of two or more."""
    return np.asarray(np.maximum(np.ceil(np.log2(p) - SLACK), 1.0))


def _message(p: Array) -> tuple[Array, Array]:
    return np.ones_like(p), np.ones_like(p)


def _tree(p: Array) -> tuple[Array, Array]:
    return levels(p), levels(p)


def _two_trees(p: Array) -> tuple[Array, Array]:
    return 2.0 * levels(p), 2.0 * levels(p)


def _of_parts(p: Array) -> tuple[Array, Array]:
    return levels(p), p - 1.0


def _in_pairs(p: Array) -> tuple[Array, Array]:
    return p - 1.0, p - 1.0


def _no_bytes(p: Array) -> tuple[Array, Array]:
    return levels(p), np.zeros_like(p)


COUNTS: Final[dict[str, Counts]] = {
    "send": _message,
    "receive": _message,
    "broadcast": _tree,
    "reduce": _tree,
    "allreduce": _two_trees,
    "gather": _of_parts,
    "scatter": _of_parts,
    "allgather": _of_parts,
    "alltoall": _in_pairs,
    "barrier": _no_bytes,
}
WORDS: Final = {  # each of `COUNTS`, for those who read of it
    "send": "a message",
    "receive": "a message",
    "broadcast": "a tree of ceil(log2 p) messages",
    "reduce": "a tree of ceil(log2 p) messages",
    "allreduce": "two trees of ceil(log2 p) messages",
    "gather": "ceil(log2 p) startups and p - 1 volumes",
    "scatter": "ceil(log2 p) startups and p - 1 volumes",
    "allgather": "ceil(log2 p) startups and p - 1 volumes",
    "alltoall": "p - 1 messages",
    "barrier": "ceil(log2 p) startups",
}
