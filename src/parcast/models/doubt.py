"""How wrong a forecast from timings may be: half-widths of 90 % intervals of log time.

The widths come from how wrong such forecasts *were* on measured and simulated series of real
programs, never from the residuals of one fit. Beyond the measured counts the error grows with the
reach and with three signs of doubt, none of which is enough alone:

    half-width = 2.78 * reach^0.6 * (disagreement * backtest)^0.45 * bend^0.2

reach         logarithm of the ratio between the count asked for and the last measured one;
disagreement  mean distance of the laws from their median there, plus 0.02;
backtest      error of the same method at the last count, told only the earlier ones, plus 0.03;
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

import numpy as np
from numpy.typing import NDArray

from parcast.models.terms import Array

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


def noise(spread: Array, repeated: NDArray[np.bool_]) -> Array:
    """Pool the standard deviation of log time among repetitions over each series.

    Parameters
    ----------
    spread : ndarray, shape (series, counts)
        Robust standard deviation of log time at each count. [1]
    repeated : ndarray of bool, shape (series, counts)
        Where there was more than one repetition; elsewhere `spread` is ignored.

    Returns
    -------
    ndarray, shape (series,)
        At least 0.005; 0.05 for a series without repetitions. [1]

    Examples
    --------
    >>> noise(np.array([[0.01, 0.01], [0.0, 0.0]]), np.array([[True, True], [False, False]]))
    array([0.01, 0.05])
    """
    count = repeated.sum(axis=1)
    squares = np.where(repeated, np.nan_to_num(spread) ** 2, 0.0).sum(axis=1)
    pooled = np.sqrt(squares / np.maximum(count, 1))
    return np.where(count > 0, np.maximum(pooled, QUIETEST), UNKNOWN_NOISE)


def beyond(*, reach: Array, disagreement: Array, backtest: Array, bend: Array) -> Array:
    """Half-width of the 90 % interval of log time beyond the measured counts, without noise.

    All arguments are logarithms or slopes in log-log, of one shape or broadcastable; `backtest`
    may be NaN where nothing could be held back. A reach of 0 gives 0.

    >>> beyond(reach=np.log(2.0), disagreement=0.1, backtest=np.nan, bend=0.2)
    array(0.36...)
    """
    tested = np.where(np.isnan(backtest), UNTESTED, np.abs(backtest))
    bent = np.minimum(np.abs(bend), WIDEST_BEND)
    doubt = ((disagreement + 0.02) * (tested + 0.03)) ** 0.45 * (bent + 0.05) ** 0.2
    return np.asarray(BEYOND * reach**0.6 * doubt)


def between(*, distance: Array, bend: Array) -> Array:
    """Half-width of the 90 % interval of log time between two measured counts, without noise.

    >>> between(distance=np.log(2.0), bend=np.nan)
    array(0.37...)
    """
    bent = np.where(np.isnan(bend), UNKNOWN_BEND, np.minimum(np.abs(bend), WIDEST_BEND))
    return np.asarray(BETWEEN * np.sqrt(distance * (bent + 0.05)))


def step_before(behind: Array) -> Array:
    """Distance from the last count to the nearest one at least a doubling before it.

    Parameters
    ----------
    behind : ndarray, shape (..., counts)
        Logarithm of the last count over each; 0 for itself and as padding.

    Returns
    -------
    ndarray, shape (..., 1)
        That of the first count where all lie nearer, and at least a doubling.

    Examples
    --------
    >>> np.exp(step_before(np.log([[64.0, 4.0, 1.5, 1.0], [1.5, 1.2, 1.0, 1.0]])))
    array([[4.],
           [2.]])
    """
    far = np.where(behind >= NEARLY_DOUBLING, behind, np.inf).min(axis=-1, keepdims=True)
    first = np.maximum(behind.max(axis=-1, keepdims=True), DOUBLING)
    return np.asarray(np.where(np.isfinite(far), far, first))


def noise_carried(*, reach: Array, step: Array) -> Array:
    """How many times the noise of one run counts beyond the measured counts [1].

    Parameters
    ----------
    reach : ndarray
        Logarithm of the ratio between the count asked for and the last measured one.
    step : ndarray, broadcastable to the same shape
        As `step_before` has it, above 0.

    Examples
    --------
    >>> noise_carried(reach=np.log([1.0, 2.0, 4.0]), step=np.array(np.log(2.0)))
    array([1.        , 1.73..., 2.64...])
    """
    steps = reach / step
    return np.asarray(np.sqrt(1 + steps + steps**2))


def with_noise(half_width: Array, noise: Array, times: Array | float = 1.0) -> Array:
    """Half-width with the noise of the runs, shape (series,), `times` as much, in quadrature."""
    return np.asarray(np.hypot(half_width, NORMAL_90 * noise[:, None] * times))
