"""Bounds of the throughput of closed networks of one class, from sums of their demands alone.

With N customers, delay Z, demands D_j of sum D, largest D_max, and mean D/J over the J queues
that are used [1]_ [2]_ [S]_::

    asymptotic     N / (Z + N D)                              <= X <= min(N / (Z + D), 1 / D_max)
    balanced jobs  N / (Z + D + (N-1) D_max / (1 + Z/(N D)))  <= X
                   X <= min(1 / D_max, N / (Z + D + (N-1) (D/J) / (1 + Z/D)))

The first needs no queueing theory: everybody waits for all others, or nobody for anybody. The
second are the throughputs of networks of equal queues that are surely slower and faster.

Every bound has its derivatives by the delay and by every demand [D]_. A minimum or a maximum has
a kink where its terms tie, to the last digit. There the slope is the mean of those of the terms
that tie: with k queues as busy, D_max has the slope 1/k by each of their demands, and where both
terms of an upper bound agree, the slope is half that of either. So the bounds stay homogeneous:
times, multiplied by the slopes, add up to -X. J is held: a queue of demand 0 counts as unused,
also when the bound is differentiated by its demand.

References
----------
.. [1] J. Zahorjan, K. C. Sevcik, D. L. Eager and B. Galler, "Balanced job bound analysis of
   queueing networks," Commun. ACM, vol. 25, no. 2, pp. 134-141, 1982,
   :doi:`10.1145/358396.358447`.
.. [2] E. D. Lazowska, J. Zahorjan, G. S. Graham and K. C. Sevcik, Quantitative System Performance,
   Prentice-Hall, 1984, ch. 5 (the forms with a delay).
.. [D] parcast's own derivation and choice, by the rules of calculus.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from tests.queueing.reference.mva import network, require_whole


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Bounds:
    """Between which throughputs the true one lies, and how they follow delay and demands."""

    lower: Array  # shape (...) [1/s]
    upper: Array  # shape (...) [1/s]
    lower_by_delay: Array  # derivative by the delay, shape (...) [1/s^2]
    lower_by_demands: Array  # by the demand at each queue, shape (..., queues) [1/s^2]
    upper_by_delay: Array  # shape (...) [1/s^2]
    upper_by_demands: Array  # shape (..., queues) [1/s^2]


def asymptotic_bounds(customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0) -> Bounds:
    """Bounds of throughput that hold for every network, with or without a product form.

    Arguments are those of `exact_mva`, but customers need not be whole.

    >>> bounds = asymptotic_bounds(4, [0.5, 1.0], 2.0)
    >>> bounds.lower, bounds.upper
    (array(0.5), array(1.))
    >>> bounds.lower_by_demands, bounds.upper_by_demands
    (array([-0.25, -0.25]), array([ 0., -1.]))
    """
    customers, demands, delay = network(customers, demands, delay)
    total, one, ones = demands.sum(axis=-1), np.ones_like(delay), np.ones_like(demands)
    longest = _Cycle(delay + customers * total, one, customers[..., None] * ones)
    return _bounds(customers, demands, longest, _Cycle(delay + total, one, ones))


def balanced_job_bounds(
    customers: ArrayLike, demands: ArrayLike, delay: ArrayLike = 0.0
) -> Bounds:
    """Bounds of throughput that are tighter and hold for networks with a product form.

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
    most, least = 1.0 + delay / (customers * some), 1.0 + delay / some
    at_most = others * demands.max(axis=-1) / most
    at_least = others * total / used / least
    at_queues = np.where(total > 0, 1.0 / most, 0.0)  # part of the cycle if all wait for all
    largest = demands.max(axis=-1) / some
    by_total = 1.0 + others * largest * at_queues * (1.0 - at_queues)
    longest = _Cycle(
        delay + total + at_most,
        1.0 - others * largest * at_queues**2 / customers,
        by_total[..., None] + (others * at_queues)[..., None] * _busiest(demands),
    )
    at_queues = np.where(total > 0, 1.0 / least, 0.0)  # and if nobody waits
    shortest = _Cycle(
        delay + total + at_least,
        1.0 - others / used * at_queues**2,
        (1.0 + others / used * at_queues * (2.0 - at_queues))[..., None] * np.ones_like(demands),
    )
    return _bounds(customers, demands, longest, shortest)


class _Cycle(NamedTuple):
    """Time of one cycle and its derivatives by delay and demands."""

    time: Array  # shape (...) [s]
    by_delay: Array  # shape (...) [1]
    by_demands: Array  # shape (..., queues) [1]


def _bounds(customers: Array, demands: Array, longest: _Cycle, shortest: _Cycle) -> Bounds:
    """Bounds from the cycles that last longest and shortest, and from the busiest queue."""
    lower, free = customers / longest.time, customers / shortest.time
    busiest = _busiest(demands)
    with np.errstate(divide="ignore", over="ignore"):  # infinite without queues, and not taken
        saturated = np.asarray(1.0 / demands.max(axis=-1))
        square = np.asarray(saturated**2)[..., None]
    by_queue = np.multiply(-square, busiest, out=np.zeros_like(busiest), where=busiest > 0)
    down, up = -lower / longest.time, -free / shortest.time
    by_demands = up[..., None] * shortest.by_demands
    return Bounds(
        lower=np.asarray(lower),
        upper=np.asarray(np.minimum(free, saturated)),
        lower_by_delay=np.asarray(down * longest.by_delay),
        lower_by_demands=down[..., None] * longest.by_demands,
        upper_by_delay=_of_smaller(free, saturated, up * shortest.by_delay, np.zeros_like(up)),
        upper_by_demands=_of_smaller(free[..., None], saturated[..., None], by_demands, by_queue),
    )


def _of_smaller(a: Array, b: Array, of_a: Array, of_b: Array) -> Array:
    """Slope of the smaller of a and b, the mean of both where they tie."""
    return np.asarray(np.select([a < b, b < a], [of_a, of_b], 0.5 * (of_a + of_b)))


def _busiest(demands: Array) -> Array:
    """Derivatives of D_max by the demands: 1, or its equal parts where queues are as busy."""
    busiest = demands == demands.max(axis=-1, keepdims=True)
    return np.asarray(busiest / busiest.sum(axis=-1, keepdims=True))
