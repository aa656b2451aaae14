"""Laws of service times with which solvers are compared, beside the gamma law.

uniform           1/b(s) = 2s / (1 - exp(-2s))        on [0, 2]
hyperexponential  b(s) = p/(1 + s/2p) + q/(1 + s/2q)  p + q = 1, balanced means, cv >= 1
"""

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.queueing.arguments import at_least
from parcast.queueing.service_laws import SMALL, Odds, ServiceLaw, bend_of

COTH = (1 / 3, -1 / 45, 2 / 945, -1 / 4725)  # s coth(s) = 1 + s^2/3 - s^4/45 + ...
FACTORIALS = [np.prod(np.arange(2.0, k + 1.0)) for k in range(3, 18, 2)]
SINH = tuple(1.0 / f for f in FACTORIALS)  # sinh(s)/s - 1 = s^2/6 + s^4/120 + ...
SINH_SLOPE = tuple(2 * (k + 1) * c for k, c in enumerate(SINH))  # of ln(sinh(s)/s) by ln s


def uniform_service() -> ServiceLaw:
    """Uniform between 0 and twice the mean, cv = 1/sqrt(3)."""
    return ServiceLaw(name="uniform", cv=np.asarray(3.0**-0.5), odds=_uniform_odds)


def hyperexponential_service(cv: ArrayLike) -> ServiceLaw:
    """Mixture of two exponential laws that contribute equally to the mean; cv at least 1."""
    spread = at_least("cv", cv, 1, hint="Below 1, use gamma_service.")
    return ServiceLaw(name="hyperexponential", cv=spread, odds=_hyperexponential_odds)


def _uniform_odds(s: Array, cv: Array) -> Odds:
    """By ln(sinh(s)/s), from its series where s is small."""
    small = np.minimum(s, 1.0) ** 2
    sinh = small * np.polynomial.polynomial.polyval(small, SINH)  # sinh(s)/s - 1
    steep = small * np.polynomial.polynomial.polyval(small, SINH_SLOPE)
    lost = -np.expm1(-2.0 * s)
    large = np.log(2.0 * s) - np.log(lost)
    exponent = np.where(s < 1.0, s - np.log1p(sinh), large)  # -ln b(s)
    rise = np.where(s < 1.0, s - steep / (1.0 + sinh), 1.0 - 2.0 * s * np.exp(-2.0 * s) / lost)
    rings = -np.expm1(-exponent)  # 1 - b(s)
    slope = rise / rings
    bend = bend_of(s, slope, s < SMALL, _uniform_bend, cv)
    return Odds(np.asarray(exponent + np.log(rings)), np.asarray(slope), bend)


def _uniform_bend(s: Array, cv: Array) -> Array:  # noqa: ARG001 - the family has one member
    """By the series of the odds s + s coth(s) - 1."""
    small = s * s
    above = np.polynomial.polynomial.polyval(small, [(2 * k + 1) * c for k, c in enumerate(COTH)])
    return np.asarray(s * above / (1.0 + s * np.polynomial.polynomial.polyval(small, COTH)))


def _hyperexponential_odds(s: Array, cv: Array) -> Odds:
    """The odds as a ratio of two sums of positive terms, the bend as a product."""
    lean = np.sqrt((cv - 1.0) * (cv + 1.0) / (cv * cv + 1.0))
    p = 0.5 * (1.0 + lean)
    q = 1.0 / ((cv * cv + 1.0) * (1.0 + lean))
    first = p / (2.0 * p + s)
    second = q / (2.0 * q + s)
    either, over = first + second, p * first + q * second
    log = np.log(s * either / (2.0 * over))
    share = 2.0 * lean * lean * (first / either) * (second / over)
    bend = -share * (s / (2.0 * p + s)) / (2.0 * q + s)
    return Odds(np.asarray(log), np.asarray(1.0 + bend), np.asarray(bend))
