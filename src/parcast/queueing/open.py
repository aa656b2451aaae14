"""Open queues: customers arrive at a rate of their own, wait, are served, and leave.

With arrival rate lambda, mean service s, coefficient of variation of the service times cv, and
utilisation u = lambda s below 1, the mean wait is::

    M/G/1   W = u s (1 + cv^2) / (2 (1 - u))     Pollaczek and Khinchine
    M/M/1   W = u s / (1 - u)                    cv = 1
    M/D/1   W = u s / (2 (1 - u))                cv = 0
    M/M/m   W = C s / (m (1 - u)),               u = lambda s / m, C = B / (1 - u (1 - B))

C is Erlang's probability of having to wait, B his probability of loss. With U = 1 - B, Q and V of
`parcast.queueing.erlang` for m customers and a load of lambda s, W follows the load as [D]_::

    d ln C / d ln lambda = Q + u V / (1 - u U)
    d ln W / d ln lambda = d ln C / d ln lambda + u/(1-u),   d ln W / d ln s = 1 + the same

All derivatives are sums of positive terms. The response is W + s, the
mean number present lambda (W + s) by Little's law. Arrivals are Poisson: use it for messages on a
channel that come from many sources independently of each other; a program whose processes wait
for their own messages is a closed network.

The messages of [1]_, equations (7) and (8) [S], are `mm1` and `md1`: what it calls M/G/1 is the
formula for service times that are all the same.

References
----------
.. [1] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement estimation
   in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst., vol. 16,
   no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`.
.. [2] L. Kleinrock, Queueing Systems, vol. 1: Theory, Wiley, 1975, sections 3.2, 3.5 and 5.6.
.. [D] parcast's own, from d ln B / d ln a = Q and d U / d ln a = -B Q.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time, whole
from parcast.queueing.erlang import state


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenQueue:
    """Equilibrium of an open queue; arrays of one shape.

    Derivatives are by the arrival rate and by the mean service time. Those by 0 are the limits
    from above.
    """

    waiting: Array  # before service [s]
    response: Array  # waiting and service [s]
    length: Array  # mean customers present [1]
    utilisation: Array  # of each server [1]
    waiting_by_rate: Array  # [s^2]
    waiting_by_service: Array  # [1]
    response_by_rate: Array  # [s^2]
    response_by_service: Array  # [1]
    length_by_rate: Array  # [s]
    length_by_service: Array  # [1/s]


@dataclass(frozen=True, kw_only=True, slots=True)
class OneServer(OpenQueue):
    """Equilibrium of an open queue with one server; derivatives also by the squared cv."""

    waiting_by_cv2: Array  # [s]
    response_by_cv2: Array  # [s]
    length_by_cv2: Array  # [1]


def mm1(arrival_rate: ArrayLike, *, service: ArrayLike) -> OneServer:
    """One server, exponential service times: `mg1` with a cv of 1.

    >>> mm1([0.5, 0.9], service=1.0).response
    array([ 2., 10.])
    """
    return mg1(arrival_rate, service=service, cv2=1.0)


def md1(arrival_rate: ArrayLike, *, service: ArrayLike) -> OneServer:
    """One server, every service the same: `mg1` with a cv of 0.

    >>> md1([0.5, 0.9], service=1.0).response
    array([1.5, 5.5])
    """
    return mg1(arrival_rate, service=service, cv2=0.0)


def mg1(arrival_rate: ArrayLike, *, service: ArrayLike, cv2: ArrayLike) -> OneServer:
    """One server, service times of any law with the given variance.

    Arguments broadcast together: `arrival_rate` [1/s] and mean `service` [s], whose product must
    be below 1, and `cv2`, the variance of the service time over its mean squared.

    >>> mg1(0.5, service=1.0, cv2=[0.0, 1.0, 4.0]).waiting
    array([0.5, 1. , 2.5])
    >>> mg1(0.5, service=1.0, cv2=1.0).response_by_rate
    array(4.)
    """
    rate, s, u, _ = _checked(arrival_rate, service, 1.0)
    squared = at_least("cv2", cv2, 0, hint="Give variance over mean squared.")
    left = 1.0 - u
    more = 1.0 + squared
    by_cv2 = u * s / (2.0 * left)
    open_queue = _equilibrium(
        (rate, s, u),
        u * s * more / (2.0 * left),
        s * s * more / (2.0 * left * left),
        u * more * (1.0 + left) / (2.0 * left * left),
    )
    return OneServer(
        **open_queue,
        **_arrays(
            open_queue["waiting"].shape,
            waiting_by_cv2=by_cv2,
            response_by_cv2=by_cv2,
            length_by_cv2=rate * by_cv2,
        ),
    )


def mmc(arrival_rate: ArrayLike, *, service: ArrayLike, servers: ArrayLike) -> OpenQueue:
    """Several servers with one line, exponential service times.

    Arguments broadcast together: `arrival_rate` [1/s] and mean `service` [s], whose product must
    be below the number of `servers`.

    >>> mmc(1.0, service=1.0, servers=[2, 4]).waiting
    array([0.33333333, 0.00680272])
    """
    m = whole("servers", servers, 1, hint="Count the servers.")
    rate, s, u, m = _checked(arrival_rate, service, m)
    load = m * u
    lines = state(m, load)
    never_lost = 1.0 - u * lines.utilisation
    left = m * (1.0 - u)
    some = load > 0
    waits = np.where(some, np.exp(lines.log_empty) / never_lost, 0.0)
    steep = lines.length + u * lines.relief / never_lost + u / (1.0 - u)  # d ln W / d ln rate
    # The first arrivals wait for each other only where there is one server.
    per_load = np.divide(waits, load, out=np.where(m == 1.0, 1.0, 0.0), where=some)
    return OpenQueue(
        **_equilibrium(
            (rate, s, u),
            waits * s / left,
            per_load * s * s / left * steep,
            waits * (1.0 + steep) / left,
        )
    )


def _checked(
    arrival_rate: ArrayLike, service: ArrayLike, servers: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """Rate, service, utilisation and servers broadcast together, or a refusal."""
    rate, s, m = np.broadcast_arrays(
        at_least("arrival_rate", arrival_rate, 0, hint="Give it per second."),
        mean_time("service", service),
        np.asarray(servers, dtype=np.float64),
    )
    u = rate * s / m
    hint = "The queue would grow without limit: slow the arrivals or speed up the service."
    require("utilisation", u, u < 1, must="be below 1", hint=hint)
    return rate, s, u, m


def _equilibrium(
    queue: tuple[Array, Array, Array], waiting: Array, by_rate: Array, by_service: Array
) -> dict[str, Array]:
    """What follows from the wait and its derivatives for rate, service and utilisation."""
    rate, service, utilisation = queue
    response = waiting + service
    return _arrays(
        np.broadcast_shapes(waiting.shape, rate.shape),
        waiting=waiting,
        response=response,
        length=rate * response,
        utilisation=utilisation,
        waiting_by_rate=by_rate,
        waiting_by_service=by_service,
        response_by_rate=by_rate,
        response_by_service=1.0 + by_service,
        length_by_rate=response + rate * by_rate,
        length_by_service=rate * (1.0 + by_service),
    )


def _arrays(shape: tuple[int, ...], **parts: Array) -> dict[str, Array]:
    """Arrays of one shape, each its own."""
    return {name: np.array(np.broadcast_to(part, shape)) for name, part in parts.items()}
