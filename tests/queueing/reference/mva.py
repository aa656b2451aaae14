"""Exact mean value analysis of closed networks with one class of customers.

A network is a matrix of demands: the service a customer needs of each queue in one cycle, all its
visits together. Beside the queues there may be a delay, where nobody waits for anybody. Classes
are customers that differ in their demands or their delay. Everything has a product form, so that
means depend on demands and delays alone and not on the order of visits [1]_.

All methods of mean value analysis take the same step, from what an arriving customer of class c
finds at the queues, S_cj, to response times, throughputs and lengths::

    R_cj = D_cj (1 + S_cj)     X_c = n_c / T_c,  T_c = Z_c + sum over j of R_cj     Q_cj = X_c R_cj

A customer who arrives at a queue sees the network with one customer less [1]_ [S]_: for one class
S_j(n) = Q_j(n-1), for n = 1..N with Q(0) = 0. Every term is positive, so rounding does not
accumulate. It costs one pass per customer: it is the independent route to what `two_queues`
computes in one step whatever N is.

Slopes are those of the recursion, differentiated as it goes. The derivatives of one step by any
one of the times t, which are the delays and the demands, are [D]_, with dZ_c/dt and dD_cj/dt
either 0 or 1::

    R_cj' = D_cj' (1 + S_cj) + D_cj S_cj'       X_c' = -X_c/T_c (Z_c' + sum over j of R_cj')
    Q_cj' = X_c R_cj' + X_c' R_cj

The methods differ in S and S'. Here all times of a network are one last axis, class by class, the
delay first and then the demands: times = classes * (1 + queues). One class has an axis of 1.

R is homogeneous of degree 1 in all times, X of degree -1, Q of degree 0: the sums over t of t
times the derivative by t are R, -X and 0 (Euler). The step keeps this to rounding. Of the exact
recursions t X'/X and t R'/R are off by 1e-16 N times the largest of them at most [D]_.

References
----------
.. [1] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks,"
   J. ACM, vol. 27, no. 2, pp. 313-322, 1980, :doi:`10.1145/322186.322195`.
.. [D] parcast's own derivation, by the rules of calculus, and comparison with 40 digits.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.queueing.arguments import customers_from_one, mean_time, require_time


class Slope(NamedTuple):
    """Derivatives of one mean by every delay and every demand of its network.

    The axes of the mean come first, those of what it is differentiated by after them: none for
    the delay of one class and (queues) for its demands, (classes) and (classes, queues) for
    several classes. By a time of 0 it is the derivative from above.
    """

    by_delay: Array
    by_demands: Array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeanValueSlopes:
    """How the means of a closed network follow its delays and demands.

    Shapes are written for one class as (by delay), (by demands); for several classes, with (...)
    the shape of the networks, c of the classes and j of the queues, they are (..., c, c) and
    (..., c, c, j) for throughput, (..., c, j, c) and (..., c, j, c, j) for the others.
    """

    throughput: Slope  # shapes (...), (..., queues) [1/s^2]
    response_times: Slope  # shapes (..., queues), (..., queues, queues) [1]
    queue_lengths: Slope  # shapes (..., queues), (..., queues, queues) [1/s]
    utilisations: Slope  # shapes (..., queues), (..., queues, queues) [1/s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MeanValues:
    """Means of a closed network in equilibrium.

    For a network of one class (...) is the shape of the networks solved together; for several
    classes it ends with the axis of the classes.
    """

    throughput: Array  # cycles of all customers of a class, shape (...) [1/s]
    response_times: Array  # of all visits of a cycle to a queue, shape (..., queues) [s]
    queue_lengths: Array  # mean customers at a queue, the served included, (..., queues) [1]
    utilisations: Array  # fraction of time a class is served, shape (..., queues) [1]
    slopes: MeanValueSlopes | None = None  # where they were asked for

    @classmethod
    def of(
        cls,
        throughput: Array,
        response_times: Array,
        demands: Array,
        slopes: MeanValueSlopes | None = None,
    ) -> "MeanValues":
        """Everything that follows from throughput and response times by Little's law [S]_."""
        return cls(
            throughput=np.asarray(throughput),
            response_times=response_times,
            queue_lengths=throughput[..., None] * response_times,
            utilisations=throughput[..., None] * demands,
            slopes=slopes,
        )


def network(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike, *, classes: bool = False
) -> tuple[Array, Array, Array]:
    """Customers, demands and delay, broadcast together to (...), (..., queues) and (...).

    With `classes`, (...) ends with the axis of classes.
    """
    hint = "Count the customers of each class from 1." if classes else "Count customers from 1."
    customers = customers_from_one(customers, hint=hint)
    demands = np.asarray(demands, dtype=np.float64)
    if demands.ndim < 1 + classes or demands.shape[-1] == 0:
        example = "[[0.1, 0.2], [0.1, 0.4]]" if classes else "[0.1, 0.2]"
        raise ParameterError(
            "demands",
            must=f"have a number for each queue{(' of each class' if classes else '')}",
            got=f"an array of shape {demands.shape}",
            hint=f"Write {example} for two queues.",
        )
    demands, delay = mean_time("demands", demands), mean_time("delay", delay)
    shape = np.broadcast_shapes(customers.shape, demands.shape[:-1], delay.shape)
    demands = np.broadcast_to(demands, (*shape, demands.shape[-1]))
    cycle = demands.sum(axis=-1) + delay
    require_time("delay + sum of demands", cycle, cycle)
    return np.broadcast_to(customers, shape), demands, np.broadcast_to(delay, shape)


