"""Forecasts given that some runs took longer than they had time: times above bounds.

A forecast at p says of the logarithm of the time

    log T(p) = median(p) + width(p) * L(z(p)) / L(1.645) ,   z(p) standard normal,

with the width of its interval on either side. L turns a normal number into one of the Laplace
distribution, ``-log(2 Phi(-z))`` above 0: most forecasts are nearer to the time than a normal
distribution of that interval says, and a few are further away. A run that was ended after a time B
at p_c says z(p_c) > b. What follows elsewhere depends on how errors go along with those
at p_c:

    correlation = exp(-0.7 |u(p) - u(p_c)|)

where u is the logarithm of the reach, log(p / last count), beyond the measured counts (likewise
below them), and the logit of the place of log p between two of them; it is 0 across a measured
count. At p_c itself no time below B is left. Medians and the ends of intervals are those of z
given all bounds, by the sampling of Geweke, Hajivassiliou and Keane [1]_ with fixed numbers; with
one bound it is a quadrature.

The tails and the correlation are parcast's own [D]; ``docs/decisions/0036`` has the figures.

References
----------
.. [1] V. Hajivassiliou and D. McFadden, "The method of simulated scores for the estimation of LDV
   models," Econometrica, vol. 66, no. 4, pp. 863-896, 1998, :doi:`10.2307/2999576`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.measured import MeasuredCurve
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series

DECAY: Final = 0.7  # of the correlation [D]
SAMPLES: Final = 512
STEPS: Final = 50  # of bisection
QUANTILES: Final = (0.05, 0.5, 0.95)
UNLIKELY: Final = 0.005  # probability of a bound by the other runs, from which it contradicts [D]
LEAST: Final = 1e-300  # probability
TO_THE_END: Final = float(np.log(10))  # of a 90 % interval, in scales of the Laplace distribution
GOLDEN: Final = (5**0.5 - 1) / 2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CutOffRuns:
    """Runs of some series that were ended, at counts where none was not; padded with NaN."""

    p: Array  # (series, most counts), ascending [1]
    time: Array  # (series, most counts): they took longer, the longest of each count [s]
    runs: NDArray[np.int64]  # (series, most counts): how many; 0 as padding

    def take(self, rows: NDArray[Any] | slice) -> "CutOffRuns":
        """Keep those of some of the series."""
        return CutOffRuns(p=self.p[rows], time=self.time[rows], runs=self.runs[rows])

    def of(self, row: int) -> tuple[Array, Array, list[int]]:
        """Counts [1], bounds [s] and runs of one series."""
        kept = self.runs[row] > 0
        return self.p[row, kept], self.time[row, kept], self.runs[row, kept].tolist()


def cut_off_runs(cut_off: Measurements | None, series: Series) -> CutOffRuns | None:
    """Find the runs that were ended of each series; None where there are none."""
    if cut_off is None or any(name not in cut_off.columns for name in series.by):
        return None
    of_key = {tuple(key.values()): i for i, key in enumerate(series.keys)}
    keys = zip(*(cut_off.columns[x].tolist() for x in series.by), strict=True)
    found: list[dict[float, list[float]]] = [{} for _ in series.keys]
    rows = [of_key.get(x) for x in keys] if series.by else [0] * len(cut_off)
    for row, p, time in zip(rows, cut_off.p.tolist(), cut_off.time.tolist(), strict=True):
        if row is not None and p not in series.p[row, : series.count[row]]:
            found[row].setdefault(p, []).append(time)
    width = max(map(len, found))
    if not width:
        return None
    shape = (len(found), width)
    p, bound, runs = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, np.int64)
    for i, bounds in enumerate(found):
        for j, (count, times) in enumerate(sorted(bounds.items())):
            p[i, j], bound[i, j], runs[i, j] = count, max(times), len(times)
    return CutOffRuns(p=p, time=bound, runs=runs)


def given_cut_off(
    curve: MeasuredCurve,
    targets: Array,
    at_bounds: MeasuredCurve,
    counts: Array,
    *,
    runs: CutOffRuns,
    series: Series,
) -> MeasuredCurve:
    """Forecasts at `targets`, (points,) [1], given the runs that were ended.

    `at_bounds` is the curve at all `counts` of these, (counts,) ascending [1].
    """
    log_time, half_width, skew = curve.log_time.copy(), curve.half_width.copy(), curve.skew.copy()
    for row in np.flatnonzero((runs.runs > 0).any(axis=1)).tolist():
        p, bounds, _ = runs.of(row)
        at = np.searchsorted(counts, p)
        b = _normal_of(np.log(bounds), at_bounds, row, at)
        measured = series.p[row, : series.count[row]]
        own, other = _correlations(p, p, measured), _correlations(targets, p, measured)
        touched = np.flatnonzero(other.any(axis=1))
        if not touched.size:
            continue
        ends = _quantiles(b, own, other[touched])
        low, middle, high = (_log_time_of(z, curve, row, touched) for z in ends)
        exactly = other[touched] == 1.0
        least = np.where(exactly, np.log(bounds), -np.inf).max(axis=1)
        low, middle, high = (np.maximum(x, least) for x in (low, middle, high))
        log_time[row, touched], half_width[row, touched] = middle, (high - low) / 2
        skew[row, touched] = np.divide(
            high + low - 2 * middle, high - low, out=np.zeros_like(low), where=high > low
        )
    return replace(curve, log_time=log_time, half_width=half_width, skew=skew)


def probabilities(at_bounds: MeasuredCurve, counts: Array, runs: CutOffRuns, row: int) -> Array:
    """Probability that the runs of a series took longer than their bounds, by the others."""
    from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

    p, bounds, _ = runs.of(row)
    b = _normal_of(np.log(bounds), at_bounds, row, np.searchsorted(counts, p))
    return np.asarray(special.ndtr(-b))


def _sides(curve: MeasuredCurve, row: int, at: NDArray[np.intp]) -> tuple[Array, Array, Array]:
    """Log time, and the distances of the ends of its interval below and above it."""
    width, skew = np.maximum(curve.half_width[row, at], 1e-9), curve.skew[row, at]
    return curve.log_time[row, at], width * (1 - skew), width * (1 + skew)


def _normal_of(log_time: Array, curve: MeasuredCurve, row: int, at: NDArray[np.intp]) -> Array:
    """Normal number of a log time: the inverse of `_log_time_of`."""
    from scipy import special

    middle, below, above = _sides(curve, row, at)
    away = log_time - middle
    depth = TO_THE_END * np.abs(away) / np.where(away < 0, below, above)
    return np.asarray(-np.sign(away) * special.ndtri_exp(-depth - np.log(2)))


def _log_time_of(z: Array, curve: MeasuredCurve, row: int, at: NDArray[np.intp]) -> Array:
    """Log time of a normal number."""
    from scipy import special

    middle, below, above = _sides(curve, row, at)
    depth = -special.log_ndtr(-np.abs(z)) - np.log(2)
    away = np.sign(z) * depth / TO_THE_END * np.where(z < 0, below, above)
    return np.asarray(middle + away)


def _correlations(p: Array, bounds: Array, measured: Array) -> Array:
    """Correlation of errors at p with those at bounds, (points, bounds)."""
    place, u = _places(p, measured)
    of_bound, v = _places(bounds, measured)
    together = (place[:, None] == of_bound) & np.isfinite(u)[:, None]
    apart = np.where(together, np.nan_to_num(u)[:, None] - v, 0.0)
    return np.where(together, np.exp(-DECAY * np.abs(apart)), 0.0)


def _places(p: Array, measured: Array) -> tuple[NDArray[np.intp], Array]:
    """Between which measured counts, and where there; NaN at a measured count."""
    x, at = np.log(measured), np.log(p)
    place = np.searchsorted(measured, p)
    left, right = x[np.maximum(place - 1, 0)], x[np.minimum(place, len(x) - 1)]
    from_left = np.where(place > 0, at - left, 1.0)
    to_right = np.where(place < len(x), right - at, 1.0)
    is_inside = (from_left > 0) & (to_right > 0)
    ratio = np.divide(from_left, to_right, out=np.ones_like(at), where=is_inside)
    u = np.log(np.where(is_inside, ratio, 1.0))
    return place, np.where(is_inside, u, np.nan)


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
    number = np.arange(SAMPLES)
    for j in range(len(b)):
        level = (number + 0.5) / SAMPLES if j == 0 else np.mod((number + 0.5) * GOLDEN**j, 1.0)
        least = (b[j] - drawn[:, :j] @ root[j, :j]) / root[j, j]
        over = np.maximum(special.ndtr(-least), LEAST)
        drawn[:, j] = -special.ndtri(np.maximum(level * over, LEAST))
        log_weight += np.log(over)
    weight = np.exp(log_weight - log_weight.max())
    return drawn @ root.T, weight / weight.sum()
