"""A delay and two queues whose times vary as they like, for jobs that circulate and never join.

K jobs repeat a cycle: n times a delay of mean z and coefficient of variation c and a visit to a
queue that all share (mean service x), then one visit to a second queue (mean service y), which k
of them share: all K, or those of one cluster with a queue of its own.

With exponential services the law of the delay does not matter, and `two_queues` and `clusters`
are exact. Otherwise no exact solution is known. Each queue is taken as one queue whose delay is
everything else a job does, with the exact response time R of `general_service` for exponential
delays, corrected for delays that vary less, as in `pace` [D]_::

    (C - Z - b)(C - N b) = g(c)/g(1) (R - b)(Z + R - N b)      the larger root; response C - Z

of N jobs, delay Z, service b. The delay before a visit varies as its parts do: with W the variance
of a response, b^2 s^2 + (R - b)^2 (service, and a wait like an exponential time)::

    first queue    Z = z + R2/n      variance z^2 c^2 + W2/n + R2^2 (1/n)(1 - 1/n)
    second queue   Z = n (z + R1)    variance n z^2 c^2 + n W1 [+ n (n-1)(z + R1)^2]

The bracket is for a geometric number of visits. The two responses that agree are found by Newton's
steps. The time of a cycle is that of the exact solution for exponential services, times the ratio
of what this approximation gives for the services asked and for exponential ones: it is exact where
they are exponential, and for one job [D].

Against 300 simulated networks (K = 2..120, n = 1..20, c = 0..1, services of cv 0, 1/2, 1 and 2,
each queue asked for 0.1 to 2.4 times what it can serve) the mean error is 0.6 %, one in twenty is
above 2.1 %, the worst is 7.2 %; the exact solution for exponential services is off by 3.2, 9.5 and
20.9 %. Worst: two jobs that always come in step.

References
----------
.. [D] parcast's own formula and comparison, repeated by benchmarks/varied_times.py.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time, require_time, whole
from parcast.queueing.dual_numbers import dual, larger_root, product, ratio, root
from parcast.queueing.general_service import general_state
from parcast.queueing.pace import mixing
from parcast.queueing.repairman import repairman_equilibrium
from parcast.queueing.service_laws import ServiceLaw

SEEDS = 5  # derivatives by the varying and the steady delay, both services, second response
AGREED = 1e-11  # relative, between two guesses of the second response
ROUNDING = 1e-15  # of the longest response
MOST_STEPS = 200
ALWAYS_BUSY = 1e-7  # of a step's slope: both queues are always busy below it
seeded = partial(dual, of=SEEDS)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class VariedQueues:
    """Times of one cycle, with derivatives of their sum; arrays of one shape."""

    time: Array  # of a cycle [s]
    response_first: Array  # of all visits of a cycle to the first queue [s]
    response_second: Array  # [s]
    by_delay: Array  # derivative of `time` by the part of the delay that varies [1]
    by_steady: Array  # by the part that does not [1]
    by_first: Array  # by the service of one visit to the first queue [1]
    by_second: Array  # by the service at the second [1]


def two_varied_queues(
    customers: ArrayLike,
    sharing: ArrayLike,
    *,
    visits: ArrayLike,
    delay: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    delay_cv: ArrayLike,
    laws: tuple[ServiceLaw, ServiceLaw],
    steady: ArrayLike = 0.0,
    geometric: bool = False,
) -> VariedQueues:
    """Mean cycle of jobs with a delay and two queues of any variation, nearly.

    Arguments broadcast together. `customers` (K) share the first queue, `sharing` (k) of them the
    second, both whole; a cycle has `visits` (n) to the first, at least 1, not necessarily whole,
    or with `geometric` a geometric number of that mean. The time before each visit has a part that
    varies, of mean `delay` and `delay_cv`, and a `steady` one [s]; `first` and `second` are the
    mean services of one visit [s], of the `laws`. Not all times may be 0. This is the
    approximation alone, not its ratio to the one for exponential services.
    """
    hint = "Count the jobs from 1."
    big, small, n, z, f, x, y, c, cv_x, cv_y = np.broadcast_arrays(
        whole("customers", customers, 1, hint=hint),
        whole("sharing", sharing, 1, hint=hint),
        at_least("visits", visits, 1, hint="Count the visits to the first queue."),
        mean_time("delay", delay),
        mean_time("steady", steady),
        mean_time("first", first),
        mean_time("second", second),
        at_least("delay_cv", delay_cv, 0, hint="Give standard deviation over mean."),
        *(law.cv for law in laws),
    )
    require("sharing", small, small <= big, must="be at most customers", hint=hint)
    total = z + f + x + y
    require_time("delay + first + second", total, total)
    points = np.stack([part.ravel() for part in (big, small, n, z, f, x, y, c, cv_x, cv_y)])
    at_first, at_second = (
        part.reshape(1 + SEEDS, *n.shape) for part in _agreement(points, laws, geometric)
    )
    whole_cycle = n * at_first
    whole_cycle[0] += n * (z + f)
    whole_cycle[1:3] += n
    # The second response, as the other times move it, moves the first one too.
    slope = 1.0 - at_second[SEEDS]
    busy = slope < ALWAYS_BUSY
    follows = at_second[1:SEEDS] / np.where(busy, 1.0, slope)
    slopes = whole_cycle[1:SEEDS] + (1.0 + whole_cycle[SEEDS]) * follows
    time = whole_cycle[0] + at_second[0]
    # Two queues that never rest: the one that is asked for more sets the pace.
    slower = n * big * x >= small * y
    limit = np.stack([np.zeros_like(z), np.zeros_like(z), n * big * slower, small * ~slower])
    slopes = np.where(busy, limit, slopes)
    return VariedQueues(
        time=time,
        response_first=n * at_first[0],
        response_second=at_second[0],
        by_delay=slopes[0],
        by_steady=slopes[1],
        by_first=slopes[2],
        by_second=slopes[3],
    )


def _agreement(
    points: Array, laws: tuple[ServiceLaw, ServiceLaw], geometric: bool
) -> tuple[Array, Array]:
    """Responses of one visit to either queue, dual numbers (6, points), where they agree."""
    answer = np.zeros((2, 1 + SEEDS, points.shape[1]))
    low, high = points[6].copy(), points[1] * points[6]
    guess, last = _guess(points), np.full(low.shape, np.inf)
    active = np.arange(guess.size)
    for _ in range(MOST_STEPS):  # pragma: no branch - steps or bounds are halved: it ends early
        if not active.size:
            break
        at = guess[active]
        answer[:, :, active] = both = _responses(points[:, active], at, laws, geometric)
        excess, slope = both[1, 0] - at, 1.0 - both[1, SEEDS]
        low[active] = np.where(excess >= 0, at, low[active])
        high[active] = np.where(excess <= 0, at, high[active])
        below, above = low[active], high[active]
        step = np.divide(excess, slope, out=np.full_like(at, np.inf), where=slope > 0)
        goal = np.clip(at + step, below, above)
        agreed = (
            (np.abs(goal - at) <= AGREED * goal)
            | (above - below <= AGREED * above)
            | (np.abs(excess) <= ROUNDING * points[1, active] * points[6, active])
        )
        slow = np.abs(goal - at) > 0.5 * last[active]
        goal = np.where(slow, 0.5 * (below + above), goal)
        guess[active] = np.where(agreed, at, goal)
        last[active] = np.abs(goal - at)
        active = active[~agreed]
    return answer[0], answer[1]


def _guess(points: Array) -> Array:
    """The second response if its queue were an open one, at the most throughput there can be."""
    big, small, n, z, f, x, y = points[:7]
    away = n * (z + f + x)
    busy = small * y / np.maximum(away + y, np.maximum(n * big * x, small * y))
    return np.asarray(np.clip(y / (1.0 - np.minimum(busy, 1.0 - 1.0 / small)), y, small * y))


def _responses(
    points: Array, second: Array, laws: tuple[ServiceLaw, ServiceLaw], geometric: bool
) -> Array:
    """Responses of one visit to either queue if the second one's is `second`, (2, 6, points)."""
    big, small, n, z, f, x, y, c, cv_x, cv_y = points
    delay, at_second = seeded(z + f, 0, 1), seeded(second, 4)
    at_x, at_y = seeded(x, 2), seeded(y, 3)
    alone = product(seeded(z, 0), seeded(z, 0)) * c * c
    extra = product(at_second, at_second) * ((n - 1.0) / n**2)
    varies = alone + _variance(at_second, at_y, cv_y) / n + extra
    at_first = _response(big, delay + at_second / n, at_x, varies, (laws[0], cv_x))
    burst = delay + at_first
    varies = n * (alone + _variance(at_first, at_x, cv_x))
    if geometric:
        varies = varies + n * (n - 1.0) * product(burst, burst)
    return np.stack([at_first, _response(small, n * burst, at_y, varies, (laws[1], cv_y))])


