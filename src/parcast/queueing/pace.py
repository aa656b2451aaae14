"""Pace of jobs that circulate between a delay and one queue, both of any variation.

With exponential service the cycle time in equilibrium is z + R whatever the law of the delay, R
being the response time of `parcast.queueing.repairman`; without any randomness it is the larger of
z + x and K x. In between C is the larger root of [D]_::

    (C - z - x)(C - K x) = g (R - x)(z + R - K x)
    g = s^2 + (1 - s^2)/2 * c^2 / (c^2 + 0.17^2)       randomness that makes jobs queue

of K jobs, delay z of coefficient of variation c, service x of coefficient of variation s. g = 1 is
the exponential queue. A law of the service enters by its s alone.

The largest of K sums of n random times, for many K and n at once, and how it feels the cv.

Each time has mean 1 and a gamma law of the same coefficient of variation c, so that a sum has the
gamma law of mean n and cv c/sqrt(n) [S]_. With D the deviate of `parcast.queueing.time_laws` and
u = 1/(1 + exp(-y)) the probability that a sum is not exceeded, the mean of the largest is::

    n + c sqrt(n) * integral over y of D(-ln u) K u^K (1-u)

`parcast.queueing.order` has the same mean for any law, with nodes of its own for each K. Here all
points share the nodes y, and those of one law its quantiles: the trapezoidal rule in y, whose
weights fall off exponentially at both ends, is right to 1e-10 with about 180 of them for K up to
1e6 [D]_. SciPy has no derivative of a gamma quantile with respect to the shape; it is taken by a
central difference of the quantiles, right to 1e-6.

References
----------
.. [D] parcast's own; 0.17 was fitted together with the constants of `fixed_cycles`.
.. [S] H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003, section 3.1.
.. [D] parcast's own arrangement.
"""

from typing import NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.time_laws import gamma_times
from parcast.queueing.two_queues import larger_root, product, ratio

MIXING = 0.17  # c at which delays have made half of all service times' order random


def burst_times(z: Array, f: Array, x: Array, c: Array) -> tuple[Array, Array, Array, Array]:
    """Times of one burst, with their derivatives.

    Parameters
    ----------
    z, f, x, c : ndarrays of one shape
        Part of the delay that varies [s], part that does not [s], service [s], and coefficient
        of variation of the part that varies [1].

    Returns
    -------
    share, delay, service, cv : ndarrays, shape (5, ...)
        Dual numbers by z, f, x and c: the part of the delay that varies [1], the whole delay [s],
        the service [s], the coefficient of variation of the whole delay [1].
    """
    zero, one = np.zeros_like(z), np.ones_like(z)
    varying = np.stack([z, one, zero, zero, zero])
    delay = np.stack([z + f, one, one, zero, zero])
    service = np.stack([x, zero, zero, one, zero])
    safe = delay if np.all(delay[0] > 0) else np.where(delay[0] > 0, delay, varying + one)
    share = ratio(varying, safe)
    return share, delay, service, product(share, np.stack([c, zero, zero, zero, one]))


def pace(k: Array, delay: Array, service: Array, cv: Array, s: Array) -> Array:
    """C, the cycle time while all jobs are there.

    Parameters
    ----------
    k : ndarray, shape (...)
        Jobs, at least 1. [1]
    delay, service, cv : ndarrays, shape (5, ...)
        As `burst_times` returns them.
    s : ndarray, shape (...)
        Standard deviation over mean of a service time. [1]

    Returns
    -------
    ndarray, shape (5, ...)
        The cycle time [s] and its derivatives.
    """
    response = repairman_equilibrium(k, delay=delay[0], service=service[0]).response
    # By chain rule: the parts of the delay count as delay, the service as service.
    in_equilibrium = response.by_delay * delay + response.by_service * service
    in_equilibrium[0] = response.value
    wait = in_equilibrium - service
    idle = delay + in_equilibrium - k * service
    idle[0] = np.maximum(idle[0], 0.0)  # rounding
    random = mixing(cv, s)
    return larger_root(delay + service, k * service, product(random, product(wait, idle)))


def mixing(cv: Array, s: Array) -> Array:
    """g, the randomness that makes jobs queue, of delays of `cv` (5, ...) and services of `s`."""
    square = product(cv, cv)
    constant = np.zeros_like(cv)
    constant[0] = MIXING**2
    random = 0.5 * (1.0 - s * s) * ratio(square, square + constant)
    random[0] += s * s
    return np.asarray(random)


STEP = 0.36  # of the rule, in y
BELOW, ABOVE = 25.0, 28.0  # of y = 0 and of y = ln K: where the weights are nothing
DIFFERENCE = 2e-4  # of the cv, relative
BLOCK = 2**19  # values held at once


class Excess(NamedTuple):
    """By how much the largest of several sums exceeds their mean; arrays of one shape."""

    value: Array  # [1], in mean times
    by_cv: Array  # [1]


def largest_sum_excess(jobs: Array, cycles: Array, cv: Array) -> Excess:
    """Mean of the largest of `jobs` sums of `cycles` times of mean 1, less `cycles`.

    No argument is checked.

    Parameters
    ----------
    jobs : ndarray, shape (points,)
        How many sums, at least 1, not necessarily whole. [1]
    cycles : ndarray, shape (choices, points)
        Times in a sum, at least 1, not necessarily whole. [1]
    cv : ndarray, shape (points,)
        Standard deviation over mean of each time, in [0, 20]. [1]

    Returns
    -------
    Excess
        Arrays of the shape of `cycles`; 0 for one job. [1]

    Examples
    --------
    >>> import numpy as np
    >>> jobs, once_or_twice = np.array([1.0, 8.0]), np.array([[1.0, 1.0], [2.0, 2.0]])
    >>> largest_sum_excess(jobs, once_or_twice, np.ones(2)).value.round(8)
    array([[0.        , 1.71785714],
           [0.        , 2.36058585]])
    """
    root = np.sqrt(cycles)
    spreads, law_of = np.unique(cv / root, return_inverse=True)
    law_of = law_of.reshape(root.shape)
    y = np.arange(-BELOW, ABOVE + STEP + np.log(jobs.max(initial=1.0)), STEP)
    v = np.logaddexp(0.0, -y)  # -ln u
    deviates = _deviates(v, spreads)
    answer = np.empty((2, *law_of.shape))
    rows = max(1, BLOCK // y.size)
    for start in range(0, jobs.size, rows):
        part = slice(start, start + rows)
        number = jobs[part, None]
        weights = np.exp(np.log(number * STEP) - number * v) * special.expit(-y)
        for law, column in enumerate(law_of[:, part]):
            if (column == column[0]).all():
                answer[:, law, part] = deviates[:, column[0]] @ weights.T
            else:
                answer[:, law, part] = np.einsum("kpy,py->kp", deviates[:, column], weights)
    answer = np.where(jobs > 1, answer, 0.0)
    return Excess(root * cv * answer[0], root * answer[1])


def _deviates(v: Array, cv: Array) -> Array:
    """D and d(cv D)/dcv, shape (2, laws, nodes)."""
    law = gamma_times(cv)
    lower, upper = cv * (1.0 - DIFFERENCE), cv * (1.0 + DIFFERENCE)
    now, before, after = law.deviate(v, np.stack([cv, lower, upper])[..., None])
    slope = now + (after - before) / (2.0 * DIFFERENCE)
    return np.stack([now, slope])
