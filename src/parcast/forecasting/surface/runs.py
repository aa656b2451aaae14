"""Runs over several axes, and the values asked for, checked and brought to arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError, as_numbers, require
from parcast.forecasting.own_runs.bounds import LogTimes
from parcast.forecasting.own_runs.measured import pooled_noise
from parcast.forecasting.surface.cut_off import SurfaceBounds, given_stopped, stopped_runs
from parcast.forecasting.surface.method import SurfaceForecast, forecast_surface
from parcast.timings.measurements import Measurements
from parcast.timings.series import Key, Series, follows_p
from parcast.units import require_computable, shown
from parcast.words import did_you_mean, joined, whole

MOST_POINTS = 1_000_000  # asked for in one question
MOST_RUNS = 3_000  # configurations that one forecast is made from


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SurfaceRuns:
    """Configurations of one program: p first, then the other axes; repetitions are medians."""

    key: Key  # callpath and machine, where there are several
    names: tuple[str, ...]  # of the axes; "p" is the first
    axes: Array  # (runs, axes)
    time: Array  # (runs,) [s]
    repetitions: NDArray[np.int64]  # (runs,)
    spread: Array  # (runs,): robust sd of log time among the repetitions
    stopped: SurfaceBounds | None = None  # configurations of which all runs were ended

    @property
    def varied(self) -> list[int]:
        """Places of the axes that vary among the runs."""
        return [j for j in range(len(self.names)) if np.ptp(self.axes[:, j]) > 0]

    @property
    def bounds(self) -> SurfaceBounds | None:
        """Runs that were ended and exclude shorter times."""
        stopped = self.stopped
        return stopped and stopped.take(~np.any(stopped.apart(self.axes), axis=1))

    @property
    def used(self) -> list[int]:
        """Places of p and of the others that vary.

        In an order that neither names nor columns decide: by the values measured and, where two
        axes have the same, by how time goes with them.
        """
        others = [j for j in self.varied if j > 0]
        return [0, *sorted(others, key=self._character)]

    def _character(self, j: int) -> tuple[int, list[float], float]:
        """What tells an axis apart from others, whatever it is called."""
        column = self.axes[:, j]
        values = np.unique(column).tolist()
        trend = float((column - column.mean()) @ np.log(self.time)) / float(np.ptp(column))
        return len(values), values, round(trend, 9)

    def at(self, column: NDArray[np.float64], points: Array) -> Array:
        """Look up a column of the runs at points, shape (points, axes); NaN where none was."""
        together = np.concatenate([self.axes, points])
        place = np.unique(together, axis=0, return_inverse=True)[1].ravel()
        table = np.full(len(together), np.nan)
        table[place[: len(self.axes)]] = column
        return table[place[len(self.axes) :]]


def axes_of_question(
    measurements: Measurements, at: Mapping[str, ArrayLike]
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Values of every axis besides p that a forecast is made for, and what was left out.

    An axis not asked for takes each of its measured values, unless it changes together with p.
    """
    check_axes(measurements, at)
    known = [name for name in measurements.axes if name != "p"]
    wanted = {name: _values(name, x, measurements.axes[name]) for name, x in at.items()}
    labels = list(measurements.labels.values())
    chosen, left_out = {}, []
    for name in known:
        measured = measurements.axes[name]
        if name in wanted:
            chosen[name] = wanted[name]
        elif follows_p(measured, p=measurements.p, labels=labels) and np.ptp(measured) > 0:
            left_out.append(name)
        else:
            chosen[name] = np.unique(measured)
    return chosen, tuple(left_out)


def check_axes(measurements: Measurements, names: Iterable[str]) -> None:
    """Refuse names that are no axes besides p."""
    known = [name for name in measurements.axes if name != "p"]
    for name in names:
        if name not in known:
            there = f"Its axes: {', '.join(known)}." if known else "It has none besides p."
            raise ParameterError(
                shown(name),
                must="be an axis of these measurements besides p",
                got="another name",
                hint=f"{did_you_mean(name, known)} {there}".lstrip(),
            )


def _values(name: str, values: ArrayLike, measured: Array) -> Array:
    """Check the values asked for of one axis: numbers, each once."""
    hint = f"Give one number or a list, such as {name}={whole(float(measured[0]))}."
    requested = np.atleast_1d(as_numbers(name, values, hint=hint))
    if requested.ndim > 1 or requested.size == 0:
        got = f"{requested.shape}"
        raise ParameterError(name, must="be one number or a list", got=got, hint=hint)
    require(name, requested, np.isfinite(requested), must="be finite", hint=hint)
    for value in requested.tolist():
        require_computable(name, value)
    if np.all(measured > 0):
        require(name, requested, requested > 0, must="be above 0, as all measured are", hint=hint)
    return requested[np.sort(np.unique(requested, return_index=True)[1])]


def runs_by_label(measurements: Measurements, names: Sequence[str]) -> list[SurfaceRuns]:
    """Runs of each call path on each machine, in the order in which they first appear."""
    labels = list(measurements.labels)
    series = measurements.series([*labels, *names])
    several = [x for x in labels if len(set(measurements.labels[x].tolist())) > 1]
    rows: dict[tuple[object, ...], list[int]] = {}
    for i, key in enumerate(series.keys):
        rows.setdefault(tuple(key[x] for x in several), []).append(i)
    programs = [
        _runs(series, np.array(places), dict(zip(several, values, strict=True)), names)
        for values, places in rows.items()
    ]
    ended = measurements.cut_off
    return [replace(x, stopped=stopped_runs(ended, x.key, x.names, x.axes)) for x in programs]


