"""Exact mean value analysis of closed networks with several classes of customers.

A customer of class c who arrives at a queue sees the network without itself [1]_ [S]_::

    R_cj(n) = D_cj (1 + Q_j(n - e_c))    X_c(n) = n_c / (Z_c + sum over j of R_cj(n))
    Q_j(n) = sum over c of X_c(n) R_cj(n)

for every population n from 0 to N: (N_1 + 1)(N_2 + 1)... states, which is why this is for a few
small classes. Use `clusters` for classes that share one queue, `linearizer_mva` for the rest.

Slopes are those of the recursion, differentiated as it goes (`mva_slopes`). With each length of a
queue it then holds the derivatives by all delays and demands.

References
----------
.. [1] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks,"
   J. ACM, vol. 27, no. 2, pp. 313-322, 1980, :doi:`10.1145/322186.322195`.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError
from tests.queueing.reference.mva import (
    MeanValues,
    length_slopes,
    network,
    require_whole,
    step_slopes,
    times_of,
    with_slopes,
)

MOST_NUMBERS = 2**26  # states * networks * classes * queues: some seconds, half a gigabyte


def exact_multiclass_mva(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0, *, slopes: bool = False
) -> MeanValues:
    """Means of closed networks of several classes of customers.

    Whole `customers`, (..., classes), with `demands`, (..., classes, queues) [s], and `delay`,
    (..., classes) [s]. Refused where states times networks, classes and queues (with slopes also
    times 1 + delays and demands of a network) pass 2^26.

    >>> exact_multiclass_mva([8, 1], [[1.0], [1.0]], [8.0, 0.0]).throughput
    array([0.65..., 0.34...])
    >>> exact_multiclass_mva([1, 1], [[1.0], [1.0]], slopes=True).slopes.throughput.by_delay
    array([[-0.25,  0.25],
           [ 0.25, -0.25]])
    """
    customers, demands, delay = network(customers, demands, delay, classes=True)
    require_whole(customers)
    shape, (classes, queues) = customers.shape, demands.shape[-2:]
    counts = customers.reshape(-1, classes).astype(np.int64)
    demand = demands.reshape(-1, classes, queues)
    delay = delay.reshape(-1, classes)
    limits = counts.max(axis=0, initial=0) + 1
    times = times_of(classes, queues)
    each = len(counts) * classes * queues
    states_needed = math.prod(limits.tolist())
    _refuse_large(states_needed, each * (1 + times) if slopes else each, slopes=slopes)
    strides = np.array([math.prod(limits[c + 1 :].tolist()) for c in range(classes)])
    states = np.indices(limits).reshape(classes, -1).T  # (states, classes)
    queue = np.zeros((len(states), len(counts), queues))
    queue_by = np.zeros((*queue.shape, times)) if slopes else None
    total = states.sum(axis=1)
    order = np.argsort(total, kind="stable")
    for members in np.split(order, np.cumsum(np.bincount(total)))[1:-1]:  # all but the empty state
        n = states[members]
        before = members[:, None] - strides  # any other state where there is none to take away
        seen = queue[before].swapaxes(1, 2)
        throughput, response, cycle = _arrivals(n[:, None], seen, demand, delay)
        queue[members] = np.einsum("spc,spcj->spj", throughput, response)
        if queue_by is not None:
            seen_by = queue_by[before].swapaxes(1, 2)
            by = step_slopes(demand, seen, seen_by, throughput, cycle)
            queue_by[members] = length_slopes(throughput, by[0], response, by[1]).sum(axis=2)
    before = (counts @ strides)[:, None] - strides
    own = np.arange(len(counts))[:, None]
    seen = queue[before, own]
    throughput, response, cycle = _arrivals(counts, seen, demand, delay)
    if queue_by is None:
        return MeanValues.of(throughput.reshape(shape), response.reshape(demands.shape), demands)
    by = step_slopes(demand, seen, queue_by[before, own], throughput, cycle)
    return with_slopes(
        throughput.reshape(shape),
        by[0].reshape(*shape, times),
        response.reshape(demands.shape),
        by[1].reshape(*demands.shape, times),
        demands,
        classes=True,
    )


def _arrivals(
    n: NDArray[np.int64], seen: Array, demand: Array, delay: Array
) -> tuple[Array, Array, Array]:
    """Throughput, response times (..., classes, queues) and cycle, by what arrivals see."""
    response = demand * (1.0 + seen)
    cycle = delay + response.sum(axis=-1)
    return n / cycle, response, cycle


def _refuse_large(states: int, each: int, *, slopes: bool) -> None:
    if states * each > MOST_NUMBERS:
        what = "classes, queues and slopes" if slopes else "classes and queues"
        raise ParameterError(
            f"(N1 + 1)(N2 + 1)... times networks, {what}",
            must=f"be at most {MOST_NUMBERS}",
            got=f"{states} * {each}",
            hint="Use linearizer_mva, or clusters for classes that share one queue.",
        )
