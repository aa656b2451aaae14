"""Time at any number of processors, from the times measured at a few.

Between the measured counts the time is interpolated, a straight line in log-log; beyond the
largest it is forecast by `parcast.forecasting.own_runs.ensemble`; below the smallest likewise,
with the counts in the opposite order. Everything is computed for many series at once.

The half-widths of the 90% intervals of log time come from how wrong such forecasts *were* on
measured series of real programs, never from the residuals of one fit. Beyond the measured counts:

    half-width = 2.5 * reach/(reach + 0.3) * (disagreement * backtest)^0.36

reach         logarithm of the ratio between the count asked for and the last measured one;
disagreement  mean distance of the laws from their median there, plus 0.02;
backtest      error of the same method at the last count from the earlier ones, plus 0.03.

Runs that still look ideal make all laws agree, whatever comes later. So the upper end is further
away by what an overhead may grow to that the noise hides at the last count: 1.2 times the noise of
its time, growing as p^1.4 does,

    log(1 + 1.2 * noise * (exp(1.4 * reach) - 1) * last time / forecast time)

Between two measured counts the time is interpolated in log-log, and the doubt is

    half-width = 0.6 * sqrt(distance * (bend + 0.05))

with the distance to the nearer count and the bend of the curve around them. The noise of the runs
themselves is added in quadrature to either.

All constants are this project's own [D]; the study behind them, with the coverage reached, is in
``docs/explanation/forecasting.md``.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.ensemble import LawsOfAll, extrapolate
from parcast.forecasting.own_runs.members import OF_TIME, LawSet

APART = 1.25  # largest over smallest count from which they show how a program scales [D]
BEYOND, HALF_REACH, OF_ERRORS = 2.5, 0.3, 0.36
HIDDEN = 1.2  # of an overhead
BETWEEN = 0.6
UNTESTED = 0.25  # the backtest's stand-in where two counts leave nothing to hold back
UNKNOWN_BEND = 0.5  # between two counts with none around them
WIDEST_BEND = 2.0  # a larger one is an outlier, not a trend
UNKNOWN_NOISE = 0.05  # of runs that were not repeated
QUIETEST = 0.005  # no series is trusted to repeat better than this
NORMAL_90 = 1.645  # half-width of a normal 90% interval in standard deviations


def pooled_noise(spread: Array, repeated: NDArray[np.bool_]) -> Array:
    """Pool the standard deviation of log time among repetitions over each series, (series,).

    `spread`, (series, counts), is heeded where `repeated`. At least 0.005; 0.05 without
    repetitions.
    """
    count = repeated.sum(axis=1)
    squares = np.where(repeated, np.nan_to_num(spread) ** 2, 0.0).sum(axis=1)
    pooled = np.sqrt(squares / np.maximum(count, 1))
    return np.where(count > 0, np.maximum(pooled, QUIETEST), UNKNOWN_NOISE)


def beyond(*, reach: Array, disagreement: Array, backtest: Array) -> Array:
    """Half-width of the 90% interval of log time beyond the measured counts, without noise.

    All arguments are logarithms; `backtest` is NaN where nothing was held back.
    """
    tested = np.where(np.isnan(backtest), UNTESTED, np.abs(backtest))
    errors = (disagreement + 0.02) * (tested + 0.03)
    return np.asarray(BEYOND * reach / (reach + HALF_REACH) * errors**OF_ERRORS)


def unknown_slope(one: Array, other: Array) -> Array:
    """How little counts that end at `one` and `other` show of the slope: 1 where nothing. [1].

    Then the program may scale ideally or not at all.
    """
    return np.asarray(np.clip(1 - np.abs(np.log(one / other)) / np.log(APART), 0.0, 1.0))


def hidden(*, reach: Array, change: Array, noise: Array, laws: LawSet = OF_TIME) -> Array:
    """How much longer log time may be by an overhead that the noise hides at the last count.

    `change` is that of log time from there.
    """
    share = HIDDEN * np.maximum(noise, laws.least_hiding)
    return np.asarray(np.log1p(share * np.expm1(laws.growth * reach) * np.exp(-change)))


def between(*, distance: Array, bend: Array) -> Array:
    """Half-width of the 90% interval of log time between two measured counts, without noise."""
    bent = np.where(np.isnan(bend), UNKNOWN_BEND, np.minimum(np.abs(bend), WIDEST_BEND))
    return np.asarray(BETWEEN * np.sqrt(distance * (bent + 0.05)))


def with_noise(half_width: Array, noise: Array) -> Array:
    """Half-width with the noise of the runs, shape (series,), in quadrature."""
    return np.asarray(np.hypot(half_width, NORMAL_90 * noise[:, None]))


# Of logarithms: more says no more, and ends of intervals, costs and samples would be no numbers.
WIDEST = 150.0  # half-width
FURTHEST = 250.0  # time, either way from a second


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCurve:
    """What the measured counts of each series say about other counts; see `curve_from`."""

    log_time: Array  # (series, points): log of time in seconds
    half_width: Array  # (series, points): of its 90% interval
    reach: Array  # (series, points): how many times beyond the measured counts; 1 inside
    weights: Array  # (series, members): of the members of the near forecast upwards
    laws: LawsOfAll  # through all counts, of the forecast upwards
    backtest: Array  # (series,): log error at the largest count from the others; NaN if untested
    without_last: Array  # (series, points): log time without the largest count, NaN likewise
    skew: Array  # (series, points): of the half-width, more up and less down

    @property
    def ends(self) -> tuple[Array, Array]:
        """Log time at the lower and the upper end of the interval: (series, points) each."""
        more = self.half_width * self.skew
        return self.log_time - self.half_width + more, self.log_time + self.half_width + more

    def bounded(self) -> "MeasuredCurve":
        """Give it with times, and ends of their intervals, that are numbers."""
        return replace(
            self,
            log_time=np.clip(self.log_time, -FURTHEST, FURTHEST),
            half_width=np.minimum(self.half_width, WIDEST),
            without_last=np.clip(self.without_last, -FURTHEST, FURTHEST),
        )


def curve_from(
    p: Array,
    time: Array,
    count: NDArray[np.int64],
    noise: Array,
    targets: Array,
    *,
    weight: Array | None = None,
    laws: LawSet = OF_TIME,
) -> MeasuredCurve:
    """Forecast times and intervals at `targets`, (points,) or (series, points), at least 1 [1].

    `p` [1] and `time` [s], (series, counts), ascend and are padded after the first `count` of a
    row; `noise`, (series,), is the standard deviation of log time among repetitions, and `weight`,
    (series, counts), how much each count counts in the fits, by default 1.
    """
    rows = np.arange(len(p))
    first, last = p[:, 0], p[rows, count - 1]
    points = np.broadcast_to(targets, (len(p), targets.shape[-1]))
    log_time, half_width = _between(p, time, count, points)
    half_width = with_noise(half_width, noise)
    skew = np.zeros_like(half_width)

    above = points > last[:, None]
    weight = np.ones_like(p) if weight is None else weight
    measured = (p, time, weight)
    far = np.maximum(points, last[:, None])
    up = _towards(measured, count, noise, far, laws, ascending=True)
    log_time = np.where(above, up.log_time, log_time)
    half_width = np.where(above, up.half_width, half_width)
    skew = np.where(above, up.skew, skew)
    below = points < first[:, None]
    if below.any():
        nearer = np.minimum(points, first[:, None])
        down = _towards(measured, count, noise, nearer, laws, ascending=False)
        log_time = np.where(below, down.log_time, log_time)
        half_width = np.where(below, down.half_width, half_width)
        skew = np.where(below, down.skew, skew)

    return MeasuredCurve(
        log_time=log_time,
        half_width=half_width,
        reach=np.maximum(np.maximum(points / last[:, None], first[:, None] / points), 1.0),
        weights=up.weights,
        laws=up.laws,
        backtest=up.backtest,
        without_last=up.without_last,
        skew=skew,
    ).bounded()


def _towards(
    measured: tuple[Array, Array, Array],
    count: NDArray[np.int64],
    noise: Array,
    targets: Array,
    laws: LawSet,
    *,
    ascending: bool,
) -> MeasuredCurve:
    """Extrapolate upwards or downwards, with the half-width that belongs to it.

    `measured` are p, time and weight of each count.
    """
    width = measured[0].shape[1]
    place = np.arange(width) - (width - count)[:, None]  # counted from the first valid column
    valid = place >= 0
    source = np.where(valid, place if ascending else count[:, None] - 1 - place, 0)
    p, time, weight = (np.take_along_axis(values, source, axis=1) for values in measured)
    extrapolated = extrapolate(p, time, valid, targets, weight, laws=laws)
    reach = np.abs(np.log(targets / p[:, -1:]))
    half_width = beyond(
        reach=reach,
        disagreement=extrapolated.disagreement,
        backtest=extrapolated.backtest[:, None],
    )
    half_width *= laws.widening
    furthest = np.take_along_axis(p, (width - count)[:, None], axis=1)
    half_width = np.hypot(half_width, unknown_slope(p[:, -1:], furthest) * reach)
    change = extrapolated.log_time - np.log(time[:, -1:])
    more = hidden(reach=reach, change=change, noise=noise[:, None], laws=laws) / 2
    half_width = with_noise(half_width, noise) + more
    return MeasuredCurve(
        log_time=extrapolated.log_time,
        half_width=half_width,
        reach=np.exp(reach),
        weights=extrapolated.weights,
        laws=extrapolated.laws,
        backtest=extrapolated.backtest,
        without_last=extrapolated.without_last,
        skew=np.divide(more, half_width, out=np.zeros_like(more), where=half_width > 0),
    )


def _between(
    p: Array, time: Array, count: NDArray[np.int64], targets: Array
) -> tuple[Array, Array]:
    """Interpolate in log-log; outside the measured counts the values are not meaningful."""
    x, y = np.log(p), np.log(time)
    steps = np.diff(x, axis=1)  # 0 beside a series with fewer counts
    slopes = np.divide(np.diff(y, axis=1), steps, out=np.zeros_like(steps), where=steps > 0)
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
