"""A few timings in, times at other numbers of processors out, each with its interval."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import Argument, FitFailed, ParameterError, require
from parcast.forecasting import measured as doubt
from parcast.forecasting.call_paths import made_consistent, notes_of_profile, profile_of
from parcast.forecasting.donors.gather import LAW_OF_DONORS, gather, said_of, scaling_with_donors
from parcast.forecasting.donors.notes import MATTERS, notes_with_donors
from parcast.forecasting.donors.tables import table_of_donors
from parcast.forecasting.ensemble import LAWS, MEMBERS
from parcast.forecasting.measured import MeasuredCurve
from parcast.forecasting.notes import notes_of
from parcast.forecasting.questions import check_keywords, remedy_of_lone_runs
from parcast.forecasting.result import Elsewhere, Forecast, SeriesNotes
from parcast.forecasting.scaling import (
    Scaling,
    scaling_of_runs,
    size_of_runs,
    speedup_and_efficiency,
)
from parcast.timings.columns import LIMITS
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, label_of
from parcast.words import whole

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine


EFFICIENCY = 4  # its place among the columns of an answer
POINTS_AT_ONCE = 200_000  # series x counts computed together: bounds memory at about 0.5 GB


def forecast(
    measurements: Measurements | Any,
    p: ArrayLike | None = None,
    *,
    hold_out: ArrayLike | None = None,
    donors: Measurements | Sequence[Any] | Any | None = None,
    machines: Sequence["Machine"] = (),
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    progress: Callable[[int, int], None] | None = None,
    **at: ArrayLike,
) -> Forecast:
    """Times at `p` processors from the times measured at a few, with 90 % intervals.

    Parameters
    ----------
    measurements : Measurements, or a table that `Measurements.from_table` accepts
        At least two counts of processors for each series; with `donors`, at least one.
    p : array_like, any shape
        Processors asked for: whole numbers of at least 1. By default those held out. [1]
    hold_out : array_like, optional
        Measured counts that the forecast is not told, so that it can be compared with them: what
        was measured there comes back in `observed`. [1]
    donors : Measurements, such a table, or a list of them, optional
        Runs of the same program on other machines, with a column `machine`. How time goes on
        there, with the same callpath and other axes, helps to forecast it here.
    machines : sequence of Machine
        Descriptions of the machines of the runs: with `donors`, those like the target weigh more.
    by : sequence of str, optional
        Columns that tell the series apart; by default every label there is and every axis besides
        `p` that takes several values.
    scaling : {"auto", "strong", "weak"}
        Whether the work was fixed or grew with the processors. It decides what speedup and
        efficiency mean, not the times. "auto" tells it from a column `n`, the size of the problem,
        or from the times, for all call paths of a run alike.
    progress : callable, optional
        Called with the series done so far and in all.
    **at : array_like
        Values of other axes asked for, such as ``n=[1000, 2000], theta=0.5``: all runs are then
        forecast from together, in every combination of the values; an axis not named takes its
        measured ones. Not with `donors` or `by`.

    Returns
    -------
    Forecast
        Its arrays have the shape of `p`; with one axis more, first, if there are columns in `by`.
        A series with a single count and no donors is left out and named in `refused`.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, `by` names a column that is not there, or a
        keyword is no axis.
    FitFailed
        If no series has two counts of processors, or one and donors.

    Examples
    --------
    >>> from parcast import Measurements, forecast
    >>> runs = Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    >>> told = forecast(runs, p=[16, 32])
    >>> told.time.round(1), told.notes[0].scaling
    (array([10.2,  7.3]), 'strong')
    >>> bool(np.all((told.lower < told.time) & (told.time < told.upper)))
    True
    """
    if scaling not in ("auto", "strong", "weak"):
        raise ParameterError(
            "scaling",
            must='be "auto", "strong" or "weak"',
            got=f"{scaling!r}",
            hint='Leave it out to have it told from the times ("auto").',
        )
    if not isinstance(measurements, Measurements):
        measurements = Measurements.from_table(measurements)
    check_keywords(forecast, at, measurements)
    if p is None:
        p = hold_out
    if p is None:
        raise ParameterError(
            "p",
            must="be given unless counts are held out",
            hint=("Give the processors to forecast, such as ", Argument("p", [64, 128]), "."),
        )
    asked = _processors("p", p)
    if at:  # several axes at once, `parcast.forecasting.surface.forecast`
        return _at_values(
            measurements, asked, at, hold_out=hold_out, donors=donors, by=by, scaling=scaling
        )
    everything = measurements.series(by)
    grouped = everything
    if hold_out is not None:
        told = _without(measurements, _processors("hold_out", hold_out))
        grouped = told.series(everything.by)
    briefly = donors is not None or bool((grouped.count >= 2).any())
    remedies = [remedy_of_lone_runs(measurements, everything, briefly=briefly)]
    elsewhere = None
    if donors is not None:
        others, remarks = table_of_donors(donors)
        elsewhere = gather(others, measurements, grouped, machines)
        if any(elsewhere.told):
            whose = "of the donors"
            remedies.append(remedy_of_lone_runs(others, others.series(), of=whose, briefly=True))
        elsewhere = elsewhere.adding((*remarks, *remedies))
    has_donors = False if elsewhere is None else elsewhere.of[:, 0] >= 0
    answered = (grouped.count >= 2) | has_donors
    refused = {
        label_of(key): _too_few(grouped.p[i, 0], elsewhere.told[i] if elsewhere else (), remedies)
        for i, key in enumerate(grouped.keys)
        if not answered[i]
    }
    kept = {tuple(key.values()) for key in grouped.keys}
    refused |= {
        label_of(key): "All its counts are held out. Name fewer."
        for key in everything.keys
        if tuple(key.values()) not in kept
    }
    if not answered.any():
        raise _no_forecast(grouped, refused, remedies, is_held_out=hold_out is not None)
    series = grouped.take(answered)
    size = size_of_runs(measurements, series.by)
    if elsewhere is None:
        strong, reasons = scaling_of_runs(series, scaling, size=size)
    else:
        elsewhere = elsewhere.take(answered)
        strong, reasons = scaling_with_donors(series, elsewhere, scaling, size=size)
    parts = [
        _answer(
            series.take(part),
            elsewhere and elsewhere.take(part),
            asked.ravel(),
            strong[part],
            reasons[part],
        )
        for part in parts_of(series, elsewhere, asked, progress)
    ]
    table = np.concatenate([table for table, _ in parts], axis=1)
    notes = [note for _, notes in parts for note in notes]
    profile = profile_of(series)
    if profile is not None:
        table = made_consistent(series, profile, table, asked.ravel())
        notes = notes_of_profile(notes, profile)
    shape = (len(series), *asked.shape) if series.by else asked.shape
    time, lower, upper, speedup, efficiency, reach = (
        np.reshape(column, shape) for column in table
    )
    return Forecast(
        p=asked,
        time=time,
        lower=lower,
        upper=upper,
        speedup=speedup,
        efficiency=efficiency,
        reach=reach,
        observed=np.reshape(_observed(everything, series.keys, asked.ravel()), shape),
        by=series.by,
        notes=tuple(notes),
        refused=refused,
        measured=series,
        elsewhere=elsewhere,
        law=f"weighted median of {len(MEMBERS)} forecasts by {len(LAWS)} laws "
        f"({', '.join(law.formula for law, *_ in LAWS.values())})"
        + (LAW_OF_DONORS if elsewhere else ""),
        sources=tuple(f"{name}: {law.source}" for name, (law, *_) in LAWS.items()),
    )


def _at_values(
    measurements: Measurements,
    asked: NDArray[np.float64],
    at: Mapping[str, ArrayLike],
    *,
    hold_out: ArrayLike | None,
    donors: Any,
    by: Sequence[str] | None,
    scaling: Scaling,
) -> Forecast:
    """Forecast over several axes at once."""
    from parcast.forecasting.surface.forecast import forecast_several

    for name, value in (("donors", donors), ("by", by)):
        if value is not None:
            raise ParameterError(
                name,
                must=f"be left out where values of {', '.join(at)} are asked for",
                hint="All runs with the same callpath and machine are forecast from together.",
            )
    told = measurements
    if hold_out is not None:
        told = _without(measurements, _processors("hold_out", hold_out))
    return forecast_several(measurements, asked, at, told=told, scaling=scaling)


def _processors(name: str, p: ArrayLike) -> NDArray[np.float64]:
    """Check counts of processors and return them as floats, in the shape given."""
    hint = f"Give whole numbers of at least 1, such as {name}=[64, 128]."
    try:
        asked = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, must="be numbers", got=f"{p!r:.60}", hint=hint) from None
    if asked.size == 0:
        raise ParameterError(name, must="hold at least one number", got="none", hint=hint)
    is_count = (asked >= 1) & (asked == np.floor(asked))
    require(name, asked, is_count, must="be a whole number of at least 1", hint="Count from 1.")
    limit = LIMITS["p"]
    require(name, asked, limit.ok(asked), must=limit.must, hint=limit.hint)
    return asked


def _without(measurements: Measurements, hold_out: NDArray[np.float64]) -> Measurements:
    """Leave out the rows at the counts held out."""
    measured = np.unique(measurements.p)
    require(
        "hold_out",
        hold_out,
        np.isin(hold_out, measured),
        must="be a measured count",
        hint=f"Measured are {', '.join(f'{whole(x)}' for x in measured[:12].tolist())}.",
    )
    left = np.setdiff1d(measured, hold_out)
    if left.size == 0:
        raise ParameterError(
            "hold_out", must="leave counts to forecast from", got="all of them", hint="Name fewer."
        )
    return measurements.select(p=left)


def _observed(
    everything: Series, keys: Sequence[Mapping[str, str | float]], asked: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Median time measured at each count asked for, NaN where none was: (series, points)."""
    row_of = {tuple(key.values()): row for row, key in enumerate(everything.keys)}
    rows = np.array([row_of[tuple(key.values())] for key in keys])
    observed = np.full((len(rows), len(asked)), np.nan)
    for column in range(everything.p.shape[1]):
        here = everything.p[rows, column, None] == asked
        observed = np.where(here, everything.time[rows, column, None], observed)
    return observed


