"""Time until all of K jobs that circulate between a delay and a queue have left for good.

K jobs start together; each leaves after a random number of cycles, geometric with mean 1. While i
of them are left, they form the network of `parcast.queueing.repairman` with i customers, and one
more leaves at rate X(i), its throughput. The last is gone after::

    S(K) = sum over i = 1..K of 1/X(i) = sum over i = 1..K of (z + R(i)) / i

the sum of equation (16) in [1]_ [S], there multiplied by the mean number of cycles. With no
queueing it is z times the harmonic number of K. It assumes that the network is in equilibrium at
each i: against an exact Markov chain it is right to 1% from a mean of 20 cycles on, and may be
29% too high at a mean of 1 [D]_. For a number of cycles that is fixed it is far too high.

More than 10 standard deviations above i = z/x the queue never empties and the terms are added in
closed form [D]_. Up to there, or to K, the exact recursion in i runs once for all points that
share z/x, if it has at most 4096 terms. Of more, the first 64 are added and the rest is an
integral over real i by Gauss-Legendre panels placed around z/x, with Euler-Maclaurin corrections
in central differences. Relative errors are below 1e-11 for K up to 1e7.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
.. [D] parcast's own method and comparison.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.arguments import mean_time, whole
from parcast.queueing.erlang import state
from parcast.queueing.repairman import Sloped, offered_load, sloped
from parcast.queueing.time_laws import harmonic

LONGEST_RECURSION = 4096  # above it the integral is faster
FIRST = 64  # terms added before the integral
BLOCK = 2**17  # terms held at once
LARGEST_LOAD = 1e150  # stands for z/x = infinity
SATURATED = 10.0  # standard deviations above z/x from which the queue never empties
NODES, WEIGHTS = special.roots_legendre(16)
GROWTH = 4.0  # of the panels, away from z/x
NARROWEST = 4.0  # panel next to z/x, in standard deviations
DIFFERENCES = (-1 / 24, 17 / 5760, -367 / 967680)  # of orders 1, 3, 5: sum less integral


def departure_sum(jobs: ArrayLike, *, delay: ArrayLike, service: ArrayLike) -> Sloped:
    """Sum of (z + R(i))/i over i = 1..`jobs`, with its derivatives. [s].

    `jobs`, whole and at least 0, broadcast with the mean `delay` z and `service` x. [s].
    """
    k, z, x = np.broadcast_arrays(
        whole("jobs", jobs, 0, hint="Count the jobs that start together."),
        mean_time("delay", delay),
        mean_time("service", service),
    )
    shape = k.shape
    k, z, x = k.ravel(), z.ravel(), x.ravel()
    a = np.minimum(offered_load(z, x), LARGEST_LOAD)
    upper = np.minimum(k, np.ceil(a + SATURATED * np.sqrt(a)) + SATURATED + FIRST)
    sums = _saturated(k, upper, a)
    few = upper <= LONGEST_RECURSION
    if few.any():
        sums[:, few] += _recursion(upper[few].astype(np.intp), a[few])
    if not few.all():
        sums[:, ~few] += _integral(upper[~few], a[~few])
    waits, by_service, by_delay = sums
    value = z * harmonic(k) + x * waits
    return sloped(value.reshape(shape), by_delay.reshape(shape), by_service.reshape(shape))


def _recursion(k: NDArray[np.intp], a: Array) -> Array:
    """Sums over i = 1..k of r/i, (r + a*v)/i and (1 - v)/i, r = 1 + Q(i-1), v = V(i-1).

    One pass over i serves all points; those that share a load share the arithmetic. It goes in
    blocks of i, so that its memory is bounded, and drops loads that no point needs any longer.
    """
    loads, load_of = np.unique(a, return_inverse=True)
    last = np.zeros(loads.size, dtype=np.intp)
    np.maximum.at(last, load_of, k)
    longest_first = np.argsort(-last, kind="stable")
    column = np.argsort(longest_first)[load_of]
    loads, last = loads[longest_first], last[longest_first]
    by_length = np.argsort(k, kind="stable")
    lengths = k[by_length]
    r, v, total = np.ones(loads.size), np.zeros(loads.size), np.zeros((3, loads.size))
    answer = np.zeros((3, k.size))
    done = 0
    while done < last[0]:
        active = int(np.searchsorted(-last, -done))  # loads still to go on, the longest first
        rows = min(max(16, BLOCK // active), int(last[0]) - done)
        terms = np.empty((3, rows, active))
        r, v = _block(done, loads[:active], r[:active], v[:active], terms)
        terms[:, 0] += total[:, :active]
        sums = np.cumsum(terms, axis=1, out=terms)
        total = sums[:, -1]
        ready = by_length[slice(*np.searchsorted(lengths, [done, done + rows], side="right"))]
        answer[:, ready] = sums[:, k[ready] - done - 1, column[ready]]
        done += rows
    return answer


def _block(done: int, a: Array, r: Array, v: Array, terms: Array) -> tuple[Array, Array]:
    """Fill `terms`, (3, rows, loads), for i = `done` + 1 on; return r and v for the next i."""
    rows = terms.shape[1]
    for row, i in enumerate(range(done + 1, done + rows + 1)):
        terms[0, row] = r
        terms[2, row] = v
        slope = np.add(np.multiply(a, v), r, out=terms[1, row])
        cycle = a + r
        rate = i / cycle
        v = rate * slope / cycle
        r = rate * r + 1.0
    np.subtract(1.0, terms[2], out=terms[2])
    terms /= np.arange(done + 1.0, done + rows + 1.0)[:, None]
    return r, v


def _saturated(k: Array, upper: Array, a: Array) -> Array:
    """The same sums over i from `upper` + 1 to k where r = i - a and v = 1, shape (3, points)."""
    between = special.digamma(k + 1.0) - special.digamma(upper + 1.0)
    rest = k - upper
    return np.stack([rest - a * between, rest, np.zeros_like(k)])


def _integral(upper: Array, a: Array) -> Array:
    """The same sums up to a large `upper`: the first terms and an integral over the rest."""
    first = np.full(upper.shape, FIRST)
    ends = _end_correction(upper, a) - _end_correction(first.astype(np.float64), a)
    return np.asarray(_recursion(first, a) + _panels(upper, a) + ends)


def _panels(upper: Array, a: Array) -> Array:
    """Integrals of the terms over i from FIRST + 1/2 to `upper` + 1/2, in u = ln i."""
    deviation = 1.0 / np.sqrt(np.maximum(a, 1.0))
    centre = np.log(np.maximum(a, 1.0))
    reach = NARROWEST * deviation * GROWTH ** np.arange(10)[:, None]
    above = np.array([0.0, 1.0, 2.0])[:, None] * NARROWEST * deviation
    ends = np.full((1, a.size), np.inf)
    cuts = np.concatenate([-ends, centre - reach[::-1], centre + above, ends])
    cuts = np.clip(cuts, np.log(FIRST + 0.5), np.log(upper + 0.5))
    panel, point = np.nonzero(np.diff(cuts, axis=0))
    start, end = cuts[panel, point], cuts[panel + 1, point]
    i = np.exp(0.5 * (start + end + (end - start) * NODES[:, None]))
    terms = _terms(i, a[point]) * i  # of the integral over u: di = i du
    integrals = 0.5 * (end - start) * np.einsum("n,snp->sp", WEIGHTS, terms)
    return np.stack([np.bincount(point, row, minlength=a.size) for row in integrals])


def _end_correction(m: Array, a: Array) -> Array:
    """Sum up to m less the integral to m + 1/2, in central differences of the terms there."""
    around = m + np.arange(-2.0, 4.0)[:, None]
    terms = _terms(around, a)  # (3, 6, points)
    correction = np.zeros(terms.shape[::2])
    for weight in DIFFERENCES:
        odd = np.diff(terms, axis=1)
        middle = odd.shape[1] // 2
        correction += weight * odd[:, middle]
        terms = np.diff(odd, axis=1)
    return correction


def _terms(i: Array, a: Array) -> Array:
    """Terms of the three sums at real i, shape (3, ...)."""
    others = state(i - 1.0, a)
    r = 1.0 + others.length
    idle = np.exp(others.log_empty) * r
    return np.stack([r / i, (r + a * others.relief) / i, idle / i])
