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

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, model CLU-AIO, which prescribes mean value analysis [S]_.
.. [2] J. McKenna and D. Mitra, "Integral representations and asymptotic expansions for closed
   Markovian queueing networks: normal usage," Bell Syst. Tech. J., vol. 61, no. 5, pp. 661-683,
   1982: an integral over one variable for each queue.
.. [D] parcast's own derivation: the own queues are summed out of that integral.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.queueing.arguments import mean_time, require_time, whole
from parcast.queueing.cluster_integral import Network, averages


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
) -> Clusters:
    """Means of closed networks of clusters with one queue each and a queue for all.

    Of each group, `customers` of one cluster and `count` of clusters, (..., groups), are whole; of
    one cycle the `delay` and the services at the `own` and the `shared` queue, (...), are not all
    0 [s].

    >>> network = clusters([8], [2], delay=1.0, own=1 / 8, shared=1 / 16)
    >>> network.throughput, network.total_throughput
    (array([5.55279254]), array(11.10558507))
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
    rows, error = averages(network)
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
