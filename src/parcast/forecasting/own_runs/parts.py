"""What times are spent on, by how it goes with the processors: shared, constant, growing work.

Each of the laws that are sums of terms splits a time T(p) into

    shared      b/p          work that the processors divide
    constant    a            work that each of them repeats, or waits for
    growing     c * g(p)     costs of more processors, g = log2 p, sqrt p, p or p^2

Neither the law that holds is known, nor how far a program departs from it. So one law is drawn,
with or without its constant term, with a probability of [1]_

    (DOUBT + chi^2)^(-(DOUBT + n)/2) * n^(-k/2)

for n counts, and k terms whose best fit leaves chi^2. Then the counts are varied by their errors,
scaled by what this fit leaves, and the law is fitted to them [2]_. The `SAMPLES` splits that
follow are the answer: their 5% and 95% quantiles, and the split next to their medians. A part
that is 0 in a fit may be as large as a rise of chi^2 by 1.645^2 allows, so that no interval ends
where the runs cannot tell. Two or three counts hardly tell constant from growing work, and the
interval says so.

How accurate this is, and the methods it was compared with: ``benchmarks/parts.py``.

References
----------
.. [1] G. Schwarz, "Estimating the dimension of a model," Ann. Stat., vol. 6, no. 2, pp. 461-464,
   1978, :doi:`10.1214/aos/1176344136`; of errors with Student's t, whose scale is not known.
.. [2] J. M. Bardsley and C. Fox, "An MCMC method for uncertainty quantification in nonnegativity
   constrained inverse problems," Inverse Probl. Sci. Eng., vol. 20, no. 4, pp. 477-498, 2012,
   :doi:`10.1080/17415977.2011.637208`.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.measured import NORMAL_90, pooled_noise
from parcast.laws.curves import (
    AMDAHL,
    GUSTAFSON,
    LINEAR,
    LOGARITHMIC,
    QUADRATIC,
    SumOfTerms,
    constant,
    linear,
    logarithmic,
    quadratic,
    shared,
)
from parcast.timings.series import Series


def square_root(p: Array) -> Array:
    """Cost along a row of a square of processors: sqrt p. [1]."""
    return np.sqrt(p)


ROOT: Final = SumOfTerms(
    "square root",
    "a + b/p + c*sqrt(p)",
    "a cost along a row of a square of processors [D]",
    (constant, shared, square_root),
)
GROWING: Final = (LOGARITHMIC, ROOT, LINEAR, QUADRATIC)
SPLITTING: Final[tuple[SumOfTerms, ...]] = (
    *(GUSTAFSON, AMDAHL, *GROWING),
    *(replace(law, terms=law.terms[1:]) for law in GROWING),  # without constant work
)
TERMS: Final = SumOfTerms(
    "all", "", "", (shared, constant, logarithmic, square_root, linear, quadratic)
)
PARTS: Final = ("shared", "constant", "growing")
PART_OF: Final = np.array([0, 1, 2, 2, 2, 2])  # part of each of the terms

GROWING_PART: Final = PARTS.index("growing")

SAMPLES: Final = 400  # splits of each series
OF_LAW: Final = 0.01  # standard deviation of log time about the law that holds [D]
OF_RUN: Final = 0.02  # of runs that were not repeated [D]
DOUBT: Final = 2.0  # counts that these two are worth [D]
MOST_VARIED: Final = 2.0  # of log time
QUANTILES: Final = (0.05, 0.5, 0.95)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Splits:
    """Splits of some series, of one version of a program or several."""

    coefficients: Array  # of all terms, (versions, series, samples, terms) [s]
    largest: Array  # the same, with what the runs allow where a term is 0

    def at(self, p: Array) -> tuple[Array, Array]:
        """Parts of the time at counts, (series, points), and the largest that they may be. [s].

        Both of shape (versions, series, samples, points, parts).
        """
        design = TERMS.design(p)[:, None]
        terms = [design * x[:, :, :, None] for x in (self.coefficients, self.largest)]
        parts, largest = (
            np.stack([x[..., i == PART_OF].sum(axis=-1) for i in range(len(PARTS))], axis=-1)
            for x in terms
        )
        return parts, largest


def split(
    p: Array, time: Array, count: NDArray[np.int64], error: Array, *, seed: int = 0
) -> Splits:
    """Split the times of some series.

    `p` [1], (series, counts), and `time` [s], (versions, series, counts), are padded after the
    first `count` of a row; `error`, of the shape of `time`, is the standard deviation of log time
    at each count, that of the runs. Versions of one program depart from one law together, and
    have noise of their own.
    """
    versions, series, width = time.shape
    is_there = np.arange(width) < count[:, None]
    p, time, error = (np.where(is_there, x, 1.0) for x in (p, time, error))
    weight = np.where(is_there, 1.0 / np.hypot(error, OF_LAW), 0.0)
    chi, terms = np.sum([_best(p, *x) for x in zip(time, weight, strict=True)], axis=0)
    many = versions * count
    log = -0.5 * (DOUBT + many) * np.log(DOUBT + chi) - 0.5 * terms * np.log(count)
    weights = np.exp(log - log.max(axis=0))
    weights /= weights.sum(axis=0)

    random = np.random.default_rng(seed)
    even = random.permutation((np.arange(SAMPLES) + 0.5) / SAMPLES)  # the same in each series
    drawn = (np.cumsum(weights, axis=0)[:, :, None] < even).sum(axis=0)
    drawn = np.minimum(drawn, len(SPLITTING) - 1)
    squares = random.standard_normal((versions * width, SAMPLES)) ** 2
    squares = np.cumsum([random.chisquare(DOUBT, SAMPLES), *squares], axis=0)
    of_law = random.standard_normal((SAMPLES, width))
    of_runs = random.standard_normal((versions, SAMPLES, width))
    if versions > 1:  # each sample again with the scatter exchanged: equal times do not change
        half = np.arange(SAMPLES) % (SAMPLES // 2)
        drawn, squares, of_law = drawn[:, half], squares[:, half], of_law[half]
        of_runs[:, SAMPLES // 2 :] = of_runs[::-1, : SAMPLES // 2]

    shape = (versions, series, SAMPLES, len(TERMS.terms))
    coefficients, largest = np.zeros(shape), np.zeros(shape)
    for i, law in enumerate(SPLITTING):
        row, sample = np.nonzero(drawn == i)
        place = [TERMS.terms.index(term) for term in law.terms]
        to = row[:, None], sample[:, None], place
        free = np.maximum(many - terms[i], 0).astype(int)[row]
        scale = np.sqrt((DOUBT + chi[i, row]) / squares[free, sample])[:, None]
        for version in range(versions):
            own = error[version, row] * of_runs[version, sample]
            varied = np.clip(scale * (OF_LAW * of_law[sample] + own), -MOST_VARIED, MOST_VARIED)
            seen = p[row], time[version, row] * np.exp(varied), weight[version, row]
            fitted = law.fit(*seen)
            coefficients[version][to] = fitted
            largest[version][to] = _largest(law, seen, fitted, NORMAL_90 * scale)
    return Splits(coefficients=coefficients, largest=largest)


def _best(p: Array, time: Array, weight: Array) -> tuple[Array, Array]:
    """What the best fit of each law leaves, chi^2, and its number of terms, (laws, series)."""
    fits = [law.fit(p, time, weight) for law in SPLITTING]
    left = [
        (weight * (law.time(p, x) / time - 1)) ** 2 for law, x in zip(SPLITTING, fits, strict=True)
    ]
    return np.sum(left, axis=2), np.array([(x > 0).sum(axis=1) for x in fits], dtype=float)


def _largest(
    law: SumOfTerms, seen: tuple[Array, Array, Array], fitted: Array, error: Array
) -> Array:
    """Coefficients of which those that are 0 rise till chi^2 does by `error` squared."""
    p, time, weight = seen
    design = law.design(p) * (weight / time)[..., None]
    squares = (design**2).sum(axis=1)
    left = weight - np.einsum("spk,sk->sp", design, fitted)
    slope = np.einsum("spk,sp->sk", design, left)
    best = np.divide(slope, squares, out=np.zeros_like(slope), where=squares > 0)
    best = np.minimum(best, 0.0)  # below 0, as else it would not be 0
    apart = np.divide(error**2, squares, out=np.zeros_like(slope), where=squares > 0)
    return np.where(fitted > 0, fitted, best + np.sqrt(best**2 + apart))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TimeParts:
    """Shares of the times of a series at some counts, with the ends of their intervals."""

    share: Array  # (points, parts): shared, constant, growing; they sum to 1 [1]
    lower: Array  # of the 90% interval [1]
    upper: Array
    laws: tuple[tuple[str, float], ...]  # and their weights, the largest first [1]


def parts_of(
    series: Series, row: int, targets: Array, seed: int, *, longer: Array | None = None
) -> TimeParts:
    """Parts of the time of one series at counts, (points,) [1].

    Where more than the runs of the series say that its times are `longer`, (3, points): medians
    and both ends of 90% intervals [s], what the laws leave of these is growing work. NaN where
    nothing says so.
    """
    points = slice(0, int(series.count[row]))
    spread, many = series.spread[row, points], series.repetitions[row, points]
    repeated = series.shows_spread[row, points]
    noise = pooled_noise(spread[None], repeated[None]) if repeated.any() else OF_RUN
    error = np.where((many > 1) | ~repeated, noise / np.sqrt(np.maximum(many, 1)), spread)
    p, time = series.p[row, points], series.time[row, points]
    found = split(p[None], time[None, None], np.array([len(p)]), error[None, None], seed=seed)
    parts, largest = (x[0, 0] for x in found.at(targets[None]))
    if longer is not None:
        more = _growing_besides(parts, longer, seed)
        parts[..., GROWING_PART] += more
        largest[..., GROWING_PART] += more
    total = parts.sum(axis=-1, keepdims=True)
    more = largest - parts
    share, most = parts / total, largest / (total + more)
    others = np.where(np.eye(len(PARTS), dtype=bool), 0.0, more[..., None, :]).max(axis=-1)
    least = parts / (total + others)
    middle = np.median(share, axis=0)
    nearest = np.abs(share - middle).sum(axis=2).argmin(axis=0)
    value = share[nearest, np.arange(len(targets))]
    lower = np.quantile(least, QUANTILES[0], axis=0)
    upper = np.quantile(most, QUANTILES[-1], axis=0)
    return TimeParts(
        share=value,
        lower=np.minimum(lower, value),
        upper=np.maximum(upper, value),
        laws=_laws_of(found.coefficients[0, 0] > 0),
    )


def _growing_besides(parts: Array, longer: Array, seed: int) -> Array:
    """What drawn times leave of splits, (samples, points). [s]."""
    even = np.random.default_rng(seed).standard_normal((len(parts), 1))
    middle, lower, upper = np.log(longer)
    side = np.where(even < 0, middle - lower, upper - middle) / NORMAL_90
    left = np.exp(middle + side * even) - parts.sum(axis=-1)
    return np.where(left > 0, left, 0.0)


def _laws_of(has_term: NDArray[np.bool_]) -> tuple[tuple[str, float], ...]:
    """Laws by the terms that splits have, (samples, terms), and the share of these [1]."""
    names = (AMDAHL, GUSTAFSON, *GROWING)
    law = np.where(has_term[:, 0], 0, 1)
    law = np.where(has_term[:, 2:].any(axis=1), 2 + has_term[:, 2:].argmax(axis=1), law)
    share = np.bincount(law, minlength=len(names)) / len(law)
    return tuple((names[i].name, float(share[i])) for i in np.argsort(-share) if share[i] > 0)
