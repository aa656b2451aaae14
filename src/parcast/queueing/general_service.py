"""Queues whose service times follow any law, in closed networks.

One queue (the M/G/1//N of the textbooks): N customers, each away for an exponential time of mean
z, then served in order of arrival, mean service b, transform of the service time over its mean
beta. The utilisation U is exact [1]_ [S]::

    U/(1-U) = (N b/z) S
    S = sum over n = 0..N-1 of C(N-1,n) * product over i = 1..n of (1/beta(i b/z) - 1)
    R = N b - z (S-1)/S    response time at the queue [D]: N/X - z without its cancellation

All terms of S are positive; they are added in logarithms, in time proportional to N, with a
relative error of about N rounding errors. For exponential service this is
`parcast.queueing.repairman`.

Two queues: no exact solution is known. `two_general_queues` takes each as the exact one queue
above whose delay is everything else a customer does, the other queue's response included, and
finds the responses that agree [D]_. It is exact for one customer and where one service time is 0.
Elsewhere it is an approximation, at its worst where both queues are as busy. Where both laws are
exponential an exact solution exists: `parcast.queueing.two_queues`.

References
----------
.. [1] L. Takacs, Introduction to the Theory of Queues, Oxford University Press, 1962, ch. 5
   (machines repaired by one man).
.. [D] parcast's own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.queueing.arguments import mean_time, require_time, whole
from parcast.queueing.erlang import Array
from parcast.queueing.service_laws import ServiceLaw

BLOCK = 2**17  # terms held at once
LOAD_LIMITS = (1e-150, 1e150)  # of b/z: stand for 0 and infinity
AGREED = 1e-13  # relative, between responses of two queues
MOST_STEPS = 200
COUNT = "Count those that circulate."


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneralQueue:
    """Equilibrium of one queue of a closed network, as its customers find it."""

    throughput: Array  # [1/s]
    response: Array  # waiting and service [s]
    utilisation: Array  # fraction of time the queue is busy [1]
    length: Array  # mean customers at the queue [1]


def one_general_queue(
    customers: ArrayLike, *, delay: ArrayLike, service: ArrayLike, law: ServiceLaw
) -> GeneralQueue:
    """Equilibrium of one delay and one queue with service times of any law, exactly.

    Parameters
    ----------
    customers : array_like, shape (...)
        Customers in the network, a whole number of at least 1. [1]
    delay : array_like, broadcastable with `customers`
        Mean of the exponential time between visits to the queue, at least 0. [s]
    service : array_like, broadcastable with `customers`
        Mean service time, at least 0 and above 0 where `delay` is 0. [s]
    law : ServiceLaw
        Of the service times; its `cv` broadcasts with the other arguments.

    Returns
    -------
    GeneralQueue
        Arrays of the shape of the arguments broadcast together.

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN or infinite.

    Examples
    --------
    >>> from parcast.queueing.service_laws import deterministic_service, exponential_service
    >>> one_general_queue(4, delay=1.0, service=0.5, law=exponential_service()).response
    array(1.21052632)
    >>> one_general_queue(4, delay=1.0, service=0.5, law=deterministic_service()).response
    array(1.0983167)
    """
    n, z, b, cv = np.broadcast_arrays(
        whole("customers", customers, 1, hint=COUNT),
        mean_time("delay", delay),
        mean_time("service", service),
        law.cv,
    )
    require_time("service", b, z + b, must="be above 0 where delay is 0")
    response = _response(n, z, b, law, cv)
    return _equilibrium(n, n / (z + response), b, response)


def two_general_queues(
    customers: ArrayLike,
    *,
    delay: ArrayLike,
    services: tuple[ArrayLike, ArrayLike],
    laws: tuple[ServiceLaw, ServiceLaw],
) -> tuple[GeneralQueue, GeneralQueue]:
    """Equilibrium of one delay and two queues with service times of any laws, nearly.

    Parameters
    ----------
    customers : array_like, shape (...)
        Customers in the network, a whole number of at least 1. [1]
    delay : array_like, broadcastable with `customers`
        Mean time between leaving the second queue and joining the first, at least 0. [s]
    services : two array_like, broadcastable with `customers`
        Mean service times, at least 0; they and `delay` must not all be 0. [s]
    laws : two ServiceLaw
        Of the service times.

    Returns
    -------
    two GeneralQueue
        Arrays of the shape of the arguments broadcast together; both have the same throughput.

    Raises
    ------
    ParameterError
        If any element lies outside the domain given above, or is NaN or infinite.

    Examples
    --------
    >>> from parcast.queueing.service_laws import deterministic_service, exponential_service
    >>> laws = exponential_service(), deterministic_service()
    >>> bus, disk = two_general_queues(4, delay=2.0, services=(0.5, 1.0), laws=laws)
    >>> bus.response, disk.response
    (array(0.70957744), array(1.85622161))
    """
    n, z, x, y, cv_x, cv_y = np.broadcast_arrays(
        whole("customers", customers, 1, hint=COUNT),
        mean_time("delay", delay),
        *(mean_time("services", service) for service in services),
        *(law.cv for law in laws),
    )
    require_time("services", y, z + x + y, must="not all be 0 where delay is 0")

    def first(second: Array) -> Array:
        return _response(n, z + second, x, laws[0], cv_x)

    def excess(second: Array) -> Array:
        return _response(n, z + first(second), y, laws[1], cv_y) - second

    at_second = _falling_root(excess, y, n * y)
    at_first = first(at_second)
    throughput = n / (z + at_first + at_second)
    return (
        _equilibrium(n, throughput, x, at_first),
        _equilibrium(n, throughput, y, at_second),
    )


def _equilibrium(n: Array, throughput: Array, service: Array, response: Array) -> GeneralQueue:
    """What follows from throughput and response; rounding must not make a queue too busy."""
    return GeneralQueue(
        throughput=np.asarray(throughput),
        response=np.asarray(response),
        utilisation=np.asarray(np.minimum(throughput * service, 1.0)),
        length=np.asarray(np.minimum(throughput * response, n)),
    )


def _response(n: Array, z: Array, b: Array, law: ServiceLaw, cv: Array) -> Array:
    """Response time at a queue of service `b` and law `law` for customers away for `z`."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        load = np.where(z > 0, b / z, np.inf)
    load = np.clip(load, *LOAD_LIMITS)
    log_rest = _log_rest(n.ravel(), load.ravel(), law, cv.ravel()).reshape(n.shape)
    waiting_for_others = z * special.expit(log_rest)  # z (S-1)/S
    return np.asarray(np.clip(n * b - waiting_for_others, b, n * b))


