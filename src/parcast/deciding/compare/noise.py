"""How far apart the times of equal runs lie, and what that makes of a ratio of times.

The logarithm of a time is its mean, what its session adds, and what the run adds:

    log t = mean(cell) + session + run,    session ~ N(0, between^2),  run ~ N(0, within^2)

A few repetitions tell `within` poorly, so it is moderated [1]_: the variance of a cell with `f`
degrees of freedom and the mean square s^2 is

    (f0 * s0^2 + f * s^2) / (f0 + f)

and a difference over its standard error follows Student's t with f0 + f degrees of freedom. From
ten cells on, s0^2 and f0 are those by which the log s^2 of the cells are scattered: where all have
the same noise f0 is large, and thousands of call paths tell it for each other; where it differs
much f0 is small. Of fewer cells f0 is 1, and s0 is 2%, the median over 2,100 cells of 34
published tables [D]. `between` is known from several sessions of one version only; of a single
session it is taken to be 1% [D].

References
----------
.. [1] G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential
   expression in microarray experiments," Stat. Appl. Genet. Mol. Biol., vol. 3, no. 1, 2004,
   :doi:`10.2202/1544-6115.1027`.
.. [2] S. Holm, "A simple sequentially rejective multiple test procedure," Scand. J. Stat., vol. 6,
   no. 2, pp. 65-70, 1979.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.compare.cells import Cells

PRIOR: Final = 0.02  # standard deviation of log time among equal runs [D]
PRIOR_FREE: Final = 1.0  # degrees of freedom that this counts for [D]
ENOUGH: Final = 10  # cells with repetitions, from which they tell of each other [D]
MOST_FREE: Final = 0.5  # of all degrees of freedom, those that this counts for at most [D]
QUIETEST: Final = 1e-4  # standard deviation of log time that a clock resolves [D]
BETWEEN: Final = 0.01  # standard deviation of log time among sessions, where none is known [D]
DOUBT: Final = 0.25  # probability that noise is larger than what is planned with [D]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunNoise:
    """Noise of the runs of each cell, and among sessions."""

    within: Array  # (cells,): variance of log time among runs of a session [1]
    free: Array  # (cells,): degrees of freedom of that [1]
    between: float  # variance of log time among sessions [1]
    is_between_known: bool  # whether several sessions tell of the second

    def mean_of(self, cells: Cells) -> tuple[Array, Array]:
        """Mean of log time over some sessions, and its variance; infinite without runs."""
        with np.errstate(divide="ignore"):
            own = self.within / cells.runs + self.between
        weight = np.where(cells.runs > 0, 1 / own, 0.0)
        total = weight.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (weight * cells.mean).sum(axis=0) / total, 1 / total

    def planned(self) -> Array:
        """Variance among runs to plan with: it is larger with a probability of `DOUBT`."""
        from scipy.special import chdtri  # type: ignore[import-untyped]  # SciPy ships no types

        return np.asarray(self.within * self.free / chdtri(self.free, 1 - DOUBT))


def noise_of(cells: Cells) -> RunNoise:
    """Estimate the noise from all sessions of all versions."""
    free, squares = cells.free.sum(axis=0), cells.squares.sum(axis=0)
    variance, weight = prior_of(squares, free)
    within = (weight * variance + squares) / (weight + free)
    between, of_sessions = _between(cells, within)
    known = BETWEEN**2 + of_sessions * between
    return RunNoise(
        within=within,
        free=weight + free,
        between=float(known / (1 + of_sessions)),
        is_between_known=of_sessions > 0,
    )


def prior_of(squares: Array, free: Array) -> tuple[float, float]:
    """Variance that cells have in common, and how many degrees of freedom it counts for.

    By the mean and the variance of log s^2 over the cells [1]_.
    """
    from scipy.special import digamma, polygamma

    some = free > 0
    if some.sum() < ENOUGH:
        return PRIOR**2, PRIOR_FREE
    half = free[some] / 2
    log = (
        np.log(np.maximum(squares[some] / free[some], QUIETEST**2)) - digamma(half) + np.log(half)
    )
    scatter = float(np.var(log, ddof=1) - np.mean(polygamma(1, half)))
    most = MOST_FREE * float(free.sum())
    weight = most if scatter <= 0 else min(2 * _inverse_trigamma(scatter), most)
    weight = max(weight, PRIOR_FREE)
    return float(np.exp(np.mean(log) + digamma(weight / 2) - np.log(weight / 2))), weight


def _inverse_trigamma(value: float) -> float:
    """Argument at which the trigamma function has a value above 0, by Newton's method."""
    from scipy.special import polygamma

    x = 0.5 + 1 / value
    for _ in range(30):
        trigamma = float(polygamma(1, x))
        x += trigamma * (1 - trigamma / value) / float(polygamma(2, x))
    return x


def _between(cells: Cells, within: Array) -> tuple[float, int]:
    """Variance of log time among sessions of one version, and its degrees of freedom.

    Cells of a session share its day, so that the degrees of freedom are those of the sessions.
    """
    excess, weight, free = 0.0, 0.0, 0
    for side in (False, True):
        own = cells.sessions(cells.new == side)
        sessions = (own.runs > 0).sum(axis=0)
        some = sessions > 1
        if not some.any():
            continue
        own, scale = own.take(some), within[some]
        has = own.runs > 0
        middle = (own.mean * has).sum(axis=0) / has.sum(axis=0)
        squares = (has * (own.mean - middle) ** 2).sum(axis=0) / (has.sum(axis=0) - 1)
        of_runs = scale * (has / np.maximum(own.runs, 1)).sum(axis=0) / has.sum(axis=0)
        excess += float(np.median(np.maximum(squares - of_runs, 0.0))) * (sessions.max() - 1)
        weight += float(sessions.max() - 1)
        free += int(sessions.max() - 1)
    return (excess / weight if weight else 0.0), free


def quantile(probability: Array | float, free: Array | float) -> Array:
    """Value that Student's t exceeds with a probability."""
    from scipy.special import stdtrit

    return np.asarray(-stdtrit(free, probability))


def exceeded(value: Array, free: Array | float) -> Array:
    """Probability that Student's t exceeds a value."""
    from scipy.special import stdtr

    return np.asarray(stdtr(free, -value))


def together(single: Array, tested: NDArray[np.bool_]) -> Array:
    """Adjust probabilities of single tests to their family, by Holm [2]_ and Sidak.

    >>> together(np.array([0.001, 0.2, 0.01]), np.array([True, True, True])).round(4)
    array([0.003 , 0.2   , 0.0199])
    """
    adjusted = np.ones_like(single)
    order = np.flatnonzero(tested)[np.argsort(single[tested], kind="stable")]
    left = len(order) - np.arange(len(order))
    steps = -np.expm1(left * np.log1p(-np.minimum(single[order], 1 - 1e-16)))
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted
