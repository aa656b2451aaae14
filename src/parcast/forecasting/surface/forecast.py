"""Times over processors and other axes at once, from runs that vary several of them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting import measured as doubt
from parcast.forecasting.ensemble import LAWS
from parcast.forecasting.result import Forecast, SeriesNotes
from parcast.forecasting.scaling import Scaling, is_strong, speedup_and_efficiency
from parcast.forecasting.surface.method import MOST_LEVELS, forecast_surface
from parcast.forecasting.surface.notes import notes_of_values
from parcast.forecasting.surface.runs import (
    MOST_POINTS,
    Answered,
    Runs,
    axes_of_question,
    runs_by_label,
    why_refused,
)
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, label_of

STEP = 1.25  # factor over which the slope of an axis is taken
LAW = (
    "over several axes: weighted mean of the laws along p "
    f"({', '.join(law.formula for law, *_ in LAWS.values())}) on a kriged surface, "
    "of the surface, and of a sum of products of powers"
)
SOURCES = (
    "along p: " + "; ".join(f"{name}: {law.source}" for name, (law, *_) in LAWS.items()),
    "surface: Rasmussen and Williams 2006, ch. 2; trend, scales and split [D]",
    "sum of terms: Lawson and Hanson 1995, ch. 23; dictionary [D]",
    "weights by forward chaining, intervals: [D], docs/explanation/several-parameters.md",
)


def forecast_several(
    measurements: Measurements,
    p: Array,
    at: Mapping[str, ArrayLike],
    *,
    told: Measurements,
    scaling: Scaling = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Forecast:
    """Forecast times at `p` processors and at values of other axes, every combination of them.

    Parameters
    ----------
    measurements : Measurements
        Everything that was measured, for `observed`.
    p : ndarray, any shape
        Processors asked for: whole numbers of at least 1. [1]
    at : mapping of str to array_like
        Values asked for of axes besides p, above 0 where all measured ones are. An axis that is
        not named takes each of its measured values.
    told : Measurements
        What the forecast is made from: `measurements` without what is held out.
    scaling, progress
        As for `parcast.forecast`.

    Returns
    -------
    Forecast
        A row for each callpath and machine, each combination of values, and each count.

    Raises
    ------
    ParameterError
        If an axis is not there, or a value lies outside its domain.
    FitFailed
        If the runs do not carry the question; how many are needed is told.
    """
    wanted, left_out = axes_of_question(measurements, at)
    names = list(wanted)
    combinations = np.stack(
        [x.ravel() for x in np.meshgrid(*wanted.values(), indexing="ij")], axis=1
    )
    if combinations.size * p.size > MOST_POINTS:
        raise ParameterError(
            ", ".join(wanted),
            must=f"make at most {MOST_POINTS} points with p",
            got=f"{len(combinations) * p.size}",
            hint="Ask for fewer values.",
        )
    everything = {tuple(x.key.values()): x for x in runs_by_label(measurements, names)}
    programs = runs_by_label(told, names)
    refused, parts = {}, []
    for number, runs in enumerate(programs, start=1):
        if why := why_refused(runs, p.ravel(), wanted):
            refused[label_of(runs.key) or "all runs"] = why
        else:
            whole_set = everything[tuple(runs.key.values())]
            options: dict[str, Any] = {"scaling": scaling, "left_out": left_out}
            parts.append(_answer(runs, whole_set, p.ravel(), combinations, **options))
        if progress:
            progress(number, len(programs))
    if not parts:
        raise FitFailed(next(iter(refused.values())), outcome="No forecast.")
    table = np.concatenate([columns for columns, *_ in parts], axis=1)
    shape = (table.shape[1], *p.shape)
    time, lower, upper, speedup, efficiency, reach, observed = (
        np.reshape(column, shape) for column in table
    )
    notes = tuple(note for _, notes, _ in parts for note in notes)
    return Forecast(
        p=p,
        time=time,
        lower=lower,
        upper=upper,
        speedup=speedup,
        efficiency=efficiency,
        reach=reach,
        observed=observed,
        by=tuple(notes[0].key),
        notes=notes,
        refused=refused,
        measured=_joined([series for *_, series in parts], notes),
        is_surface=True,
        law=LAW,
        sources=SOURCES,
    )


def answered(runs: Runs, p: Array, combinations: Array, more: Array | None = None) -> Answered:
    """Forecast every combination of values, shape (combinations, axes besides p), at every `p`.

    `more` are further points, shape (points, axes); their log times come last in `said`.
    """
    targets = np.column_stack(
        [np.tile(p, len(combinations)), np.repeat(combinations, len(p), axis=0)]
    )
    if more is not None:
        targets = np.concatenate([targets, more])
    axes = runs.axes[:, runs.used]
    order = np.lexsort(axes.T[::-1])
    noise = float(doubt.noise(runs.spread[None], runs.repetitions[None] > 1)[0])
    said = forecast_surface(axes[order], runs.time[order], targets[:, runs.used], noise)
    shape = (len(combinations), len(p))
    count = shape[0] * shape[1]
    half_width = said.doubts.half_width()
    return Answered(
        runs=runs,
        said=said,
        log_time=said.log_time[:count].reshape(shape),
        half_width=half_width[:count].reshape(shape),
        noise=noise,
    )


def _answer(
    runs: Runs,
    everything: Runs,
    p: Array,
    combinations: Array,
    *,
    scaling: Scaling,
    left_out: tuple[str, ...],
) -> tuple[Array, list[SeriesNotes], Series]:
    """Answer for one program: a table (columns, combinations, points), notes, and its runs."""
    measured = np.unique(runs.axes[:, 0])
    some = np.unique(np.linspace(0, len(measured) - 1, MOST_LEVELS).round().astype(int))
    levels = measured[some]  # of which the first is what speedup is over
    points = np.concatenate([p, levels])
    furthest = int(np.argmax(p))
    told = answered(runs, points, combinations, _stepped(runs, p[furthest], combinations))
    time, factor = np.exp(told.log_time), np.exp(told.half_width)
    if scaling != "auto":
        strong, reason = np.full(len(time), scaling == "strong"), "as you said"
    elif len(levels) < 2:
        strong, reason = np.zeros(len(time), dtype=bool), "measured at one count only"
    else:
        every = np.tile(levels, (len(time), 1))
        count = np.full(len(time), len(levels))
        strong = is_strong(every, time[:, len(p) :], count)
        reason = ""
    speedup, efficiency = speedup_and_efficiency(
        p=points, time=time, p0=np.full(len(time), levels[0]), time0=time[:, len(p)], strong=strong
    )
    beyond = told.said.beyond[: time.size].reshape(*time.shape, -1)
    reach = np.exp(beyond.max(axis=-1))
    at = np.column_stack([np.tile(p, len(time)), np.repeat(combinations, len(p), axis=0)])
    observed = everything.at(everything.time, at).reshape(len(time), len(p))
    asked = slice(0, len(p))
    columns = [time, time / factor, time * factor, speedup, efficiency, reach]
    table = np.stack([*(column[:, asked] for column in columns), observed])
    notes = notes_of_values(
        told,
        combinations,
        p=p,
        furthest=furthest,
        slopes=_slopes(told, furthest),
        strong=strong,
        reason=reason,
        curve=(levels, time[:, len(p) :]),
        left_out=left_out,
    )
    return table, notes, _measured(runs, combinations)


def _stepped(runs: Runs, p: float, combinations: Array) -> Array:
    """Points beside each combination at `p`, one axis changed by a factor each."""
    here = np.column_stack([np.full(len(combinations), p), combinations])
    points = np.repeat(here[:, None, :], here.shape[1], axis=1)
    axis = np.arange(here.shape[1])
    positive = np.all(runs.axes > 0, axis=0)
    down = np.where(positive & ((axis > 0) | (p >= STEP)), 1 / STEP, 1.0)
    down[0] = down[0] if p >= STEP else STEP
    points[:, axis, axis] *= down
    return points.reshape(-1, here.shape[1])


def _slopes(told: Answered, furthest: int) -> Array:
    """Slope of log time in the logarithm of each axis, shape (combinations, axes)."""
    axes = told.runs.axes.shape[1]
    here = told.log_time[:, furthest, None]
    there = told.said.log_time[told.log_time.size :].reshape(-1, axes)
    return np.asarray((here - there) / np.log(STEP))


def _measured(runs: Runs, combinations: Array) -> Series:
    """What was measured at each combination, one row each; a row may be empty."""
    counts = np.unique(runs.axes[:, 0])
    points = np.column_stack(
        [np.tile(counts, len(combinations)), np.repeat(combinations, len(counts), axis=0)]
    )
    shape = (len(combinations), len(counts))
    time = runs.at(runs.time, points).reshape(shape)
    order = np.argsort(np.isnan(time), axis=1, kind="stable")
    absent = np.take_along_axis(np.isnan(time), order, axis=1)

    def sorted_rows(values: Array) -> Array:
        table = np.take_along_axis(values.reshape(shape), order, axis=1)
        return np.where(absent, np.nan, table)

    return Series(
        by=(),
        keys=[{} for _ in combinations],
        count=(~absent).sum(axis=1),
        p=sorted_rows(points[:, 0]),
        time=sorted_rows(time),
        repetitions=np.nan_to_num(
            sorted_rows(runs.at(runs.repetitions.astype(np.float64), points))
        ).astype(np.int64),
        spread=sorted_rows(runs.at(runs.spread, points)),
    )


def _joined(tables: list[Series], notes: tuple[SeriesNotes, ...]) -> Series:
    """Stand the runs of all programs below each other, padded to one width."""
    width = max(table.p.shape[1] for table in tables)

    def joined(name: str, padding: float) -> NDArray[Any]:
        columns = [getattr(table, name) for table in tables]
        wider = [
            np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=padding) for x in columns
        ]
        return np.concatenate(wider)

    return replace(
        tables[0],
        by=tuple(notes[0].key),
        keys=[dict(note.key) for note in notes],
        count=np.concatenate([table.count for table in tables]),
        repetitions=joined("repetitions", 0),
        **{name: joined(name, np.nan) for name in ("p", "time", "spread")},
    )
