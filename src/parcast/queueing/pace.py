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

from parcast.aliases import Array
from parcast.queueing.dual_numbers import dual, larger_root, product, ratio
from parcast.queueing.repairman import repairman_equilibrium

MIXING = 0.17  # c at which delays have made half of all service times' order random


def burst_times(z: Array, f: Array, x: Array, c: Array) -> tuple[Array, Array, Array, Array]:
    """Share of the delay that varies [1], delay [s], service [s] and cv of the delay [1].

    Dual numbers (5, ...) by `z` and `f`, the parts of the delay that vary and do not [s], the
    service `x` [s], and `c`, the coefficient of variation of the part that varies.
    """
    varying, delay = dual(z, 0), dual(z + f, 0, 1)
    safe = delay if np.all(delay[0] > 0) else np.where(delay[0] > 0, delay, varying + 1.0)
    share = ratio(varying, safe)
    return share, delay, dual(x, 2), product(share, dual(c, 3))


def pace(k: Array, delay: Array, service: Array, cv: Array, s: Array) -> Array:
    """C [s], the cycle time while all `k` jobs are there, as a dual number (5, ...).

    `delay`, `service` and `cv` are those of `burst_times`; `s` is the cv of a service time, (...).
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
    more = square.copy()
    more[0] += MIXING**2
    random = 0.5 * (1.0 - s * s) * ratio(square, more)
    random[0] += s * s
    return np.asarray(random)
