"""Laws of times: of services by their transforms, as queues ask, of bursts by their quantiles.

In an exact solution of a queue, a law of mean 1 enters through its Laplace transform
b(s) = E[exp(-s S)], always in the form of the odds 1/b(s) - 1 that an exponential clock of rate s
rings before the service is over: at most exp(s) - 1, and at least s where cv is at most 1, at most
s where it is more. Their logarithms are given here, exact to rounding for small s as for large,
with their slope by ln s. It is 1 for small s, and for exponential service everywhere; what it has
beyond 1, its bend, is given apart because light traffic depends on it::

    gamma             1/b(s) = (1 + cv^2 s)^(1/cv^2)      cv = 0: exp(s), every service the same

The transform is textbook [3]_ [S]; its arrangement and slopes are parcast's [D]. Slopes are
exact to 1e-14 for s from 1e-150 to 1e150, bends to 1e-12 of the larger of bend and min(1, s).

In order statistics a law of mean 1 and coefficient of variation cv enters through the deviate
D(v) of the time T = 1 + cv*D that is not exceeded with probability exp(-v), so that neither a
small cv nor a probability next to 0 or 1 costs digits. With u = exp(-v)::

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
.. [3] L. Kleinrock, Queueing Systems, vol. 1: Theory, Wiley, 1975, ch. 4 and appendix I.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.queueing.arguments import at_least, variation

SMALL = 1e-3  # s below which a bend would drown in the rounding of 1
LN2 = np.log(2.0)
WIDEST = 20.0  # cv up to which the quadrature of order statistics is known to be exact
UNIFORM_CV = 3.0**-0.5
EXPANDED = 3e-3  # cv below which a gamma quantile is expanded: SciPy's own is lost in the tails

Largest: TypeAlias = Callable[[Array, Array], Array]


class Odds(NamedTuple):
    """Of the odds that a clock of rate s rings before the service is over; arrays of one shape."""

    log: Array  # ln(1/b(s) - 1) [1]
    slope: Array  # its derivative by ln s [1]
    bend: Array  # slope - 1, without its cancellation [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceLaw:
    """A family of laws with mean 1 and, for each point of a grid, one of its members.

    Of every law, s over the odds must be convex in s: `parcast.queueing.varied_queues` relies on
    it to tell which terms of its sum no longer count.
    """

    name: str
    cv: Array  # standard deviation over mean, broadcastable with the grid [1]
    odds: Callable[[Array, Array], Odds]  # for s > 0 and cv


def gamma_service(cv: ArrayLike) -> ServiceLaw:
    """Gamma law of that `cv`, at least 0; cv = 1/sqrt(k) is Erlang's with k stages."""
    spread = at_least("cv", cv, 0, hint="Give standard deviation over mean.")
    return ServiceLaw(name="gamma", cv=spread, odds=_gamma_odds)


def exponential_service() -> ServiceLaw:
    """Exponential law: the product-form networks' own, cv = 1."""
    return gamma_service(1.0)


def _gamma_odds(s: Array, cv: Array) -> Odds:
    """For cv = 0, -ln b(s) is s itself."""
    squared = np.maximum(cv * cv, 1e-300)
    exponent = np.log1p(squared * s) / squared  # -ln b(s)
    exponent = np.where(squared * s < 1e-17, s, exponent)
    rings = -np.expm1(-exponent)  # 1 - b(s)
    slope = 1.0 / ((1.0 / s + squared) * rings)
    bend = bend_of(s, slope, np.maximum(squared, 1.0) * s < SMALL, _gamma_bend, squared)
    return Odds(np.asarray(exponent + np.log(rings)), np.asarray(slope), bend)


def _gamma_bend(s: Array, squared: Array) -> Array:
    """By the binomial series of the odds; every term of the bend has the factor 1 - cv^2."""
    odds, bend, term = np.ones_like(s), np.zeros_like(s), np.ones_like(s)
    for j in range(1, 7):
        term = term * s * (1.0 - j * squared) / (j + 1.0)
        odds += term
        bend += j * term
    return bend / odds


def bend_of(
    s: Array,
    slope: Array,
    small: NDArray[np.bool_],
    series: Callable[[Array, Array], Array],
    law: Array,
) -> Array:
    """Slope - 1, by a `series` where s is `small`; `law` is what the series asks beside s."""
    bend = np.asarray(slope - 1.0)
    small = np.broadcast_to(small, bend.shape)
    if small.any():
        s, law = np.broadcast_to(s, bend.shape), np.broadcast_to(law, bend.shape)
        bend[small] = series(s[small], law[small])
    return bend


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


def harmonic(number: Array) -> Array:
    """Harmonic number of real numbers: mean of the longest of so many exponential times. [1]."""
    return np.asarray(special.digamma(number + 1.0) + np.euler_gamma)


def _largest_exponential(c: Array, cv: Array) -> Array:  # noqa: ARG001 - cv is 1
    return harmonic(c)


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
