"""Six conditions on messages, each with a test that is right for it and the size of its effect.

The source [S]_ needs three: exponential lengths, lengths and gaps that are mutually independent,
and lengths independent of the gap before. Poisson arrivals need exponential, independent gaps at a
constant rate. The tests and thresholds are parcast's own:

=========================== ======================================================================
exponential                 Anderson and Darling's A^2 against the exponential distribution with
                            the *fitted* mean; its distribution is simulated, as tables are for a
                            known mean. Values are spread over what they are rounded to.
independent                 Q = n (n + 2) sum r_k^2 / (n - k) of the rank correlations r_k at lags
                            1 to 20; permuted up to 1,000 values, chi-squared above.
independent of the gap      chi-squared of a table of 3 x 3 groups by rank, which sees any form of
                            dependence; permuted up to 1,000 messages.
constant rate               largest distance of the cumulated gaps from a straight line; permuted
                            up to 1,000 gaps, Kolmogorov's distribution above.
=========================== ======================================================================

Ranks make ties harmless: message lengths may have few distinct values. The six p-values are
adjusted together (Holm). With many messages every deviation is significant, however small; so a
condition counts as violated only where its adjusted p-value is below 5% *and* an effect reaches
the size from which it matters.

References
----------
.. [S] J. Kuntraruk, W. M. Pottenger and A. M. Ross, "Application resource requirement estimation
   in a parallel-pipeline model of execution," IEEE Trans. Parallel Distrib. Syst., vol. 16,
   no. 12, pp. 1154-1165, 2005, :doi:`10.1109/TPDS.2005.143`.
.. [1] M. A. Stephens, "EDF statistics for goodness of fit and some comparisons," J. Am. Stat.
   Assoc., vol. 69, no. 347, pp. 730-737, 1974, :doi:`10.1080/01621459.1974.10480196`.
.. [2] S. Holm, "A simple sequentially rejective multiple test procedure," Scand. J. Stat., vol. 6,
   no. 2, pp. 65-70, 1979.
.. [3] W. Bergsma, "A bias-correction for Cramer's V and Tschuprow's T," J. Korean Stat. Soc.,
   vol. 42, no. 3, pp. 323-328, 2013, :doi:`10.1016/j.jkss.2012.10.002`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array

LEVEL: Final = 0.05  # of all tests together: Poisson, exponential traffic fails this often
PERMUTED: Final = 1000  # values up to which permutations are drawn; limits are close above
DRAWS: Final = 1999  # permutations or simulated samples: p-values down to 0.0005
LAGS: Final = 20  # that rank correlations are taken at: a few steps of a schedule
GROUPS: Final = 3  # of gaps and of lengths: short, middle, long
A_BYTE: Final = 1.0  # what lengths are rounded to [B]
A_TICK: Final = 1e-9  # what times are rounded to [s]

# From where an effect matters [D]: about 10% of a mean wait, or 5% of a probability.
DISTANCE: Final = 0.05  # between two distributions: a rate that changes by some 20% either way
WAIT: Final = 0.1  # relative change of the wait with exponential lengths or gaps
CORRELATION: Final = 0.1  # "small" in the usual terms
ASSOCIATION: Final = 0.1  # Cramer's V
DISTANCES, WAITS = "distance of distributions", "change of the wait"  # measures of two tests


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """How large a deviation is, and from where it matters."""

    measure: str  # what is measured
    value: float  # how large the deviation is
    matters_from: float  # the least deviation that matters

    @property
    def weight(self) -> float:
        """Value over the least that matters [1]."""
        return self.value / self.matters_from


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A condition on messages, and what a test says of it."""

    _outline = """
        condition=name violated=is_violated detected=is_detected p p_adjusted=adjusted
        effect=effect.value effect_measure=effect.measure matters_from=effect.matters_from
    """

    name: str  # its name, one of `conditions`
    p: float  # p-value of the test alone
    effect: Effect  # the largest by its weight
    adjusted: float = 1.0  # p-value among all tests

    @property
    def is_detected(self) -> bool:
        """Whether a deviation is significant, however small."""
        return self.adjusted < LEVEL

    @property
    def is_violated(self) -> bool:
        """Whether a deviation is significant and large enough to matter."""
        return self.is_detected and self.effect.weight >= 1


