"""The machine repairman: customers that circulate between one delay and one queue.

Each of n customers spends a time of mean `delay` (z) on its own, then is served by a single queue,
mean `service` (x), then starts again. With Q the mean length of the queue::

    R(n) = x (1 + Q(n-1))        response time at the queue
    X(n) = n / (z + R(n))        throughput
    U(n) = x X(n)                utilisation of the queue
    Q(n) = X(n) R(n)

Use it for processors that compute alone and then share a bus, a link, or a disk. The queue serves
in order with exponential times (or shares itself among all); the delay may have any law. For
other service laws see `parcast.queueing.general_service`.

R(n) is R1 of equation (17) in [1]_ [S]; the source's sums of factorials overflow, and n/X - z
loses all digits when the delay is long. Here everything follows from Erlang's loss formula for
n - 1 customers [D]_, derivatives too, without subtracting nearly equal numbers: with a = z/x and
V = -dQ/da, dR/dz = -V(n-1) and 1 - V(n-1) = B(n-1) (1 + Q(n-1)). Relative errors are below 1e-12
for n up to 1e7 and z/x from 1e-8 to 1e8 (of slopes in deep saturation, which are next to nothing,
3e-12: they feel the last digit of z/x). A number of customers that is not whole is continued by
Erlang's integral.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
.. [D] parcast's own derivation, from the arrival theorem of closed networks: M. Reiser and
   S. S. Lavenberg, J. ACM, vol. 27, no. 2, 1980, pp. 313-322, :doi:`10.1145/322186.322195`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.queueing.arguments import at_least, mean_time, require_time
from parcast.queueing.erlang import state


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
