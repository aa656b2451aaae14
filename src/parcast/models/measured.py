"""Time at any number of processors, from the times measured at a few.

Between the measured counts the time is interpolated, a straight line in log-log; beyond the
largest it is forecast by `parcast.models.ensemble`, joined to the last measured time within the
first doubling; below the smallest likewise, with the counts in the opposite order. Everything is
computed for many series at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.models import doubt
from parcast.models.ensemble import extrapolate
from parcast.models.terms import Array

JOINED_FROM = float(
    np.log(2.0)
)  # reach within which a forecast bends to the last time measured [D]
WIDEST = 200.0  # a wider interval says no more, and its ends would not be numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCurve:
    """What the measured counts of each series say about other counts; see `curve_from`."""

    log_time: Array  # (series, points): log of time in seconds
    half_width: Array  # (series, points): of its 90 % interval
    reach: Array  # (series, points): how many times beyond the measured counts; 1 inside
    weights: Array  # (series, members): of the members of the forecast beyond the largest count
    backtest: Array  # (series,): log error at the largest count from the others; NaN if untested
    without_last: Array  # (series, points): log time without the largest count, NaN likewise
    skew: Array | float = 0.0  # (series, points): of the half-width, more up and less down

    @property
    def ends(self) -> tuple[Array, Array]:
        """Log time at the lower and the upper end of the interval: (series, points) each."""
        more = self.half_width * self.skew
        return self.log_time - self.half_width + more, self.log_time + self.half_width + more


def curve_from(
    p: Array, time: Array, count: NDArray[np.int64], noise: Array, targets: Array
) -> MeasuredCurve:
    """Forecast times and their intervals at `targets` for every series.

    Parameters
    ----------
    p, time : ndarray, shape (series, counts)
        Processors, ascending [1], and measured times [s]; what stands to the right of the first
        `count` entries of a row is padding.
    count : ndarray of int, shape (series,)
        Measured counts of each series, at least 2. [1]
    noise : ndarray, shape (series,)
        Standard deviation of log time among repetitions. [1]
    targets : ndarray, shape (points,) or (series, points)
        Processors asked for, at least 1. [1]

    Returns
    -------
    MeasuredCurve
    """
    rows = np.arange(len(p))
    first, last = p[:, 0], p[rows, count - 1]
    asked = np.broadcast_to(targets, (len(p), targets.shape[-1]))
    log_time, half_width = _between(p, time, count, asked)
    half_width = doubt.with_noise(half_width, noise)

    above = asked > last[:, None]
    up = _towards(p, time, count, noise, np.maximum(asked, last[:, None]), ascending=True)
    log_time = np.where(above, up.log_time, log_time)
    half_width = np.where(above, up.half_width, half_width)
    below = asked < first[:, None]
    if below.any():
        down = _towards(p, time, count, noise, np.minimum(asked, first[:, None]), ascending=False)
        log_time = np.where(below, down.log_time, log_time)
        half_width = np.where(below, down.half_width, half_width)

    return MeasuredCurve(
        log_time=log_time,
        half_width=np.minimum(half_width, WIDEST),
        reach=np.maximum(np.maximum(asked / last[:, None], first[:, None] / asked), 1.0),
        weights=up.weights,
        backtest=up.backtest,
        without_last=up.without_last,
    )


def _towards(
    p: Array,
    time: Array,
    count: NDArray[np.int64],
    noise: Array,
    asked: Array,
    *,
    ascending: bool,
) -> MeasuredCurve:
    """Extrapolate upwards or downwards, with the half-width that belongs to it."""
    width = p.shape[1]
    place = np.arange(width) - (width - count)[:, None]  # counted from the first valid column
    valid = place >= 0
    source = np.where(valid, place if ascending else count[:, None] - 1 - place, 0)
    p, time = (np.take_along_axis(values, source, axis=1) for values in (p, time))
    said = extrapolate(p, time, valid, np.concatenate([asked, p[:, -1:]], axis=1))

    x, y = np.log(p), np.log(time)
    reach = np.abs(np.log(asked) - x[:, -1:])
    missed = y[:, -1:] - said.log_time[:, -1:]
    joined = said.log_time[:, :-1] + missed * np.clip(1 - reach / JOINED_FROM, 0.0, 1.0)
    slope = (y[:, -1:] - y[:, -2:-1]) / np.abs(x[:, -1:] - x[:, -2:-1])
    step = doubt.step_before(np.where(valid, np.abs(x[:, -1:] - x), 0.0))
    change = joined - y[:, -1:]
    forecast_slope = np.divide(change, reach, out=np.zeros_like(reach), where=reach > 0)
    half_width = doubt.beyond(
        reach=reach,
        disagreement=said.disagreement[:, :-1],
        backtest=said.backtest[:, None],
        bend=forecast_slope - slope,
    )
    return MeasuredCurve(
        log_time=joined,
        half_width=doubt.with_noise(
            half_width, noise, doubt.noise_carried(reach=reach, step=step)
        ),
        reach=np.exp(reach),
        weights=said.weights,
        backtest=said.backtest,
        without_last=said.without_last[:, :-1],
    )


def _between(p: Array, time: Array, count: NDArray[np.int64], asked: Array) -> tuple[Array, Array]:
    """Interpolate in log-log; outside the measured counts the values are not meaningful."""
    x, y = np.log(p), np.log(time)
    slopes = np.diff(y, axis=1) / np.diff(x, axis=1)
    at = np.log(asked)
    left = (p[:, None, :] <= asked[:, :, None]).sum(axis=-1) - 1
    left = np.clip(left, 0, count[:, None] - 2)

    x0, x1, y0 = (
        np.take_along_axis(v, i, axis=1) for v, i in ((x, left), (x, left + 1), (y, left))
    )
    chord = np.take_along_axis(slopes, left, axis=1)
    before = np.take_along_axis(slopes, np.maximum(left - 1, 0), axis=1)
    after = np.take_along_axis(slopes, np.minimum(left + 1, slopes.shape[1] - 1), axis=1)
    has_before, has_after = left > 0, left < count[:, None] - 2
    bends = np.stack(
        [
            np.where(has_before, np.abs(before - chord), -1.0),
            np.where(has_after, np.abs(after - chord), -1.0),
        ]
    ).max(axis=0)
    bend = np.where(has_before | has_after, bends, np.nan)
    distance = np.clip(np.minimum(at - x0, x1 - at), 0.0, None)
    return y0 + chord * (at - x0), doubt.between(distance=distance, bend=bend)