NAMES: Final[dict[str, str]] = {  # conditions in words
    "lengths_exponential": "lengths are exponential",
    "lengths_independent": "lengths are independent of each other",
    "lengths_independent_of_gaps": "lengths are independent of the gap before",
    "gaps_exponential": "gaps are exponential",
    "gaps_independent": "gaps are independent of each other",
    "rate_constant": "the rate is constant",
}
VIOLATIONS: Final[dict[str, str]] = {  # and what it is to violate them
    "lengths_exponential": "lengths are not exponential",
    "lengths_independent": "lengths depend on each other",
    "lengths_independent_of_gaps": "lengths depend on the gap before",
    "gaps_exponential": "gaps are not exponential",
    "gaps_independent": "gaps depend on each other",
    "rate_constant": "the rate changes",
}


def conditions_of(gaps: Array, lengths: Array, rng: Generator) -> tuple[Condition, ...]:
    """Test all conditions; `lengths` has one element more, that of the first message."""
    found = (
        exponential("lengths_exponential", lengths, rng, unit=A_BYTE),
        independent("lengths_independent", lengths, rng),
        unrelated("lengths_independent_of_gaps", gaps, lengths[1:], rng),
        exponential("gaps_exponential", gaps, rng, unit=A_TICK),
        independent("gaps_independent", gaps, rng),
        constant_rate("rate_constant", gaps, rng),
    )
    adjusted = holm([x.p for x in found])
    return tuple(replace(x, adjusted=p) for x, p in zip(found, adjusted, strict=True))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values so that any is below a level by chance only as often as the level [2].

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    steps = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(f"{x:.12g}") for x in adjusted]


def exponential(name: str, values: Array, rng: Generator, *, unit: float) -> Condition:
    """Test whether values are exponential; they are rounded to a `unit`."""
    spread = np.abs(values + rng.uniform(-unit / 2, unit / 2, len(values)))
    n = len(spread)
    observed = _anderson_darling(np.sort(spread)[np.newaxis])[0] * (1 + 0.6 / n)
    null = _null(min(n, PERMUTED))
    share = np.sort(spread)
    share = -np.expm1(-share / spread.mean())
    steps = np.arange(n + 1) / n
    distance = float(max(np.max(steps[1:] - share), np.max(share - steps[:-1])))
    wait = abs(float(np.var(values)) / float(np.mean(values)) ** 2 - 1) / 2
    effects = (
        Effect(measure=DISTANCES, value=distance, matters_from=DISTANCE),
        Effect(measure=WAITS, value=wait, matters_from=WAIT),
    )
    effect = max(effects, key=lambda x: x.weight)
    return Condition(name=name, p=_share_above(null, float(observed)), effect=effect)


def _anderson_darling(values: Array) -> Array:
    """A^2 of each row of ascending values against the exponential distribution of its mean."""
    n = values.shape[1]
    scaled = np.maximum(values / values.mean(axis=1, keepdims=True), np.finfo(float).tiny)
    weights = 2 * np.arange(1, n + 1) - 1
    terms = np.log(-np.expm1(-scaled)) - scaled[:, ::-1]
    return np.asarray(-n - (weights * terms).mean(axis=1))


@lru_cache(maxsize=64)
def _null(n: int) -> Array:
    """A^2 (1 + 0.6 / n) of exponential samples of n values, which hardly depends on n [1]."""
    samples = np.random.default_rng(0).standard_exponential((DRAWS, n))
    return _anderson_darling(np.sort(samples, axis=1)) * (1 + 0.6 / n)


def _share_above(null: Array, observed: float) -> float:
    """P-value of a statistic, by draws of it under the null hypothesis."""
    slack = 1e-12 * abs(observed)  # equal values may differ in their last digits
    return float(1 + np.sum(null >= observed - slack)) / (len(null) + 1)