def _log_rest(n: Array, load: Array, law: ServiceLaw, cv: Array) -> Array:
    """ln(S - 1): all terms of S but the first, in blocks of terms; points need not all go on."""
    log_rest = np.full(n.shape, -np.inf)
    log_term = np.zeros(n.shape)
    done = 0
    active = np.nonzero(n > 1)[0]
    while active.size:
        rows = max(1, min(BLOCK // active.size, int(n[active].max()) - 1 - done))
        i = np.arange(done + 1.0, done + rows + 1.0)[:, None]
        left = n[active] - i
        ratio = np.where(left > 0, left / i, 1.0)
        steps = np.log(ratio) + law.log_odds(i * load[active], cv[active])
        terms = log_term[active] + np.cumsum(np.where(left > 0, steps, -np.inf), axis=0)
        block = special.logsumexp(terms, axis=0)
        log_rest[active] = np.logaddexp(log_rest[active], block)
        log_term[active] = terms[-1]
        done += rows
        active = active[n[active] - 1 > done]
    return log_rest


def _falling_root(
    function: Callable[[Array], Array], low: NDArray[np.float64], high: NDArray[np.float64]
) -> Array:
    """Where a falling function, at least 0 at `low` and at most 0 at `high`, is 0: Illinois."""
    low, high = low.copy(), high.copy()
    at_low, at_high = function(low), function(high)
    last = np.zeros_like(low)
    for step in range(MOST_STEPS):  # pragma: no branch - a third are bisections: it ends early
        if (high - low <= AGREED * high).all():
            break
        rise = at_low - at_high
        share = np.divide(at_low, rise, out=np.full(rise.shape, 0.5), where=rise > 0)
        guess = low + (high - low) * (share if step % 3 < 2 else 0.5)
        value = function(guess)
        above = value >= 0
        below = value <= 0
        at_high = np.where(above, np.where(last > 0, 0.5, 1.0) * at_high, value)
        at_low = np.where(below, np.where(last < 0, 0.5, 1.0) * at_low, value)
        last = np.sign(value)
        low, high = np.where(above, guess, low), np.where(below, guess, high)
    return np.asarray(0.5 * (low + high))
