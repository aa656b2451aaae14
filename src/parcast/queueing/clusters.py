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

The logarithm of the integrand is concave in t, with slope ``x * sum over g of c_g X(k_g) - 1``,
X(k) the throughput of one cluster alone with the delay Z = z + x t. Newton's method, which on a
concave function errs outwards, finds where it has dropped by 32 on either side of its top;
Gauss-Legendre quadrature with 48 nodes does the rest, for many networks at once [D]_.

The Legendre coefficients of the integrand, throughput less its mean, tell how good that is: their
fall from the middle to the last, carried on to twice as many, is taken for the error. Where it is
above 1e-10 the interval is cut in 2, 4 and 8.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, model CLU-AIO, which prescribes mean value analysis [S]_.
.. [2] J. McKenna and D. Mitra, "Integral representations and asymptotic expansions for closed
   Markovian queueing networks: normal usage," Bell Syst. Tech. J., vol. 61, no. 5, pp. 661-683,
   1982: an integral over one variable for each queue.
.. [D] parcast's own: the own queues are summed out of that integral. Errors of throughput are near
   1e-15; none was above the estimate in thousands of networks drawn to be hard, whose response
   times were right to 1e-10 and whose elasticities to 3e-9.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.queueing.arguments import mean_time, require_time, whole
from parcast.queueing.erlang import QueueState, state

DROP = 32.0  # of the logarithm of the integrand, to the ends of the interval
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
LEGENDRE = np.polynomial.legendre.legvander(NODES, 47).T * WEIGHTS * (np.arange(48)[:, None] + 0.5)
MIDDLE, LAST = LEGENDRE[21:25], LEGENDRE[44:]  # rows give coefficients; even and odd ones differ
HALVES = (1, 2, 4, 8)  # parts the interval is cut into, as long as that is needed
TOLERANCE = 1e-10
SAFETY = 10.0  # of the estimate of the error
ROUNDING = 1e-13
TOP_STEPS, END_STEPS = 1, 2  # of Newton's method; further off only costs nodes
BLOCK = 65_536  # values of the integrand at once, so that they stay in the cache
TINY = 1e-300
UNSEEN = 1e-18  # probability that may be left out beside 1
NEVER = 1e100  # Z/y beyond which the own queue is never found busy
SHORTEST = 1e-30  # least Z/y, instead of 0


