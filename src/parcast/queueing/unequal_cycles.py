"""Time until jobs of two classes that share one queue have done a fixed number of cycles.

K_1 light and K_2 heavy jobs start together. Each does n cycles, a delay and a visit to the one
queue, as in `parcast.queueing.fixed_cycles`; the delay of a heavy job is longer. T is the mean
time at which the last has left.

Without a queue it is the mean of the largest of all sums of delays, exact to 1e-9 [S]_: with M
the largest heavy sum and F the distribution of a sum::

    E[largest] = E[M] + integral over t of F_2(t)^K_2 (1 - F_1(t)^K_1)

With a queue no exact solution is known. The formula is that of one class, for a heavy job that is
last, with the same constants [D]_: E(n) is that of the largest of all sums over the mean of a
heavy one, and::

    C = w C_2 + (1 - w) C_2'         w = C_1/C_2: the light jobs have left after n cycles, C_1 each
    a = max(K_2 x + z_2 e, (K_1 + K_2) x + z_1 e - 0.4 (n-1)(C - C_1))    e = exp(-c sqrt(ln K))

C_1 and C_2 are cycles of either class while all are there, C_2' that of heavy jobs alone. They lie
between those of `parcast.queueing.job_classes`, exact for exponential services, and those of a
queue that never makes anybody wait or never rests, as in `pace`. The queue has served all at a:
since the heavy jobs came, or since the light ones did if they are not that far ahead. T is at
least n C, the mean of a heavy job. 0.4 was fitted to 1406 simulated configurations.

Two equal classes are one, and C, a and T those of `fixed_cycles`. Against 918 simulated
configurations, none of which was used to choose the formula (K = 2..128, K_2 = 1..K/2, n = 1..30,
c = 0..1, z_2/z_1 = 1.1..3, K x/z = 0.1..3, s = 0, 1/2, 1), the mean error is 1.0%, one in twenty
is above 3.6%, the worst is 7.7%.

References
----------
.. [S] H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003, section 5.2.
.. [D] parcast's own formula and comparison, repeated by benchmarks/varied_times.py.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.dual_numbers import dual, larger_root, product
from parcast.queueing.fixed_cycles import LastCycle, last_end
from parcast.queueing.job_classes import ClassMeans, ClassNetworks, class_means
from parcast.queueing.order import deviation_of_maximum, largest_sum_excess
from parcast.queueing.repairman import mixing, pace
from parcast.queueing.time_laws import gamma_times

UNSEEN = 36.0  # -ln of a probability that counts for nothing
AHEAD = 0.4  # of the lead of the light jobs: what the queue gains by it
STEADY = 1e-5  # cv of a sum below which it is taken for this


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TwoClasses:
    """Jobs that start together; arrays (points,), or (2, points) of light and heavy jobs."""

    jobs: Array  # whole, at least 1 heavy one (2, points) [1]
    delay: Array  # mean of the part that varies, the heavy one's longer (2, points) [s]
    steady: Array  # what every delay takes besides [s]
    delay_cv: Array  # of `delay` (2, points) [1]
    service: Array  # x [s]
    service_cv: Array  # s [1]


def one_queue(jobs: Array, delay: Array, service: Array) -> ClassMeans:
    """Cycles of two classes, arrays (2, points), at one queue: exact for exponential services."""
    points = service.size
    return class_means(
        ClassNetworks(
            customers=jobs[None],
            count=np.ones((1, points)),
            delay=delay,
            own=np.zeros(points),
            shared=service,
        )
    )


def two_class_time(of: TwoClasses, cycles: Array) -> Array:
    """Mean time until all have done `cycles`, (points,), cycles, nearly. [s].

    Every job must spend time in its delay. Arguments are not checked.
    """
    n, x, s, total = cycles, of.service, of.service_cv, of.jobs.sum(axis=0)
    z = of.delay + of.steady
    cv = of.delay_cv * of.delay / z
    light, heavy = paces(of)
    light = np.where(of.jobs[0] > 0, np.minimum(light, heavy), heavy)
    alone = pace(of.jobs[1], dual(z[1]), dual(x), dual(cv[1]), s)[0]
    cycle = light + (1.0 - light / heavy) * alone
    root = np.sqrt(np.log(total))
    first = z * np.exp(-cv * root)
    ahead = AHEAD * (n - 1.0) * (cycle - light)
    served = np.maximum(of.jobs[1] * x + first[1], total * x + first[0] - ahead)
    waiting = np.divide(served - first[1], x, out=of.jobs[1].copy(), where=x > 0)
    spread = largest_sum(of, n) - n * of.delay[1]
    once = largest_sum(of, np.ones_like(n)) - of.delay[1]
    last = LastCycle(
        k=np.clip(waiting, of.jobs[1], total),
        together=total,
        n=n,
        s=s,
        delay=dual(z[1]),
        service=dual(x),
        cv=dual(cv[1]),
        spread=dual(spread / z[1]),
        spread_once=dual(once / z[1]),
        cycle=dual(cycle),
        served=dual(served),
    )
    return np.asarray(np.maximum(last_end(last)[0], n * cycle))


def paces(of: TwoClasses) -> Array:
    """Cycles of a light and of a heavy job while all are there, (2, points). [s]."""
    z, x, s = of.delay + of.steady, of.service, of.service_cv
    exponential = one_queue(of.jobs, z, x).cycle[0]
    # A queue that never rests: everybody waits w, with x (K_1/(z_1+w) + K_2/(z_2+w)) = 1.
    half = 0.5 * (x * of.jobs.sum(axis=0) - z.sum(axis=0))
    rest = z[0] * z[1] - x * (of.jobs[0] * z[1] + of.jobs[1] * z[0])
    busy = z + half + np.sqrt(np.maximum(half * half - rest, 0.0))
    random = mixing(dual(of.delay_cv * of.delay / z), s)
    between = np.maximum(exponential - z - x, 0.0) * np.maximum(exponential - busy, 0.0)
    return np.asarray(larger_root(dual(z + x), dual(busy), product(random, dual(between)))[0])


def largest_sum(of: TwoClasses, cycles: Array, power: int = 1) -> Array:
    """Mean of the largest of all sums of `cycles` delays, the steady parts left out. [s].

    With `power` 2 the mean of its square, of one cycle [s^2].
    """
    light, heavy = cycles * of.delay
    many, few = of.jobs
    cv = np.maximum(of.delay_cv / np.sqrt(cycles), STEADY)
    own = heavy + of.delay[1] * largest_sum_excess(few, cycles[None], of.delay_cv[1]).value[0]
    if power == 2:
        own = own**2 + (heavy * deviation_of_maximum(few, gamma_times(of.delay_cv[1]))) ** 2
    low = heavy * (1.0 + cv[1] * gamma_times(cv[1]).deviate(UNSEEN / few, cv[1]))
    last = -np.log1p(-np.exp(-UNSEEN) / np.maximum(many, 1.0))
    high = light * (1.0 + cv[0] * gamma_times(cv[0]).deviate(last, cv[0]))
    late = (low < high) & (many > 0) & (of.delay_cv[0] > 0)  # a light job may be the last
    if late.any():
        rows = (np.maximum(low, 1e-12 * high), high, light, heavy, many, few, *cv)
        own[late] += _beyond(*(row[late] for row in rows), power=power)
    return np.asarray(own)


def _beyond(*rows: Array, power: int) -> Array:
    """Integral over t from `low` to `high` of (1 - F_1^many) F_2^few, or of 2 t times that."""
    low, high, light, heavy, many, few, light_cv, heavy_cv = rows
    nodes, weights = _rule()
    width = np.log(high / low)
    t = low * np.exp(0.5 * (1.0 + nodes[:, None]) * width)
    one, other = light_cv**-2.0, heavy_cv**-2.0
    with np.errstate(divide="ignore"):
        late = few * np.log(special.gammainc(other, other * t / heavy))
        there = many * np.log1p(-special.gammaincc(one, one * t / light))
    beyond = power * t**power * width * np.exp(late) * -np.expm1(there)
    return np.asarray(0.5 * weights @ beyond)


@cache
def _rule() -> tuple[Array, Array]:
    """Nodes and weights of a quadrature, which take as long as loading the rest of the law."""
    return np.polynomial.legendre.leggauss(256)
