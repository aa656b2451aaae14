"""One or two queues whose service times follow any laws, in a closed network.

N customers circulate between a delay of mean z and the queues. One queue is solved exactly, by
`parcast.queueing.general_service`. For two, of mean service x and y, no exact solution is known.
Each queue is taken as the exact one queue whose delay is everything else a customer does, the
other queue's response included; the responses that agree are the answer [D]_::

    R1 = F(z + R2, x),   R2 = G(z + R1, y),   X = N/C,   C = z + R1 + R2

It is exact for one customer and where one service time is 0. Elsewhere it is an approximation, at
its worst where both queues are as busy. Where both laws are exponential an exact solution exists:
`parcast.queueing.two_queues`.

The equation for R2 has one root, as its two sides differ by a falling function. Newton's steps
find it, kept between bounds and replaced by bisection where they do not close in. With -V and -W
the derivatives of F and G by their delay, i = 1 - V, j = 1 - W, and D = 1 - V W = i + j - i j,
the implicit function theorem gives [D]_::

    dR1/dz = -V j/D     dR1/dx = F'/D       dR1/dy = -V G'/D      F' = dF/dx, G' = dG/dy
    dR2/dz = -W i/D     dR2/dx = -W F'/D    dR2/dy = G'/D
    dC/dz  = i j/D      dC/dx  = F' j/D     dC/dy  = G' i/D

None of it subtracts. Where both queues are nearly always busy, D is next to nothing: rounding
moves response from one queue to the other, and derivatives of either are very large. Their sum is
determined all the same; derivatives of throughput need i/j alone, found from logarithms.

References
----------
.. [D] parcast's own.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.queueing.arguments import mean_time, require_time, whole
from parcast.queueing.general_service import GeneralState, general_state
from parcast.queueing.service_laws import ServiceLaw

AGREED = 1e-13  # relative, between responses of two queues
ROUNDING = float(np.finfo(np.float64).eps)
LEAST = 1e-100  # stands for D = 0
MOST_STEPS = 200
COUNT = "Count those that circulate."


@dataclass(frozen=True, kw_only=True, slots=True)
class GeneralQueue:
    """Equilibrium of one queue of a closed network, as its customers find it.

    Arrays of the shape of the arguments of `one_general_queue` broadcast together.
    """

    throughput: Array  # [1/s]
    response: Array  # waiting and service [s]
    utilisation: Array  # fraction of time the queue is busy [1]
    length: Array  # mean customers at the queue [1]
    throughput_by_delay: Array  # derivative of throughput by the delay [1/s^2]
    throughput_by_service: Array  # by the service [1/s^2]
    response_by_delay: Array  # at most 0 [1]
    response_by_service: Array  # [1]
    utilisation_by_delay: Array  # [1/s]
    utilisation_by_service: Array  # [1/s]
    length_by_delay: Array  # [1/s]
    length_by_service: Array  # [1/s]


def one_general_queue(
    customers: ArrayLike, *, delay: ArrayLike, service: ArrayLike, law: ServiceLaw
) -> GeneralQueue:
    """Equilibrium of one delay and one queue with service times of any law, exactly.

    Whole `customers`, at least 1, with the means of the exponential `delay` and of the `service`
    [s]. Derivatives by a delay or a service of 0 are the limits from above.

    >>> from parcast.queueing.service_laws import deterministic_service, exponential_service
    >>> one_general_queue(4, delay=1.0, service=0.5, law=exponential_service()).response
    array(1.21052632)
    >>> equal = one_general_queue(4, delay=1.0, service=0.5, law=deterministic_service())
    >>> equal.response, equal.response_by_delay, equal.response_by_service
    (array(1.0983167), array(-0.6061143), array(3.408862))
    """
    n, z, b, cv = np.broadcast_arrays(
        whole("customers", customers, 1, hint=COUNT),
        mean_time("delay", delay),
        mean_time("service", service),
        law.cv,
    )
    require_time("service", b, z + b, must="be above 0 where delay is 0")
    now = general_state(n, z, b, law, cv)
    cycle = z + now.response
    throughput = n / cycle
    idle = np.exp(now.log_idle)
    by_delay, by_service = -throughput * idle / cycle, -throughput * now.by_service / cycle
    return GeneralQueue(
        throughput=np.asarray(throughput),
        response=now.response,
        utilisation=utilisation(throughput, b),
        length=length(throughput, now.response, n),
        throughput_by_delay=np.asarray(by_delay),
        throughput_by_service=np.asarray(by_service),
        response_by_delay=np.asarray(-now.relief),
        response_by_service=now.by_service,
        utilisation_by_delay=np.asarray(b * by_delay),
        utilisation_by_service=np.asarray(throughput * (z * idle) / cycle),
        length_by_delay=np.asarray(-throughput * (now.response + z * now.relief) / cycle),
        length_by_service=np.asarray(-z * by_service),
    )


def utilisation(throughput: Array, service: Array) -> Array:
    """Fraction of time a queue is busy; rounding must not make it too busy."""
    return np.asarray(np.minimum(throughput * service, 1.0))


def length(throughput: Array, response: Array, customers: Array) -> Array:
    """Mean customers at a queue; rounding must not make them more than there are."""
    return np.asarray(np.minimum(throughput * response, customers))


@dataclass(frozen=True, kw_only=True, slots=True)
class OneOfTwoQueues:
    """Equilibrium of one of two queues of a closed network.

    Arrays of the shape of the arguments of `two_general_queues` broadcast together. Derivatives
    are by the delay and by the service of the first and of the second queue.
    """

    throughput: Array  # the same at both queues [1/s]
    response: Array  # waiting and service [s]
    utilisation: Array  # fraction of time the queue is busy [1]
    length: Array  # mean customers at the queue [1]
    throughput_by_delay: Array  # [1/s^2]
    throughput_by_first: Array  # [1/s^2]
    throughput_by_second: Array  # [1/s^2]
    response_by_delay: Array  # [1]
    response_by_first: Array  # [1]
    response_by_second: Array  # [1]


def two_general_queues(
    customers: ArrayLike,
    *,
    delay: ArrayLike,
    services: tuple[ArrayLike, ArrayLike],
    laws: tuple[ServiceLaw, ServiceLaw],
) -> tuple[OneOfTwoQueues, OneOfTwoQueues]:
    """Equilibrium of one delay and two queues with service times of any laws, nearly.

    Whole `customers`, at least 1, with the mean `delay` between leaving the second queue and
    joining the first, and the mean `services` of both [s], of the `laws`. Not all times may be 0;
    derivatives by a time of 0 are the limits from above.

    >>> from parcast.queueing.service_laws import deterministic_service, exponential_service
    >>> laws = exponential_service(), deterministic_service()
    >>> bus, disk = two_general_queues(4, delay=2.0, services=(0.5, 1.0), laws=laws)
    >>> bus.response, disk.response
    (array(0.70957744), array(1.85622161))
    >>> bus.throughput_by_second
    array(-0.52959055)
    """
    arguments = np.broadcast_arrays(
        whole("customers", customers, 1, hint=COUNT),
        mean_time("delay", delay),
        *(mean_time("services", service) for service in services),
        *(law.cv for law in laws),
    )
    n, z, x, y = arguments[:4]
    require_time("services", y, z + x + y, must="not all be 0 where delay is 0")
    first, second = _agreement(np.stack([part.ravel() for part in arguments]), laws)
    shape = n.shape
    return _queues(
        (n, z, x, y),
        GeneralState(*(part.reshape(shape) for part in first)),
        GeneralState(*(part.reshape(shape) for part in second)),
    )


def _queues(
    arguments: tuple[Array, Array, Array, Array], first: GeneralState, second: GeneralState
) -> tuple[OneOfTwoQueues, OneOfTwoQueues]:
    """What follows from responses that agree, and how they follow the times."""
    n, z, x, y = arguments
    cycle = z + first.response + second.response
    throughput = n / cycle
    gap = _gap(first, second)
    first_share, second_share = _share(first, second), _share(second, first)  # i/D and j/D
    per_cycle = -throughput / cycle
    slopes = {
        "throughput_by_delay": np.asarray(per_cycle * np.exp(first.log_idle) * second_share),
        "throughput_by_first": np.asarray(per_cycle * first.by_service * second_share),
        "throughput_by_second": np.asarray(per_cycle * second.by_service * first_share),
    }
    return (
        OneOfTwoQueues(
            throughput=np.asarray(throughput),
            response=first.response,
            utilisation=utilisation(throughput, x),
            length=length(throughput, first.response, n),
            response_by_delay=np.asarray(-first.relief * second_share),
            response_by_first=np.asarray(first.by_service / gap),
            response_by_second=np.asarray(-first.relief * second.by_service / gap),
            **slopes,
        ),
        OneOfTwoQueues(
            throughput=np.asarray(throughput),
            response=second.response,
            utilisation=utilisation(throughput, y),
            length=length(throughput, second.response, n),
            response_by_delay=np.asarray(-second.relief * first_share),
            response_by_first=np.asarray(-second.relief * first.by_service / gap),
            response_by_second=np.asarray(second.by_service / gap),
            **slopes,
        ),
    )


def _gap(first: GeneralState, second: GeneralState) -> Array:
    """D = 1 - V W."""
    gap = np.exp(first.log_idle) + first.relief * np.exp(second.log_idle)
    return np.asarray(np.maximum(gap, LEAST))


def _share(one: GeneralState, other: GeneralState) -> Array:
    """Of the idleness `i` of one queue and that of the other, `j`: i/D = 1/(j/i + W)."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (np.exp(other.log_idle - one.log_idle) + other.relief))