def _runs(
    series: Series, rows: NDArray[np.intp], key: Mapping[str, object], names: Sequence[str]
) -> SurfaceRuns:
    """Join some series into the runs of one program, ordered by their axes."""
    p = series.p[rows]
    measured = ~np.isnan(p)
    others = np.array([[float(series.keys[i][x]) for x in names] for i in rows.tolist()])
    others = np.repeat(others.reshape(len(rows), 1, len(names)), p.shape[1], axis=1)[measured]
    axes = np.column_stack([p[measured], others])
    order = np.lexsort(axes.T[::-1])
    return SurfaceRuns(
        key={name: str(value) for name, value in key.items()},
        names=("p", *names),
        axes=axes[order],
        time=series.time[rows][measured][order],
        repetitions=series.repetitions[rows][measured][order],
        spread=series.spread[rows][measured][order],
    )


def why_refused(runs: SurfaceRuns, p: Array, wanted: Mapping[str, Array]) -> str:
    """Say why these runs are too few for the question, and what to do; "" if they are enough."""
    varied = runs.varied
    for j, name in enumerate(runs.names):
        value = runs.axes[0, j]
        requested = p if name == "p" else wanted[name]
        if j not in varied and np.any(requested != value):
            other = requested[requested != value][0]
            return (
                f"All its runs have {name} = {whole(float(value))}: {name} = "
                f"{whole(float(other))} cannot be forecast. Measure another {name}."
            )
    if not varied:
        return "There is a single configuration. Measure more."
    needed = len(varied) + 2 if varied != [0] else 2  # p alone is forecast as a series is
    named = joined([runs.names[j] for j in varied])
    if len(runs.axes) < needed:
        return (
            f"A forecast over {named} needs at least {needed} configurations, "
            f"got {len(runs.axes)}. Measure {needed - len(runs.axes)} more."
        )
    if len(runs.axes) > MOST_RUNS:
        return f"It has {len(runs.axes)} configurations, more than {MOST_RUNS}. Select fewer."
    is_log = np.all(runs.axes > 0, axis=0)
    logs = np.where(is_log, np.log(np.where(is_log, runs.axes, 1.0)), runs.axes)[:, varied]
    straight = np.column_stack([np.ones(len(logs)), logs - logs.mean(axis=0)])
    if np.linalg.matrix_rank(straight) < straight.shape[1]:
        return (
            f"{named} change together in all its runs: their effects cannot be separated. "
            "Add a run that changes one alone, or ignore a column that follows from others."
        )
    return ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Answered:
    """The forecast from one program's runs, for every combination of values and every count."""

    runs: SurfaceRuns
    estimate: SurfaceForecast  # at (combinations x points) targets, by runs that ended
    told: LogTimes  # at the same and at further points, with noise, given the bounds
    shape: tuple[int, int]  # (combinations, points)
    noise: float  # standard deviation of log time among repetitions
    at_bounds: LogTimes | None  # where runs were stopped, by those that ended

    @property
    def log_time(self) -> Array:
        """Log time, (combinations, points)."""
        return self._table(self.told.log_time)

    @property
    def half_width(self) -> Array:
        """Half-width of the interval of log time, with noise, (combinations, points)."""
        return self._table(self.told.half_width)

    @property
    def skew(self) -> Array:
        """Skew of the half-width, more up and less down, (combinations, points)."""
        return self._table(self.told.skew)

    @property
    def without_bounds(self) -> Array:
        """Log time by the runs that ended alone, (combinations, points)."""
        return self._table(self.estimate.log_time)

    def _table(self, column: Array) -> Array:
        return column[: self.shape[0] * self.shape[1]].reshape(self.shape)


def grid_of(values: Mapping[str, Array]) -> Array:
    """Every combination of values of axes besides p: (combinations, axes)."""
    if not values:
        return np.empty((1, 0))
    grid = np.meshgrid(*values.values(), indexing="ij")
    return np.stack([x.ravel() for x in grid], axis=1)


def every_combination(p: Array, combinations: Array) -> Array:
    """Points at every count for each combination of the other axes: (points, axes), p first."""
    return np.column_stack(
        [np.tile(p, len(combinations)), np.repeat(combinations, len(p), axis=0)]
    )


def answered_at(
    runs: SurfaceRuns, p: Array, combinations: Array, more: Array | None = None
) -> Answered:
    """Forecast every combination of values, shape (combinations, axes besides p), at every `p`.

    `more` are further points, shape (points, axes), which come last in `told`.
    """
    targets = every_combination(p, combinations)
    if more is not None:
        targets = np.concatenate([targets, more])
    bounds, used = runs.bounds, runs.used
    everywhere = targets if bounds is None else np.concatenate([targets, bounds.axes])
    axes = runs.axes[:, used]
    order = np.lexsort(axes.T[::-1])
    noise = float(pooled_noise(runs.spread[None], runs.repetitions[None] > 1)[0])
    estimate = forecast_surface(axes[order], runs.time[order], everywhere[:, used], noise)
    told = LogTimes(estimate.log_time, estimate.doubts.half_width(), np.zeros(len(everywhere)))
    at_bounds = None
    if bounds is not None:
        told, at_bounds = given_stopped(told, targets[:, used], bounds.along(used), axes)
    return Answered(
        runs=runs,
        estimate=estimate,
        told=told,
        shape=(len(combinations), len(p)),
        noise=noise,
        at_bounds=at_bounds,
    )
