"""Makespan of jobs that circulate and never join: from their common start to the end of the last.

K jobs start together. Each does N cycles: n times a delay z + f (the mean z varies, f does not)
and a visit to a queue that all share (mean x), then one visit to a second queue (mean y), one of
d, which k of them share. In the long run a cycle takes C (`two_queues`, `clusters`,
`varied_queues`). A run takes longer than N C: it ends with the last job, and all begin at once. No
exact solution is known; to first order in the spread of the jobs it takes [D]_::

    T = (N-1) C + H(a, b) + hypot(G, P) - G + L        and N C at least
    a = max(Z + W (n-1)/n + (K-1) x, Z + W + (k-1) y) - z (1 - exp(-c sqrt(ln K)))
    b = Z + E(1) + G
    (H - a)(H - b) = 0.15 (E(1) + G) max(K x, k y) (Z/C)^2                    the larger root
    G = (E(N) - E(1)) (Z/C)^(4/3) V
    P = 0.8 y s m(d) sqrt(k N)
    L = 0.3 (Z/C)^2 hypot(r x sqrt((n N - 1)(K-1)) n K x/C, s y sqrt((N-1)(k-1)) k y/C)

Of the last cycle, a is until the queues have served all, b until the job has come whose delays
were the longest. Z = n (z+f+x) + y is a cycle without waiting, and W the waiting at the first
queue, the part (n K x)^2 of (n K x)^2 + (k y)^2 of C - Z; c, r and s are the coefficients of
variation of z, x and y. E(N) is by how much the longest of K sums of N cycles exceeds their mean:
the root of the sum of squares of what delays add, and of what services add, times (Z/C)^10
(`largest_sum_excess`). G is what is left of it behind a busy queue, where others wait as well. P
is of the slowest of d queues, m(d) the mean of the largest of d normal variates; L is of jobs that
start as one bunch. For a geometric number of visits to the first queue, E has the sums of N such
numbers as well, and V = 1 + W / (n (z+f+x)); otherwise V = 1.

Exact for one job and without queues. The four decimal constants and the exponents were fitted to
250 simulated networks.

References
----------
.. [D] parcast's own formula and comparison, repeated by benchmarks/makespan.py.
"""

from dataclasses import dataclass

import numpy as np

from parcast.aliases import Array
from parcast.queueing.dual_numbers import (
    dual,
    hypotenuse,
    larger_root,
    power,
    product,
    ratio,
    root,
)
from parcast.queueing.order import largest_sum_excess

BEHIND = 4.0 / 3.0  # exponent of Z/C: what a busy queue leaves of the lag of a job
OWN_SERVICES = 10.0  # exponent of Z/C: a busy queue serves others as well
OVERLAP = 0.15  # of the queues and of the last job
SLOWEST_QUEUE = 0.8  # part of the services of a queue that delay its jobs
BUNCH = 0.3  # of jobs that start at once
NORMAL = 1e-4  # cv of sums that are as good as normal


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Circulation:
    """A network whose jobs circulate; arrays (points,) or numbers. Nothing is checked."""

    jobs: Array  # K [1]
    sharing: Array  # k, that share a second queue [1]
    queues: Array  # d, second queues with so many [1]
    cycles: Array  # N, at least 1 [1]
    visits: Array  # n [1]
    delay: Array  # z, the part of a delay that varies [s]
    steady: Array  # f, the part that does not [s]
    first: Array  # x, service of a visit to the first queue [s]
    second: Array  # y, service at the second [s]
    delay_cv: Array  # c [1]
    first_cv: float  # r [1]
    second_cv: float  # s [1]
    geometric: bool  # whether the number of visits is