def _agreement(
    points: Array, laws: tuple[ServiceLaw, ServiceLaw]
) -> tuple[GeneralState, GeneralState]:
    """Both queues where their responses agree, by Newton's steps for that of the second."""
    n, z, x, y = points[:4]
    answer = np.empty((2, 4, n.size))
    low, high = y.copy(), n * y
    guess, last = _guess(n, z, x, y), np.full(n.shape, np.inf)
    active = np.arange(n.size)
    for _ in range(MOST_STEPS):  # pragma: no branch - steps or bounds are halved: it ends early
        if not active.size:
            break
        n, z, x, y, cv_x, cv_y = points[:, active]
        at = guess[active]
        first = general_state(n, z + at, x, laws[0], cv_x)
        second = general_state(n, z + first.response, y, laws[1], cv_y)
        answer[0][:, active], answer[1][:, active] = first, second
        excess = second.response - at
        low[active] = np.where(excess >= 0, at, low[active])
        high[active] = np.where(excess <= 0, at, high[active])
        below, above = low[active], high[active]
        goal = np.clip(at + excess / _gap(first, second), below, above)
        found = (
            (np.abs(goal - at) <= AGREED * goal)
            | (above - below <= AGREED * above)
            | (np.abs(excess) <= ROUNDING * n * y)
        )
        slow = np.abs(goal - at) > 0.5 * last[active]
        goal = np.where(slow, 0.5 * (below + above), goal)
        guess[active], last[active] = goal, np.abs(goal - at)
        active = active[~found]
    return GeneralState(*answer[0]), GeneralState(*answer[1])


def _guess(n: Array, z: Array, x: Array, y: Array) -> Array:
    """The second response if its queue were an open one, at the most throughput there can be."""
    busy = n * y / np.maximum(z + x + y, n * np.maximum(x, y))
    return np.asarray(np.clip(y / (1.0 - np.minimum(busy, 1.0 - 1.0 / n)), y, n * y))
