"""Time until each of K jobs that share one queue has done its cycles, as many as all or at random.

K jobs start together. With a **fixed number**, each does n cycles, a delay of mean z and
coefficient of variation c, then a visit to the one queue (in order of arrival, mean service x,
coefficient of variation s), and leaves. T is the mean time at which the last has left.
`parcast.queueing.fork_join` answers the same for a geometric number of cycles; for a fixed one it
is several times too high.

No exact solution is known. The formula here is parcast's own [D]_. Two things hold a job up, the
queue as long as all jobs are there, and the last cycle, in which either the queue still has to
serve everybody or a straggler has yet to come::

    T = (n-1) C + H(a, b) + L                n-1 cycles at the pace C, the last one, a start
    (H - a)(H - b) = h                       the larger root
    a = K x + z exp(-c sqrt(ln K))           the first comes, then the queue is busy
    b = z + x + z [E(1) + (E(n) - E(1)) / (1 + t (C/z-1)/2)^2]                the straggler

with C the cycle time of `parcast.queueing.repairman`; E(n) the excess of the largest of K sums
of n delays over their mean n, by `largest_sum`; and::

    t = (n-1) / sqrt((n-1)^2 + (E(n)-E(1))^2)
    h = (1-1/K) x z [0.77 c + 0.09 K E(n) (1-1/n) (z/C)^2]     where both hold jobs up at once
    L = 0.36 s x sqrt((n-1)(K-1)) (z/C)^2                      jobs that start as one bunch

Why: delays longer than others' put a job as far behind as they last, however slow the queue; but
the straggler finds the queue shorter, as others have left, and catches up, all but in its last
cycle. t keeps T from falling as x rises. The three decimal constants and that of the pace were
fitted to 950 simulated configurations.

Exact for one job, n (z+x); no service, z (n + E(n)); no delay, n K x; and times that do not vary
at all, z + K x + (n-1) max(z+x, K x). Elsewhere, against 700 simulated configurations not used in
the fit (K = 4..256, n = 1..50, c = 0..1, K x/z = 0..4, s = 0, 1/2, 1), the mean error is 0.7%,
one in twenty is above 2.2% and the worst is 4.5%. At K up to 3000, n up to 400, c up to 2.5 and
K x/z up to 50 the worst of 120 was 6.6%, for 3 jobs of c = 2.4. For s = 1.5, 2 and 3, of 250
others, the mean was 0.9, 1.7 and 2.5%, the worst 4.8, 9.2 and 9.6%. T rises with K, n, z and x
but for dips by some 1e-5 of it near saturation, found only for c above 1.

Of a delay, a part may be steady; then z and c are those of the whole, and the sums in E are of
the part that varies. A start from equilibrium, a queue in another order and delays that are
correlated are not covered.

With a **geometric number**, each does at least one such cycle, and after each it leaves with
probability 1/n. `parcast.queueing.fork_join` solves the same as n S, S = sum over i = 1..K of
1/X(i) [S]: it takes the time of all cycles of a job together as exponential. With few cycles that
is far too long, as everybody does at least one. The formula here is parcast's own [D]_::

    T = F(1) + (n-1) S r^(z/C)                  the first cycle of all; the others, n-1 on average
    S = sum over i = 1..K of C(i)/i             C(i) the cycle time of i jobs, by `pace`; C = C(K)
    r = [1 + m ((H-1)/t - E(1))] / H            H = 1 + 1/2 + ... + 1/K

F(1) is the time of one cycle (`fixed_cycles`), E(1) the excess of the largest of K delays over
their mean. r is how much earlier than exponential sums the last of K sums of delays ends without a
queue: sums of a geometric number of gamma times have an exponential tail of rate t/z,
t = (1 - q^(c^2))/c^2 with q = 1 - 1/n, -ln q for c = 0, by the pole of their transform; m is
1/(n-1). Below n = 2, where the tail sets in late, both are those of n = 2. The queue makes sums
equal again, so that r counts for the part z/C of a cycle.

Exact for one job, and without delay, n K x. For c = 1 without a queue it is n z H. Against 800
simulated configurations (K = 4..256, n = 1..50, c = 0..1, K x/z = 0..4, s = 0, 1/2, 1) the mean
error is 0.8%, one in twenty is above 3% and the worst is 9.6%, for n = 2 and a queue that is
always busy; (16) is off by 14, 60 and 470%. For s from 1.5 to 3 it is 1.4, 5.9 and 15.6%. No
constant was fitted to them.

References
----------
.. [D] parcast's own formulas and comparisons, repeated by benchmarks/fixed_cycles.py and
   benchmarks/varied_times.py.
.. [S] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, equation (16).
"""