def _variance(response: Array, service: Array, s: Array) -> Array:
    """Variance of a response time: of the service, and a wait that varies as its mean."""
    wait = response - service
    return product(service, service) * s * s + product(wait, wait)


def _response(
    n: Array, delay: Array, service: Array, variance: Array, law: tuple[ServiceLaw, Array]
) -> Array:
    """Response time of a queue of `n` jobs whose `delay` has that variance. [s]."""
    family, s = law
    away = np.where((delay[0] <= 0) & (service[0] <= 0), 1.0, delay[0])
    if family.name == "gamma" and np.all(s == 1.0):  # exponential: in closed form
        closed = repairman_equilibrium(n, delay=away, service=service[0]).response
        response, by_delay, by_service = closed
    else:
        now = general_state(n, away, service[0], family, s)
        response, by_delay, by_service = now.response, -now.relief, now.by_service
    random = by_service * service + by_delay * delay
    random[0] = response
    spare = delay + random - n * service
    spare[0] = np.maximum(spare[0], 0.0)  # rounding
    safe = delay.copy()
    safe[0] = np.where(delay[0] > 0, delay[0], 1.0)
    cv = root(ratio(variance, product(safe, safe)))
    share = ratio(mixing(cv, s), mixing(seeded(np.ones_like(cv[0])), s))
    constant = product(share, product(random - service, spare))
    return larger_root(delay + service, n * service, constant) - delay
