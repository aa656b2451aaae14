"""The machine repairman: customers that circulate between one delay and one queue.

Each of n customers spends a time of mean `delay` (z) on its own, then is served by a single queue,
mean `service` (x), then starts again. With Q the mean length of the queue::

    R(n) = x (1 + Q(n-1))        response time at the queue
    X(n) = n / (z + R(n))        throughput
    U(n) = x X(n)                utilisation of the queue
    Q(n) = X(n) R(n)

Use it for processors that compute alone and then share a bus, a link, or a disk. The queue serves
in order with exponential times (or shares itself among all); the delay may have any law. For
other service laws see `parcast.queueing.varied_queues`.

R(n) is R1 of equation (17) in [1]_ [S]; the source's sums of factorials overflow, and n/X - z
loses all digits when the delay is long. Here everything follows from Erlang's loss formula for
n - 1 customers [D]_, derivatives too, without subtracting nearly equal numbers: with a = z/x and
V = -dQ/da, dR/dz = -V(n-1) and 1 - V(n-1) = B(n-1) (1 + Q(n-1)). Relative errors are below 1e-12
for n up to 1e7 and z/x from 1e-8 to 1e8 (of slopes in deep saturation, which are next to nothing,
3e-12: they feel the last digit of z/x). A number of customers that is not whole is continued by
Erlang's integral.

Of any variation (`pace`), the cycle time in equilibrium is z + R with exponential service,
whatever the law of the delay; without any randomness it is the larger of
z + x and K x. In between C is the larger root of [D]_::

    (C - z - x)(C - K x) = g (R - x)(z + R - K x)
    g = s^2 + (1 - s^2)/2 * c^2 / (c^2 + 0.17^2)       randomness that makes jobs queue

of K jobs, delay z of coefficient of variation c, service x of coefficient of variation s. g = 1 is
the exponential queue. A law of the service enters by its s alone.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
.. [D] parcast's own derivation, from the arrival theorem of closed networks: M. Reiser and
   S. S. Lavenberg, J. ACM, vol. 27, no. 2, 1980, pp. 313-322, :doi:`10.1145/322186.322195`. Of
   the pace, 0.17 was fitted together with the constants of `fixed_cycles`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.queueing.arguments import at_least, mean_time, require_time
from parcast.queueing.dual_numbers import dual, larger_root, product, ratio
from parcast.queueing.erlang import state

MIXING = 0.17  # c at which delays have made half of all service times' order random


class Sloped(NamedTuple):
    """A quantity and its derivatives with respect to the two demands; arrays of one shape."""

    value: Array
    by_delay: Array
    by_service: Array


@dataclass(frozen=True, kw_only=True, slots=True)
class Repairman:
    """Equilibrium of one delay and one queue."""

    throughput: Sloped  # [1/s], by either demand [1/s^2]
    response: Sloped  # at the queue, waiting and service [s], by either demand [1]
    utilisation: Sloped  # fraction of time the queue is busy [1], by either demand [1/s]
    length: Sloped  # mean customers at the queue [1], by either demand [1/s]


def repairman_equilibrium(
    customers: ArrayLike, *, delay: ArrayLike, service: ArrayLike
) -> Repairman:
    """Throughput, response time, utilisation and length of the queue, with their derivatives.

    Arguments broadcast together: `customers`, at least 0, not necessarily whole; the mean `delay`
    between visits [s], 0 of which keeps the queue always busy; the mean `service` [s], above 0
    where the delay is 0, and 0 of which means that nobody ever waits. The response time of no
    customers is the limit from above; so is the derivative by a delay of 0, infinite for less than
    one customer.

    >>> equilibrium = repairman_equilibrium(4, delay=1.0, service=0.5)
    >>> equilibrium.response.value
    array(1.21052632)
    >>> equilibrium.throughput.value
    array(1.80952381)
    """
    n, z, x = _checked(customers, delay, service)
    a, r, v, idle = _one_customer_less(n, z, x)
    held = np.multiply(a, v, out=np.zeros_like(v), where=np.isfinite(a) & (a > 0))  # a*V(n-1)
    response = x * r
    total = z + response
    cycle = np.where(total > 0, total, 1.0)  # a cycle of no length belongs to no customers
    throughput = n / cycle
    by_delay = -throughput * idle / cycle
    by_service = -throughput * (r + held) / cycle
    away = np.multiply(z, idle, out=np.zeros_like(z), where=z > 0)
    return Repairman(
        throughput=sloped(throughput, by_delay, by_service),
        response=sloped(response, -v, r + held),
        utilisation=sloped(x * throughput, x * by_delay, throughput * away / cycle),
        length=sloped(
            throughput * response, -throughput * (response + x * held) / cycle, -z * by_service
        ),
    )


def sloped(value: ArrayLike, by_delay: ArrayLike, by_service: ArrayLike) -> Sloped:
    """The three as arrays, also where arithmetic on single numbers left numbers."""
    return Sloped(*(np.asarray(x, dtype=np.float64) for x in (value, by_delay, by_service)))


def offered_load(delay: Array, service: Array) -> Array:
    """Delay over service, a; infinite without service. [1]."""
    with np.errstate(over="ignore"):
        load = np.divide(delay, service, out=np.full(delay.shape, np.inf), where=service > 0)
    return np.asarray(load)


def _checked(
    customers: ArrayLike, delay: ArrayLike, service: ArrayLike
) -> tuple[Array, Array, Array]:
    """The arguments broadcast together, or a refusal."""
    n, z, x = np.broadcast_arrays(
        at_least("customers", customers, 0, hint="Count those that circulate."),
        mean_time("delay", delay),
        mean_time("service", service),
    )
    require_time("service", x, np.maximum(z, x), must="be above 0 where delay is 0")
    return n, z, x


def _one_customer_less(n: Array, z: Array, x: Array) -> tuple[Array, Array, Array, Array]:
    """Of the network as an arriving customer finds it: a, 1 + Q, V, and 1 - V = B*(1 + Q)."""
    a = offered_load(z, x)
    others = state(n - 1.0, a)
    crowd, relief = 1.0 + others.length, others.relief
    idle = np.exp(others.log_empty) * crowd
    no_delay = a == 0
    crowd = np.where(no_delay & (n < 1), n, crowd)
    relief = np.where(no_delay & (n < 1), -np.inf, relief)
    idle = np.select([n == 0, no_delay & (n < 1), no_delay & (n > 1)], [0.0, np.inf, 0.0], idle)
    return a, crowd, relief, idle


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
