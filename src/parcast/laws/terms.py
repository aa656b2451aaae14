"""Timing laws of the processors alone that are sums of terms with coefficients of at least 0.

    T(p) = sum of c_k * f_k(p),  c_k >= 0

The coefficients minimise the sum of squared *relative* residuals, ``((T(p_i) - t_i) / t_i)^2``, so
a run of a second counts as much as a run of an hour. Because no coefficient is negative no time
ever is, at any `p`, and a term that the measurements do not ask for is exactly 0. Choose such a
law where a formula with a meaning is wanted and runs are few; do not where time falls faster than
1/p (caches), which no sum of these terms can do.

Many series are fitted at once. A law has at most three or four terms, so the non-negative least
squares problem is solved exactly by solving it without bounds on every subset of the terms and
keeping the best solution that has no negative coefficient.

References
----------
.. [1] C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM, 1995, ch. 23
   (the problem; the enumeration of subsets is this project's choice for few terms [D]).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array

RIDGE = 1e-13  # relative; keeps the equations of coinciding terms solvable
TIE = 1e-9  # of squared relative residuals: fits closer than this are equally good


@dataclass(frozen=True, kw_only=True, slots=True)
class SumOfTerms:
    """A law that is a sum of terms: its name, its formula, its source, and the terms."""

    name: str  # as the registry and the user spell it
    formula: str  # "a + b/p"
    source: str  # where the law comes from
    terms: tuple[Callable[[Array], Array], ...]

    def design(self, p: Array) -> Array:
        """Value of each term at each `p`: shape of `p` with one more axis for the terms. [1]."""
        return np.stack([term(p) for term in self.terms], axis=-1)

    def fit(self, p: Array, time: Array, weight: Array) -> Array:
        """Coefficients that explain measured times best, for every series at once.

        Parameters
        ----------
        p : ndarray, shape (series, counts)
            Processors, at least 1. [1]
        time : ndarray, shape (series, counts)
            Measured times, above 0. [s]
        weight : ndarray, shape (series, counts)
            Weight of each relative residual, at least 0; 0 leaves a point out. [1]

        Returns
        -------
        ndarray, shape (series, terms)
            Coefficients of at least 0. [s]
        """
        design = self.design(p) * (weight / time)[..., None]
        scale = design.max(axis=1)
        scale = np.where(scale > 0, scale, 1.0)
        design /= scale[:, None, :]
        gram = np.swapaxes(design, 1, 2) @ design
        target = (design * weight[..., None]).sum(axis=1)
        coefficients = _non_negative(gram, target, points=(weight > 0).sum(axis=1))
        return np.asarray(coefficients / scale)

    def time(self, p: Array, coefficients: Array) -> Array:
        """Time at `p`, shape (series, points), for `coefficients`, shape (series, terms). [s]."""
        return np.asarray(np.einsum("spk,sk->sp", self.design(p), coefficients))


def _non_negative(gram: Array, target: Array, points: NDArray[np.int_]) -> Array:
    """Minimise ``x'Gx - 2 x'h`` over ``x >= 0`` for a stack of small G and h, exactly.

    Of equally good solutions the one with fewer terms is taken, then the one whose terms stand
    first in the law: with two counts Amdahl's two terms and a growing law's fit alike.
    """
    series, terms = target.shape
    best = np.full(series, np.inf)
    solution = np.zeros((series, terms))
    for size in range(1, terms + 1):
        for subset in combinations(range(terms), size):
            chosen = list(subset)
            g = gram[:, chosen][:, :, chosen]
            h = target[:, chosen]
            # at least 1: a term that is 0 wherever there is a weight (log2 p at p = 1) gets 0
            ridge = RIDGE * np.maximum(g.max(axis=(1, 2)), 1.0)[:, None, None] * np.eye(size)
            x = np.linalg.solve(g + ridge, h[..., None])[..., 0]
            residual = np.einsum("si,sij,sj->s", x, g, x) - 2 * (x * h).sum(axis=1)
            better = (x >= 0).all(axis=1) & (points >= size) & (residual < best - TIE)
            best[better] = residual[better]
            solution[better] = 0.0
            solution[np.ix_(better, chosen)] = x[better]
    return solution


def constant(p: Array) -> Array:
    """Time that no number of processors changes: 1. [1]."""
    return np.ones_like(p)


def shared(p: Array) -> Array:
    """Work that the processors share: 1/p. [1]."""
    return 1.0 / p


def logarithmic(p: Array) -> Array:
    """Cost of a tree over the processors, a broadcast or a reduction: log2 p. [1]."""
    return np.log2(p)


def linear(p: Array) -> Array:
    """Cost of one message for every processor: p. [1]."""
    return p


def linear_beyond_one(p: Array) -> Array:
    """Cost of one message for every *other* processor: p - 1. [1]."""
    return p - 1.0


def quadratic(p: Array) -> Array:
    """Cost of one message for every pair of processors: p^2. [1]."""
    return p * p
