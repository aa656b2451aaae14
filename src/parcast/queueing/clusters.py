"""Clusters with a queue of their own and one queue for all: a closed network as one integral.

A network has c_g clusters of k_g customers each. A customer spends a delay z, is served at the
queue of its own cluster (mean y) and at the queue that all clusters share (mean x) [1]_. Exact
mean value analysis walks through (k_1 + 1)(k_2 + 1)... states. But the normalising constant is
an integral over one variable [2]_ [D]_::

    G = integral over t > 0 of exp(-t) * product over g of G(k_g, z + x t)^c_g

where G(k, Z) = Z^k / k! / B(k, Z/y) belongs to a single cluster alone with the delay Z = z + x t.
So with U(k, a), Q(k, a) of one delay and one queue (`erlang`), means are averages E with the
integrand as density, and sums of positive terms::

    X_g = E[U(k_g, Z/y)] / y    customers at the own queue E[Q], at the shared one E[x t U] / y

Derivatives come from the same nodes: ``dE[f] = E[df] + Cov(f, dln density)``. With x = 0 or y = 0
the network is one of machine repairmen, and with one cluster it is that of `two_queues`.

The slopes of response times are averages over another density. A customer of group g that arrives
anywhere sees the network with one customer less in its own cluster [3]_. The integrand of that
network is the one above times the throughput X(k_g) of its cluster alone, and with E the averages
over it [D]_::

    R_own = y E[1 + Q(k_g - 1, Z/y)],    R_shared = x E[t],    Z = z + x t

    by z:  dQ = -V / y      s = sum over h of c_h X(k_h) + dlnX(k_g)/dZ
    by y:  dQ = V Z / y^2   s = sum over h of c_h Q(k_h) / y + dlnX(k_g)/dy
    by x:  t times what z has, and d(x t)/dx = t

where s is the derivative of the logarithm of that integrand, V = -dQ/da, and X and Q are those of
one cluster alone, t given. The lengths with one customer less are solved for, not told from those
with all of them: the waits of a queue that hardly anybody meets keep their digits.

Errors of these slopes, relative to response time over demand or to the slope, whichever is larger,
were below 1e-9 in thousands of networks drawn to be hard, of up to 300,000 customers [D]_. Two or
three customers that spend less than 1e-6 of their time elsewhere than at the shared queue are an
exception: slopes by the demands that are next to nothing there are right to 1e-7.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, model CLU-AIO, which prescribes mean value analysis [S]_.
.. [2] J. McKenna and D. Mitra, "Integral representations and asymptotic expansions for closed
   Markovian queueing networks: normal usage," Bell Syst. Tech. J., vol. 61, no. 5, pp. 661-683,
   1982: an integral over one variable for each queue.
.. [3] K. C. Sevcik and I. Mitrani, "The distribution of queuing network states at input and output
   instants," J. ACM, vol. 28, no. 2, pp. 358-371, 1981.
.. [D] parcast's own derivation: the own queues are summed out of that integral.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.queueing.arguments import mean_time, require_time, whole
from parcast.queueing.cluster_integral import Given, Network, averages, states


@dataclass(frozen=True, slots=True, eq=False)
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Clusters:
    """Means of clusters that share a queue, and how throughput follows the demands.

    (...) is the shape of the networks solved together. What is said of a group is said of one of
    its clusters; a group without customers has throughput and response times of 0.
    """

    total_throughput: Array  # cycles of all customers of all clusters, shape (...) [1/s]
    throughput: Array  # cycles of all customers of one cluster, shape (..., groups) [1/s]
    response_own: Array  # at the own queue, waiting included, shape (..., groups) [s]
    response_shared: Array  # at the shared queue, shape (..., groups) [s]
    throughput_by_delay: Array  # derivative of `throughput`, shape (..., groups) [1/s^2]
    throughput_by_own: Array  # shape (..., groups) [1/s^2]
    throughput_by_shared: Array  # shape (..., groups) [1/s^2]
    error: Array  # estimated relative error of the throughputs, shape (...) [1]
    response_slopes: ClusterSlopes | None  # of the response times, if requested


def deal(customers: ArrayLike, clusters: ArrayLike) -> tuple[Array, Array]:
    """Customers and number of clusters of two groups, when customers are dealt out evenly.

    Both of shape (..., 2), as `clusters` takes them: some clusters of k customers, the rest of k +
    1.

    >>> deal(8, 3)
    (array([2., 3.]), array([1., 2.]))
    """
    clusters = whole("clusters", clusters, 1, hint="Count the clusters from 1.")
    customers = whole("customers", customers, 0, hint="Count the customers of all clusters.")
    least = np.floor(customers / clusters)
    more = customers - clusters * least
    count = np.stack(np.broadcast_arrays(clusters - more, more), axis=-1)
    return np.stack([least, least + 1.0], axis=-1), count


def clusters(
    customers: ArrayLike,
    count: ArrayLike,
    *,
    delay: ArrayLike,
    own: ArrayLike,
    shared: ArrayLike,
    slopes: bool = False,
) -> Clusters:
    """Means of closed networks of clusters with one queue each and a queue for all.

    Of each group, `customers` of one cluster and `count` of clusters, (..., groups), are whole; of
    one cycle the `delay` and the services at the `own` and the `shared` queue, (...), are not all
    0 [s]. `slopes` adds the derivatives of the response times, for 2.6 times the time.

    Two clusters of eight customers, and what slower queues of their own hold back from the shared
    one:

    >>> network = clusters([8], [2], delay=1.0, own=1 / 8, shared=1 / 16)
    >>> network.throughput, network.total_throughput
    (array([5.55279254]), array(11.10558507))
    >>> slow = clusters([8], [2], delay=1.0, own=1 / 8, shared=1 / 16, slopes=True)
    >>> slow.response_slopes.shared_by_own
    array([-0.4737926])
    """
    customers, count, delay, own, shared = (
        np.asarray(v, dtype=np.float64) for v in (customers, count, delay, own, shared)
    )
    customers, count = np.broadcast_arrays(customers, count)
    _check(customers, count, delay, own, shared)
    groups = customers.shape[-1]
    shape = np.broadcast_shapes(customers.shape[:-1], delay.shape, own.shape, shared.shape)
    network = Network(
        *(np.broadcast_to(v, (*shape, groups)).reshape(-1, groups).T for v in (customers, count)),
        *(np.broadcast_to(v, shape).ravel() for v in (delay, own, shared)),
    )
    rows, error = averages(network, _response_slopes if slopes else None)
    throughput, at_own, at_shared, *by = (
        np.moveaxis(row, 0, -1).reshape(*shape, groups) for row in rows
    )
    cycles = np.where(throughput > 0, throughput, 1.0)
    return Clusters(
        total_throughput=np.asarray((count * throughput).sum(axis=-1)),
        throughput=throughput,
        response_own=at_own / cycles,
        response_shared=at_shared / cycles,
        throughput_by_delay=by[0],
        throughput_by_own=by[1],
        throughput_by_shared=by[2],
        error=error.reshape(shape),
        response_slopes=ClusterSlopes(*by[3:]) if slopes else None,
    )


def _check(customers: Array, count: Array, delay: Array, own: Array, shared: Array) -> None:
    if customers.ndim == 0:
        raise ParameterError(
            "customers or count",
            must="have one number for each group",
            got="a single number",
            hint="Write [8] for clusters of 8 customers.",
        )
    whole("customers", customers, 0, hint="Count the customers of one cluster, or use deal.")
    whole("count", count, 0, hint="Count the clusters of each group.")
    total = (customers * count).sum(axis=-1)
    hint = "Count the customers of all clusters from 1."
    require("customers * count", total, total >= 1, must="sum to at least 1", hint=hint)
    for name, value in (("delay", delay), ("own", own), ("shared", shared)):
        mean_time(name, value)
    cycle = delay + own + shared
    require_time("delay + own + shared", cycle, cycle)


def _response_slopes(network: Network, given: Given, t: Array, weight: Array) -> Array:
    """Rows of `ClusterSlopes`, in its order, shape (6, groups, points).

    `given` is every cluster on its own, with the delay that t makes; the nodes `t` and `weight`,
    their share in the integral, have shape (values of t, points).
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
