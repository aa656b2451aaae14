"""Time until each of K jobs that share one queue has done a geometric number of cycles.

K jobs start together. Each does at least one cycle, a delay of mean z and coefficient of variation
c, then a visit to the one queue (in order of arrival, mean service x, coefficient of variation s);
after each it leaves with probability 1/n. T is the mean time at which the last has left.

`parcast.queueing.fork_join` solves the same as n S, S = sum over i = 1..K of 1/X(i) [S]: it takes
the time of all cycles of a job together as exponential. With few cycles that is far too long, as
everybody does at least one. The formula here is parcast's own [D]_::

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
error is 0.8 %, one in twenty is above 3 % and the worst is 9.6 %, for n = 2 and a queue that is
always busy; (16) is off by 14, 60 and 470 %. For s from 1.5 to 3 it is 1.4, 5.9 and 15.6 %. No
constant was fitted to them.

References
----------
.. [S] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`, equation (16).
.. [D] parcast's own formula and comparison, repeated by benchmarks/varied_times.py.
"""

from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.arguments import whole
from parcast.queueing.dual_numbers import dual, power, product, ratio
from parcast.queueing.fixed_cycles import (
    TOGETHER_FROM_1,
    BurstTimes,
    FixedCycles,
    cycle_arguments,
    fixed_cycles_time,
)
from parcast.queueing.fork_join import departure_sum
from parcast.queueing.order import largest_sum_excess
from parcast.queueing.pace import burst_times, pace

FEWEST = 2.0  # cycles from which on the tail is what counts
EACH = 32  # terms of S that are added one by one; of the rest, one in each block
BLOCKS = 32
POINTS = 2048  # solved at once, so that memory is bounded
SMALL = 1e-8  # c^2 that stands for 0


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
    harmonic = special.digamma(k + 1.0) + np.euler_gamma
    excess = largest_sum_excess(k, np.ones((1, k.size)), c)
    zero = np.zeros_like(z)
    longest = product(share, np.stack([excess.value[0], zero, zero, zero, excess.by_cv[0]]))
    beyond = ratio(dual(harmonic - 1.0), _tail(np.maximum(1.0 - 1.0 / n, 1.0 / FEWEST), cv))
    weight = 1.0 / np.maximum(n - 1.0, FEWEST - 1.0)
    earlier = (dual(np.ones_like(z)) + weight * (beyond - longest)) / harmonic
    earlier[:, earlier[0] * harmonic < 1.0] = 0.0  # a job takes n cycles on average at least
    earlier[0] = np.maximum(earlier[0], 1.0 / harmonic)
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
