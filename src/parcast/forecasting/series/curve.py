"""Times of many series at any count of processors, computed where they are asked for.

A forecast keeps its `Curve`: only the runs that it was made from, here and elsewhere. A picture
asks it for the lines that it draws, and a knee for counts close to each other. Call paths that
must add up are computed all together, whichever of them are asked for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import require
from parcast.forecasting.donors.curve import DonatedCurve, Elsewhere, curve_with_donors, timings_of
from parcast.forecasting.own_runs.call_paths import made_consistent, profile_of
from parcast.forecasting.own_runs.cut_off import CutOffRuns, given_cut_off
from parcast.forecasting.own_runs.measured import MeasuredCurve, curve_from
from parcast.forecasting.own_runs.scaling import speedup_and_efficiency
from parcast.numerics import distinct
from parcast.timings.series import Series

POINTS_AT_ONCE = 200_000  # series x counts computed together: bounds memory at about 0.5 GB
POINTS_A_LINE: Final = 241
POINTS_IN_ALL: Final = 50_000  # of all call paths where one cannot be answered alone ...
FEWEST_POINTS: Final = 41  # ... but not fewer of each


class Columns(NamedTuple):
    """What is answered at some counts, (series, points) each."""

    time: Array  # [s]
    lower: Array  # of the interval [s]
    upper: Array  # of the interval [s]
    speedup: Array  # over the smallest measured count [1]
    efficiency: Array  # [1]
    reach: Array  # how many times beyond the measured counts; 1 inside [1]


class CurveEstimate(NamedTuple):
    """What is computed of some series, with what the notes on them are made from."""

    targets: Array  # (points,) [1]
    curve: MeasuredCurve
    donated: DonatedCurve | None  # None without donors
    table: Array  # (columns, series, points): those of `Columns`

    @property
    def columns(self) -> Columns:
        """What is answered at the targets."""
        return Columns(*self.table)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DrawnLine:
    """One series from its smallest to its largest count, ready to be drawn."""

    p: Array  # (points,), those measured among them [1]
    time: Array  # [s]
    lower: Array  # of the interval [s]
    upper: Array  # of the interval [s]
    elsewhere: dict[str, Array]  # time if it goes on as on each other machine [s]


def curve_of(
    series: Series,
    rows: NDArray[np.intp],
    cut_off: CutOffRuns,
    elsewhere: Elsewhere | None = None,
) -> "Curve":
    """Curve of some series with runs that were ended; their speedups are not asked for."""
    return Curve(
        series=series.take(rows),
        elsewhere=elsewhere,
        strong=np.ones(len(rows), dtype=bool),
        cut_off=cut_off.take(rows),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Curve:
    """Some series as functions of the processors, by what they are forecast from."""

    series: Series
    elsewhere: Elsewhere | None  # their donors
    strong: NDArray[np.bool_]  # (series,): whether the work was fixed
    cut_off: CutOffRuns | None = None  # runs that were ended, where there are any
    chosen: NDArray[np.intp] | None = None  # the series that are answered for; None for all

    def only(self, rows: NDArray[np.intp] | slice) -> "Curve":
        """Give some of the series as if there were no other."""
        return Curve(
            series=self.series.take(rows),
            elsewhere=None if self.elsewhere is None else self.elsewhere.take(rows),
            strong=self.strong[rows],
            cut_off=None if self.cut_off is None else self.cut_off.take(rows),
        )

    def choose(self, rows: NDArray[np.intp]) -> "Curve":
        """Answer for some of the series; call paths go on to agree with those left out."""
        return replace(self, chosen=self._chosen[rows])

    def parts(self, points: int) -> Iterator[slice]:
        """Cut the series into parts small enough for the memory at so many points."""
        curves = 1 if self.elsewhere is None else 1 + self.elsewhere.of.shape[1]
        at_once = max(1, POINTS_AT_ONCE // (points + self.series.p.shape[1]) // curves)
        for start in range(0, len(self.series), at_once):
            yield slice(start, start + at_once)

    def estimate(self, targets: Array) -> CurveEstimate:
        """Compute all series at once, each by itself, at `targets`, (points,) at least 1 [1]."""
        curve, donated = self._without_bounds(targets)
        if self.cut_off is not None:
            counts, known = self.at_bounds(self.cut_off)
            curve = given_cut_off(
                curve, targets, known, counts, runs=self.cut_off, series=self.series
            )
        time = np.exp(curve.log_time)
        lower, upper = np.exp(curve.ends)
        speedup, efficiency = speedup_and_efficiency(
            p=targets,
            time=time,
            p0=self.series.p[:, 0],
            time0=self.series.time[:, 0],
            strong=self.strong,
        )
        columns = Columns(time, lower, upper, speedup, efficiency, curve.reach)
        table = np.stack(columns)
        return CurveEstimate(targets=targets, curve=curve, donated=donated, table=table)

    def _without_bounds(self, targets: Array) -> tuple[MeasuredCurve, DonatedCurve | None]:
        """Compute all series by their runs that were not ended."""
        if self.elsewhere is None:
            own = timings_of(self.series)
            told = curve_from(own.p, own.time, own.count, own.noise, targets, weight=own.weight)
            return told, None
        donated = curve_with_donors(self.series, self.elsewhere, targets)
        return donated.curve, donated

    def without_cut_off(self) -> "Curve":
        """Give the same series without the runs that were ended."""
        return replace(self, cut_off=None)

    def at_bounds(self, runs: CutOffRuns) -> tuple[Array, MeasuredCurve]:
        """Counts of runs that were ended [1], and what the others say there."""
        counts = distinct(runs.p[np.isfinite(runs.p)])
        return counts, self._without_bounds(counts)[0]

    def at(self, p: ArrayLike) -> Columns:
        """Answers for the chosen series at `p`, at least 1, of any shape: (series, *p.shape)."""
        targets = _checked(p)
        if profile_of(self.series) is None:
            curve = self if self.chosen is None else self.only(self.chosen)
            table = curve._table(targets.ravel())
        else:
            table = self._consistent(targets.ravel())[:, self._chosen]
        return Columns(*table.reshape(*table.shape[:2], *targets.shape))

    def along(self, ends: Sequence[Array]) -> list[DrawnLine]:
        """Lines of the chosen series, each over its measured counts and to `ends` of its own."""
        points, profile = POINTS_A_LINE, profile_of(self.series)
        if profile is not None:  # all must be answered for any
            points = int(np.clip(POINTS_IN_ALL / len(self.series), FEWEST_POINTS, POINTS_A_LINE))
        alone = [self.only(np.array([row])) for row in self._chosen.tolist()]
        counts = [_between(x.series, far, points) for x, far in zip(alone, ends, strict=True)]
        if profile is None:
            tables = [x._table(p)[:, 0] for x, p in zip(alone, counts, strict=True)]
        else:
            every = np.unique(np.concatenate(counts))
            table = self._consistent(every)
            tables = [
                table[:, row, np.searchsorted(every, p)]
                for row, p in zip(self._chosen.tolist(), counts, strict=True)
            ]
        return [
            DrawnLine(
                p=p, time=table[0], lower=table[1], upper=table[2], elsewhere=x.as_elsewhere(0, p)
            )
            for x, p, table in zip(alone, counts, tables, strict=True)
        ]

    def as_elsewhere(self, row: int, p: ArrayLike) -> dict[str, Array]:
        """Times [s], (points,), at `p` if a series goes on as on each donor; NaN where unused.

        The heaviest donor at the last of `p` comes first; donors without any are left out.
        """
        targets = np.atleast_1d(_checked(p)).ravel()
        own = self.only(self._chosen[row : row + 1])
        if own.elsewhere is None:
            return {}
        donated = curve_with_donors(own.series, own.elsewhere, targets)
        times = np.exp(donated.as_there[0]) * np.where(donated.share[0] > 0, 1.0, np.nan)[:, None]
        heaviest = np.argsort(-donated.weights[0, -1], kind="stable").tolist()
        return {
            own.elsewhere.names[own.elsewhere.of[0, j]]: times[:, j]
            for j in heaviest
            if np.isfinite(times[:, j]).any()
        }

    @property
    def _chosen(self) -> NDArray[np.intp]:
        """Numbers of the series that are answered for."""
        return np.arange(len(self.series)) if self.chosen is None else self.chosen

    def _table(self, targets: Array) -> Array:
        """Answers for all series, each by itself: (columns, series, points)."""
        parts = (self.only(part) for part in self.parts(len(targets)))
        return np.concatenate([part.estimate(targets).table for part in parts], axis=1)

    def _consistent(self, targets: Array) -> Array:
        """Answers for all series, of which some are call paths that must add up."""
        profile = profile_of(self.series)
        table = self._table(targets)
        return table if profile is None else made_consistent(self.series, profile, table, targets)


def _checked(p: ArrayLike) -> Array:
    """Processor counts for a line, in the shape given. [1]."""
    counts = np.asarray(p, dtype=np.float64)
    is_count = np.isfinite(counts) & (counts >= 1)
    require("p", counts, is_count, must="be at least 1", hint="Count processors from 1.")
    return counts


def _between(series: Series, ends: Array, points: int) -> Array:
    """Counts along the line of a single series, those measured among them. [1]."""
    p = series.p[0, : int(series.count[0])]
    ends = np.concatenate([p[[0, -1]], ends])
    return np.union1d(np.geomspace(ends.min(), ends.max(), points), p)
