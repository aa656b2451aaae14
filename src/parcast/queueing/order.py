"""The slowest of several: order statistics of random times and of their sums.

Of c processors that wait for each other the last arrives, on average, h(c) mean times after the
start, h the mean of the largest of c independent times of mean 1. With v = s/c and T(v) the time
not exceeded with probability exp(-v)::

    h(c) = integral over s in (0, inf) of T(s/c) exp(-s)

for every real c >= 1, for integer c the mean of the maximum itself. It is taken by a
double-exponential rule, s = exp(pi/2 sinh t), with 101 nodes [D]_: relative errors are below
1e-10 for the laws of `parcast.queueing.time_laws` at cv up to 20 and c up to 1e6. Closed forms
are used where they exist: h(c) = H_c, the harmonic number, for exponential times, and
2c/(c+1) for uniform times on [0, 2], equation (6) of [1]_ [S].

A sum of n times of mean 1 and a gamma law of coefficient of variation c has the gamma law of mean
n and cv c/sqrt(n) [S]_. With D its deviate and u = 1/(1 + exp(-y)) the probability that a sum is
not exceeded, the mean of the largest of K sums is::

    n + c sqrt(n) * integral over y of D(-ln u) K u^K (1-u)

All points, many K and n at once, share the nodes y, and those of one law its quantiles: the
trapezoidal rule in y, whose weights fall off exponentially at both ends, is right to 1e-10 with
about 180 of them for K up to 1e6 [D]_. Of many K with one law a cubic spline in ln K is taken.
SciPy has no derivative of a gamma quantile with respect to the shape; it is taken by a central
difference of the quantiles, right to 1e-6.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
.. [S] H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003, section 3.1.
.. [D] parcast's own choice; the rule is H. Takahasi and M. Mori's, Publ. RIMS Kyoto, vol. 9, 1974,
   pp. 721-741, :doi:`10.2977/prims/1195192451`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.arguments import at_least
from parcast.queueing.time_laws import TimeLaw, gamma_times

_GRID = np.linspace(-4.2, 2.1, 101)
NODES = np.exp(np.pi / 2 * np.sinh(_GRID))
WEIGHTS = NODES * np.cosh(_GRID) * np.exp(-NODES)
WEIGHTS /= WEIGHTS.sum()
BLOCK = 2**20  # values held at once
STEP = 0.36  # of the rule for sums, in y
BELOW, ABOVE = 25.0, 28.0  # of y = 0 and of y = ln K: where the weights are nothing
DIFFERENCE = 2e-4  # of the cv, relative
SUMS_BLOCK = 2**19  # values of sums held at once
FEW = 1000  # points up to which each is computed by itself
APART = 0.008  # in ln K: of points between which cubic splines are right to 1e-10
HINT = "Count those that wait for each other."


def expected_maximum(c: ArrayLike, law: TimeLaw) -> Array:
    """Mean of the largest of `c` independent times, in mean times. [1].

    `c`, at least 1 and not necessarily whole, broadcasts with the cv of the law.
    """
    count, cv = np.broadcast_arrays(at_least("c", c, 1, hint=HINT), law.cv)
    if law.largest is not None:
        return np.asarray(law.largest(count, cv))
    return _by_quadrature(count.ravel(), cv.ravel(), law).reshape(count.shape)


def deviation_of_maximum(c: ArrayLike, law: TimeLaw) -> Array:
    """Standard deviation of the largest of `c` independent times, in mean times. [1]."""
    count, cv = np.broadcast_arrays(at_least("c", c, 1, hint=HINT), law.cv)
    sizes, place = np.unique(np.stack([count.ravel(), cv.ravel()]), axis=1, return_inverse=True)
    deviate = law.deviate(NODES / sizes[0][:, None], sizes[1][:, None])
    from_mean = deviate - (deviate @ WEIGHTS)[:, None]
    deviation = sizes[1] * np.sqrt(from_mean**2 @ WEIGHTS)
    return np.asarray(deviation[place.ravel()].reshape(count.shape))


def _by_quadrature(c: Array, cv: Array, law: TimeLaw) -> Array:
    """The integral, as a deviation from the mean, in blocks of points; equal ones once."""
    answer = np.empty(c.size)
    rows = BLOCK // NODES.size
    for start in range(0, c.size, rows):
        part = slice(start, start + rows)
        sizes, place = np.unique(np.stack([c[part], cv[part]]), axis=1, return_inverse=True)
        deviate = law.deviate(NODES / sizes[0][:, None], sizes[1][:, None])[place.ravel()]
        answer[part] = 1.0 + cv[part] * (deviate @ WEIGHTS)
    return answer


class Excess(NamedTuple):
    """By how much the largest of several sums exceeds their mean; arrays of one shape."""

    value: Array  # [1], in mean times
    by_cv: Array  # [1]


def largest_sum_excess(jobs: Array, cycles: Array, cv: Array) -> Excess:
    """Mean of the largest of `jobs` sums of `cycles` times of mean 1, less `cycles`. [1].

    Of shape (choices, points), as `cycles`; `jobs`, at least 1, and `cv`, in [0, 20], have shape
    (points,), and neither jobs nor cycles need be whole. No argument is checked.
    """
    few = _few_of(jobs, cycles, cv)
    if few is None:
        return _each_excess(jobs, cycles, cv)
    from scipy.interpolate import CubicSpline  # type: ignore[import-untyped]  # no types

    by_number = CubicSpline(
        np.log(few), _each_excess(few, cycles[:, : few.size], cv[: few.size]), axis=-1
    )
    return Excess(*by_number(np.log(jobs)))


def _few_of(jobs: Array, cycles: Array, cv: Array) -> Array | None:
    """Numbers of jobs to interpolate between, where many points differ in nothing else."""
    if jobs.size <= FEW:
        return None
    least = jobs.min()
    most = max(jobs.max(), 2.0 * least)
    few = np.geomspace(least, most, 4 + int(np.log(most / least) / APART))
    is_law = (cycles == cycles[:, :1]).all() and (cv == cv[0]).all()
    return few if is_law and 2 * few.size < jobs.size else None


def _each_excess(jobs: Array, cycles: Array, cv: Array) -> Excess:
    """As `largest_sum_excess`, point by point."""
    root = np.sqrt(cycles)
    spreads, law_of = np.unique(cv / root, return_inverse=True)
    law_of = law_of.reshape(root.shape)
    y = np.arange(-BELOW, ABOVE + STEP + np.log(jobs.max(initial=1.0)), STEP)
    v = np.logaddexp(0.0, -y)  # -ln u
    deviates = _deviates(v, spreads)
    answer = np.empty((2, *law_of.shape))
    rows = max(1, SUMS_BLOCK // y.size)
    for start in range(0, jobs.size, rows):
        part = slice(start, start + rows)
        number = jobs[part, None]
        weights = np.exp(np.log(number * STEP) - number * v) * special.expit(-y)
        for law, column in enumerate(law_of[:, part]):
            if (column == column[0]).all():
                answer[:, law, part] = deviates[:, column[0]] @ weights.T
            else:
                answer[:, law, part] = np.einsum("kpy,py->kp", deviates[:, column], weights)
    answer = np.where(jobs > 1, answer, 0.0)
    return Excess(root * cv * answer[0], root * answer[1])


def _deviates(v: Array, cv: Array) -> Array:
    """D and d(cv D)/dcv, shape (2, laws, nodes)."""
    law = gamma_times(cv)
    lower, upper = cv * (1.0 - DIFFERENCE), cv * (1.0 + DIFFERENCE)
    now, before, after = law.deviate(v, np.stack([cv, lower, upper])[..., None])
    slope = now + (after - before) / (2.0 * DIFFERENCE)
    return np.stack([now, slope])