from dataclasses import dataclass
from typing import NamedTuple, NotRequired, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.arguments import at_least, mean_time, variation, whole
from parcast.queueing.dual_numbers import dual, larger_root, power, product, ratio
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.order import largest_sum_excess
from parcast.queueing.repairman import burst_times, pace
from parcast.queueing.time_laws import WIDEST, harmonic

TOGETHER = 0.77  # variance of one cycle's end
OVERLAP = 0.09  # of the queue and the spread of many cycles
BUNCH = 0.36  # of jobs that start at once
MOST_SERVICE_CV = 3.0  # compared with simulation
TOGETHER_FROM_1 = "Count the jobs that start together."
FEWEST = 2.0  # cycles from which on the tail is what counts
EACH = 32  # terms of S that are added one by one; of the rest, one in each block
BLOCKS = 32
POINTS = 2048  # solved at once, so that memory is bounded
SMALL = 1e-8  # c^2 that stands for 0


class BurstTimes(TypedDict):
    """Times of one cycle, arrays that broadcast together."""

    delay: ArrayLike  # mean of the part that varies of the time before a visit to the queue [s]
    service: ArrayLike  # mean at the queue, x [s]
    delay_cv: ArrayLike  # standard deviation over mean of `delay`, in [0, 20] [1]
    service_cv: NotRequired[ArrayLike]  # of a service, s, in [0, 3]; else 1 [1]
    steady: NotRequired[ArrayLike]  # what every delay takes besides, without variation; else 0 [s]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FixedCycles:
    """Time until the last job has left, with its derivatives; arrays of one shape."""

    value: Array  # [s]
    by_delay: Array  # [1]
    by_steady: Array  # [1]
    by_service: Array  # [1]
    by_delay_cv: Array  # [s]

    @classmethod
    def of(cls, rows: Array) -> "FixedCycles":
        """The fields, in their order, from an array (5, ...)."""
        return cls(**dict(zip(cls.__dataclass_fields__, map(np.asarray, rows), strict=True)))


def fixed_cycles_time(
    jobs: ArrayLike, *, cycles: ArrayLike, **times: Unpack[BurstTimes]
) -> FixedCycles:
    """Mean time until all of `jobs` have done `cycles` cycles of a delay and a queue, nearly. [s].

    `jobs` (K) and `cycles` (n), at least 1 and not necessarily whole, broadcast with the times. A
    derivative at a kink, which there is only where nothing varies, is the mean of both sides.

    >>> end = fixed_cycles_time([1, 8, 64], cycles=5, delay=1.0, service=0.02, delay_cv=0.3)
    >>> end.value
    array([5.1       , 6.14323747, 7.87958996])
    >>> fixed_cycles_time(8, cycles=5, delay=1.0, service=0.2, delay_cv=0, service_cv=0).value
    array(9.)
    """
    k = at_least("jobs", jobs, 1, hint=TOGETHER_FROM_1)
    arguments = cycle_arguments(k, cycles, **times)
    k, n, z, f, x, c, s = (v.ravel() for v in arguments)
    nothing = (z + f == 0) & (x == 0)  # slopes there are those of a queue that is never busy
    time = _time((k, n, np.where(nothing, 1.0, z), f, x, c, s))
    time[::4, nothing] = 0.0
    return FixedCycles.of(time.reshape(5, *arguments[0].shape))


def cycle_arguments(
    jobs: Array,
    cycles: ArrayLike,
    *,
    delay: ArrayLike,
    service: ArrayLike,
    delay_cv: ArrayLike,
    service_cv: ArrayLike = 1.0,
    steady: ArrayLike = 0.0,
) -> tuple[Array, ...]:
    """Jobs, cycles, delay, steady, service, delay_cv and service_cv broadcast together."""
    return np.broadcast_arrays(
        jobs,
        at_least("cycles", cycles, 1, hint="Count the visits of a job to the queue."),
        mean_time("delay", delay),
        mean_time("steady", steady),
        mean_time("service", service),
        variation("delay_cv", delay_cv, WIDEST),
        variation("service_cv", service_cv, MOST_SERVICE_CV),
    )


