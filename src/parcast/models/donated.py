"""Time at any number of processors, from times measured here and on other machines.

Joins `parcast.models.measured`, which knows the target's own runs, with `parcast.models.donors`.
Between the target's own counts the donors have no say. Everything is computed for many series at
once, each with its own donors.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.models import donors, doubt
from parcast.models.measured import WIDEST, MeasuredCurve, curve_from
from parcast.models.terms import Array

INSIDE = 1 + 1e-9  # reach up to which a donor was run there


@dataclass(frozen=True, kw_only=True, slots=True)
class Curves:
    """Measured times of many series, as `curve_from` takes them."""

    p: Array  # (series, counts), ascending, padded on the right [1]
    time: Array  # likewise [s]
    count: NDArray[np.int64]  # (series,) [1]
    noise: Array  # (series,): standard deviation of log time among repetitions


@dataclass(frozen=True, kw_only=True, slots=True)
class DonatedCurve:
    """What own runs and donors say together of each series; see `donated_curve`."""

    said: MeasuredCurve
    share: Array  # (series, points): of the donors in it; 0 where own runs speak alone
    weights: Array  # (series, points, donors): of each in that share, summing to 1 or 0
    as_there: Array  # (series, points, donors): log time if it goes on as there; NaN if not used
    contradicts: NDArray[np.bool_]  # (series, donors): whose shape is not that of the known times
    reach: Array  # (series, points, donors): how far the donor is asked beyond its own runs


def donated_curve(
    here: Curves,
    elsewhere: Curves,
    of: NDArray[np.intp],
    targets: Array,
    likeness: Array | float = 1.0,
) -> DonatedCurve:
    """Forecast times and intervals at `targets` from own runs and donors.

    Parameters
    ----------
    here : Curves
        What is forecast: at least one count each, and two where there is no donor.
    elsewhere : Curves
        All donors: at least two counts each.
    of : ndarray of int, shape (series, donors)
        Which rows of `elsewhere` are donors of each series; -1 as padding.
    targets : ndarray, shape (points,)
        Processors asked for, at least 1. [1]
    likeness : ndarray, shape (series, donors), or float
        How alike the machines are, from 0 to 1. [1]

    Returns
    -------
    DonatedCurve
    """
    rows = np.arange(len(here.p))
    first, last = here.p[:, 0], here.p[rows, here.count - 1]
    asked = np.broadcast_to(targets, (len(rows), len(targets)))
    own = _own(here, last, targets)

    below = asked < first[:, None]
    base = np.where(below, first[:, None], last[:, None])
    known = np.where(np.isnan(here.p), first[:, None], here.p)
    log_time, half_width, reach = _at(elsewhere, of, np.concatenate([asked, base, known], axis=1))
    points = len(targets)
    to, begin, there = np.split(np.arange(log_time.shape[1]), [points, 2 * points])
    outside = np.where(reach > INSIDE, half_width, 0.0)

    y = np.log(np.where(np.isnan(here.time), 1.0, here.time))
    y_base = np.where(below, y[:, :1], y[rows, here.count - 1][:, None])
    agree = _agreement(here, y, known, log_time[:, there], reach[:, there])
    away = np.abs(np.log(asked / base))
    told = donors.transfer(
        change=log_time[:, to] - log_time[:, begin],
        slower=log_time[:, begin] - y_base[..., None],
        agreement=np.broadcast_to((agree * likeness)[:, None, :], reach[:, to].shape),
        outside=np.hypot(outside[:, to], outside[:, begin]),
        reach=away,
        counts=np.where(below, np.inf, here.count[:, None]),  # only upwards is leaning measured
    )
    scatter = np.minimum(doubt.NORMAL_90 * told.sd, WIDEST)
    theirs = doubt.with_noise(scatter, here.noise)
    tells = np.isfinite(told.change) & (below | (asked > last[:, None]))
    both = {
        "own": np.where(here.count[:, None] > 1, own.half_width, np.inf),
        "donors": np.where(tells, theirs, np.inf),
    }
    share = donors.share_of_donors(**both, counts=here.count[:, None].astype(np.float64))
    apart = np.where(tells, y_base + told.change - own.log_time, 0.0)
    has_donors = share > 0
    half = donors.half_width_together(**both, share=share, apart=apart)
    least = doubt.NORMAL_90 * here.noise[:, None]  # both rest on the last run
    half = np.maximum(half, least)
    skew = np.where(tells, share * told.skew * (scatter / theirs) ** 2, 0.0)
    room = 1 - least / half
    return DonatedCurve(
        said=replace(
            own,
            log_time=own.log_time + share * apart,
            half_width=np.where(has_donors, np.minimum(half, WIDEST), own.half_width),
            without_last=np.where(has_donors, np.nan, own.without_last),
            skew=np.clip(skew, -room, room),
        ),
        share=share,
        weights=told.weights,
        as_there=y_base[..., None] + told.changes,
        contradicts=(of >= 0) & (agree == 0),
        reach=reach[:, to],
    )


def _own(here: Curves, last: Array, targets: Array) -> MeasuredCurve:
    """Forecast from own runs alone; where there is one count, only that count is of use."""
    single = here.count == 1
    p, time = here.p, here.time
    if single.any():
        p, time = (np.pad(v, ((0, 0), (0, 1)), constant_values=np.nan) for v in (p, time))
        p[single, 1], time[single, 1] = 2 * p[single, 0], time[single, 0]
    own = curve_from(p, time, np.maximum(here.count, 2), here.noise, targets)
    beyond = np.maximum(targets / last[:, None], here.p[:, :1] / targets)
    return replace(own, reach=np.where(single[:, None], np.maximum(beyond, 1.0), own.reach))


def _at(elsewhere: Curves, of: NDArray[np.intp], asked: Array) -> tuple[Array, Array, Array]:
    """Log time, half-width and reach of every donor at the counts asked: (series, points, donors).

    NaN where there is no donor.
    """
    series, place = np.nonzero(of >= 0)
    pairs = of[series, place]
    tables = np.full((3, *of.shape, asked.shape[1]), np.nan)
    if len(pairs) > 0:
        said = curve_from(
            elsewhere.p[pairs],
            elsewhere.time[pairs],
            elsewhere.count[pairs],
            elsewhere.noise[pairs],
            asked[series],
        )
        tables[:, series, place] = said.log_time, said.half_width, said.reach
    log_time, half_width, reach = tables.swapaxes(-1, -2)
    return log_time, half_width, reach


def _agreement(here: Curves, y: Array, known: Array, log_time: Array, reach: Array) -> Array:
    """Compare the donors' shapes with the known times: weights, shape (series, donors)."""
    rows = np.arange(len(y))
    at_last = here.count - 1
    theirs = np.where(reach <= INSIDE, log_time, np.nan)  # (series, counts, donors)
    theirs = theirs[rows, at_last][:, None, :] - theirs
    ours = y[rows, at_last][:, None] - y
    distance = np.log(known[rows, at_last][:, None] / known)
    is_count = np.arange(y.shape[1]) < here.count[:, None]
    distance = np.where(is_count, distance, 0.0)
    difference = (theirs - ours[..., None]).swapaxes(1, 2)
    return donors.agreement(difference, np.broadcast_to(distance[:, None, :], difference.shape))