def independent(name: str, values: Array, rng: Generator) -> Condition:
    """Test whether values follow each other independently, at lags up to 20."""
    n = len(values)
    lags = min(LAGS, n // 4)
    ranks = stats.rankdata(values) - (n + 1) / 2
    if not ranks.any():  # all are equal
        return Condition(name=name, p=1.0, effect=_largest_correlation(np.zeros(1)))
    r = _correlations(ranks[np.newaxis], lags)[0]
    weights = n * (n + 2) / (n - np.arange(1, lags + 1))
    observed = float(weights @ r**2)
    if n <= PERMUTED:
        p = _permuted(ranks, observed, lambda x: _correlations(x, lags) ** 2 @ weights, rng)
    else:
        p = float(stats.chi2.sf(observed, lags))
    # A sum of n independent values with variance v has the variance n v; with correlations r_k it
    # has n v (1 + 2 sum r_k). Half the change is that of the wait, as for exponential values.
    together = Effect(measure=WAITS, value=abs(float(r.sum())), matters_from=WAIT)
    effect = max(_largest_correlation(r), together, key=lambda x: x.weight)
    return Condition(name=name, p=p, effect=effect)


def _largest_correlation(r: Array) -> Effect:
    """Effect of a dependence between values a number of lags apart."""
    largest = float(np.abs(r).max())
    return Effect(measure="largest rank correlation", value=largest, matters_from=CORRELATION)


def _correlations(centred: Array, lags: int) -> Array:
    """Correlations of each row with itself, at lags from 1."""
    total = (centred**2).sum(axis=1)
    columns = [(centred[:, :-k] * centred[:, k:]).sum(axis=1) / total for k in range(1, lags + 1)]
    return np.stack(columns, axis=1)


def _permuted(
    values: NDArray[np.generic],
    observed: float,
    statistic: Callable[[Array], Array],
    rng: Generator,
) -> float:
    """P-value of a statistic of the rows of a matrix, each a permutation of the values."""
    at_once = 200
    null = [
        statistic(rng.permuted(np.tile(values, (min(at_once, DRAWS - i), 1)), axis=1))
        for i in range(0, DRAWS, at_once)
    ]
    return _share_above(np.concatenate(null), observed)


def unrelated(name: str, gaps: Array, lengths: Array, rng: Generator) -> Condition:
    """Test whether lengths are independent of the gaps before them, whatever their relation."""
    rows, columns = _groups(gaps), _groups(lengths)
    r, c, n = int(rows.max()) + 1, int(columns.max()) + 1, len(gaps)
    measure = {"measure": "Cramer's V", "matters_from": ASSOCIATION}
    if min(r, c) == 1:  # all of one kind are equal
        return Condition(name=name, p=1.0, effect=Effect(value=0.0, **measure))  # type: ignore[arg-type]  # of texts and numbers
    expected = np.outer(np.bincount(rows), np.bincount(columns)).ravel() / n

    def chi2(places: NDArray[np.intp]) -> Array:
        cells = rows * c + places
        offset = np.arange(len(places))[:, np.newaxis] * r * c
        counts = np.bincount((cells + offset).ravel(), minlength=len(places) * r * c)
        return np.asarray(((counts.reshape(-1, r * c) - expected) ** 2 / expected).sum(axis=1))

    observed = float(chi2(columns[np.newaxis])[0])
    if n <= PERMUTED:
        p = _permuted(columns, observed, chi2, rng)  # type: ignore[arg-type]  # of places
    else:
        p = float(stats.chi2.sf(observed, (r - 1) * (c - 1)))
    phi2 = max(observed / n - (r - 1) * (c - 1) / (n - 1), 0.0)
    fewer = min(x - (x - 1) ** 2 / (n - 1) for x in (r, c))
    effect = Effect(value=min((phi2 / (fewer - 1)) ** 0.5, 1.0), **measure)  # type: ignore[arg-type]  # of texts and numbers
    return Condition(name=name, p=p, effect=effect)


def _groups(values: Array) -> NDArray[np.intp]:
    """Put values into three groups of about the same size; equal values share a group."""
    edges = np.quantile(values, np.arange(1, GROUPS) / GROUPS, method="lower")
    places = np.searchsorted(edges, values, side="left")
    return np.unique(places, return_inverse=True)[1]


def constant_rate(name: str, gaps: Array, rng: Generator) -> Condition:
    """Test whether the gaps are on average as long at all times."""
    n = len(gaps)
    centred = gaps - gaps.mean()
    spread = float(np.sqrt((centred**2).sum()))
    if spread == 0:
        distance, p = 0.0, 1.0
    else:
        observed = float(_farthest(centred[np.newaxis])[0])
        if n <= PERMUTED:
            p = _permuted(centred, observed, _farthest, rng)
        else:
            p = float(stats.kstwobign.sf(observed / spread))
        distance = observed / float(gaps.sum())
    effect = Effect(measure=DISTANCES, value=distance, matters_from=DISTANCE)
    return Condition(name=name, p=p, effect=effect)


def _farthest(centred: Array) -> Array:
    """Largest distance from 0 of the sums along each row."""
    return np.asarray(np.abs(np.cumsum(centred, axis=1)).max(axis=1))