# Below, a quantity is an array (5, points): its value, and its derivatives by the part of the
# delay that varies, the part that does not, the service, and the coefficient of variation.


def _time(points: tuple[Array, ...]) -> Array:
    """T and its derivatives, for arrays of one dimension; not all times are 0."""
    k, n, z, f, x, c, s = points
    zero, one = np.zeros_like(z), np.ones_like(z)
    share, delay, service, cv = burst_times(z, f, x, c)
    excess = largest_sum_excess(k, np.stack([n, one]), c)
    spread, spread_once = (
        product(share, np.stack([value, zero, zero, zero, by_cv]))
        for value, by_cv in zip(*excess, strict=True)
    )
    root = np.sqrt(np.log(k))
    first = -root * np.exp(-cv[0] * root) * cv
    first[0] = np.exp(-cv[0] * root)
    return last_end(
        LastCycle(
            k=k,
            together=k,
            n=n,
            s=s,
            delay=delay,
            service=service,
            cv=cv,
            spread=spread,
            spread_once=spread_once,
            cycle=pace(k, delay, service, cv, s),
            served=k * service + product(delay, first),
        )
    )


class LastCycle(NamedTuple):
    """What the end of the last job follows from; the first four (points,), others (5, points)."""

    k: Array  # jobs in the last cycle [1]
    together: Array  # jobs that start together [1]
    n: Array  # cycles [1]
    s: Array  # cv of a service [1]
    delay: Array  # z + f, of the job that is last [s]
    service: Array  # x [s]
    cv: Array  # of the delay [1]
    spread: Array  # E(n), over the delay [1]
    spread_once: Array  # E(1) [1]
    cycle: Array  # C [s]
    served: Array  # a [s]


def last_end(of: LastCycle) -> Array:
    """T of the formula, and its derivatives."""
    k, n, delay, service = of.k, of.n, of.delay, of.service
    more = of.spread - of.spread_once
    more[0] = np.maximum(more[0], 0.0)  # rounding
    alone = ratio(delay, of.cycle)
    bunch = product(product(alone, alone), service)
    catching_up = product(more, _caught_up(n, more, delay, of.cycle))
    last = larger_root(
        of.served,
        delay + service + product(delay, of.spread_once + catching_up),
        (1.0 - 1.0 / k) * TOGETHER * product(product(delay, service), of.cv)
        + (k - 1.0) * OVERLAP * (1.0 - 1.0 / n) * product(product(bunch, of.spread), delay),
    )
    start = BUNCH * of.s * np.sqrt((n - 1.0) * (of.together - 1.0)) * bunch
    return np.asarray((n - 1.0) * of.cycle + last + start)


def _caught_up(n: Array, more: Array, delay: Array, cycle: Array) -> Array:
    """1 / (1 + t (C/z-1)/2)^2, the part of its delays that a straggler does not catch up."""
    length = np.hypot(n - 1.0, more[0])
    length = np.where(length > 0, length, 1.0)
    t = -(n - 1.0) * more[0] / length**3 * more
    t[0] = (n - 1.0) / length
    slower = 2.0 * delay + product(t, cycle - delay)
    slower[0] = np.where(slower[0] > 0, slower[0], 1.0)  # without delay nobody is late
    part = ratio(2.0 * delay, slower)
    return product(part, part)


def geometric_cycles_time(
    jobs: ArrayLike, *, cycles: ArrayLike, **times: Unpack[BurstTimes]
) -> FixedCycles:
    """Mean time until all of `jobs` have done a geometric number of cycles, nearly. [s].

    `jobs` (K) are whole; `cycles` (n), at least 1, is the mean number of cycles of a job.

    >>> from parcast.queueing.fixed_cycles import fixed_cycles_time
    >>> burst = {"delay": 1.0, "service": 0.02, "delay_cv": 0.3}
    >>> geometric_cycles_time(64, cycles=[1, 2, 20], **burst).value.round(3)
    array([ 1.912,  7.609, 96.364])
    >>> fixed_cycles_time(64, cycles=[1, 2, 20], **burst).value.round(3)
    array([ 1.912,  3.526, 28.512])
    """
    k = whole("jobs", jobs, 1, hint=TOGETHER_FROM_1)
    arguments = cycle_arguments(k, cycles, **times)
    k, _, z, f, x, c, s = arguments
    once = fixed_cycles_time(k, cycles=1.0, delay=z, steady=f, service=x, delay_cv=c, service_cv=s)
    columns = [part.ravel() for part in arguments]
    more = np.zeros((5, k.size))
    for start in range(0, k.size, POINTS):
        block = slice(start, start + POINTS)
        more[:, block] = _further(tuple(part[block] for part in columns))
    first = np.stack([getattr(once, name) for name in FixedCycles.__dataclass_fields__])
    return FixedCycles.of(first + more.reshape(first.shape))


