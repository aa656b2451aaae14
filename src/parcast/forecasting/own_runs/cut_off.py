"""Runs of series that took longer than they had time, and what this says of other counts.

Such a run at a count p_c says that its time lies above a bound, `own_runs.bounds`. How errors at p
go along with those at p_c:

    correlation = exp(-0.7 |u(p) - u(p_c)|)

where u is the logarithm of the reach, log(p / last count), beyond the measured counts (likewise
below them), and the logit of the place of log p between two of them; it is 0 across a measured
count. With 0.5 in place of 0.7 it would be that of Brownian motion which is 0 at the measured
counts. The correlation is parcast's own [D]; ``docs/decisions/0036`` has the figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.bounds import LogTimes, given_bounds
from parcast.forecasting.own_runs.measured import MeasuredCurve
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series

DECAY: Final = 0.7  # of the correlation [D]


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
    return rows_of(found)


def rows_of(found: Sequence[Mapping[float, Sequence[float]]]) -> CutOffRuns | None:
    """Bring the times at each count of some series together, [s] by [1]; None if there is none."""
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
        known = told_of(at_bounds, row, np.searchsorted(counts, p))
        measured = series.p[row, : series.count[row]]
        own, other = correlations(p, p, measured), correlations(targets, p, measured)
        touched = np.flatnonzero(other.any(axis=1))
        if touched.size:
            told = told_of(curve, row, touched)
            given = given_bounds(told, known, np.log(bounds), own, other[touched])
            log_time[row, touched], half_width[row, touched], skew[row, touched] = given
    return replace(curve, log_time=log_time, half_width=half_width, skew=skew)


def told_of(curve: MeasuredCurve, row: int, at: NDArray[np.intp]) -> LogTimes:
    """Answers of one series at some of the points of a curve."""
    return LogTimes(curve.log_time[row, at], curve.half_width[row, at], curve.skew[row, at])


def correlations(p: Array, bounds: Array, measured: Array) -> Array:
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
