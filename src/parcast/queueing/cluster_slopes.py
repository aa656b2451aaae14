"""How the response times of clusters that share a queue follow the demands.

A customer of group g that arrives anywhere sees the network with one customer less in its own
cluster [1]_. The integrand of that network is the one of `clusters` times the throughput X(k_g)
of its cluster alone, and with E the averages over it [D]_::

    R_own = y E[1 + Q(k_g - 1, Z/y)],    R_shared = x E[t],    Z = z + x t

Derivatives come from the same nodes: ``dE[f] = E[df] + Cov(f, s)``, where s is the derivative of
the logarithm of that integrand. With V = -dQ/da, and X and Q of one cluster alone, t given::

    by z:  dQ = -V / y      s = sum over h of c_h X(k_h) + dlnX(k_g)/dZ
    by y:  dQ = V Z / y^2   s = sum over h of c_h Q(k_h) / y + dlnX(k_g)/dy
    by x:  t times what z has, and d(x t)/dx = t

The lengths with one customer less are solved for, not told from those with all of them: the waits
of a queue that hardly anybody meets keep their digits.

Errors, relative to response time over demand or to the slope, whichever is larger, were below 1e-9
in thousands of networks drawn to be hard, of up to 300,000 customers [D]_. Two or three customers
that spend less than 1e-6 of their time elsewhere than at the shared queue are an exception: slopes
by the demands that are next to nothing there are right to 1e-7.

References
----------
.. [1] K. C. Sevcik and I. Mitrani, "The distribution of queuing network states at input and output
   instants," J. ACM, vol. 28, no. 2, pp. 358-371, 1981.
.. [D] parcast's own derivation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parcast.queueing.cluster_integral import Given, Network, states
from parcast.queueing.erlang import Array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClusterSlopes:
    """Derivatives of the response times of `clusters` by its demands.

    Arrays of shape (..., groups), without unit [s/s]; 0 for a group without customers.
    """

    own_by_delay: Array  # of the response at the own queue
    own_by_own: Array
    own_by_shared: Array
    shared_by_delay: Array  # of the response at the shared queue
    shared_by_own: Array
    shared_by_shared: Array

    @classmethod
    def of(cls, rows: Sequence[Array]) -> "ClusterSlopes":
        """The fields, in their order."""
        return cls(**dict(zip(cls.__dataclass_fields__, rows, strict=True)))


def response_slopes(network: Network, given: Given, t: Array, weight: Array) -> Array:
    """Rows of `ClusterSlopes`, in its order, shape (6, groups, points).

    Parameters
    ----------
    network : Network
        The demands and the groups.
    given : Given
        Every cluster on its own, with the delay that t makes.
    t : ndarray, shape (values of t, points)
        The nodes. [1]
    weight : ndarray, shape (values of t, points)
        Share of the nodes in the integral. [1]
    """
    own, shared, count = network.own, network.shared, network.count[:, None]
    before = states(np.maximum(network.customers - 1.0, 0.0), given.load)
    turns = np.stack([1.0 + one.length for one in before])
    relief = np.stack([one.relief for one in before]) * (own > 0)
    through = np.where(given.throughput > 0, given.throughput, 1.0)  # for no customers, no matter
    weight = weight * through
    weight /= weight.sum(axis=1, keepdims=True)
    by_delay = (count * given.throughput).sum(axis=0) + given.by_delay / through
    by_own = (count * given.waits).sum(axis=0) + given.by_own / through
    slopes = [_centred(slope, weight) for slope in (by_delay, by_own, t * by_delay)]
    off_own, off_shared = (v * _centred(f, weight) for v, f in ((own, turns), (shared, t)))
    partials = (-relief, turns + given.load * relief, -t * relief)
    rows = [
        (weight * (partial + off_own * slope)).sum(axis=1)
        for partial, slope in zip(partials, slopes, strict=True)
    ]
    rows += [(weight * off_shared * slope).sum(axis=1) for slope in slopes]
    rows[-1] += (weight * t).sum(axis=1)
    return np.where(network.customers > 0, np.stack(rows), 0.0)


def _centred(value: Array, weight: Array) -> Array:
    """Value less its mean over the nodes, shape (groups, values of t, points)."""
    return np.asarray(value - (weight * value).sum(axis=1, keepdims=True))
