"""Laws of the times of bursts, by what order statistics ask of them: their quantiles.

A law has mean 1 and a coefficient of variation cv. It enters through the deviate D(v) of the
time T = 1 + cv*D that is not exceeded with probability exp(-v), so that neither a small cv nor
a probability next to 0 or 1 costs digits. With u = exp(-v)::

    uniform      D = sqrt(3) (2 u - 1)                     cv at most 1/sqrt(3)
    gamma        regularised incomplete gamma of shape k at k T = u,  k = 1/cv^2
    exponential  gamma with cv = 1

Choose the gamma law for a burst that is a sum of many similar parts; it is never negative, as a
wider uniform law would be.

The laws are textbook [1]_ [S]; the arrangement is parcast's [D]. A gamma law with cv below 3e-3
is taken from its Cornish-Fisher expansion [2]_, right to 1e-12 there.

References
----------
.. [1] N. L. Johnson, S. Kotz and N. Balakrishnan, Continuous Univariate Distributions, 2nd ed.,
   Wiley, 1994-1995.
.. [2] H. Goldberg and H. Levine, "Approximate formulas for the percentage points and
   normalization of t and chi-square," Ann. Math. Statist., vol. 17, no. 2, 1946, pp. 216-225.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.arguments import at_least, variation

LN2 = np.log(2.0)
WIDEST = 20.0  # cv up to which the quadrature of order statistics is known to be exact
UNIFORM_CV = 3.0**-0.5
EXPANDED = 3e-3  # cv below which a gamma quantile is expanded: SciPy's own is lost in the tails

Largest: TypeAlias = Callable[[Array, Array], Array]


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeLaw:
    """A family of laws with mean 1 and, for each point of a grid, one of its members."""

    name: str
    cv: Array  # standard deviation over mean, broadcastable with the grid [1]
    deviate: Callable[[Array, Array], Array]  # D for v and cv, broadcast together
    largest: Largest | None = None  # mean of the largest of c, by formula


def exponential_times() -> TimeLaw:
    """Times without memory, cv = 1."""
    return TimeLaw(
        name="exponential",
        cv=np.asarray(1.0),
        deviate=lambda v, _: -log_survival(v) - 1.0,
        largest=_largest_exponential,
    )


def deterministic_times() -> TimeLaw:
    """All times the same, cv = 0."""
    return uniform_times(0.0)


def uniform_times(cv: ArrayLike = UNIFORM_CV) -> TimeLaw:
    """Times equally likely anywhere in an interval around the mean; by default [0, 2]."""
    hint = "A wider uniform law has negative times; use gamma_times."
    spread = variation("cv", cv, UNIFORM_CV, must="lie in [0, 1/sqrt(3)]", hint=hint)
    return TimeLaw(
        name="uniform",
        cv=spread,
        deviate=lambda v, _: np.sqrt(3.0) * (2.0 * np.exp(-v) - 1.0),
        largest=_largest_uniform,
    )


def gamma_times(cv: ArrayLike, *, bursts: ArrayLike = 1) -> TimeLaw:
    """Law of the mean of a number of `bursts`, each of which has a gamma law of that `cv`.

    The mean has the gamma law of shape bursts/cv^2; its cv, cv/sqrt(bursts), is at most 20.
    """
    number = at_least("bursts", bursts, 1, hint="Count bursts between meetings.")
    spread = variation("cv", np.asarray(cv, dtype=np.float64) / np.sqrt(number), WIDEST)
    return TimeLaw(name="gamma", cv=spread, deviate=_gamma_deviate)


def _largest_exponential(c: Array, cv: Array) -> Array:  # noqa: ARG001 - cv is 1
    """Harmonic number of c, for real c."""
    return np.asarray(special.digamma(c + 1.0) + np.euler_gamma)


def _largest_uniform(c: Array, cv: Array) -> Array:
    """2c/(c+1) for the law on [0, 2]."""
    return np.asarray(1.0 + np.sqrt(3.0) * cv * (c - 1.0) / (c + 1.0))


def log_survival(v: Array) -> Array:
    """ln(1 - exp(-v)), never -0, whose logarithm is taken."""
    near, far = np.minimum(v, LN2), np.maximum(v, LN2)
    return np.where(v < LN2, np.log(-np.expm1(-near)), np.log1p(-np.exp(-far)))


def normal_quantile(v: Array) -> Array:
    """Normal quantile z of probability exp(-v)."""
    near, far = np.minimum(v, LN2), np.maximum(v, LN2)
    return np.asarray(np.where(v < LN2, -special.ndtri(-np.expm1(-near)), special.ndtri_exp(-far)))


def _gamma_deviate(v: Array, cv: Array) -> Array:
    """(T - 1)/cv, from either tail; for small cv from the expansion around the normal law."""
    v, cv = np.broadcast_arrays(v, cv)
    small = cv < EXPANDED
    near = ~small & (v < LN2)
    far = ~small & (v >= LN2)
    deviate = np.empty(v.shape)
    deviate[small] = _cornish_fisher(normal_quantile(v[small]), cv[small])
    for where, inverse, probability in (
        (near, special.gammainccinv, -np.expm1(-v[near])),
        (far, special.gammaincinv, np.exp(-v[far])),
    ):
        k = cv[where] ** -2.0
        deviate[where] = (inverse(k, probability) / k - 1.0) / cv[where]
    return deviate


def _cornish_fisher(z: Array, cv: Array) -> Array:
    """Gamma deviate of normal quantile z, to the sixth power of cv."""
    terms = (
        z,
        (z**2 - 1.0) / 3.0,
        (z**3 - 7.0 * z) / 36.0,
        (-3.0 * z**4 - 7.0 * z**2 + 16.0) / 810.0,
        (9.0 * z**5 + 256.0 * z**3 - 433.0 * z) / 38880.0,
        (12.0 * z**6 - 243.0 * z**4 - 923.0 * z**2 + 1472.0) / 204120.0,
    )
    return np.asarray(sum(term * cv**power for power, term in enumerate(terms)))