def makespan_excess(of: Circulation, cycle: Array) -> Array:
    """Makespan of N cycles less N C, nearly [s]: a dual number (5, points).

    `cycle` is C, and all derivatives are by `delay`, `steady`, `first` and `second`.
    """
    k, sharing, n, cycles = of.jobs, of.sharing, of.visits, of.cycles
    z, f, x, y = (dual(v, i) for i, v in enumerate((of.delay, of.steady, of.first, of.second)))
    burst = z + f + x
    alone = n * burst + y
    at_first, at_second = n * k * x, sharing * y  # what one cycle of all asks of the queues
    wait = product(_share(at_first, at_second), cycle - alone)
    free = ratio(alone, cycle)
    once, later = _longest(of, (z, burst, x, y), _to_the(OWN_SERVICES, free))
    lag = product(later - once, _to_the(BEHIND, free))
    if of.geometric:
        lag = lag + product(lag, ratio(wait, n * _above_0(burst)))
    first_comes = -np.expm1(-of.delay_cv * np.sqrt(np.log(k)))
    served = alone + _larger(wait * (1.0 - 1.0 / n) + (k - 1.0) * x, wait + (sharing - 1.0) * y)
    both = product(product(once + lag, _larger(k * x, sharing * y)), product(free, free))
    last = larger_root(served - first_comes * z, alone + once + lag, OVERLAP * both)
    slowest = SLOWEST_QUEUE * of.second_cv * np.sqrt(sharing * cycles) * _normal(of.queues) * y
    bunch = hypotenuse(
        of.first_cv * np.sqrt((n * cycles - 1.0) * (k - 1.0)) * product(x, at_first),
        of.second_cv * np.sqrt((cycles - 1.0) * (sharing - 1.0)) * product(y, at_second),
    )
    start = BUNCH * ratio(product(bunch, product(free, free)), cycle)
    excess = last - cycle + hypotenuse(lag, slowest) - lag + start
    return np.where(excess[0] > 0, excess, 0.0)


def _longest(of: Circulation, times: tuple[Array, ...], own: Array) -> tuple[Array, Array]:
    """E(1) and E(N), dual numbers, of `times` z, z+f+x, x and y; `own` services count so much."""
    z, burst, x, y = times
    varies = np.stack([of.jobs, of.visits, of.cycles, of.delay_cv])
    rows, place = np.unique(varies, axis=1, return_inverse=True)
    k, n, cycles, cv = rows
    number = np.stack([np.ones_like(cycles), cycles])

    def excess(sums: Array, spread: Array | float) -> Array:
        found = largest_sum_excess(k, sums, np.broadcast_to(spread, k.shape))
        return np.asarray(found.value[:, place.ravel()])

    parts = [
        (excess(n * number, cv), product(z, z)),
        (excess(n * number, of.first_cv), product(own, product(x, x))),
        (excess(number, of.second_cv), product(own, product(y, y))),
    ]
    if of.geometric:
        visits = excess(number, np.sqrt(1.0 - 1.0 / n))
        parts.append((visits, of.visits**2 * product(burst, burst)))
    once, later = (sum(by[i] ** 2 * square for by, square in parts) for i in (0, 1))
    return root(np.asarray(once)), root(np.asarray(later))


def _share(one: Array, other: Array) -> Array:
    """one^2 / (one^2 + other^2); 0 where both are 0."""
    square = product(one, one)
    return ratio(square, _above_0(square + product(other, other)))


def _above_0(quantity: Array) -> Array:
    """The quantity, or 1 where it is 0."""
    return np.where(quantity[0] > 0, quantity, dual(np.ones_like(quantity[0])))


def _to_the(exponent: float, quantity: Array) -> Array:
    return power(quantity, dual(np.full_like(quantity[0], exponent)))


def _larger(one: Array, other: Array) -> Array:
    return np.where(one[0] >= other[0], one, other)


def _normal(number: Array) -> Array:
    """Mean of the largest of some normal variates, m(d) [1]."""
    d, place = np.unique(number, return_inverse=True)
    largest = (
        largest_sum_excess(d, np.ones((1, d.size)), np.full(d.size, NORMAL)).value[0] / NORMAL
    )
    return np.asarray(largest[place.reshape(number.shape)])
