"""Laws of times with which order statistics are compared, beside those of `queueing.time_laws`.

With z the normal quantile of u::

    normal       D = z                                     cv at most 1/3
    lognormal    T = exp(s z - s^2/2),                     s^2 = ln(1 + cv^2)
    Weibull      T = (-ln(1-u))^t / Gamma(1+t),            Gamma(1+2t)/Gamma(1+t)^2 = 1 + cv^2

A normal law has negative times: at cv = 1/3 one in 740; a larger cv is refused.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from parcast.aliases import Array
from parcast.queueing.arguments import variation
from parcast.queueing.time_laws import WIDEST, TimeLaw, log_survival, normal_quantile

NORMAL_CV = 1.0 / 3.0
SMALL = 1e-100  # stands for cv = 0, of which D is a limit
SERIES = 0.2  # t below which ln Gamma(1 + t) is a power series
ORDERS = np.arange(2, 28)
ZETAS = (-1.0) ** ORDERS * special.zeta(ORDERS) / ORDERS  # ln Gamma(1+t) + gamma t, from t^2 on


def normal_times(cv: ArrayLike) -> TimeLaw:
    """Normal law, for small variations; cv at most 1/3."""
    hint = "A wider normal law has negative times; use gamma_times."
    spread = variation("cv", cv, NORMAL_CV, must="lie in [0, 1/3]", hint=hint)
    return TimeLaw(name="normal", cv=spread, deviate=lambda v, _: normal_quantile(v))


def lognormal_times(cv: ArrayLike) -> TimeLaw:
    """Times whose logarithm is normal; cv at most 20."""
    return TimeLaw(name="lognormal", cv=variation("cv", cv, WIDEST), deviate=_lognormal_deviate)


def weibull_times(cv: ArrayLike) -> TimeLaw:
    """Weibull law; cv at most 20."""
    return TimeLaw(name="Weibull", cv=variation("cv", cv, WIDEST), deviate=_weibull_deviate)


def _lognormal_deviate(v: Array, cv: Array) -> Array:
    """(T - 1)/cv without losing digits where cv is small."""
    cv = np.maximum(cv, SMALL)
    s = np.sqrt(np.log1p(cv * cv))
    return np.asarray(np.expm1(s * normal_quantile(v) - 0.5 * s * s) / cv)


def _weibull_deviate(v: Array, cv: Array) -> Array:
    """(T - 1)/cv with the exponent t that gives the law its cv."""
    cv = np.maximum(cv, SMALL)
    t = _weibull_exponent(cv)
    exponential = np.maximum(-log_survival(v), np.finfo(np.float64).tiny)
    log_time = t * (np.log(exponential) + np.euler_gamma) - _log_gamma(t)[0]
    return np.asarray(np.expm1(log_time) / cv)


def _weibull_exponent(cv: Array) -> Array:
    """Solve ln Gamma(1+2t) - 2 ln Gamma(1+t) = ln(1+cv^2): Newton on square roots, from below.

    The root of the left side rises and is concave in t, so that the steps never overshoot.
    """
    target = np.sqrt(np.log1p(cv * cv))
    t = target * np.sqrt(6.0) / np.pi
    for _ in range(12):
        (once, once_slope), (twice, twice_slope) = _log_gamma(t), _log_gamma(2.0 * t)
        reached = np.sqrt(twice - 2.0 * once)
        t = t + (target - reached) * reached / (twice_slope - once_slope)
    return np.asarray(t)


def _log_gamma(t: Array) -> tuple[Array, Array]:
    """Value and slope of ln Gamma(1 + t) + gamma t, exact also for small t, where it is as t^2."""
    small, large = np.minimum(t, SERIES), np.maximum(t, SERIES)
    series = small * small * np.polynomial.polynomial.polyval(small, ZETAS)
    slope = small * np.polynomial.polynomial.polyval(small, ORDERS * ZETAS)
    return (
        np.where(t < SERIES, series, special.gammaln(1.0 + large) + np.euler_gamma * large),
        np.where(t < SERIES, slope, special.digamma(1.0 + large) + np.euler_gamma),
    )
