"""Bounds of the throughput of closed networks of one class, from sums of their demands alone.

With N customers, delay Z, demands D_j of sum D, largest D_max, and mean D/J over the J queues
that are used [1]_ [2]_ [S]_::

    asymptotic     N / (Z + N D)                              <= X <= min(N / (Z + D), 1 / D_max)
    balanced jobs  N / (Z + D + (N-1) D_max / (1 + Z/(N D)))  <= X
                   X <= min(1 / D_max, N / (Z + D + (N-1) (D/J) / (1 + Z/D)))

The first needs no queueing theory: everybody waits for all others, or nobody for anybody. The
second are the throughputs of networks of equal queues that are surely slower and faster.

References
----------
.. [1] J. Zahorjan, K. C. Sevcik, D. L. Eager and B. Galler, "Balanced job bound analysis of
   queueing networks," Commun. ACM, vol. 25, no. 2, pp. 134-141, 1982,
   :doi:`10.1145/358396.358447`.
.. [2] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, Quantitative System Performance,
   Prentice-Hall, 1984, ch. 5 (the forms with a delay).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.queueing.erlang import Array
from parcast.queueing.mean_values import network, require_whole


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Bounds:
    """Between which throughputs the true one lies."""

    lower: Array  # [1/s]
    upper: Array  # [1/s]


def asymptotic_bounds(customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0) -> Bounds:
    """Bounds of throughput that hold for every network, with or without a product form.

    Parameters
    ----------
    customers : array_like, shape (...)
        Customers, at least 1. [1]
    demands : array_like, shape (..., queues)
        Service of one cycle at each queue, at least 0. [s]
    delay : array_like, shape (...), default 0
        Time of one cycle spent without waiting for anybody, at least 0. [s]

    Returns
    -------
    Bounds
        Arrays of the shape (...) of the arguments broadcast together. [1/s]

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or a cycle takes no time.

    Examples
    --------
    >>> bounds = asymptotic_bounds(4, [0.5, 1.0], 2.0)
    >>> bounds.lower, bounds.upper
    (array(0.5), array(1.))
    """
    customers, demands, delay = network(customers, demands, delay)
    total = demands.sum(axis=-1)
    return Bounds(
        lower=np.asarray(customers / (delay + customers * total)),
        upper=np.asarray(np.minimum(customers / (delay + total), _saturation(demands))),
    )


def balanced_job_bounds(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0
) -> Bounds:
    """Bounds of throughput that are tighter and hold for networks with a product form.

    Parameters, result and refusals are those of `asymptotic_bounds`; customers must be whole.

    Examples
    --------
    >>> bounds = balanced_job_bounds(4, [0.5, 1.0], 2.0)
    >>> bounds.lower, bounds.upper
    (array(0.69...), array(0.896))
    """
    customers, demands, delay = network(customers, demands, delay)
    require_whole(customers)
    total = demands.sum(axis=-1)
    used = np.maximum((demands > 0).sum(axis=-1), 1)
    some = np.where(total > 0, total, 1.0)  # without queues nobody waits
    others = customers - 1.0
    at_most = others * demands.max(axis=-1) / (1.0 + delay / (customers * some))
    at_least = others * total / used / (1.0 + delay / some)
    return Bounds(
        lower=np.asarray(customers / (delay + total + at_most)),
        upper=np.asarray(np.minimum(customers / (delay + total + at_least), _saturation(demands))),
    )


def _saturation(demands: Array) -> Array:
    """Throughput at which the busiest queue never rests; infinite without queues. [1/s]."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / demands.max(axis=-1))
