"""90 % intervals of means and variances of a sequence whose values may depend on each other.

Blocks of consecutive values are drawn again, so long that what depends on each other stays
together; the length follows from the correlations [1]_, [2]_. Of independent values it is 1.

References
----------
.. [1] D. N. Politis and H. White, "Automatic block-length selection for the dependent bootstrap,"
   Econometric Reviews, vol. 23, no. 1, pp. 53-70, 2004, :doi:`10.1081/ETC-120028836`.
.. [2] A. Patton, D. N. Politis and H. White, "Correction to 'Automatic block-length selection for
   the dependent bootstrap'," Econometric Reviews, vol. 28, no. 4, pp. 372-375, 2009,
   :doi:`10.1080/07474930802459016`.
"""

import warnings
from math import cbrt, ceil, log10, sqrt
from typing import Final

import numpy as np
from numpy.random import Generator
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array

LEVEL: Final = 0.9
RESAMPLES: Final = 999
MOST_BLOCKS: Final = 400  # more say nothing more: values are joined, however independent
FEWEST_BLOCKS: Final = 10  # with fewer an interval would be far too narrow
FIRST_LAGS: Final = 5  # consecutive correlations that must vanish
SIGNIFICANT: Final = 2.0  # standard errors, over the square root of log10 n [1]


def block_length(values: Array) -> int:
    """Length of the blocks for a sequence, by its correlations."""
    n = len(values)
    centred = values - values.mean()
    variance = float((centred**2).mean())
    if variance == 0:
        return 1
    most = max(ceil(sqrt(n)), FIRST_LAGS) + FIRST_LAGS
    spectrum = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    covariance = np.fft.irfft(spectrum)[: min(most, n)] / n
    small = np.abs(covariance[1:]) / variance < SIGNIFICANT * sqrt(log10(n) / n)
    vanished = [k for k in range(len(small)) if small[k : k + FIRST_LAGS].all()]
    last = vanished[0] if vanished else len(small)
    if last == 0:
        return 1
    lags = np.arange(1, min(2 * last, len(covariance) - 1) + 1)
    window = np.minimum(1.0, 2 * (1 - lags / (2 * last)))
    of_lags = window * covariance[lags]
    flat, steep = variance + 2 * float(of_lags.sum()), 2 * float(lags @ of_lags)
    if flat <= 0:
        return ceil(cbrt(n))
    length = ceil(cbrt(1.5 * (steep / flat) ** 2 * n))  # 2 / (4/3), of equal blocks
    return max(1, min(length, n // FEWEST_BLOCKS))


def intervals_of(values: Array, rng: Generator) -> tuple[tuple[float, float], ...]:
    """Ends of the 90 % intervals of the mean, and of the variance over the mean squared."""
    n = len(values)
    mean = float(values.mean())
    scaled = values / mean if mean else values
    if not np.ptp(scaled) > 0:
        return (mean, mean), (0.0, 0.0)
    length = max(block_length(scaled), block_length(scaled**2), ceil(n / MOST_BLOCKS))
    blocks = np.add.reduceat(
        np.stack([scaled, scaled**2, np.ones(n)]), np.arange(0, n, length), axis=1
    )
    found = []
    for statistic in (_mean, _cv2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of samples that are all equal: ends are NaN
            ends = stats.bootstrap(
                tuple(blocks),
                statistic,
                paired=True,
                vectorized=True,
                n_resamples=RESAMPLES,
                confidence_level=LEVEL,
                method="BCa",
                random_state=rng,
            ).confidence_interval
        found.append((float(ends.low), float(ends.high)))
    (low, high), cv2 = found
    return ((low * mean, high * mean) if mean else (low, high)), cv2


def _mean(total: Array, _squares: Array, count: Array, axis: int = -1) -> Array:
    """Mean of values, by sums over blocks."""
    return np.asarray(total.sum(axis=axis) / count.sum(axis=axis))


def _cv2(total: Array, squares: Array, count: Array, axis: int = -1) -> Array:
    """Variance over the squared mean of values, by sums over blocks."""
    sums = total.sum(axis=axis)
    return np.asarray(squares.sum(axis=axis) * count.sum(axis=axis) / sums**2 - 1)
