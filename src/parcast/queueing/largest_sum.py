"""The largest of K sums of n random times, for many K and n at once, and how it feels the cv.

Each time has mean 1 and a gamma law of the same coefficient of variation c, so that a sum has the
gamma law of mean n and cv c/sqrt(n) [S]_. With D the deviate of `parcast.queueing.time_laws` and
u = 1/(1 + exp(-y)) the probability that a sum is not exceeded, the mean of the largest is::

    n + c sqrt(n) * integral over y of D(-ln u) K u^K (1-u)

`parcast.queueing.order` has the same mean for any law, with nodes of its own for each K. Here all
points share the nodes y, and those of one law its quantiles: the trapezoidal rule in y, whose
weights fall off exponentially at both ends, is right to 1e-10 with about 180 of them for K up to
1e6 [D]_. SciPy has no derivative of a gamma quantile with respect to the shape; it is taken by a
central difference of the quantiles, right to 1e-6.

References
----------
.. [S] H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003, section 3.1.
.. [D] parcast's own arrangement.
"""

from typing import NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.queueing.erlang import Array
from parcast.queueing.time_laws import gamma_times

STEP = 0.36  # of the rule, in y
BELOW, ABOVE = 25.0, 28.0  # of y = 0 and of y = ln K: where the weights are nothing
DIFFERENCE = 2e-4  # of the cv, relative
BLOCK = 2**19  # values held at once


class Excess(NamedTuple):
    """By how much the largest of several sums exceeds their mean; arrays of one shape."""

    value: Array  # [1], in mean times
    by_cv: Array  # [1]


def largest_sum_excess(jobs: Array, cycles: Array, cv: Array) -> Excess:
    """Mean of the largest of `jobs` sums of `cycles` times of mean 1, less `cycles`.

    No argument is checked.

    Parameters
    ----------
    jobs : ndarray, shape (points,)
        How many sums, at least 1, not necessarily whole. [1]
    cycles : ndarray, shape (choices, points)
        Times in a sum, at least 1, not necessarily whole. [1]
    cv : ndarray, shape (points,)
        Standard deviation over mean of each time, in [0, 20]. [1]

    Returns
    -------
    Excess
        Arrays of the shape of `cycles`; 0 for one job. [1]

    Examples
    --------
    >>> import numpy as np
    >>> jobs, once_or_twice = np.array([1.0, 8.0]), np.array([[1.0, 1.0], [2.0, 2.0]])
    >>> largest_sum_excess(jobs, once_or_twice, np.ones(2)).value.round(8)
    array([[0.        , 1.71785714],
           [0.        , 2.36058585]])
    """
    root = np.sqrt(cycles)
    spreads, law_of = np.unique(cv / root, return_inverse=True)
    law_of = law_of.reshape(root.shape)
    y = np.arange(-BELOW, ABOVE + STEP + np.log(jobs.max(initial=1.0)), STEP)
    v = np.logaddexp(0.0, -y)  # -ln u
    deviates = _deviates(v, spreads)
    answer = np.empty((2, *law_of.shape))
    rows = max(1, BLOCK // y.size)
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