def _further(points: tuple[Array, ...]) -> Array:
    """All cycles but the first, (n-1) S r^(z/C), a dual number (5, points) by z, f, x and c."""
    k, n, z, f, x, c, s = points
    nothing = z + f + x == 0
    share, delay, service, cv = burst_times(np.where(nothing, 1.0, z), f, x, c)
    excess = largest_sum_excess(k, np.ones((1, k.size)), c)
    zero = np.zeros_like(z)
    longest = product(share, np.stack([excess.value[0], zero, zero, zero, excess.by_cv[0]]))
    slowest = harmonic(k)
    beyond = ratio(dual(slowest - 1.0), _tail(np.maximum(1.0 - 1.0 / n, 1.0 / FEWEST), cv))
    weight = 1.0 / np.maximum(n - 1.0, FEWEST - 1.0)
    earlier = (dual(np.ones_like(z)) + weight * (beyond - longest)) / slowest
    earlier[:, earlier[0] * slowest < 1.0] = 0.0  # a job takes n cycles on average at least
    earlier[0] = np.maximum(earlier[0], 1.0 / slowest)
    all_there = pace(k, delay, service, cv, s)
    alone = ratio(delay, all_there)
    answer = (n - 1.0) * product(_departures(k, delay, service, cv, s), power(earlier, alone))
    answer[::4, nothing] = 0.0
    return np.asarray(answer)


def _tail(q: Array, cv: Array) -> Array:
    """Rate t at which sums of a geometric number of times of mean 1 and that cv thin out."""
    square = product(cv, cv)
    whole_square = np.maximum(square[0], SMALL)
    left = np.exp(whole_square * np.log(q))
    slope = (-np.log(q) * left - (1.0 - left) / whole_square) / whole_square
    tail = np.where(square[0] > SMALL, slope, 0.0) * square
    tail[0] = -np.expm1(whole_square * np.log(q)) / whole_square
    return np.asarray(tail)


def _departures(k: Array, delay: Array, service: Array, cv: Array, s: Array) -> Array:
    """S: that of exponential services, and what other services change in C(i)/i.

    C(i) is smooth in i. Beyond the first terms it is taken at the middle of blocks that grow with
    i, which is right to 1e-4 of what is added.
    """
    departures = departure_sum(k, delay=delay[0], service=service[0])
    total = departures.by_delay * delay + departures.by_service * service
    total[0] = departures.value
    if np.all(s == 1.0):
        return np.asarray(total)
    low, high = (np.broadcast_to(part, (EACH + BLOCKS, k.size)) for part in _blocks(k))
    weight = special.digamma(high + 1.0) - special.digamma(low + 1.0)
    middle = np.where(high - low > 1, 0.5 * (low + 1.0 + high), np.maximum(high, 1.0))
    shape = (5, *middle.shape)
    delay, service, cv = (np.broadcast_to(v[:, None], shape) for v in (delay, service, cv))
    of_s = pace(middle, delay, service, cv, np.broadcast_to(s, middle.shape))
    exponential = pace(middle, delay, service, cv, np.ones_like(middle))
    return np.asarray(total + ((of_s - exponential) * weight).sum(axis=1))


def _blocks(k: Array) -> tuple[Array, Array]:
    """Ends of the blocks of i = 1..k, (blocks, points): one term each at first, then growing."""
    each = np.arange(EACH + 1.0)[:, None]
    growth = np.arange(1.0, BLOCKS + 1.0)[:, None] / BLOCKS
    last = np.maximum(k, EACH)
    ends = np.concatenate([np.minimum(each, k), np.floor(EACH * (last / EACH) ** growth)])
    ends[EACH + 1 :] = np.where(k > EACH, ends[EACH + 1 :], k)
    ends[-1] = k
    return ends[:-1], ends[1:]
