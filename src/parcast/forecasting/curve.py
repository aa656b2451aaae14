"""A forecast looked at more closely: one series of it, or the same series at other counts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.errors import ParameterError, require
from parcast.forecasting.call_paths import made_consistent, profile_of
from parcast.forecasting.donors.gather import curve_with_donors, said_of
from parcast.forecasting.forecast import columns_of, parts_of
from parcast.forecasting.result import ANSWERS, Forecast

FROM_ONE = "Count processors from 1."


def one_series(forecast: Forecast, series: int) -> Forecast:
    """One series of a forecast alone, as if there had been no other.

    Parameters
    ----------
    forecast : Forecast
        Of any number of series.
    series : int
        Which of them, counted from 0 in the order of `forecast.notes`.

    Returns
    -------
    Forecast
        Its arrays have the shape of the `p` asked for.

    Raises
    ------
    ParameterError
        If there is no such series.

    Examples
    --------
    >>> from parcast import Measurements, forecast
    >>> runs = Measurements(p=[1, 2, 1, 2], time=[8, 5, 9, 6], machine=["SP", "SP", "T3E", "T3E"])
    >>> told = forecast(runs, p=[4, 8])
    >>> told.time.shape, one_series(told, 1).time.shape, one_series(told, 1).notes[0].label
    ((2, 2), (2,), 'T3E')
    """
    if not 0 <= series < len(forecast.notes):
        raise ParameterError(
            "series",
            must=f"be a number from 0 to {len(forecast.notes) - 1}",
            got=f"{series}",
            hint="The notes of the forecast name its series in this order.",
        )
    alone = forecast.take(np.array([series]))
    answers = {name: getattr(alone, name)[0] for name in ANSWERS} if forecast.by else {}
    return replace(alone, by=(), refused={}, **answers)


def curve(forecast: Forecast, p: ArrayLike) -> Forecast:
    """The series of a forecast answered at other counts, from the same measured times.

    Parameters
    ----------
    forecast : Forecast
        What was forecast.
    p : array_like, any shape
        Processors, at least 1. They need not be whole, so that a line can be drawn through
        them. [1]

    Returns
    -------
    Forecast
        Its arrays belong to `p`; nothing is `observed` there. Its notes are those of `forecast`
        and speak of the counts that were asked for first.

    Raises
    ------
    ParameterError
        If `p` lies outside its domain.

    Examples
    --------
    >>> from parcast import Measurements, forecast
    >>> runs = Measurements(p=[1, 2, 4, 8], time=[100.0, 52.0, 28.0, 16.0])
    >>> told = forecast(runs, p=[16, 32])
    >>> curve(told, [8, 16, 32]).time.round(1)
    array([16. , 10.2,  7.3])
    """
    asked = np.asarray(p, dtype=np.float64)
    require("p", asked, np.isfinite(asked) & (asked >= 1), must="be at least 1", hint=FROM_ONE)
    if forecast.among is not None and profile_of(whole_of(forecast).measured) is not None:
        return _of_some(forecast, *forecast.among, asked)  # only together do they add up
    measured, targets = forecast.measured, asked.ravel()
    strong = np.array([note.scaling == "strong" for note in forecast.notes])
    shape = (len(forecast.notes), *asked.shape) if forecast.by else asked.shape
    parts = [
        _columns(forecast, part, targets, strong[part])
        for part in parts_of(measured, forecast.elsewhere, targets)
    ]
    table = np.concatenate(parts, axis=1)
    profile = profile_of(measured)
    if profile is not None:
        table = made_consistent(measured, profile, table, targets)
    time, lower, upper, speedup, efficiency, reach = table.reshape(-1, *shape)
    return replace(
        forecast,
        p=asked,
        time=time,
        lower=lower,
        upper=upper,
        speedup=speedup,
        efficiency=efficiency,
        reach=reach,
        observed=np.full(shape, np.nan),
    )


def lines(
    forecast: Forecast, rows: Sequence[int], counts: Sequence[NDArray[np.float64]]
) -> list[Forecast]:
    """Some series of a forecast, each answered at counts of its own.

    Call paths that must add up are answered all together, and once for all of `rows`.

    Parameters
    ----------
    forecast : Forecast
    rows : sequence of int
        Which series, counted from 0 in the order of `forecast.notes`.
    counts : sequence of ndarray, shape (points,)
        For each of `rows` the processors, ascending, at least 1. [1]

    Returns
    -------
    list of Forecast
    """
    if profile_of(whole_of(forecast).measured) is None:
        return [curve(one_series(forecast, i), p) for i, p in zip(rows, counts, strict=True)]
    every = np.unique(np.concatenate(counts))
    together = curve(forecast, every)
    answered = []
    for i, p in zip(rows, counts, strict=True):
        own, place = one_series(together, i), np.searchsorted(every, p)
        columns = {name: getattr(own, name)[place] for name in ANSWERS}
        answered.append(replace(own, p=p, **columns))
    return answered


def whole_of(forecast: Forecast) -> Forecast:
    """The forecast of all series that some were chosen from; itself where none was left out."""
    return forecast if forecast.among is None else forecast.among[0]


def _columns(
    forecast: Forecast,
    part: slice,
    targets: NDArray[np.float64],
    strong: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Answer for a part of the series, as `columns_of`."""
    series = forecast.measured.take(part)
    elsewhere = None if forecast.elsewhere is None else forecast.elsewhere.take(part)
    said, _ = said_of(series, elsewhere, targets)
    return columns_of(said, series, targets, strong)


