"""How much of a time is shared, constant and growing work, by the laws of its forecast.

The laws that forecast a series are sums of terms: work that the processors share falls as 1/p,
constant work stays, and costs such as log2 p or p grow. Each law gives the share of each part.
Their mean, weighted as the laws are in the forecast, is the answer; the constant law is one of the
others with a part of 0, and a power of p has no parts, so that both are left out, as are laws that
fit much worse than the best [D].

The runs are drawn anew, with their noise and with the residual that the best law leaves, and every
draw is forecast in the same way. 90 % of the weight of the laws of all draws lies inside the
interval [D]. Three parts are not determined by two counts: the interval includes every sum of
shared, constant and growing work that goes through both times.

Serial fractions are those that Karp and Flatt define, of runs relative to the smallest count p0::

    e = (1/S - 1/k) / (1 - 1/k)             S = T(p0)/T(p), k = p/p0                     [S]

Under weak scaling S is the scaled speedup k T(p0)/T(p) [R]. An e that is the same at every count
is serial work; one that grows is overhead.

References
----------
.. [1] A. H. Karp and H. P. Flatt, "Measuring parallel processor performance," Commun. ACM,
   vol. 33, no. 5, pp. 539-543, 1990, :doi:`10.1145/78607.78614`.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.ensemble import MEMBERS
from parcast.forecasting.own_runs.measured import (
    NORMAL_90,
    MeasuredCurve,
    curve_from,
    pooled_noise,
)
from parcast.forecasting.own_runs.members import LAWS, OF_TIME
from parcast.laws.curves import SumOfTerms, constant, shared
from parcast.timings.series import Series

PARTS: Final = ("shared", "constant", "growing")
DRAWS: Final = 200
WORSE: Final = 2.0  # times the residual of the law that fits best, beyond which one has no say [D]
TAILS: Final = (0.05, 0.95)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TimeParts:
    """Shares of the times of a series at some counts, with the ends of their intervals."""

    share: Array  # (points, parts): shared, constant, growing; they sum to 1 [1]
    lower: Array  # of the 90 % interval [1]
    upper: Array
    laws: tuple[tuple[str, float], ...]  # that have a say, and their weights [1]


def parts_of(series: Series, row: int, targets: Array, seed: int) -> TimeParts:
    """Parts of the time of one series at counts of at least its largest, (points,) [1]."""
    points = slice(0, int(series.count[row]))
    p, time = series.p[row, points], series.time[row, points]
    noise = float(pooled_noise(series.spread, series.shows_spread)[row])
    own = noise / np.sqrt(np.maximum(series.repetitions[row, points], 1))
    laws = [OF_TIME.laws[i] for i in OF_TIME.nameable]
    is_sum = np.array([isinstance(law, SumOfTerms) for law in laws])

    def told_by(normal: Array, misfit: float) -> tuple[MeasuredCurve, Array]:
        draws = len(normal)
        told = curve_from(
            np.tile(p, (draws, 1)),
            time * np.exp(normal * np.hypot(own, misfit)),
            np.full(draws, len(p)),
            np.full(draws, noise),
            targets,
            weight=np.tile(series.weight[row, points], (draws, 1)),
        )
        residual = np.where(np.isfinite(told.laws.residual) & is_sum, told.laws.residual, np.inf)
        return told, residual

    misfit = float(told_by(np.zeros((1, len(p))), 0.0)[1].min())
    normal = np.random.default_rng(seed).standard_normal((DRAWS, len(p)))
    normal[0] = 0.0  # the runs as they are
    told, residual = told_by(normal, misfit if np.isfinite(misfit) else 0.0)
    near = _by_law(told.weights)
    named = told.laws.share
    weights = (1.0 - named.sum(axis=1, keepdims=True)) * near + named
    best = residual.min(axis=1, keepdims=True)
    weights = np.where(residual <= np.maximum(WORSE * best, noise), weights, 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    shares = np.stack(
        [
            _shares(law, told.laws.coefficients[i], targets)
            if isinstance(law, SumOfTerms)
            else np.zeros((DRAWS, len(targets), len(PARTS)))
            for i, law in enumerate(laws)
        ],
        axis=1,
    )  # (draws, laws, points, parts)
    value = np.einsum("l,lpk->pk", weights[0], shares[0])
    lower, upper = _weighted_ends(shares, weights)
    if len(p) == 2:
        low, high = _ends_of_two(p, time * np.exp(normal * np.hypot(own, misfit)), targets)
        lower, upper = np.fmin(lower, low), np.fmax(upper, high)
    order = np.argsort(-weights[0])
    return TimeParts(
        share=value,
        lower=np.minimum(lower, value),
        upper=np.maximum(upper, value),
        laws=tuple((laws[i].name, float(weights[0, i])) for i in order if weights[0, i] > 0),
    )


def _ends_of_two(p: Array, time: Array, targets: Array) -> tuple[Array, Array]:
    """Ends of the shares that two counts allow, of times (draws, 2), (points, parts).

    The sums with no negative part that go through two times are a polygon, whose corners have two
    of the terms.
    """
    terms = dict.fromkeys(
        x for law in LAWS.values() if isinstance(law, SumOfTerms) for x in law.terms
    )
    low, high = [], []
    for one, other in combinations(terms, 2):
        if not {one, other} & {shared, constant}:
            continue
        law = SumOfTerms(name="", formula="", source="", terms=(one, other))
        found = np.asarray(np.linalg.solve(law.design(p), time.T).T, dtype=np.float64)
        found = found[(found >= 0).all(axis=1)]
        if len(found):
            ends = np.quantile(_shares(law, found, targets), TAILS, axis=0)
            low.append(ends[0])
            high.append(ends[1])
    nothing = np.full((1, len(targets), len(PARTS)), np.nan)
    return np.fmin.reduce([*low, *nothing]), np.fmax.reduce([*high, *nothing])


def _by_law(weights: Array) -> Array:
    """Weights of the laws that can be recognised, over all readings of each."""
    names = [OF_TIME.laws[i].name for i in OF_TIME.nameable]
    belongs = np.array([[name == own for name in names] for own, _ in MEMBERS], dtype=np.float64)
    assert set(names) <= set(LAWS)
    return np.asarray(weights @ belongs)


def _shares(law: SumOfTerms, coefficients: Array, p: Array) -> Array:
    """Share of each part in the time that a law gives, (draws, points, parts)."""
    terms = law.design(p)[None] * coefficients[:, None, :]
    known: dict[object, int] = {shared: 0, constant: 1}
    place = [known.get(term, 2) for term in law.terms]
    parts = np.stack(
        [terms[..., [i for i, x in enumerate(place) if x == k]].sum(axis=-1) for k in range(3)],
        axis=-1,
    )
    total = parts.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(parts, total, out=np.zeros_like(parts), where=total > 0))


def _weighted_ends(shares: Array, weights: Array) -> tuple[Array, Array]:
    """Ends of what 90 % of the weight of all laws of all draws lies between, (points, parts)."""
    points, parts = shares.shape[2:]
    values = shares.reshape(-1, points * parts)
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    share = np.cumsum(weights.reshape(-1)[order], axis=0) / weights.sum()
    ends = [
        np.take_along_axis(ordered, (share < tail).sum(axis=0)[None], axis=0) for tail in TAILS
    ]
    low, high = (np.asarray(end).reshape(points, parts) for end in ends)
    return low, high


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SerialFractions:
    """Serial fractions of a series by count, relative to its smallest count."""

    p: Array  # (counts,) [1]
    fraction: Array  # [1]
    lower: Array  # of the 90 % interval [1]
    upper: Array
    is_forecast: NDArray[np.bool_]  # whether the time there is forecast


def serial_fractions(
    series: Series, row: int, p: Array, ends: tuple[Array, Array, Array], *, is_strong: bool
) -> SerialFractions:
    """Serial fractions at the measured counts, and at counts `p` with forecast times [s]."""
    points = slice(0, int(series.count[row]))
    counts, time, repetitions = (
        x[row, points] for x in (series.p, series.time, series.repetitions)
    )
    noise = float(pooled_noise(series.spread, series.shows_spread)[row])
    own = noise / np.sqrt(np.maximum(repetitions, 1))
    half = NORMAL_90 * np.hypot(own[1:], own[0])
    first = NORMAL_90 * own[0]
    beyond = p > counts[-1]
    forecast, lower, upper = (x[beyond] for x in ends)
    every = np.concatenate([counts[1:], p[beyond]])
    ratio = np.concatenate([time[1:], forecast]) / time[0]  # 1/S of fixed work
    down = np.concatenate([half, np.hypot(np.log(forecast / lower), first)])
    up = np.concatenate([half, np.hypot(np.log(upper / forecast), first)])
    k = every / counts[0]
    scale = np.ones_like(k) if is_strong else 1.0 / k

    def fraction(inverse: Array) -> Array:
        return np.asarray((inverse * scale - 1.0 / k) / (1.0 - 1.0 / k))

    return SerialFractions(
        p=every,
        fraction=fraction(ratio),
        lower=fraction(ratio * np.exp(-down)),
        upper=fraction(ratio * np.exp(up)),
        is_forecast=np.arange(len(every)) >= len(counts) - 1,
    )
