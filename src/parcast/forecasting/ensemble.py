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

from collections.abc import Sequence
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


def extrapolate(
    p: Array, time: Array, valid: NDArray[np.bool_], targets: Array, weight: Array | None = None
) -> Extrapolation:
    """Forecast times at `targets`, (series, points) at least 1 [1], from the measured counts.

    `p` [1] and `time` [s], (series, counts), are ordered towards the targets; any positive number
    where not `valid`, as at least the last two columns are. A count with a smaller `weight`, by
    default 1, counts less in the fits.
    """
    weight = valid.astype(np.float64) if weight is None else valid * weight
    earlier, testable = _without_last(weight)
    before, was_testable = _without_last(earlier)
    now, then, once = _fitted(p, time, (weight, earlier, before))
    members = now.log_times(targets)
    held_back = then.log_times(np.concatenate([now.last, targets], axis=1))
    trust = _trust(held_back[:, 0], now.last_time, testable)
    median = weighted_median(members, trust)
    earlier_trust = _trust(once.log_times(then.last)[:, 0], then.last_time, was_testable)
    without_last = np.where(testable[:, None], weighted_median(held_back, earlier_trust), np.nan)
    return Extrapolation(
        log_time=median,
        members=members,
        weights=trust,
        disagreement=np.einsum("spm,sm->sp", np.abs(members - median[..., None]), trust),
        backtest=np.log(now.last_time)[:, 0] - without_last[:, 0],
        without_last=without_last[:, 1:],
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


@dataclass(frozen=True, slots=True)
class _Fitted:
    """All members, fitted to some of the counts of each series."""

    last: Array  # count of them, (series, 1) [1]
    last_time: Array  # (series, 1) [s]
    least: Array  # time of any of them, (series, 1) [s]
    coefficients: tuple[Array, ...]  # of each member

    def log_times(self, targets: Array) -> Array:
        """Logarithm of the time each member forecasts, shape (series, points, members)."""
        lowest = self.least * np.exp(-1.0 - STEEPEST * np.abs(np.log(targets / self.last)))
        laws = [LAWS[name] for name, _ in MEMBERS]
        times = [law.time(targets, x) for law, x in zip(laws, self.coefficients, strict=True)]
        return np.log(np.maximum(np.stack(times, axis=-1), lowest[..., None]))


def _fitted(p: Array, time: Array, weights: Sequence[Array]) -> list[_Fitted]:
    """Fit all members with some weights of the counts, each law at once: arrays are small."""
    own = np.concatenate([x for weight in weights for x in (weight, _of_last_two(weight))])
    copies = (len(own) // len(p), 1)
    many = np.tile(p, copies), np.tile(time, copies), own
    by_law = [np.split(law.fit(*many), copies[0]) for law in LAWS.values()]
    return [
        _Fitted(
            last=_last(p, weight),
            last_time=_last(time, weight),
            least=np.where(weight > 0, time, np.inf).min(axis=1, keepdims=True),
            coefficients=tuple(x for law in by_law for x in law[2 * i : 2 * i + 2]),
        )
        for i, weight in enumerate(weights)
    ]


def _of_last_two(weight: Array) -> Array:
    """Weights of the last two counts alone."""
    return weight * (np.cumsum((weight > 0)[:, ::-1], axis=1)[:, ::-1] <= 2)


def _last(values: Array, weight: Array) -> Array:
    """Pick the last entry of each row that has a weight, shape (series, 1)."""
    at = weight.shape[1] - 1 - np.argmax(weight[:, ::-1] > 0, axis=1)
    return np.take_along_axis(values, at[:, None], axis=1)


def _trust(forecast: Array, time: Array, testable: NDArray[np.bool_]) -> Array:
    """Weights of the members by their errors at a count, both (series, members)."""
    error = np.abs(forecast - np.log(time))
    trust = np.where(testable[:, None], 1.0 / (error + TRUST), 1.0)
    return np.asarray(trust / trust.sum(axis=1, keepdims=True))


def _without_last(weight: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Weights with each row's last count left out, and which rows then still have two.

    Rows that have not keep all their counts: what is computed from them is not used.
    """
    testable = (weight > 0).sum(axis=1) > 2
    from_the_end = np.cumsum((weight > 0)[:, ::-1], axis=1)[:, ::-1]
    earlier = np.where(testable[:, None] & (from_the_end <= 1), 0.0, weight)
    return earlier, testable