def as_elsewhere(forecast: Forecast, series: int, p: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Times of one series if it goes on as on each of its donors from the runs here.

    Parameters
    ----------
    forecast : Forecast
        What was forecast.
    series : int
        Which of its series, counted from 0 in the order of `forecast.notes`.
    p : array_like, shape (points,)
        Processors, at least 1. [1]

    Returns
    -------
    dict of str to ndarray, shape (points,)
        For each machine that is used somewhere, the heaviest at the last of `p` first; NaN where
        it is not used, and at the counts measured here. Without donors there is none. [s]

    Raises
    ------
    ParameterError
        If there is no such series, or `p` lies outside its domain.

    Examples
    --------
    >>> from parcast import Measurements, forecast
    >>> elsewhere = Measurements(
    ...     p=[1, 2, 4] * 2, time=[9, 5, 3, 8, 4, 2], machine=["SP"] * 3 + ["T3E"] * 3
    ... )
    >>> told = forecast(Measurements(p=[1], time=[16.0]), p=[4], donors=elsewhere)
    >>> {name: times.round(1).tolist() for name, times in as_elsewhere(told, 0, [2, 4]).items()}
    {'T3E': [8.0, 4.0], 'SP': [8.9, 5.3]}
    """
    own = one_series(forecast, series)
    asked = np.atleast_1d(np.asarray(p, dtype=np.float64)).ravel()
    require("p", asked, np.isfinite(asked) & (asked >= 1), must="be at least 1", hint=FROM_ONE)
    if own.elsewhere is None:
        return {}
    donated = curve_with_donors(own.measured, own.elsewhere, asked)
    times = np.exp(donated.as_there[0]) * np.where(donated.share[0] > 0, 1.0, np.nan)[:, None]
    heaviest = np.argsort(-donated.weights[0, -1], kind="stable").tolist()
    return {
        own.elsewhere.names[own.elsewhere.of[0, j]]: times[:, j]
        for j in heaviest
        if np.isfinite(times[:, j]).any()
    }


def _of_some(
    forecast: Forecast,
    whole: Forecast,
    rows: NDArray[np.intp],
    asked: NDArray[np.float64],
) -> Forecast:
    """Answer all series that some were chosen from, and choose these again."""
    answered = curve(whole, asked)
    columns = {name: getattr(answered, name) for name in ANSWERS}
    if whole.by:
        columns = {name: column[rows] for name, column in columns.items()}
        if not forecast.by:
            columns = {name: column[0] for name, column in columns.items()}
    return replace(forecast, p=asked, **columns)
