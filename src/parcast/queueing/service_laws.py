"""Laws of service times, by what the exact solution of a queue asks of them.

A law of mean 1 enters through its Laplace transform b(s) = E[exp(-s S)], always in the form of
the odds 1/b(s) - 1 that an exponential clock of rate s rings before the service is over: at least
s, at most exp(s) - 1. Their logarithms are given here, exact to rounding for small s as for large.

    gamma             1/b(s) = (1 + cv^2 s)^(1/cv^2)      cv = 0: exp(s), every service the same
    uniform           1/b(s) = 2s / (1 - exp(-2s))        on [0, 2]
    hyperexponential  b(s) = p/(1 + s/2p) + q/(1 + s/2q)  p + q = 1, balanced means, cv >= 1

The transforms are textbook [1]_ [S]; their arrangement is parcast's [D].

References
----------
.. [1] L. Kleinrock, Queueing Systems, vol. 1: Theory, Wiley, 1975, ch. 4 and appendix I.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.queueing.arguments import at_least
from parcast.queueing.erlang import Array

SINH = (1 / 6, 1 / 120, 1 / 5040, 1 / 362880, 1 / 39916800, 1 / 6227020800, 1 / 1307674368000)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceLaw:
    """A family of laws with mean 1 and, for each point of a grid, one of its members."""

    name: str
    cv: Array  # standard deviation over mean, broadcastable with the grid [1]
    log_odds: Callable[[Array, Array], Array]  # ln(1/b(s) - 1) for s > 0 and cv


def gamma_service(cv: ArrayLike) -> ServiceLaw:
    """Gamma law; cv = 1/sqrt(k) is Erlang's with k stages.

    Parameters
    ----------
    cv : array_like, shape (...)
        Standard deviation over mean, at least 0. [1]

    Returns
    -------
    ServiceLaw
        For `parcast.queueing.general_service`.

    Raises
    ------
    ParameterError
        If a `cv` is negative, infinite or NaN.

    Examples
    --------
    >>> law = gamma_service(1.0)
    >>> law.log_odds(np.exp([-20.0, 0.0, 3.0]), law.cv)
    array([-20.,   0.,   3.])
    """
    spread = at_least("cv", cv, 0, hint="Give standard deviation over mean.")
    return ServiceLaw(name="gamma", cv=spread, log_odds=_gamma_log_odds)


def exponential_service() -> ServiceLaw:
    """Exponential law: the product-form networks' own, cv = 1."""
    return gamma_service(1.0)


def deterministic_service() -> ServiceLaw:
    """Every service takes the same time, cv = 0."""
    return gamma_service(0.0)


def uniform_service() -> ServiceLaw:
    """Uniform between 0 and twice the mean, cv = 1/sqrt(3)."""
    return ServiceLaw(name="uniform", cv=np.asarray(3.0**-0.5), log_odds=_uniform_log_odds)


def hyperexponential_service(cv: ArrayLike) -> ServiceLaw:
    """Mixture of two exponential laws that contribute equally to the mean.

    Parameters
    ----------
    cv : array_like, shape (...)
        Standard deviation over mean, at least 1. [1]

    Returns
    -------
    ServiceLaw
        For `parcast.queueing.general_service`.

    Raises
    ------
    ParameterError
        If a `cv` is below 1, infinite or NaN.

    Examples
    --------
    >>> law = hyperexponential_service(2.0)
    >>> float(law.log_odds(np.array(1.0), law.cv)) < 0  # fewer short services than exponential
    True
    """
    spread = at_least("cv", cv, 1, hint="Below 1, use gamma_service.")
    return ServiceLaw(name="hyperexponential", cv=spread, log_odds=_hyperexponential_log_odds)


def _gamma_log_odds(s: Array, cv: Array) -> Array:
    """For cv = 0, -ln b(s) is s itself."""
    squared = np.maximum(cv * cv, 1e-300)
    exponent = np.log1p(squared * s) / squared  # -ln b(s)
    exponent = np.where(squared * s < 1e-17, s, exponent)
    return np.asarray(exponent + np.log(-np.expm1(-exponent)))


def _uniform_log_odds(s: Array, cv: Array) -> Array:  # noqa: ARG001 - the family has one member
    """By ln(sinh(s)/s), from its series where s is small."""
    small = np.minimum(s, 1.0) ** 2
    series = s - np.log1p(small * np.polynomial.polynomial.polyval(small, SINH))
    large = np.log(2.0 * s) - np.log(-np.expm1(-2.0 * s))
    exponent = np.where(s < 1.0, series, large)
    return np.asarray(exponent + np.log(-np.expm1(-exponent)))


def _hyperexponential_log_odds(s: Array, cv: Array) -> Array:
    """The odds as a ratio of two sums of positive terms."""
    lean = np.sqrt((cv - 1.0) * (cv + 1.0) / (cv * cv + 1.0))
    p = 0.5 * (1.0 + lean)
    q = 1.0 / ((cv * cv + 1.0) * (1.0 + lean))
    first = p / (2.0 * p + s)
    second = q / (2.0 * q + s)
    return np.asarray(np.log(s * (first + second) / (2.0 * (p * first + q * second))))