def require_whole(customers: Array) -> None:
    """Refuse customers that exact recursions cannot count up to."""
    whole = customers == np.floor(customers)
    hint = "Use two_queues, clusters or schweitzer_mva between whole numbers."
    require("customers", customers, whole, must="be a whole number", hint=hint)


def times_of(classes: int, queues: int) -> int:
    """Delays and demands of one network: the length of the axis of times."""
    return classes * (1 + queues)


def step_slopes(
    demands: Array, seen: Array, seen_by: Array, throughput: Array, cycle: Array
) -> tuple[Array, Array]:
    """Derivatives of throughput and response times, from those of what arrivals find.

    Of shapes (..., classes, times) and (..., classes, queues, times), from `seen`, the customers
    that an arrival finds, its derivatives `seen_by`, and the `cycle` time of one customer. [s].
    """
    response_by = demands[..., None] * seen_by
    _by_own_demand(response_by)[...] += 1.0 + seen
    cycle_by = response_by.sum(axis=-2)
    _by_own_delay(cycle_by)[...] += 1.0
    cycle_by *= -(throughput / cycle)[..., None]
    return cycle_by, response_by


def length_slopes(
    throughput: Array, throughput_by: Array, response: Array, response_by: Array
) -> Array:
    """Derivatives of throughput times response times: (..., classes, queues, times). [1/s]."""
    by = throughput[..., None, None] * response_by
    by += throughput_by[..., None, :] * response[..., None]
    return np.asarray(by)


def with_slopes(
    throughput: Array,
    throughput_by: Array,
    response: Array,
    response_by: Array,
    demands: Array,
    *,
    classes: bool,
) -> MeanValues:
    """All means and their derivatives; with `classes`, these keep the axes of the classes."""
    lengths_by = length_slopes(throughput, throughput_by, response, response_by)
    busy_by = throughput_by[..., None, :] * demands[..., None]
    _by_own_demand(busy_by)[...] += throughput[..., None]
    slopes = MeanValueSlopes(
        throughput=_slope(throughput_by, demands.shape, -2, classes=classes),
        response_times=_slope(response_by, demands.shape, -3, classes=classes),
        queue_lengths=_slope(lengths_by, demands.shape, -3, classes=classes),
        utilisations=_slope(busy_by, demands.shape, -3, classes=classes),
    )
    if not classes:
        throughput, response, demands = throughput[..., 0], response[..., 0, :], demands[..., 0, :]
    return MeanValues.of(throughput, response, demands, slopes)


def _slope(by: Array, shape: tuple[int, ...], own_class: int, *, classes: bool) -> Slope:
    """The axis of times apart in delays and demands, for networks of demands of this shape."""
    if not classes:
        only = by.squeeze(axis=own_class)
        return Slope(by_delay=np.asarray(only[..., 0]), by_demands=only[..., 1:])
    apart = _apart(by, *shape[-2:])
    return Slope(by_delay=apart[..., 0], by_demands=apart[..., 1:])


def _apart(by: Array, classes: int, queues: int) -> Array:
    """A view of (..., times) as (..., classes, 1 + queues)."""
    return by.reshape(*by.shape[:-1], classes, 1 + queues)


def _by_own_demand(by: Array) -> Array:
    """Of (..., classes, queues, times) the elements by their own demand, to be written to."""
    demands = _apart(by, *by.shape[-3:-1])[..., 1:]
    return np.asarray(np.einsum("...cjcj->...cj", demands))  # a view, not a copy


def _by_own_delay(by: Array) -> Array:
    """Of (..., classes, times) the elements by the delay of their own class, to be written to."""
    classes, times = by.shape[-2:]
    delays = _apart(by, classes, times // classes - 1)[..., 0]
    return np.asarray(np.einsum("...cc->...c", delays))  # a view, not a copy


MOST_CUSTOMERS = 1e6  # some ten seconds


def exact_mva(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0, *, slopes: bool = False
) -> MeanValues:
    """Means of closed networks of one class of customers.

    Whole `customers`, (...), 1 to 1e6, with `demands`, (..., queues) [s], and `delay`, (...). [s].

    >>> exact_mva([1, 4], [0.5, 1.0], 2.0).throughput
    array([0.28571429, 0.81898067])
    >>> exact_mva(4, [0.5, 1.0], 2.0, slopes=True).slopes.throughput.by_demands
    array([-0.23485225, -0.49893594])
    """
    customers, demands, delay = network(customers, demands, delay)
    require_whole(customers)
    few = customers <= MOST_CUSTOMERS
    hint = "Use two_queues or schweitzer_mva for more."
    require("customers", customers, few, must="be at most 1e6", hint=hint)
    most = int(customers.max(initial=1))
    customers, delay = customers[..., None], delay[..., None]  # with an axis of one class
    demands = demands[..., None, :]
    queue = np.zeros_like(demands)
    queue_by = np.zeros((*demands.shape, times_of(1, demands.shape[-1]))) if slopes else None
    for missing in range(most - 1, -1, -1):  # small populations start late, so that all end here
        present = np.maximum(customers - missing, 0.0)
        response = demands * (1.0 + queue)
        cycle = delay + response.sum(axis=-1)
        throughput = present / cycle
        if queue_by is not None:
            throughput_by, response_by = step_slopes(demands, queue, queue_by, throughput, cycle)
            queue_by = length_slopes(throughput, throughput_by, response, response_by)
        queue = throughput[..., None] * response
    if queue_by is None:
        return MeanValues.of(throughput[..., 0], response[..., 0, :], demands[..., 0, :])
    return with_slopes(throughput, throughput_by, response, response_by, demands, classes=False)
