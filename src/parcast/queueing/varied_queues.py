"""Queues whose times vary as they like, in closed networks: one exactly, two by a fixed point.

**One queue.** N customers, each away for an exponential time of mean z, then served in order of
arrival, mean service b, transform of the service time over its mean beta (the M/G/1//N of the
textbooks). The utilisation U is exact [1]_ [S]::

    U/(1-U) = (N b/z) S
    S = sum over n = 0..N-1 of t(n),   t(n) = C(N-1,n) * product over i = 1..n of O(i b/z)
    O(s) = 1/beta(s) - 1
    R = N b - z (S-1)/S    response time at the queue [D]: N/X - z without its cancellation

With e(s) the slope of ln O by ln s, H(n) = e(b/z) + .. + e(n b/z) that of t(n) by ln(b/z), and
E = sum of t(n) H(n) / S, the derivatives are [D]::

    dR/dz = -V,           1 - V = (1 + E)/S
    dR/db = (R + z V)/b   as R is of degree 1 in z and b

They come out of the same pass over the terms. In light traffic V is next to nothing and is found
as ((S-1)^2 - sum of t(n) (H(n)-1)) / S^2. All terms of S are positive; they are added in
logarithms, in time proportional to N. Relative errors are below 4e-15 N in R and 5e-14 N in each
derivative (against 60 digits, N up to 500, b/z from 1e-6 to 1e6).

Terms that come after the largest are left out when all that are left are below 1e-18 of every sum
[D]: t(n)/t(n-1) = (N-n)/n O(n b/z) first rises, if it does, and then falls, because s/O(s) is
convex; it never rises while below 1.

For exponential service this is `parcast.queueing.repairman`.

**Two queues.** K jobs that never join repeat a cycle: n times a delay of mean z and coefficient of
variation c and a visit to a queue that all share (mean service x), then one visit to a second
queue (mean service y), which k of them share: all K, or those of one cluster with a queue of its
own.

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
each queue asked for 0.1 to 2.4 times what it can serve) the mean error is 0.6%, one in twenty is
above 2.1%, the worst is 7.2%; the exact solution for exponential services is off by 3.2, 9.5 and
20.9%. Worst: two jobs that always come in step.

References
----------
.. [1] L. Takacs, Introduction to the Theory of Queues, Oxford University Press, 1962, ch. 5
   (machines repaired by one man).
.. [D] parcast's own formula and comparison, repeated by benchmarks/varied_times.py.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import at_least, mean_time, require_time, whole
from parcast.queueing.dual_numbers import dual, larger_root, product, ratio, root
from parcast.queueing.repairman import mixing, repairman_equilibrium
from parcast.queueing.time_laws import ServiceLaw

BLOCK = 2**14  # terms held at once, so that they stay in the cache
ROWS = 32  # terms of a point in its first block; twice as many in the next
LOAD_LIMITS = (1e-150, 1e150)  # of b/z: stand for 0 and infinity
LOG_UNSEEN = np.log(1e-18)  # what may be left out beside 1
SEEDS = 5  # derivatives by the varying and the steady delay, both services, second response
AGREED = 1e-11  # relative, between two guesses of the second response
ROUNDING = 1e-15  # of the longest response
MOST_STEPS = 200
ALWAYS_BUSY = 1e-7  # of a step's slope: both queues are always busy below it
seeded = partial(dual, of=SEEDS)


class GeneralState(NamedTuple):
    """What customers find at the queue, and how it follows their times; arrays of one shape."""

    response: Array  # R [s]
    relief: Array  # V = -dR/dz, what one second of delay takes off the response [1]
    log_idle: Array  # ln(1 - V), of what it adds to the cycle [1]
    by_service: Array  # dR/db [1]


def general_state(n: Array, z: Array, b: Array, law: ServiceLaw, cv: Array) -> GeneralState:
    """A queue of service `b` and law `law` for customers away for `z`. No argument is checked.

    Arrays of one shape: `n` customers, `z` and `b` [s], not both 0, and `cv`, which member of the
    law.
    """
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        load = np.where(z > 0, b / z, np.inf)
    load = np.clip(load, *LOAD_LIMITS)
    flat = n.ravel(), load.ravel(), np.broadcast_to(cv, n.shape).ravel()
    log_rest, turns = (part.reshape(n.shape) for part in _rest(*flat, law))
    met, unmet = special.expit(log_rest), special.expit(-log_rest)  # (S-1)/S and 1/S
    relief = np.clip(met * (met - unmet * turns), 0.0, 1.0)
    log_idle = special.log_expit(-log_rest) + np.log1p(met * (1.0 + turns))
    never_away = (load >= LOAD_LIMITS[1]) & (n > 1)
    relief = np.where(never_away, 1.0, np.where(load > LOAD_LIMITS[0], relief, 0.0))
    response = np.clip(n * b - z * met, b, n * b)
    by_service = np.divide(response, b, out=np.ones_like(load), where=b > 0) + relief / load
    return GeneralState(
        response=np.asarray(response),
        relief=np.asarray(relief),
        log_idle=np.asarray(np.where(never_away, -np.inf, log_idle)),
        by_service=np.asarray(by_service),
    )


def _rest(n: Array, load: Array, cv: Array, law: ServiceLaw) -> tuple[Array, Array]:
    """ln(S - 1), all terms of S but the first, and the mean of H(n) - 1 with them as weights."""
    answer = np.empty((2, n.size))
    for start in range(0, n.size, BLOCK // ROWS):
        some = slice(start, start + BLOCK // ROWS)
        answer[:, some] = _rest_of_block(n[some], load[some], cv[some], law)
    return answer[0], answer[1]


def _rest_of_block(n: Array, load: Array, cv: Array, law: ServiceLaw) -> tuple[Array, Array]:
    """The same of so few points that a number of terms of each can be held at once."""
    peak, total, turned = np.full(n.shape, -np.inf), np.zeros(n.shape), np.zeros(n.shape)
    log_term, bends = np.zeros(n.shape), np.zeros(n.shape)  # of the last term; sum of e - 1
    done, rows = 0, ROWS
    active = np.nonzero(n > 1)[0]
    while active.size:
        rows = max(1, min(rows, BLOCK // active.size, int(n[active].max()) - 1 - done))
        i = np.arange(done + 1.0, done + rows + 1.0)[:, None]
        left = n[active] - i
        odds = law.odds(i * load[active], cv[active])
        steps = np.where(left > 0, np.log(np.where(left > 0, left / i, 1.0)) + odds.log, -np.inf)
        terms = log_term[active] + np.cumsum(steps, axis=0)
        bend = bends[active] + np.cumsum(odds.bend, axis=0)
        top = np.maximum(peak[active], terms.max(axis=0))
        weight, before = np.exp(terms - top), np.exp(peak[active] - top)
        total[active] = before * total[active] + weight.sum(axis=0)
        turned[active] = before * turned[active] + (weight * (i - 1.0 + bend)).sum(axis=0)
        peak[active], log_term[active], bends[active] = top, terms[-1], bend[-1]
        done, rows = done + rows, 2 * rows
        log_rest = top + np.log(total[active])
        active = active[~_over(n[active], done, terms[-1], steps[-1], log_rest)]
    with np.errstate(divide="ignore"):
        log_rest = peak + np.log(total)
    return log_rest, np.divide(turned, total, out=np.zeros(n.shape), where=total > 0)


def _over(n: Array, done: int, log_term: Array, step: Array, log_rest: Array) -> NDArray[np.bool_]:
    """Where no term is left, or all that are left no longer count.

    Ratios of terms fall once they are below 1, so that what is left is below a geometric sum.
    H(n) is at most N^2 there, and V at least (S-1)^2/N of S^2 but for a factor.
    """
    falls = np.where(step < 0, step, -1.0)
    log_left = log_term + falls - np.log(-np.expm1(falls)) + 3.0 * np.log(n)
    unseen = log_left < LOG_UNSEEN + log_rest + np.minimum(log_rest, 0.0)
    return np.asarray((n - 1.0 <= done) | ((step < 0) & unseen))


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
