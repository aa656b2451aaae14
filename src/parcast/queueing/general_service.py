"""Queues whose service times follow any law, in closed networks: one queue, exactly.

N customers, each away for an exponential time of mean z, then served in order of arrival, mean
service b, transform of the service time over its mean beta (the M/G/1//N of the textbooks). The
utilisation U is exact [1]_ [S]::

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

References
----------
.. [1] L. Takacs, Introduction to the Theory of Queues, Oxford University Press, 1962, ch. 5
   (machines repaired by one man).
.. [D] parcast's own.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.service_laws import ServiceLaw

BLOCK = 2**14  # terms held at once, so that they stay in the cache
ROWS = 32  # terms of a point in its first block; twice as many in the next
LOAD_LIMITS = (1e-150, 1e150)  # of b/z: stand for 0 and infinity
LOG_UNSEEN = np.log(1e-18)  # what may be left out beside 1


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
