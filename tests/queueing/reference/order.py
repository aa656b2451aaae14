"""Order statistics by second routes: from a sample, and by the time that each of them is alone.

The spacings are the mean times during which exactly i of c are still under way [1]_. Their sum is
h(c), the mean of the largest of c times of mean 1::

    s_i = integral over x of C(c,i) P(T > x)^i P(T <= x)^(c-i)

References
----------
.. [1] H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., Wiley, 2003 (spacings; the
   estimator from a sample: W. Hoeffding, Ann. Math. Statist., vol. 19, 1948, pp. 293-325,
   :doi:`10.1214/aoms/1177730196`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from parcast.aliases import Array
from parcast.errors import require
from parcast.queueing.arguments import whole
from parcast.queueing.order import HINT
from parcast.queueing.time_laws import TimeLaw

BLOCK = 2**20  # values held at once
REACH = 55.0  # exp(-55) is nothing, even times the longest of times
STEP = 0.6  # of the rule for spacings, in standard deviations of its narrowest term


class Slowest(NamedTuple):
    """Mean of the largest of c, and its derivative with respect to c; arrays of one shape."""

    value: Array
    by_count: Array


def expected_maximum_of_sample(c: ArrayLike, sample: ArrayLike) -> Slowest:
    """Mean of the largest of `c` times drawn without replacement from measured ones. [s].

    For whole `c`, at most as many as there are times, this is the unbiased estimate of the mean of
    the maximum under the law that the sample came from. Between whole numbers it is linear: groups
    of the two sizes, mixed; its derivative is towards larger `c`, at the last one towards smaller.

    >>> expected_maximum_of_sample([1, 2, 3], [1.0, 2.0, 6.0]).value
    array([3.        , 4.66666667, 6.        ])
    """
    times = np.sort(np.asarray(sample, dtype=np.float64).ravel())
    finite = np.isfinite(times)
    require("sample", times, finite, must="hold only finite times", hint="Leave failed runs out.")
    count = np.asarray(c, dtype=np.float64)
    n = times.size
    must = f"lie between 1 and the number of times in the sample ({n})"
    hint = "Measure more, or choose a law."
    require("c", count, (count >= 1) & (count <= n), must=must, hint=hint)
    lower = np.minimum(np.floor(count), max(n - 1, 1))
    sizes, place = np.unique(np.stack([lower, np.minimum(lower + 1, n)]), return_inverse=True)
    below, above = _largest_in_sample(sizes, times)[place.reshape(2, *count.shape)]
    return Slowest(below + (count - lower) * (above - below), above - below)


def _largest_in_sample(c: Array, times: Array) -> Array:
    """Sum of times x_(i) with weights C(i-1, c-1)/C(n, c), largest time first."""
    n = times.size
    from_top = np.arange(n - 1.0, 0.0, -1.0)
    answer = np.empty(c.size)
    rows = max(1, BLOCK // n)
    for start in range(0, c.size, rows):
        size = c[start : start + rows, None]
        ratios = np.maximum(from_top - size + 1.0, 0.0) / from_top
        weights = np.cumprod(np.concatenate([size / n, ratios], axis=1), axis=1)
        answer[start : start + rows] = weights @ times[::-1]
    return answer


def spacings(c: int, law: TimeLaw) -> Array:
    """Mean time during which exactly i of `c` are still under way, for i = 1..`c`. [1].

    In mean times, to 1e-10, of the shape of `law.cv` with one more axis of length `c`: the last is
    the mean of the smallest, the first how long the slowest is alone.

    >>> from parcast.queueing.time_laws import exponential_times, uniform_times
    >>> spacings(4, exponential_times())
    array([1.        , 0.5       , 0.33333333, 0.25      ])
    >>> spacings(3, uniform_times())
    array([0.5, 0.5, 0.5])
    """
    whole("c", c, 1, hint=HINT)
    # With y = ln(P(T > x)/P(T <= x)) and by parts, s_i is an integral over y of the time itself.
    step = min(0.35, 2.0 * STEP / np.sqrt(c))
    reach = np.log(c) + REACH
    y = np.arange(-reach, reach + step, step)
    v = np.logaddexp(0.0, y)  # P(T <= x) = exp(-v)
    deviate = np.asarray(law.deviate(v, law.cv[..., None]) * law.cv[..., None] * step)
    answer = np.empty((*law.cv.shape, int(c)))
    rows = max(1, BLOCK // y.size)
    for start in range(0, int(c), rows):
        i = np.arange(start + 1.0, min(start + rows, c) + 1.0)[:, None]
        ways = special.gammaln(c + 1.0) - special.gammaln(i + 1.0) - special.gammaln(c - i + 1.0)
        chance = np.exp(ways + i * (y - v) - (c - i) * v)
        turn = chance * (i * special.expit(-y) - (c - i) * special.expit(y))
        answer[..., start : start + i.size] = deviate @ turn.T
    answer[..., -1] += 1.0
    return np.maximum(answer, 0.0)
