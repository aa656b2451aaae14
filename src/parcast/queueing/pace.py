"""Pace of jobs that circulate between a delay and one queue, both of any variation.

With exponential service the cycle time in equilibrium is z + R whatever the law of the delay, R
being the response time of `parcast.queueing.repairman`; without any randomness it is the larger of
z + x and K x. In between C is the larger root of [D]_::

    (C - z - x)(C - K x) = g (R - x)(z + R - K x)
    g = s^2 + (1 - s^2)/2 * c^2 / (c^2 + 0.17^2)       randomness that makes jobs queue

of K jobs, delay z of coefficient of variation c, service x of coefficient of variation s. g = 1 is
the exponential queue. A law of the service enters by its s alone.

References
----------
.. [D] parcast's own; 0.17 was fitted together with the constants of `fixed_cycles`.
"""

import numpy as np

from parcast.queueing.dual_numbers import larger_root, product, ratio
from parcast.queueing.erlang import Array
from parcast.queueing.repairman import repairman_equilibrium

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
