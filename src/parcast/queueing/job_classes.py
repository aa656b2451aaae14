"""Closed networks whose customers differ: classes with a delay each, exactly.

Clusters of one kind each hold customers of several classes. A customer of class c spends a delay
z_c, is served at the queue of its own cluster (mean y) and at the queue that all clusters share
(mean x). One cluster is a delay and two queues for all. Exact mean value analysis [1]_ [S] walks
through all populations of all clusters; as in `parcast.queueing.clusters`, the normalising
constant is an integral instead [2]_ [D]_, here over one variable more::

    G = integral over t > 0 of exp(-t) * product over clusters of g(t)
    g(t) = integral over s > 0 of exp(-s) * product over c of (z_c + x t + y s)^k_c / k_c!

of clusters with k_c customers of class c. Throughput and queue lengths are averages of positive
terms with the integrands as densities::

    X_c = E[k_c / (z_c + x t + y s)]      own queue E[y s k_c / (..)], shared E[x t k_c / (..)]

Of a single cluster v = x t + y s is all that counts, and its density is known, with x >= y::

    G = integral over v > 0 of f(v) * product over c of (z_c + v)^k_c / k_c!
    f(v) = (exp(-v/x) - exp(-v/y)) / (x - y)

of which, given v, the part of the faster queue is y s = 1/r - v/(exp(r v) - 1), r = 1/y - 1/x.

All integrands are concave in their logarithm. Their tops are found by bisection, the ends where
they have dropped by 40, and Gauss-Legendre quadrature does the rest, for many networks at once.
Relative errors are below 1e-12 against mean value analysis, up to 1000 customers [D]_.

**Departures.** K jobs of two classes start together, circulate between their delay and one queue,
and each leaves after a cycle with probability 1/n. As in `parcast.queueing.fork_join`, the network
is taken to be in equilibrium at every population. The mean time until all have left is n E(k_1,
k_2) of the absorbing chain that generalises equation (16) of [3]_ to two classes [D]_::

    E(i, j) = [1 + X_1(i,j) E(i-1,j) + X_2(i,j) E(i,j-1)] / [X_1(i,j) + X_2(i,j)],    E(0, 0) = 0

X by exact mean value analysis, one total population after the other for all i and j and all
networks at once.

References
----------
.. [1] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks,"
   J. ACM, vol. 27, no. 2, pp. 313-322, 1980, :doi:`10.1145/322186.322195`.
.. [2] J. McKenna and D. Mitra, "Integral representations and asymptotic expansions for closed
   Markovian queueing networks: normal usage," Bell Syst. Tech. J., vol. 61, no. 5, pp. 661-683,
   1982: an integral over one variable for each queue.
.. [3] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
.. [D] parcast's own derivation and comparison.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError

DROP = 40.0  # of the logarithm of an integrand, to the ends of its interval
LAYER = 40.0  # of r v, from which on the faster queue no longer counts
FINE, ROUGH = (np.polynomial.legendre.leggauss(nodes) for nodes in (56, 16))
HALVINGS = 12  # of the interval that holds the top
SIDE = 9  # of the interval that holds the lower end
STEPS = 4  # of Newton's method towards the upper end, which on a concave function errs outwards
BLOCK = 2**18  # values of the inner integrand at once
MOST_POPULATIONS = 1e7  # of a chain of departures: some seconds

Density: TypeAlias = Callable[[Array], tuple[Array, Array]]  # logarithm and slope, (nodes, ...)
Rule: TypeAlias = tuple[Array, Array]  # of quadrature: nodes and weights


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassNetworks:
    """Networks side by side, points along the last axis. Every class must spend time somewhere."""

    customers: Array  # k, of a cluster of each kind and class, shape (kinds, classes, points) [1]
    count: Array  # clusters of each kind, shape (kinds, points) [1]
    delay: Array  # z, shape (classes, points) [s]
    own: Array  # y, shape (points,) [s]
    shared: Array  # x, shape (points,) [s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClassMeans:
    """Of the customers of a class in one cluster of a kind; arrays (kinds, classes, points)."""

    cycle: Array  # time of a cycle of a customer; 0 without customers [s]
    response_own: Array  # at the own queue, waiting included [s]
    response_shared: Array  # at the shared queue [s]


def class_means(network: ClassNetworks) -> ClassMeans:
    """Means of every kind and class. Arguments are not checked.

    >>> one = np.ones((1, 1))
    >>> network = ClassNetworks(
    ...     customers=4 * one[None], count=one, delay=2 * one, own=one[0], shared=0.5 * one[0]
    ... )
    >>> class_means(network).response_shared.round(8)
    array([[[0.72532189]]])
    """
    kinds, classes, points = network.customers.shape
    rows = np.empty((3, kinds, classes, points))
    is_single = network.count.sum(axis=0) == 1
    with np.errstate(all="ignore"):  # logarithms of 0 at the ends of intervals
        for solver, places, each in (
            (_single, np.flatnonzero(is_single), 3 * len(FINE[0])),
            (_averages, np.flatnonzero(~is_single), kinds * len(FINE[0]) ** 2),
        ):
            size = max(BLOCK // each, 1)
            for some in (places[i : i + size] for i in range(0, len(places), size)):
                rows[..., some] = solver(
                    ClassNetworks(
                        customers=network.customers[..., some],
                        count=network.count[:, some],
                        delay=network.delay[:, some],
                        own=network.own[some],
                        shared=network.shared[some],
                    )
                )
    number = network.customers
    there = rows[0] > 0
    cycle, own, shared = (
        np.divide(row, rows[0], out=np.zeros_like(number), where=there)
        for row in (number, rows[1], rows[2])
    )
    return ClassMeans(cycle=cycle, response_own=own, response_shared=shared)


def _averages(network: ClassNetworks) -> Array:
    """Throughput, and customers at the own and the shared queue, (3, kinds, classes, points)."""
    kinds = network.count.any(axis=1)
    if not kinds.all():
        rows = np.zeros((3, *network.customers.shape))
        rows[:, kinds] = _averages(
            replace(network, customers=network.customers[kinds], count=network.count[kinds])
        )
        return rows
    x, count = network.shared, network.count[:, None]
    total = (network.count * network.customers.sum(axis=1)).sum(axis=0)

    def density(t: Array) -> tuple[Array, Array]:
        log_constant, throughput, _ = _given(network, t, ROUGH)
        height = (count * log_constant).sum(axis=0) - t
        return height, x * (count * throughput.sum(axis=1)).sum(axis=0) - 1.0

    zero = np.zeros_like(x)
    t, weight = _nodes(*_interval(density, (zero, total, 2.0 * (total + DROP))), FINE)
    log_constant, throughput, length = _given(network, t, FINE)
    height = (count * log_constant).sum(axis=0) - t
    weight = weight * np.exp(height - height.max(axis=0))
    weight /= weight.sum(axis=0)
    means = (throughput, length, x * t * throughput)
    return np.stack([(weight * mean).sum(axis=2) for mean in means])


def _given(network: ClassNetworks, t: Array, rule: Rule) -> tuple[Array, Array, Array]:
    """Of a cluster of every kind, t given (nodes, points): ln g, throughput and own queue.

    Shapes (kinds, nodes, points), and of the last two (kinds, classes, nodes, points).
    """
    k = network.customers[:, :, None]
    longer = network.delay[:, None] + network.shared * t  # (classes, nodes, points)
    y, some = network.own, k > 0
    total = k.sum(axis=1)
    shortest = np.where(some, longer, np.inf).min(axis=1)
    longest = np.where(some, longer, 0.0).max(axis=1)

    def density(s: Array) -> tuple[Array, Array]:
        at = longer + y * s[:, :, None]  # (nodes of s, kinds, classes, nodes, points)
        height = np.where(some, k * np.log(at), 0.0).sum(axis=2) - s
        return height, y * np.where(some, k / at, 0.0).sum(axis=2) - 1.0

    low, high = (
        np.where(y > 0, np.maximum(total - end / np.where(y > 0, y, 1.0), 0.0), 0.0)
        for end in (longest, shortest)
    )
    width = DROP + np.sqrt(DROP * (DROP + 2.0 * total))  # as height is at most K ln(1+w/K) - w
    s, weight = _nodes(*_interval(density, (low, high, width)), rule)
    height, _ = density(s)
    top = height.max(axis=0)
    weight = weight * np.exp(height - top)
    whole = weight.sum(axis=0)
    rate = np.where(some, k / (longer + y * s[:, :, None]), 0.0)
    part = (weight / whole)[:, :, None]
    throughput = (part * rate).sum(axis=0)
    length = (part * (y * s)[:, :, None] * rate).sum(axis=0)
    return top + np.log(whole), throughput, length


def _single(network: ClassNetworks) -> Array:
    """The same of one cluster."""
    there = network.count[:, None] > 0
    k = np.where(there, network.customers, 0.0).sum(axis=0)
    slow, fast = np.maximum(network.own, network.shared), np.minimum(network.own, network.shared)
    some, total = k > 0, k.sum(axis=0)
    rise = slow / fast - 1.0  # r v for v = 1 slower service

    def factor(u: Array) -> tuple[Array, Array]:  # of the density of v, and its slope
        grown = np.where(rise > 0, -np.expm1(-rise * u), u)
        slope = np.where(rise > 0, rise / np.expm1(rise * u), 1.0 / u)
        return np.where(np.isfinite(rise), np.log(grown), 0.0), np.where(
            np.isfinite(rise), slope, 0.0
        )

    def density(u: Array) -> tuple[Array, Array]:
        at = network.delay + slow * u[:, None]
        level, slope = factor(u)
        height = np.where(some, k * np.log(at), 0.0).sum(axis=1) + level - u
        return height, slow * np.where(some, k / at, 0.0).sum(axis=1) + slope - 1.0

    most = total + 1.0
    width = DROP + np.sqrt(DROP * (DROP + 2.0 * most))
    low, end = _interval(density, (np.zeros_like(slow), most, width))
    middle = np.where(np.isfinite(rise) & (rise > 0), LAYER / rise, 0.0)
    middle = np.where((middle > low) & (middle < end), middle, 0.5 * (low + end))
    u, weight = (
        np.concatenate(part)
        for part in zip(_nodes(low, middle, FINE), _nodes(middle, end, FINE), strict=True)
    )
    height, _ = density(u)
    weight = weight * np.exp(height - height.max(axis=0))
    weight /= weight.sum(axis=0)
    rate = np.where(some, k / (network.delay + slow * u[:, None]), 0.0)
    at_fast = slow * u * _part(np.where(np.isfinite(rise), rise * u, np.inf))
    at_slow = slow * u - at_fast
    own_is_slow = network.own >= network.shared
    means = (
        np.ones_like(u),
        np.where(own_is_slow, at_slow, at_fast),
        np.where(own_is_slow, at_fast, at_slow),
    )
    averages = np.stack([(weight * mean) for mean in means])
    return np.where(there, (averages[:, :, None] * rate).sum(axis=1)[:, None], 0.0)


def _part(d: Array) -> Array:
    """1/d - 1/(exp(d) - 1): mean of an exponential time below 1, of rate d."""
    square = d * d
    series = 0.5 - d / 12.0 * (1.0 - square / 60.0 * (1.0 - square / 42.0))
    return np.where(d < 0.05, series, 1.0 / d - 1.0 / np.expm1(d))


def _interval(density: Density, bracket: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """Ends of where a log-concave density over (0, inf) matters.

    `bracket` holds the top between its first two; its end is at most the third beyond the top.
    """
    low, high, width = bracket
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        rises = density(middle[None])[1][0] > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    end, top = high + width, 0.5 * (low + high)
    least = density(np.maximum(top, 1e-300)[None])[0][0] - DROP
    low, high = np.zeros_like(top), top
    for _ in range(SIDE):
        middle = 0.5 * (low + high)
        below = density(middle[None])[0][0] < least
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    for _ in range(STEPS):
        height, slope = (part[0] for part in density(end[None]))
        step = np.where(slope < 0, (height - least) / slope, 0.0)
        end = np.where(np.isfinite(step) & (step > 0), np.maximum(end - step, top), end)
    return low, end


def _nodes(low: Array, end: Array, rule: Rule) -> tuple[Array, Array]:
    """Nodes and weights between the ends, (nodes, ...)."""
    shape = (-1, *(1,) * low.ndim)
    half = 0.5 * (end - low)
    places, weights = (part.reshape(shape) for part in rule)
    return low + half * (1.0 + places), half * weights


def class_departures(customers: Array, *, delay: Array, service: Array) -> Array:
    """Mean time until all jobs of two classes have left a delay and a queue, over n. [s].

    `customers` and `delay`, (2, points), and `service`, (points,), are of two classes, each of
    which must spend time somewhere; numbers are whole and not checked.

    >>> class_departures(np.array([[3.0], [1.0]]), delay=np.ones((2, 1)), service=np.array([0.5]))
    array([3.51929825])
    """
    few = customers[1] <= customers[0]
    rows, columns = (np.where(few, customers[i], customers[1 - i]) for i in (0, 1))
    z = np.where(few, delay, delay[::-1])
    total = rows + columns
    size = total * (columns + 1.0)
    if (size > MOST_POPULATIONS).any():
        raise ParameterError(
            "compute.heavy",
            must=f"make at most {MOST_POPULATIONS:g} populations for geometric bursts",
            got=f"{size.max():g}",
            hint="Give fewer heavy processors, or fewer processors.",
        )
    answer = np.zeros(total.shape)
    for point in _alike(columns):
        answer[point] = _chain(total[point], columns[point], z[:, point], service[point])
    return answer


def _alike(columns: Array) -> list[NDArray[np.intp]]:
    """Points in groups whose tables are nearly as wide."""
    group = np.ceil(np.log2(columns + 1.0))
    return [np.flatnonzero(group == each) for each in np.unique(group)]


def _chain(total: Array, columns: Array, z: Array, x: Array) -> Array:
    """E(k_1, k_2) of points whose second class has about as many customers."""
    j = np.arange(columns.max() + 1.0)[:, None]  # of the second class
    shape = (j.size, total.size)
    length, left, answer = np.zeros(shape), np.zeros(shape), np.zeros(total.size)
    place = columns.astype(np.intp), np.arange(total.size)

    def with_one_less(table: Array) -> Array:
        return np.concatenate([np.zeros((1, total.size)), table[:-1]])

    for m in range(1, int(total.max()) + 1):
        i = np.maximum(m - j, 0.0)
        second = with_one_less(length)
        response = x * (1.0 + length), x * (1.0 + second)
        first_rate = np.divide(i, z[0] + response[0], out=np.zeros(shape), where=i > 0)
        second_rate = np.divide(j, z[1] + response[1], out=np.zeros(shape), where=j > 0)
        rate = first_rate + second_rate
        left = (1.0 + first_rate * left + second_rate * with_one_less(left)) / rate
        length = first_rate * response[0] + second_rate * response[1]
        done = total == m
        answer[done] = left[place][done]
    return answer