@dataclass(frozen=True, slots=True, eq=False)
class ClusterNetworks:
    """Networks side by side, points along the last axis."""

    customers: Array  # of one cluster of each group, shape (groups, points) [1]
    count: Array  # clusters of each group, shape (groups, points) [1]
    delay: Array  # shape (points,) [s]
    own: Array  # shape (points,) [s]
    shared: Array  # shape (points,) [s]

    def at(self, points: NDArray[np.intp] | slice) -> "ClusterNetworks":
        """Some of the networks."""
        return ClusterNetworks(
            self.customers[:, points],
            self.count[:, points],
            *(demand[points] for demand in (self.delay, self.own, self.shared)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class GivenCluster:
    """One cluster of each group, t given: arrays of shape (groups, values of t, points)."""

    longer: Array  # the delay Z = z + x t, shape (values of t, points) [s]
    load: Array  # Z over the own service, shape (values of t, points) [1]
    throughput: Array  # [1/s]
    length: Array  # of the own queue [1]
    waits: Array  # its length over its service [1/s]
    by_delay: Array  # derivative of throughput by Z [1/s^2]
    by_own: Array  # and by the own service [1/s^2]
    log_empty: Array  # logarithm of the probability that the own queue is empty [1]


def averages(network: ClusterNetworks) -> tuple[Array, Array]:
    """Means of every group, shape (rows, groups, points), and their estimated relative error.

    The rows are throughput, customers at the own queue and at the shared one, and the derivatives
    of throughput by delay, own and shared service. Arguments are not checked.
    """
    groups, points = network.customers.shape
    rows, error = np.empty((6, groups, points)), np.full(points, np.inf)
    ends = np.empty((2, points))
    with np.errstate(all="ignore"):  # each branch of a choice is evaluated where it has no meaning
        for parts in HALVES:
            rough = np.flatnonzero(error > TOLERANCE)
            size = max(BLOCK // (groups * parts * len(NODES)), 1)
            for some in (rough[i : i + size] for i in range(0, len(rough), size)):
                here = network.at(some)
                if parts == HALVES[0]:
                    ends[:, some] = _interval(here)
                rows[:, :, some], error[some] = _quadrature(here, ends[:, some], parts)
    return rows, error


def _quadrature(network: ClusterNetworks, ends: Array, parts: int) -> tuple[Array, Array]:
    low, high = ends
    places = ((NODES + 1.0) / 2.0 + np.arange(parts)[:, None]).ravel() / parts
    t = low + (high - low) * places[:, None]
    given = _given(network, t)
    log_density = _log_density(network, given, t, 0.5 * (low + high))
    density = np.exp(log_density - log_density.max(axis=0))
    weight = density * np.tile(WEIGHTS, parts)[:, None]
    weight /= weight.sum(axis=0)
    count = network.count[:, None]
    through = given.throughput
    total = (count * through).sum(axis=0)
    slopes = (total, (count * given.waits).sum(axis=0), t * total)  # of ln density, by the demands
    mean = (weight * through).sum(axis=1)
    aside = weight * (through - mean[:, None])
    rows = [mean, (weight * given.length).sum(axis=1)]
    rows.append(network.shared * (weight * t * through).sum(axis=1))
    partials = (given.by_delay, given.by_own, t * given.by_delay)
    for partial, slope in zip(partials, slopes, strict=True):
        centred = slope - (weight * slope).sum(axis=0)
        rows.append((weight * partial).sum(axis=1) + (aside * centred).sum(axis=1))
    centred = total - (weight * total).sum(axis=0)
    whole = (density * np.tile(WEIGHTS, parts)[:, None] * total).sum(axis=0) / parts
    return np.stack(rows), _estimate(density * centred, 0.5 * whole, parts)


def _estimate(integrand: Array, whole: Array, parts: int) -> Array:
    """Error of the integral relative to `whole`, from Legendre coefficients on each part."""
    pieces = integrand.reshape(parts, len(NODES), -1)
    middle, last = (np.abs(rows @ pieces).max(axis=(0, 1)) for rows in (MIDDLE, LAST))
    fall = np.minimum(last / np.maximum(middle, TINY), 1.0)
    return np.asarray(SAFETY * last * fall * fall / whole + ROUNDING)


def _given(network: ClusterNetworks, t: Array) -> GivenCluster:
    """Every cluster on its own, with the delay that values of t, shape (..., points), make."""
    longer = np.maximum(network.delay + network.shared * t, SHORTEST * network.own)
    load = np.minimum(longer / network.own, NEVER)
    each = _states(network.customers, load)
    utilisation, length, relief, log_empty = (np.stack(x) for x in zip(*each, strict=True))
    lonely = network.customers[:, None] / longer  # the limit of no service at the own queue
    waited = load < NEVER
    throughput = np.where(waited, utilisation / network.own, lonely)
    return GivenCluster(
        longer=longer,
        load=load,
        throughput=throughput,
        length=np.where(waited, length, network.own * lonely),
        waits=np.where(waited, length / network.own, lonely),
        by_delay=-np.where(waited, np.exp(log_empty) * length / network.own, lonely) / longer,
        by_own=-np.where(waited, relief * (load / longer) ** 2, lonely / longer),
        log_empty=log_empty,
    )


def _states(customers: Array, load: Array) -> list[QueueState]:
    """A cluster of each group, customers of shape (groups, points), alone under the same load."""
    solved: list[QueueState] = []
    for i, k in enumerate(customers):
        follows = i > 0 and np.array_equal(k, customers[i - 1] + 1.0)
        solved.append(_one_more(k, load, solved[-1]) if follows else state(k, load))
    return solved


def _one_more(customers: Array, load: Array, before: QueueState) -> QueueState:
    """State with `customers`, from that with one less: a step of mean value analysis."""
    turns = 1.0 + before.length
    share = 1.0 / (load + turns)
    utilisation = customers * share
    return QueueState(
        utilisation=utilisation,
        length=utilisation * turns,
        relief=utilisation * share * (turns + load * before.relief),
        log_empty=before.log_empty + np.log(load * share),
    )


def _log_density(network: ClusterNetworks, given: GivenCluster, t: Array, origin: Array) -> Array:
    """Logarithm of the integrand but for a constant; `origin` is a t that matters.

    Where next to no probability lies beyond k customers, G(k, Z) is exp(Z/y) but for a constant.
    The terms of the general form are large there and would cancel; it joins at the last such Z.
    """
    customers, count, load = network.customers[:, None], network.count[:, None], given.load
    unit = network.delay + network.shared * origin
    constants = customers * np.log(given.longer / unit) - given.log_empty
    seen = np.exp(given.log_empty) * load  # k + 1 times the probability of k + 1, nearly
    exponential = seen <= UNSEEN * (customers + 1.0 - load)
    last = np.where(exponential, load, -1.0).argmax(axis=1)[:, None]
    constants = np.where(
        exponential,
        load - np.take_along_axis(load[None], last, axis=1),
        constants - np.take_along_axis(constants, last, axis=1),
    )
    return np.asarray((count * constants).sum(axis=0) - t)


def _interval(network: ClusterNetworks) -> Array:
    """Ends of the interval that matters, shape (2, points)."""
    top = _top(network)
    total, _ = _sizes(network)
    slope, bend = (x[0] for x in _slopes(network, _given(network, top[None])))
    steep = np.abs(slope) + np.sqrt(slope * slope - 2.0 * DROP * bend)
    width = 2.0 * DROP / steep  # of a parabola
    low, high = np.maximum(top - width, 0.0), top + width
    most = top + 2.0 * total + 2.0 * DROP  # where the slope is below -1/2 for DROP and more
    for _ in range(END_STEPS):
        t = np.stack([top, low, np.minimum(high, most)])
        given = _given(network, t)
        slope, _ = _slopes(network, given)
        height = _log_density(network, given, t, top + 1.0)  # there Z is above 0 even if z is 0
        _, to_low, to_high = t - (height - height[0] + DROP) / slope
        rises = (slope[1] > 0) & np.isfinite(to_low)
        low = np.where(rises, np.clip(to_low, 0.0, top), 0.0)
        high = np.where(slope[2] < 0, np.clip(to_high, top, most), most)
    return np.stack([low, high])


def _top(network: ClusterNetworks) -> Array:
    """The t near which the integrand is largest.

    The first guess of Z lets Bard and Schweitzer's approximation of a cluster have the throughput
    at which the slope is 0; Newton's method then works on the inverse of the throughput, which is
    next to linear in Z under light load.
    """
    delay, own, shared = network.delay, network.own, network.shared
    total, typical = _sizes(network)
    busy = own * typical / (shared * total)  # of the own queue, when the shared one never rests
    guess = total * shared - own / (1.0 - busy * (typical - 1.0) / typical)
    longer = np.clip(np.where(busy < 1.0, guess, delay), delay, delay + total * shared)
    for _ in range(TOP_STEPS):
        t = np.where(shared > 0, (longer - delay) / shared, 0.0)
        slope, bend = (x[0] for x in _slopes(network, _given(network, t[None])))
        step = longer - shared * slope * (slope + 1.0) / bend
        longer = np.where(np.isfinite(step), np.clip(step, delay, delay + total * shared), longer)
    return np.where(shared > 0, (longer - delay) / shared, 0.0)


def _sizes(network: ClusterNetworks) -> tuple[Array, Array]:
    """Customers in all, and in the cluster of a typical customer."""
    total = (network.count * network.customers).sum(axis=0)
    return total, (network.count * network.customers**2).sum(axis=0) / total


def _slopes(network: ClusterNetworks, given: GivenCluster) -> tuple[Array, Array]:
    """First and second derivative by t of the logarithm of the integrand."""
    count, shared = network.count[:, None], network.shared
    slope = shared * (count * given.throughput).sum(axis=0) - 1.0
    return slope, shared * shared * (count * given.by_delay).sum(axis=0)


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
    network = ClusterNetworks(
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
