"""A forecast from a few timings: simple laws together, each trusted as it forecast.

No simple law is right for every program, and how well a law fits the runs says little about how
well it forecasts. So three forecasts are combined, each of laws that are weighted by their errors
``e`` (in the logarithm of time) at the last counts, each forecast from the counts before:

near        up to twice the last count: the weighted median of all laws in two *readings*, fitted
            to every measured count and to the last two alone, by ``exp(-|e| / 0.35)`` at the last;
far         from six times: the mean of the logarithms of the laws without a cost that grows as p
            or faster, by their errors at the last three counts, ``exp(-sum |e| / 0.2)``;
recognised  from five counts: the mean of the logarithms of the laws through all counts, by how
            well they fit and forecast the counts before the last. Its share is large where the
            best of them leaves a few per cent or less there, and small elsewhere.

The shares do not depend on the last time, and the weights change slowly with it, so a longer last
time does not shorten what is forecast beyond it.

This is parcast's own method [D]. The study that chose it, with what else was tried, is in
``docs/explanation/forecasting.md``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.members import (
    LAWS,
    OF_TIME,
    Cut,
    FittableCurve,
    LawSet,
    cuts_of,
    errors_of,
)
from parcast.laws.curves import POWER

READINGS = ALL, LAST_TWO = "all points", "last two"
MEMBERS = tuple((name, reading) for reading in READINGS for name in LAWS)

FAR_ERROR = 0.2  # the same of the sum over three counts [D]
FAR_FROM, FAR_AT = np.log(2.0), np.log(6.0)  # reach between which the far forecast takes over [D]
CHAIN = 3  # counts that are forecast from those before

TINY = 1e-12
EXACT = 0.003  # log residual below which all laws fit alike [D]
BELIEVED = 0.04  # log residual at which named laws have half of the say, at five counts [D]
LIKELY, OF_NOISE = 0.01, 1.5  # log error at the last count that is no surprise [D]
CLOSE: Final = 0.02  # log residual up to which a law is named [D]
ALIKE: Final = 1.25  # times the least residual up to which a law with fewer terms is preferred [D]
LEAST: Final = 1e-300  # time whose logarithm is a number [s]
AS_FORECAST: Final = 0.05  # log distance between a forecast and the law it is said to follow [D]

BLOCK = 1000  # series at once: larger arrays leave the cache, and their pages are mapped anew


@dataclass(frozen=True, kw_only=True, slots=True)
class LawsOfAll:
    """What the laws that can be recognised, fitted to all counts of each series, say of these."""

    share: Array  # (series, laws): of each in the forecast, summing to at most 1
    residual: Array  # (series, laws): root mean square of the log residuals
    coefficients: tuple[Array, ...]  # of each law, (series, parameters)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extrapolation:
    """Forecasts of many series from their measured counts, with what their errors depend on.

    All logarithms are natural logarithms of times in seconds.
    """

    log_time: Array  # (series, points): the forecast
    weights: Array  # (series, members): of the near forecast, summing to 1
    disagreement: Array  # (series, points): weighted mean distance of all laws from the forecast
    backtest: Array  # (series,): log error of this method at the last count; NaN below 3 counts
    without_last: Array  # (series, points): the forecast without the last count; NaN likewise
    laws: LawsOfAll


@dataclass(frozen=True, kw_only=True, slots=True)
class _Together:
    """Some laws as one forecast of each series."""

    log_time: Array  # (series, points)
    weights: Array  # (series, laws), summing to 1
    members: Array  # (series, points, laws)

    def apart(self, log_time: Array) -> Array:
        """Weighted mean distance of the laws from a forecast, (series, points)."""
        distance = np.abs(self.members - log_time[..., None])
        return np.asarray(np.einsum("spm,sm->sp", distance, self.weights))


def extrapolate(
    p: Array,
    time: Array,
    valid: NDArray[np.bool_],
    targets: Array,
    weight: Array | None = None,
    *,
    laws: LawSet = OF_TIME,
) -> Extrapolation:
    """Forecast times at `targets`, (series, points) at least 1 [1], from the measured counts.

    `p` [1] and `time` [s], (series, counts), are ordered towards the targets; any positive number
    where not `valid`, as at least the last two columns are. A count with a smaller `weight`, by
    default 1, counts less in the fits.
    """
    weight = valid.astype(np.float64) if weight is None else valid * weight
    targets = np.broadcast_to(targets, (len(p), targets.shape[1]))
    blocks = [slice(i, i + BLOCK) for i in range(0, max(len(p), 1), BLOCK)]
    stacked: Extrapolation = _stacked(
        [_extrapolated(p[i], time[i], weight[i], targets[i], laws) for i in blocks]
    )
    return stacked


def _stacked(blocks: Sequence[Any]) -> Any:
    """Put the arrays of several blocks of series, or of tuples and data of them, end to end."""
    first = blocks[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(blocks)
    if isinstance(first, tuple):
        return tuple(_stacked(parts) for parts in zip(*blocks, strict=True))
    names = [field.name for field in fields(first)]
    return type(first)(**{name: _stacked([getattr(x, name) for x in blocks]) for name in names})


def _extrapolated(
    p: Array, time: Array, weight: Array, targets: Array, laws: LawSet
) -> Extrapolation:
    """Extrapolate a block of series."""
    cuts = cuts_of(p, time, weight, laws, all_counts=CHAIN + 2, last_two=3)
    errors, errors_of_two = errors_of(cuts), errors_of(cuts[:3], last_two=True)
    log_time, disagreement, near, named = _forecast(
        cuts, errors[:CHAIN], errors_of_two[0], targets, p=p, time=time
    )
    all_known = cuts[0]
    asked = np.concatenate([all_known.last, targets], axis=1)
    then, *_ = _forecast(cuts[1:], errors[1:], errors_of_two[1], asked, p=p, time=time)
    then = np.where(cuts[1].is_cut[:, None], then, np.nan)
    return Extrapolation(
        log_time=log_time,
        weights=near.weights,
        disagreement=disagreement,
        backtest=np.log(all_known.last_time)[:, 0] - then[:, 0],
        without_last=then[:, 1:],
        laws=LawsOfAll(
            share=named,
            residual=np.sqrt(all_known.mean_square(_residuals(all_known, p, time))),
            coefficients=tuple(all_known.of_all[i] for i in laws.nameable),
        ),
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


def _forecast(
    cuts: Sequence[Cut],
    errors: Sequence[Array],
    error_of_two: Array,
    targets: Array,
    *,
    p: Array,
    time: Array,
) -> tuple[Array, Array, _Together, Array]:
    """Forecast and disagreement from the first of `cuts`, near members, shares of named laws.

    `errors` are those at its last counts; `error_of_two` is that of the laws through two counts.
    """
    known = cuts[0]
    of_all = known.joined(targets)
    members = np.concatenate([of_all, known.joined(targets, last_two=True)], axis=2)
    near = _median(
        members, _trust(np.concatenate([errors[0], error_of_two], axis=1), known.laws.near_error)
    )
    reliable, nameable = known.laws.far_places, known.laws.nameable
    missed = np.sum(np.abs(errors), axis=0)[:, reliable]
    far = _mean(of_all[..., reliable], _trust(missed, FAR_ERROR))
    weights, share = _recognised(cuts, errors, p, time)
    named = _mean(of_all[..., nameable], weights)
    reach = np.abs(np.log(targets / known.last))
    distance = np.clip((reach - FAR_FROM) / (FAR_AT - FAR_FROM), 0.0, 1.0)
    parts = [(near, (1 - share) * (1 - distance)), (far, (1 - share) * distance), (named, share)]
    log_time = np.asarray(sum(part * laws.log_time for laws, part in parts))
    apart = np.asarray(sum(part * laws.apart(log_time) for laws, part in parts))
    return log_time, apart, near, share * weights


def _recognised(
    cuts: Sequence[Cut], errors: Sequence[Array], p: Array, time: Array
) -> tuple[Array, Array]:
    """Weigh the laws through all counts by how they fit and forecast the counts before the last.

    Weights, (series, laws that can be recognised), summing to 1, and their share in the forecast,
    (series, 1). The residuals of a law have its parameters fewer degrees of freedom than counts.
    """
    before, nameable = cuts[1], cuts[0].laws.nameable
    parameters = np.array([before.of_all[i].shape[1] for i in nameable])
    free = np.maximum(before.counts - parameters, 0)
    squares = before.mean_square(_residuals(before, p, time)) * before.counts
    variance = squares / np.maximum(free, 0.5)
    chained = np.mean(np.square(errors[1:]), axis=0)[:, nameable]
    likely = -0.5 * free * np.log(variance + EXACT**2) - np.log(chained + EXACT**2)

    best = np.where(free > 0, (variance + EXACT**2) ** -1.5, 1e-9)
    residual = np.sqrt((best * variance).sum(axis=1) / best.sum(axis=1))[:, None]
    believed = BELIEVED * np.clip(cuts[0].counts - cuts[0].laws.too_few, 0, 2)
    share = believed**2 / (believed**2 + residual**2 + TINY)

    surprise = np.abs(errors[0][:, nameable]) / np.hypot(LIKELY, OF_NOISE * residual)
    likely = likely - surprise
    weights = np.exp(likely - likely.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True), share


def _residuals(cut: Cut, p: Array, time: Array) -> Array:
    """Log residuals of the laws that can be recognised at every count, (series, counts, laws)."""
    return cut.log_times(p)[..., cut.laws.nameable] - np.log(time)[..., None]


def _trust(error: Array, scale: float) -> Array:
    """Weights of laws by their log errors, (series, laws), summing to 1."""
    trust = np.exp((np.abs(error).min(axis=1, keepdims=True) - np.abs(error)) / scale)
    return np.asarray(trust / trust.sum(axis=1, keepdims=True))


def _median(members: Array, weights: Array) -> _Together:
    """Laws as the weighted median of their log times."""
    return _Together(log_time=weighted_median(members, weights), weights=weights, members=members)


def _mean(members: Array, weights: Array) -> _Together:
    """Laws as the weighted mean of their log times."""
    mean = np.einsum("spm,sm->sp", members, weights)
    return _Together(log_time=mean, weights=weights, members=members)


class Follows(NamedTuple):
    """A law through all counts of a series that its forecast agrees with."""

    law: str  # its name in the registry
    formula: str  # "a + b/p"
    coefficients: dict[str, float]  # by their letters in the formula [s]; an exponent [1]
    residual: float  # root mean square of the relative residuals [1]


def laws_followed(
    laws: LawsOfAll, log_time: Array, p: float, of: LawSet = OF_TIME
) -> list[Follows | None]:
    """For each series the simplest law that fits it within 2%, and forecasts as is forecast.

    `log_time`, (series,), is what is forecast for `p` processors. A law has been recognised where
    the laws have half of the say or more.
    """
    named = [of.laws[i] for i in of.nameable]
    simplest_first = sorted(range(len(named)), key=lambda i: named[i].formula.count("+"))
    residual = np.where(np.isfinite(laws.residual), laws.residual, np.inf)
    least = residual.min(axis=1, keepdims=True)
    at = np.full((len(residual), 1), p)
    said = [
        np.log(np.maximum(law.time(at, x), LEAST))[:, 0]
        for law, x in zip(named, laws.coefficients, strict=True)
    ]
    apart = np.abs(np.stack(said, axis=1) - log_time[:, None])
    fits = (residual <= CLOSE) & (residual <= np.maximum(ALIKE * least, CLOSE / 10))
    fits &= (apart <= AS_FORECAST) & (laws.share.sum(axis=1, keepdims=True) >= 0.5)
    chosen = np.array(simplest_first)[np.argmax(fits[:, simplest_first], axis=1)]
    return [
        _named(laws, i, named[j], j) if any_fits else None
        for i, (j, any_fits) in enumerate(zip(chosen.tolist(), fits.any(axis=1), strict=True))
    ]


def _named(laws: LawsOfAll, series: int, law: FittableCurve, j: int) -> Follows:
    """One law as it was fitted to one series."""
    values = laws.coefficients[j][series].tolist()
    if law is POWER:
        values = [float(np.exp(values[0])), values[1]]
    letters = dict(zip("abc", values, strict=False))
    return Follows(law.name, law.formula, letters, float(laws.residual[series, j]))
