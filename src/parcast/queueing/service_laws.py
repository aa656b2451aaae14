"""Laws of service times, by what the exact solution of a queue asks of them.

A law of mean 1 enters through its Laplace transform b(s) = E[exp(-s S)], always in the form of
the odds 1/b(s) - 1 that an exponential clock of rate s rings before the service is over: at most
exp(s) - 1, and at least s where cv is at most 1, at most s where it is more. Their logarithms are
given here, exact to rounding for small s as for large, with their slope by ln s. It is 1 for small
s, and for exponential service everywhere; what it has beyond 1, its bend, is given apart because
light traffic depends on it::

    gamma             1/b(s) = (1 + cv^2 s)^(1/cv^2)      cv = 0: exp(s), every service the same

The transform is textbook [1]_ [S]; its arrangement and slopes are parcast's [D]. Slopes are
exact to 1e-14 for s from 1e-150 to 1e150, bends to 1e-12 of the larger of bend and min(1, s).

References
----------
.. [1] L. Kleinrock, Queueing Systems, vol. 1: Theory, Wiley, 1975, ch. 4 and appendix I.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.queueing.arguments import at_least

SMALL = 1e-3  # s below which a bend would drown in the rounding of 1


class Odds(NamedTuple):
    """Of the odds that a clock of rate s rings before the service is over; arrays of one shape."""

    log: Array  # ln(1/b(s) - 1) [1]
    slope: Array  # its derivative by ln s [1]
    bend: Array  # slope - 1, without its cancellation [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceLaw:
    """A family of laws with mean 1 and, for each point of a grid, one of its members.

    Of every law, s over the odds must be convex in s: `parcast.queueing.general_service` relies on
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


def deterministic_service() -> ServiceLaw:
    """Every service takes the same time, cv = 0."""
    return gamma_service(0.0)


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
