"""A forecast from a few timings: the weighted median of simple laws, each trusted as it forecast.

No simple law is right for every program, and how well a law fits the runs says little about how
well it forecasts. So every law forecasts, in two *readings* of the same measurements:

all points   the law fitted to every measured count;
last two     the law fitted to the last two counts alone.

Each of these members is then asked for the last measured count from the counts before it (forward
chaining). A member that was wrong by ``e`` (in the logarithm of time) gets the weight
``1 / (e + 0.1)``; the forecast is the weighted median of the members' logarithms of time. With two
counts nothing can be held back and all members weigh the same.

This is parcast's own method [D]. The study that chose it, with what else was tried, is in
``docs/explanation/forecasting.md``.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.laws.curves import AMDAHL, GUSTAFSON, LINEAR, LOGARITHMIC, POWER, QUADRATIC

TRUST = 0.1  # log error at which a member's weight is half of a faultless one's [D]
READINGS = ALL, LAST_TWO = "all points", "last two"
STEEPEST = 2.0  # no member falls below 1/e of the least time over this power of the ratio [D]


class Curve(Protocol):
    """What a law must offer to take part: it can be fitted to times, and then gives times."""

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def formula(self) -> str:
        """The law as a user would write it."""
        ...

    @property
    def source(self) -> str:
        """Where the law comes from."""
        ...

    def fit(self, p: Array, time: Array, weight: Array) -> Array:
        """Parameters, shape (series, parameters)."""
        ...

    def time(self, p: Array, coefficients: Array) -> Array:
        """Time [s], shape (series, points)."""
        ...


LAWS: dict[str, Curve] = {
    law.name: law for law in (GUSTAFSON, AMDAHL, LOGARITHMIC, LINEAR, QUADRATIC, POWER)
}
MEMBERS = tuple((name, reading) for name in LAWS for reading in READINGS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extrapolation:
    """Forecasts of many series from their measured counts, with what their errors depend on.

    All logarithms are natural logarithms of times in seconds.
    """

    log_time: Array  # (series, points): the forecast
    members: Array  # (series, points, members): what each member says
    weights: Array  # (series, members): how much each counts, summing to 1
    disagreement: Array  # (series, points): weighted mean distance of the members from the median
    backtest: Array  # (series,): log error of this method at the last count; NaN below 3 counts
    without_last: Array  # (series, points): the forecast without the last count; NaN likewise


def extrapolate(p: Array, time: Array, valid: NDArray[np.bool_], targets: Array) -> Extrapolation:
    """Forecast times at `targets`, (series, points) at least 1 [1], from the measured counts.

    `p` [1] and `time` [s], (series, counts), are ordered towards the targets; any positive number
    where not `valid`, as at least the last two columns are.
    """
    weight = valid.astype(np.float64)
    members = _members(p, time, weight, targets)
    trust = _trust(p, time, weight)
    median = weighted_median(members, trust)
    backtest, without_last = _without_the_last(p, time, weight, targets)
    disagreement = np.einsum("spm,sm->sp", np.abs(members - median[..., None]), trust)
    return Extrapolation(
        log_time=median,
        members=members,
        weights=trust,
        disagreement=disagreement,
        backtest=backtest,
        without_last=without_last,
    )


def weighted_median(values: Array, weights: Array) -> Array:
    """Median of the last axis of `values` (series, points, members) by `weights`.

    The mean of what stands in the middle n-th of the weight, for n members: continuous in both,
    and for equal weights the ordinary median.
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    share = (weights / weights.sum(axis=-1, keepdims=True))[:, None, :]
    w = np.take_along_axis(np.broadcast_to(share, values.shape), order, axis=-1)
    end = np.cumsum(w, axis=-1)  # each member covers the weight from end - w to end
    half = 0.5 / values.shape[-1]
    covered = np.minimum(end, 0.5 + half) - np.maximum(end - w, 0.5 - half)
    covered = np.clip(covered, 0.0, None)
    return np.asarray((covered * ordered).sum(axis=-1) / covered.sum(axis=-1))


def _members(p: Array, time: Array, weight: Array, targets: Array) -> Array:
    """Logarithm of the time each member forecasts, shape (series, points, members)."""
    reach = np.abs(np.log(targets / _last(p, weight)[:, None]))
    least = np.where(weight > 0, time, np.inf).min(axis=1, keepdims=True)
    lowest = least * np.exp(-1.0 - STEEPEST * reach)
    of_last_two = weight * (np.cumsum(weight[:, ::-1], axis=1)[:, ::-1] <= 2)
    columns = [
        np.log(np.maximum(law.time(targets, law.fit(p, time, own)), lowest))
        for law in LAWS.values()
        for own in (weight, of_last_two)
    ]
    return np.stack(columns, axis=-1)


def _last(values: Array, weight: Array) -> Array:
    """Pick the last entry of each row that has a weight, shape (series,)."""
    at = weight.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    return np.asarray(np.take_along_axis(values, at[:, None], axis=1)[:, 0])


def _trust(p: Array, time: Array, weight: Array) -> Array:
    """Weights of the members by their error at the last count, shape (series, members)."""
    earlier, testable = _without_last(weight)
    forecast = _members(p, time, earlier, _last(p, weight)[:, None])[:, 0, :]
    error = np.abs(forecast - np.log(_last(time, weight))[:, None])
    trust = np.where(testable[:, None], 1.0 / (error + TRUST), 1.0)
    return np.asarray(trust / trust.sum(axis=1, keepdims=True))


def _without_the_last(p: Array, time: Array, weight: Array, targets: Array) -> tuple[Array, Array]:
    """Log error of the whole method at the last count, and its forecasts, from those before it."""
    earlier, testable = _without_last(weight)
    at = np.concatenate([_last(p, weight)[:, None], targets], axis=1)
    median = weighted_median(_members(p, time, earlier, at), _trust(p, time, earlier))
    forecast = np.where(testable[:, None], median, np.nan)
    return np.log(_last(time, weight)) - forecast[:, 0], forecast[:, 1:]


def _without_last(weight: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Weights with each row's last count left out, and which rows then still have two.

    Rows that have not keep all their counts: what is computed from them is not used.
    """
    testable = (weight > 0).sum(axis=1) > 2
    from_the_end = np.cumsum((weight > 0)[:, ::-1], axis=1)[:, ::-1]
    earlier = np.where(testable[:, None] & (from_the_end <= 1), 0.0, weight)
    return earlier, testable
