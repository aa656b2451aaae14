"""Exact mean value analysis of closed networks with one class of customers.

A customer who arrives at a queue sees the network as it is with one customer less [1]_ [S]_::

    R_j(n) = D_j (1 + Q_j(n-1))        X(n) = n / (Z + sum of R_j(n))        Q_j(n) = X(n) R_j(n)

for n = 1..N with Q(0) = 0, D_j the demand at queue j and Z the delay. Every term is positive, so
rounding does not accumulate. Slopes are those of the recursion, differentiated as it goes
(`mva_slopes`). It costs one pass per customer: use it for networks of many queues, and as the
independent route to what `two_queues` computes in one step whatever N is.

References
----------
.. [1] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks,"
   J. ACM, vol. 27, no. 2, pp. 313-322, 1980, :doi:`10.1145/322186.322195`.
"""

import numpy as np
from numpy.typing import ArrayLike

from parcast.errors import require
from parcast.queueing.mean_values import MeanValues, network, require_whole
from parcast.queueing.mva_slopes import length_slopes, step_slopes, times_of, with_slopes

MOST_CUSTOMERS = 1e6  # some ten seconds


def exact_mva(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0, *, slopes: bool = False
) -> MeanValues:
    """Means of closed networks of one class of customers.

    Parameters
    ----------
    customers : array_like, shape (...)
        Customers, whole, 1 to 1e6. [1]
    demands : array_like, shape (..., queues)
        Service of one cycle at each queue, at least 0. [s]
    delay : array_like, shape (...), default 0
        Time of one cycle spent without waiting for anybody, at least 0. [s]
    slopes : bool, default False
        Whether to derive every mean by the delay and by every demand too.

    Returns
    -------
    MeanValues
        With (...) the shape of the arguments broadcast together.

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or a cycle takes no time.

    Examples
    --------
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
