"""Time at any number of processors, from the times measured at a few.

Between the measured counts the time is interpolated, a straight line in log-log; beyond the
largest it is forecast by `parcast.forecasting.ensemble`, joined to the last measured time within
the first doubling; below the smallest likewise, with the counts in the opposite order. Everything
is computed for many series at once.

The half-widths of the 90 % intervals of log time come from how wrong such forecasts *were* on
measured and simulated series of real programs, never from the residuals of one fit. Beyond the
measured counts the error grows with the reach and with three measures, none of which is
enough alone:

    half-width = 2.78 * reach^0.6 * (disagreement * backtest)^0.45 * bend^0.2

reach         logarithm of the ratio between the count asked for and the last measured one;
disagreement  mean distance of the laws from their median there, plus 0.02;
backtest      error of the same method at the last count from the earlier ones, plus 0.03;
bend          how far the forecast's slope leaves the slope of the last two counts, plus 0.05.

Between two measured counts the time is interpolated in log-log, and the doubt is

    half-width = 0.6 * sqrt(distance * (bend + 0.05))

with the distance to the nearer count and the bend of the curve around them. The noise of the runs
themselves is added in quadrature to either. Beyond the measured counts it counts
``sqrt(1 + s + s^2)`` times, where ``s = reach / step`` and the step leads from the last measured
count to the nearest one that is at least a doubling before it. (A straight line through two points
that are each a little off is off ``sqrt(1 + 2 s + 2 s^2)`` times as much; the laws follow more
points than two.)

All constants are this project's own [D]; the study behind them, with the coverage reached, is in
``docs/explanation/forecasting.md``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.ensemble import extrapolate

BEYOND = 2.78
BETWEEN = 0.6
UNTESTED = 0.25  # the backtest's stand-in where two counts leave nothing to hold back
UNKNOWN_BEND = 0.5  # between two counts with none around them
WIDEST_BEND = 2.0  # a larger one is an outlier, not a trend
UNKNOWN_NOISE = 0.05  # of runs that were not repeated
QUIETEST = 0.005  # no series is trusted to repeat better than this
DOUBLING = float(np.log(2.0))  # counts nearer to each other carry noise as if so far apart [D]
NEARLY_DOUBLING = DOUBLING * (1 - 1e-9)
NORMAL_90 = 1.645  # half-width of a normal 90 % interval in standard deviations


def pooled_noise(spread: Array, repeated: NDArray[np.bool_]) -> Array:
    """Pool the standard deviation of log time among repetitions over each series, (series,).

    `spread`, (series, counts), is heeded where `repeated`. At least 0.005; 0.05 without
    repetitions.
    """
    count = repeated.sum(axis=1)
    squares = np.where(repeated, np.nan_to_num(spread) ** 2, 0.0).sum(axis=1)
    pooled = np.sqrt(squares / np.maximum(count, 1))
    return np.where(count > 0, np.maximum(pooled, QUIETEST), UNKNOWN_NOISE)


def beyond(*, reach: Array, disagreement: Array, backtest: Array, bend: Array) -> Array:
    """Half-width of the 90 % interval of log time beyond the measured counts, without noise.

    All arguments are logarithms or log-log slopes; `backtest` is NaN where nothing was held back.
    """
    tested = np.where(np.isnan(backtest), UNTESTED, np.abs(backtest))
    bent = np.minimum(np.abs(bend), WIDEST_BEND)
    doubt = ((disagreement + 0.02) * (tested + 0.03)) ** 0.45 * (bent + 0.05) ** 0.2
    return np.asarray(BEYOND * reach**0.6 * doubt)


def between(*, distance: Array, bend: Array) -> Array:
    """Half-width of the 90 % interval of log time between two measured counts, without noise."""
    bent = np.where(np.isnan(bend), UNKNOWN_BEND, np.minimum(np.abs(bend), WIDEST_BEND))
    return np.asarray(BETWEEN * np.sqrt(distance * (bent + 0.05)))


def step_before(behind: Array) -> Array:
    """Distance from the last count to the nearest one at least a doubling before it, (..., 1).

    `behind`, (..., counts), is the logarithm of the last count over each; 0 as padding.
    """
    far = np.where(behind >= NEARLY_DOUBLING, behind, np.inf).min(axis=-1, keepdims=True)
    first = np.maximum(behind.max(axis=-1, keepdims=True), DOUBLING)
    return np.asarray(np.where(np.isfinite(far), far, first))


def noise_carried(*, reach: Array, step: Array) -> Array:
    """How often the noise of one run counts at a `reach` (log) beyond the measured counts [1]."""
    steps = reach / step
    return np.asarray(np.sqrt(1 + steps + steps**2))


def with_noise(half_width: Array, noise: Array, times: Array | float = 1.0) -> Array:
    """Half-width with the noise of the runs, shape (series,), `times` as much, in quadrature."""
    return np.asarray(np.hypot(half_width, NORMAL_90 * noise[:, None] * times))


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
    """Forecast times and intervals at `targets`, (points,) or (series, points), at least 1 [1].

    `p` [1] and `time` [s], (series, counts), ascend and are padded after the first `count` of a
    row; `noise`, (series,), is the standard deviation of log time among repetitions.
    """
    rows = np.arange(len(p))
    first, last = p[:, 0], p[rows, count - 1]
    points = np.broadcast_to(targets, (len(p), targets.shape[-1]))
    log_time, half_width = _between(p, time, count, points)
    half_width = with_noise(half_width, noise)

    above = points > last[:, None]
    up = _towards(p, time, count, noise, np.maximum(points, last[:, None]), ascending=True)
    log_time = np.where(above, up.log_time, log_time)
    half_width = np.where(above, up.half_width, half_width)
    below = points < first[:, None]
    if below.any():
        down = _towards(p, time, count, noise, np.minimum(points, first[:, None]), ascending=False)
        log_time = np.where(below, down.log_time, log_time)
        half_width = np.where(below, down.half_width, half_width)

    return MeasuredCurve(
        log_time=log_time,
        half_width=np.minimum(half_width, WIDEST),
        reach=np.maximum(np.maximum(points / last[:, None], first[:, None] / points), 1.0),
        weights=up.weights,
        backtest=up.backtest,
        without_last=up.without_last,
    )


def _towards(
    p: Array,
    time: Array,
    count: NDArray[np.int64],
    noise: Array,
    targets: Array,
    *,
    ascending: bool,
) -> MeasuredCurve:
    """Extrapolate upwards or downwards, with the half-width that belongs to it."""
    width = p.shape[1]
    place = np.arange(width) - (width - count)[:, None]  # counted from the first valid column
    valid = place >= 0
    source = np.where(valid, place if ascending else count[:, None] - 1 - place, 0)
    p, time = (np.take_along_axis(values, source, axis=1) for values in (p, time))
    extrapolated = extrapolate(p, time, valid, np.concatenate([targets, p[:, -1:]], axis=1))

    x, y = np.log(p), np.log(time)
    reach = np.abs(np.log(targets) - x[:, -1:])
    missed = y[:, -1:] - extrapolated.log_time[:, -1:]
    joined = extrapolated.log_time[:, :-1] + missed * np.clip(1 - reach / JOINED_FROM, 0.0, 1.0)
    slope = (y[:, -1:] - y[:, -2:-1]) / np.abs(x[:, -1:] - x[:, -2:-1])
    step = step_before(np.where(valid, np.abs(x[:, -1:] - x), 0.0))
    change = joined - y[:, -1:]
    forecast_slope = np.divide(change, reach, out=np.zeros_like(reach), where=reach > 0)
    half_width = beyond(
        reach=reach,
        disagreement=extrapolated.disagreement[:, :-1],
        backtest=extrapolated.backtest[:, None],
        bend=forecast_slope - slope,
    )
    return MeasuredCurve(
        log_time=joined,
        half_width=with_noise(half_width, noise, noise_carried(reach=reach, step=step)),
        reach=np.exp(reach),
        weights=extrapolated.weights,
        backtest=extrapolated.backtest,
        without_last=extrapolated.without_last[:, :-1],
    )


def _between(
    p: Array, time: Array, count: NDArray[np.int64], targets: Array
) -> tuple[Array, Array]:
    """Interpolate in log-log; outside the measured counts the values are not meaningful."""
    x, y = np.log(p), np.log(time)
    slopes = np.diff(y, axis=1) / np.diff(x, axis=1)
    at = np.log(targets)
    left = (p[:, None, :] <= targets[:, :, None]).sum(axis=-1) - 1
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
    return y0 + chord * (at - x0), between(distance=distance, bend=bend)
