"""Times of whole profiles, from those of their call paths.

Where times are inclusive, a profile takes as long as its outermost call paths. Where they are
exclusive, so that none is the total of the others, it takes as long as all of them together. The
interval of a sum reaches as far up as

    sqrt((1 - c) * sum(e^2) + c * sum(e)^2)

with e how far up the interval of each call path reaches, and down likewise. The errors of call
paths of one run are not independent; they are taken to be correlated by c = 1/2, as in
`own_runs.call_paths` [D]. With the largest count of 152 profiles of 13 sets held out, 93% of
these intervals contained the measured sum, 88% as the mean of the sets; 88 and 76% with
c = 0, 95 and 95% with c = 1 (`benchmarks/totals.py`, 29 November 2026).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.call_paths import (
    CALLS,
    CORRELATED,
    DIGITS,
    EXACT,
    INCLUDES,
    PATH,
    callers_of,
)
from parcast.forecasting.own_runs.scaling import speedup_and_efficiency
from parcast.forecasting.series.curve import Columns, Curve
from parcast.timings.series import Key, Series

NAMES: Final = {"all", "main", "program", "total"}  # of a call path that holds all others


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Totals:
    """Time of each profile of some series."""

    _row: ClassVar[str] = (
        "time_s lower_s upper_s speedup efficiency measured_s=observed"  # after callpaths and p
    )

    keys: Sequence[Key]  # what distinguishes the profiles; empty of a single one
    profile: NDArray[np.intp]  # (series,): number of the profile that each is of
    parts: NDArray[np.intp]  # (profiles,): call paths that make up the total [1]
    time: Array  # (profiles, points) [s]
    lower: Array  # of the interval [s]
    upper: Array  # of the interval [s]
    speedup: Array  # over the smallest count, NaN where not all was measured there [1]
    efficiency: Array  # likewise [1]
    reach: Array  # how many times beyond the measured counts, of the furthest; 1 inside [1]
    observed: Array  # measured at these counts; NaN where not all was [s]


def totals_of(curve: Curve, p: Array, answers: Columns, observed: Array) -> Totals:
    """Add up the answers for call paths at `p`, (points,), to those for their profiles.

    `observed`, (series, points), was measured there. Two call paths of which neither is the total
    of the other:

    >>> from parcast.timings.measurements import Measurements
    >>> runs = Measurements(p=[1, 2] * 2, time=[8, 4, 2, 2], callpath=["a", "a", "b", "b"])
    >>> curve = Curve(series=runs.series(), elsewhere=None, strong=np.array([True, True]))
    >>> totals = totals_of(curve, np.array([2.0]), curve.at([2.0]), np.array([[4.0], [2.0]]))
    >>> totals.parts, totals.time, totals.speedup.round(2)
    (array([2]), array([[6.]]), array([[1.67]]))
    """
    series = curve.series
    parent, _, profile = callers_of(series)
    is_part = _parts(series, parent, profile)
    number = int(profile.max()) + 1

    def summed(values: Array) -> Array:
        total = np.zeros((number, values.shape[1]))
        np.add.at(total, profile[is_part], values[is_part])
        return total

    time = summed(answers.time)
    down, up = (
        np.sqrt((1 - CORRELATED) * summed(error**2) + CORRELATED * summed(error) ** 2)
        for error in (answers.time - answers.lower, answers.upper - answers.time)
    )
    reach = np.zeros_like(time)
    np.maximum.at(reach, profile[is_part], answers.reach[is_part])
    first = np.unique(profile, return_index=True)[1]
    is_elsewhere = series.p[:, 0] != series.p[first, 0][profile]
    base = np.where(is_elsewhere, np.nan, series.time[:, 0])[:, None]
    speedup, efficiency = speedup_and_efficiency(
        p=p,
        time=time,
        p0=series.p[first, 0],
        time0=summed(base)[:, 0],
        strong=curve.strong[first],
    )
    return Totals(
        keys=[{k: v for k, v in series.keys[i].items() if k != PATH} for i in first.tolist()],
        profile=profile,
        parts=np.bincount(profile[is_part], minlength=number),
        time=time,
        lower=time - down,
        upper=time + up,
        speedup=speedup,
        efficiency=efficiency,
        reach=reach,
        observed=summed(observed),
    )


def _parts(
    series: Series, parent: NDArray[np.intp], profile: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which call paths make up their profile: all exclusive ones, or those that hold all others.

    Nested names are of inclusive times, unless one takes longer than its caller.
    """
    called = parent >= 0
    part = (series.time[parent[called]] / series.time[called]).round(DIGITS)
    shorter = part < INCLUDES
    is_exclusive = np.isin(profile, profile[called][shorter.any(axis=1)])
    of_profile: dict[int, set[str]] = {}
    for i, key in zip(profile.tolist(), series.keys, strict=True):
        of_profile.setdefault(i, set()).add(_path(key))
    is_outermost = [
        not any(caller in of_profile[i] for caller in _callers(_path(key)))
        for i, key in zip(profile.tolist(), series.keys, strict=True)
    ]
    is_part = np.asarray(is_exclusive | np.array(is_outermost))
    for i in range(int(profile.max()) + 1):
        rows = np.flatnonzero((profile == i) & is_part)
        total = _total(series, rows)
        if total is not None:
            is_part[rows] = rows == total
    return is_part


def _path(key: Key) -> str:
    """Name of a call path, without blanks around its parts."""
    return CALLS.join(map(str.strip, str(key[PATH]).split(CALLS)))


def _callers(path: str) -> list[str]:
    """Names that callers of a call path would have."""
    parts = path.split(CALLS)
    return [CALLS.join(parts[:length]) for length in range(1, len(parts))]


def _total(series: Series, rows: NDArray[np.intp]) -> int | None:
    """Which of several call paths is the total of the others, by its name or its times.

    Several may be the longest at every count; which of them stands first says nothing.
    """
    p, time = series.p[rows], series.time[rows]
    if len(rows) < 2 or not np.array_equal(p, np.broadcast_to(p[0], p.shape), equal_nan=True):
        return None
    time = time[:, ~np.isnan(p[0])]
    for i in np.flatnonzero((time >= time.max(axis=0)).all(axis=1)).tolist():
        others = np.delete(time, i, axis=0).sum(axis=0)
        missed = np.abs(time[i] / others - 1).round(DIGITS)
        is_sum = len(rows) > 2 and bool(np.all(missed <= EXACT))
        if is_sum or str(series.keys[rows[i]][PATH]).strip().lower() in NAMES:
            return int(rows[i])
    return None
