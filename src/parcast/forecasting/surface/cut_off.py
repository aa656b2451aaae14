"""Runs over several axes that took longer than they had time, and what this says elsewhere.

Such a run says that its time lies above a bound, `own_runs.bounds`. How errors at two points go
along with each other is that of a random field that is 0 at all runs that ended and would have the
covariance

    exp(-3 sum_j |u_j - v_j|)

without these, u and v being coordinates in [-1, 1] over the measured range. Along one axis it is
nearly Brownian motion, as the correlation of `own_runs.cut_off`. Own counts have the same share of
the errors as of the forecast, `surface.method`: this part goes along as `own_runs.cut_off` says
with others at the same values, and not with those elsewhere. Along a single axis it is the whole.
A run at another value of an axis than the single one of all runs that ended says nothing.

The covariance is parcast's own [D]; ``docs/decisions/0036`` has the figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.bounds import LogTimes, given_bounds
from parcast.forecasting.own_runs.cut_off import correlations
from parcast.forecasting.surface.method import FEWEST_OWN, OWN_SHARE, SAME, coordinates_of
from parcast.timings.measurements import Measurements

DECAY: Final = 3.0  # of the covariance over half of the measured range [D]
NUGGET: Final = 1e-9  # of the covariance, so that it has a root
AT_A_RUN: Final = 1e-6  # variance below which a point is at a run
AT_ONCE: Final = 1_000  # points that are answered together: bounds memory


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SurfaceBounds:
    """Configurations of one program of which all runs were ended before they were done."""

    axes: Array  # (bounds, axes): p first
    time: Array  # (bounds,): they took longer, the longest of each [s]
    runs: NDArray[np.int64]  # (bounds,): how many

    def take(self, rows: NDArray[np.bool_]) -> "SurfaceBounds | None":
        """Keep some of them; None where none is left."""
        if not rows.any():
            return None
        return SurfaceBounds(axes=self.axes[rows], time=self.time[rows], runs=self.runs[rows])

    def along(self, axes: Sequence[int]) -> "SurfaceBounds":
        """Keep some of the axes, by their places."""
        return replace(self, axes=self.axes[:, axes])

    def along_p(self, values: Sequence[float]) -> dict[float, list[float]]:
        """Times at each count where the other axes have some values: [s] by [1]."""
        here = np.flatnonzero(np.all(self.axes[:, 1:] == values, axis=1)).tolist()
        return {float(self.axes[i, 0]): [float(self.time[i])] * int(self.runs[i]) for i in here}

    def apart(self, axes: Array) -> NDArray[np.bool_]:
        """Along which axes runs at `axes`, (runs, axes), say nothing of them: (bounds, axes)."""
        is_constant = np.ptp(axes, axis=0) == 0
        is_positive = np.all(axes > 0, axis=0)
        is_other = is_constant & (self.axes != axes[0])
        return np.asarray(is_other | (is_positive & (self.axes <= 0)))


def stopped_runs(
    cut_off: Measurements | None, key: Mapping[str, object], names: Sequence[str], axes: Array
) -> SurfaceBounds | None:
    """Find those of the program with a key, whose runs that ended are at `axes`, (runs, axes)."""
    if cut_off is None or any(name not in cut_off.columns for name in (*key, *names)):
        return None
    every = np.column_stack([cut_off.axes[name] for name in names])
    is_mine = np.ones(len(cut_off), dtype=bool)
    for name, value in key.items():
        is_mine &= np.array([str(x) == value for x in cut_off.labels[name].tolist()])
    ended = set(map(tuple, axes.tolist()))
    is_mine &= np.array([tuple(x) not in ended for x in every.tolist()])
    if not is_mine.any():
        return None
    places, which = np.unique(every[is_mine], axis=0, return_inverse=True)
    longest = np.zeros(len(places))
    np.maximum.at(longest, which.ravel(), cut_off.time[is_mine])
    return SurfaceBounds(axes=places, time=longest, runs=np.bincount(which.ravel()))


def given_stopped(
    told: LogTimes, at: Array, stopped: SurfaceBounds, measured: Array
) -> tuple[LogTimes, LogTimes]:
    """Change answers by runs that were stopped; second, the answers at their places before.

    `told` is at the points of `at`, (points, axes), and then at the places of these runs. All axes
    are those of `measured`, (runs, axes), the runs that ended.
    """
    count = len(at)
    before = LogTimes(*(x[count:] for x in told))
    correlation = _correlation_of(measured)
    log_bounds, own = np.log(stopped.time), correlation(stopped.axes, stopped.axes)
    answers = []
    for start in range(0, count, AT_ONCE):
        part = slice(start, min(start + AT_ONCE, count))
        here, other = LogTimes(*(x[part] for x in told)), correlation(at[part], stopped.axes)
        answers.append(given_bounds(here, before, log_bounds, own, other))
    return LogTimes(*(np.concatenate(x) for x in zip(*answers, strict=True))), before


_Correlation = Callable[[Array, Array], Array]  # of errors at two lists of points


def _correlation_of(measured: Array) -> _Correlation:
    """How errors of a forecast from runs at `measured`, (runs, axes), go along with each other."""
    varied = np.flatnonzero(np.ptp(measured, axis=0)).tolist()
    if len(varied) == 1 and measured[:, varied].min() > 0:
        [j] = varied
        values = np.unique(measured[:, j])
        return lambda a, b: correlations(a[:, j], b[:, j], values)
    field = _field_between(measured)
    others, which = np.unique(measured[:, 1:], axis=0, return_inverse=True)
    which = which.ravel()
    own = {
        tuple(x): np.sort(measured[which == i, 0])
        for i, x in enumerate(others.tolist())
        if np.sum(which == i) >= FEWEST_OWN
    }

    def correlation(a: Array, b: Array) -> Array:
        everywhere = field(a, b)
        along, share = np.zeros_like(everywhere), [np.zeros(len(x)) for x in (a, b)]
        for here, counts in own.items():
            rows = [
                np.flatnonzero(np.all(x[:, 1:] == here, axis=1) & (x[:, 0] > counts[-1]))
                for x in (a, b)
            ]
            for x, row in zip(share, rows, strict=True):
                x[row] = OWN_SHARE
            along[np.ix_(*rows)] = correlations(a[rows[0], 0], b[rows[1], 0], counts)
        together = np.sqrt(np.outer(*share)) * along
        together += np.sqrt(np.outer(*(1 - x for x in share))) * everywhere
        return np.where(everywhere == 1.0, 1.0, together)

    return correlation


def _field_between(measured: Array) -> _Correlation:
    """Correlations of a random field that is 0 at `measured`, (runs, axes)."""
    coordinates = coordinates_of(measured)

    def unit(points: Array) -> Array:
        return coordinates.unit(coordinates.logs(points))

    runs = unit(measured)
    root = np.linalg.cholesky(_covariance(runs, runs) + NUGGET * np.eye(len(runs)))

    def correlation(a: Array, b: Array) -> Array:
        u, v = unit(a), unit(b)
        by_runs = [np.linalg.solve(root, _covariance(runs, x)) for x in (u, v)]
        left = [1 - (x**2).sum(axis=0) for x in by_runs]
        scale = [np.where(x > AT_A_RUN, 1 / np.sqrt(np.maximum(x, AT_A_RUN)), 0) for x in left]
        found = (_covariance(u, v) - by_runs[0].T @ by_runs[1]) * np.outer(*scale)
        return np.where(_distance(u, v) < SAME, 1.0, found)

    return correlation


def _covariance(a: Array, b: Array) -> Array:
    """Covariance of the field at two lists of points in [-1, 1], without the runs."""
    return np.exp(-DECAY * _distance(a, b))


def _distance(a: Array, b: Array) -> Array:
    """Sum over the axes of the distance of two lists of points, (of a, of b)."""
    away = np.zeros((len(a), len(b)))
    for x, y in zip(a.T, b.T, strict=True):
        away += np.abs(x[:, None] - y)
    return away