def _no_forecast(
    grouped: Series, refused: Mapping[str, str], remedies: Sequence[str], *, is_held_out: bool
) -> FitFailed:
    """Say why no series has a forecast, and what to do."""
    if remedies[0]:
        why = " ".join(filter(None, remedies))
    elif is_held_out:
        why = "Fewer than two counts are left to forecast from. Hold out fewer."
    elif len(np.unique(grouped.p[:, 0])) > 1:
        why = (
            f"By {', '.join(grouped.by)} the runs fall into {len(grouped)} series of "
            "one count each. Ignore a column that is no parameter of the program, or measure "
            "each at two counts or more."
        )
    else:
        why = next(iter(refused.values()))
    return FitFailed(why, outcome="No forecast.")


def _too_few(p: float, told: Sequence[str], remedies: Sequence[str]) -> str:
    """Say why a series of a single count has no forecast."""
    at = f"All its times are at p = {whole(float(p))}"
    if remedies[0]:
        return " ".join([f"{at}.", *(told or remedies)])
    needs = (
        f"{at}, and a forecast needs at least two counts of processors. Measure another, best "
        "twice or four times as many, or give runs on other machines as donors."
    )
    return " ".join([needs, *told])


def parts_of(
    series: Series,
    elsewhere: Elsewhere | None,
    asked: NDArray[np.float64],
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[slice]:
    """Cut the series into parts small enough for the memory, telling the progress."""
    curves = 1 if elsewhere is None else 1 + elsewhere.of.shape[1]
    at_once = max(1, POINTS_AT_ONCE // (asked.size + series.p.shape[1]) // curves)
    for start in range(0, len(series), at_once):
        yield slice(start, start + at_once)
        if progress:
            progress(min(start + at_once, len(series)), len(series))


def _answer(
    series: Series,
    elsewhere: Elsewhere | None,
    asked: NDArray[np.float64],
    strong: NDArray[np.bool_],
    reasons: Sequence[str],
) -> tuple[NDArray[np.float64], list[SeriesNotes]]:
    """Answer for a part of the series: a table (columns, series, points), and the notes."""
    # One point more, beside the largest one asked for, gives the slope there.
    furthest = asked.max()
    targets = np.append(asked, furthest / 1.25 if furthest >= 1.25 else furthest * 1.25)
    said, donated = said_of(series, elsewhere, targets)
    table = columns_of(said, series, targets, strong)
    notes = notes_of(
        series,
        said,
        targets,
        efficiency=table[EFFICIENCY],
        strong=strong,
        reasons=reasons,
        noise=doubt.noise(series.spread, series.repetitions > 1),
        helped=None if donated is None else donated.share[:, int(np.argmax(asked))] >= MATTERS,
    )
    if elsewhere is not None and donated is not None:
        notes = notes_with_donors(notes, series, elsewhere, donated, asked)
    return table[:, :, :-1], notes


def columns_of(
    said: MeasuredCurve,
    series: Series,
    targets: NDArray[np.float64],
    strong: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Time, lower, upper, speedup, efficiency and reach: shape (6, series, points)."""
    time = np.exp(said.log_time)
    lower, upper = np.exp(said.ends)
    speedup, efficiency = speedup_and_efficiency(
        p=targets, time=time, p0=series.p[:, 0], time0=series.time[:, 0], strong=strong
    )
    return np.stack([time, lower, upper, speedup, efficiency, said.reach])
