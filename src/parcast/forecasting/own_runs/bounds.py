"""Forecasts given that some times lie above bounds, as those of runs that were ended do.

A forecast says of the logarithm of a time

    log T = median + width * L(z) / L(1.645) ,   z standard normal,

with the width of its interval on either side. L turns a normal number into one of the Laplace
distribution, ``-log(2 Phi(-z))`` above 0: most forecasts are nearer to the time than a normal
distribution of that interval says, and a few are further away. A run that was ended after a time B
says z > b there. What follows elsewhere depends on how errors go along with each other, which
`own_runs.cut_off` and `surface.cut_off` tell of one axis and of several. Where the run was made no
time below B is left, and no bound shortens a forecast.

Medians and the ends of intervals are those of z given the hundred least likely bounds, without
those that are nearly sure, by the sampling of Geweke, Hajivassiliou and Keane [1]_ with fixed
numbers, the least likely bound first; with one bound it is a quadrature. The numbers are multiples
of the roots of primes [2]_, which fill any number of dimensions.

The tails are parcast's own [D]; ``docs/decisions/0036`` has the figures.

References
----------
.. [1] V. Hajivassiliou and D. McFadden, "The method of simulated scores for the estimation of LDV
   models," Econometrica, vol. 66, no. 4, pp. 863-896, 1998, :doi:`10.2307/2999576`.
.. [2] R. D. Richtmyer, "The evaluation of definite integrals, and a quasi-Monte-Carlo method based
   on the properties of algebraic numbers," LA-1342, Los Alamos Scientific Laboratory, 1951.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from parcast.aliases import Array

SAMPLES: Final = 512
STEPS: Final = 50  # of bisection
QUANTILES: Final = (0.05, 0.5, 0.95)
UNLIKELY: Final = 0.005  # probability of a bound by the other runs, from which it contradicts [D]
LEAST: Final = 1e-300  # probability
TO_THE_END: Final = float(np.log(10))  # of a 90% interval, in scales of the Laplace distribution
MOST_BOUNDS: Final = 100  # at once [D]
APART: Final = 1e-6  # of a correlation from 1, less than which two bounds are one [D]
SURE: Final = -3.5  # normal number of a bound that says nothing: all but 0.02% lies above [D]


class LogTimes(NamedTuple):
    """Answers at some points, (points,) each."""

    log_time: Array  # log of time in seconds
    half_width: Array  # of its 90% interval
    skew: Array  # of the half-width, more up and less down

    @property
    def sides(self) -> tuple[Array, Array]:
        """Distances of the ends of the interval below and above."""
        width = np.maximum(self.half_width, 1e-9)
        return width * (1 - self.skew), width * (1 + self.skew)


def given_bounds(
    told: LogTimes, at_bounds: LogTimes, log_bounds: Array, own: Array, other: Array
) -> LogTimes:
    """Change answers by the bounds of log time, (bounds,), where others were `at_bounds`.

    Errors at the bounds go along with each other as `own` says, (bounds, bounds), and with those
    at the points as `other` does, (points, bounds): correlations, 1 at the place of a bound.
    """
    b = _normal_of(log_bounds, at_bounds)
    kept = np.argsort(-b, kind="stable")[:MOST_BOUNDS]
    kept = kept[b[kept] > SURE]
    is_new = np.tril(own[np.ix_(kept, kept)], -1).max(axis=1, initial=0.0) < 1 - APART
    kept = kept[is_new]
    if not kept.size:
        return told
    ends = _quantiles(b[kept], own[np.ix_(kept, kept)], other[:, kept])
    below, above = told.sides
    plain = (told.log_time - below, told.log_time, told.log_time + above)
    least = np.where(other == 1.0, log_bounds, -np.inf).max(axis=1)
    low, middle, high = (
        np.maximum(np.maximum(_log_time_of(z, told), was), least)
        for z, was in zip(ends, plain, strict=True)
    )
    skew = np.divide(high + low - 2 * middle, high - low, out=np.zeros_like(low), where=high > low)
    return LogTimes(middle, (high - low) / 2, skew)


def probability_above(log_bounds: Array, at_bounds: LogTimes) -> Array:
    """Probability that times lie above bounds, (bounds,)."""
    from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

    return np.asarray(special.ndtr(-_normal_of(log_bounds, at_bounds)))


def _normal_of(log_time: Array, told: LogTimes) -> Array:
    """Normal number of a log time: the inverse of `_log_time_of`."""
    from scipy import special

    below, above = told.sides
    away = log_time - told.log_time
    depth = TO_THE_END * np.abs(away) / np.where(away < 0, below, above)
    return np.asarray(-np.sign(away) * special.ndtri_exp(-depth - np.log(2)))


def _log_time_of(z: Array, told: LogTimes) -> Array:
    """Log time of a normal number."""
    from scipy import special

    below, above = told.sides
    depth = -special.log_ndtr(-np.abs(z)) - np.log(2)
    away = np.sign(z) * depth / TO_THE_END * np.where(z < 0, below, above)
    return np.asarray(told.log_time + away)


def _quantiles(b: Array, own: Array, other: Array) -> Sequence[Array]:
    """Quantiles of normal numbers correlated by `other` with those above `b`, (points,) each."""
    from scipy import special

    z, weight = _above(b, own)
    gain = np.linalg.solve(own, other.T).T
    mean = z @ gain.T
    spread = np.sqrt(np.maximum(1 - np.sum(gain * other, axis=1), 0.0))
    spread = np.where(spread < 1e-6, 1e-6, spread)
    low, high = mean.min(axis=0) - 9 * spread, mean.max(axis=0) + 9 * spread
    found = []
    for quantile in QUANTILES:
        least, most = low, high
        for _ in range(STEPS):
            middle = (least + most) / 2
            is_below = weight @ special.ndtr((middle - mean) / spread) < quantile
            least, most = np.where(is_below, middle, least), np.where(is_below, most, middle)
        found.append((least + most) / 2)
    return found


def _above(b: Array, correlation: Array) -> tuple[Array, Array]:
    """Normal numbers above `b`, (samples, bounds), and their weights, which sum to 1."""
    from scipy import special

    root = np.linalg.cholesky(correlation)
    drawn, log_weight = np.zeros((SAMPLES, len(b))), np.zeros(SAMPLES)
    number = np.arange(SAMPLES) + 0.5
    steps = [1 / SAMPLES, *np.sqrt(_primes(len(b) - 1))]
    for j, step in enumerate(steps):
        level = np.mod(number * step, 1.0)
        least = (b[j] - drawn[:, :j] @ root[j, :j]) / root[j, j]
        over = np.maximum(special.ndtr(-least), LEAST)
        drawn[:, j] = -special.ndtri(np.maximum(level * over, LEAST))
        log_weight += np.log(over)
    weight = np.exp(log_weight - log_weight.max())
    return drawn @ root.T, weight / weight.sum()


def _primes(count: int) -> list[int]:
    """Give the first primes.

    >>> _primes(5)
    [2, 3, 5, 7, 11]
    """
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found
