"""Which call paths take most of the time at the largest count asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from parcast.errors import ParameterError, require_kind
from parcast.forecasting.call_paths import PATH, callers_of, profile_of
from parcast.forecasting.result import Forecast


def largest_regions(told: Forecast, top: int = 10) -> Forecast:
    """Keep the call paths with the largest exclusive times at the largest forecast count.

    Parameters
    ----------
    told : Forecast
        A forecast with series by `callpath`.
    top : int, default 10
        Number of call paths to keep, at least 1. [1]

    Returns
    -------
    Forecast
        The same forecast for these call paths, the longest first. The `shares` of their notes are
        the fractions of their exclusive time in the profile, at the largest measured count and at
        the largest forecast one. [1]

    Raises
    ------
    ParameterError
        If the series are not distinguished by call path, or `top` is below 1.

    Examples
    --------
    >>> import parcast
    >>> runs = parcast.Measurements(
    ...     p=[1, 2, 4, 1, 2, 4],
    ...     time=[80.0, 40.0, 20.0, 1.0, 2.0, 4.0],
    ...     callpath=["solve"] * 3 + ["gather"] * 3,
    ... )
    >>> first = parcast.largest_regions(parcast.forecast(runs, p=64), top=1).notes[0]
    >>> first.label, [round(share, 2) for share in first.shares]
    ('gather', [0.17, 0.97])
    """
    require_kind("told", told, Forecast, hint="Give what parcast.forecast(...) returned.")
    if PATH not in told.by:
        raise ParameterError(
            "regions",
            must="be series by callpath to be ranked",
            got=", ".join(told.by) or "a single series",
            hint="Measure the time of each call path, in a column callpath.",
        )
    if not isinstance(top, int) or top < 1:
        raise ParameterError(
            "top",
            must="be a whole number of at least 1",
            got=f"{top!r}",
            hint="Give the number of call paths to keep.",
        )
    series = told.measured
    profile, groups = profile_of(series), callers_of(series)[2]
    points = max(np.size(told.p), 1)
    furthest = int(np.argmax(np.ravel(told.p)))
    rows = np.arange(len(series))
    shares = []
    for time in (
        series.time[rows, series.count - 1],
        np.reshape(told.time, (len(series), points))[:, furthest],
    ):
        alone = time if profile is None else np.maximum(time - profile.tree.summed(time), 0.0)
        shares.append(alone / np.bincount(groups, alone)[groups])
    order = np.argsort(-alone, kind="stable")[:top]
    kept = told.take(order)
    pairs = np.stack(shares, axis=1)[order].tolist()
    notes = zip(kept.notes, pairs, strict=True)
    return replace(kept, notes=tuple(replace(note, shares=tuple(pair)) for note, pair in notes))
