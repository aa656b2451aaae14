"""The power law: each doubling of the processors multiplies the time by the same factor.

    T(p) = a * p^b

A straight line in a log-log plot. Use it over a few doublings, where little is known; it never
turns, so do not use it far beyond the measured counts.

Fitted by least squares to log T against log p (ordinary linear regression), many series at once.
The source of the form is the log-log plot itself [D].
"""

from dataclasses import dataclass

import numpy as np

from parcast.aliases import Array

LARGEST = 200.0  # log of a time that no run has, and whose square a float still holds


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerLaw:
    """The power law as a law that can be fitted; see `parcast.laws.terms.SumOfTerms`."""

    name: str = "power"
    formula: str = "a * p^b"
    source: str = "straight line in log T against log p"

    def fit(self, p: Array, time: Array, weight: Array) -> Array:
        """Logarithm of `a` and exponent `b` of every series, shape (series, 2).

        Parameters
        ----------
        p, time, weight : ndarray, shape (series, counts)
            Processors [1], measured times [s], and weights of the squared residuals, 0 to leave a
            point out. A series with a single p gets b = 0.
        """
        x, y = np.log(p), np.log(time)
        share = weight**2 / (weight**2).sum(axis=1, keepdims=True)
        mean_x, mean_y = ((share * v).sum(axis=1, keepdims=True) for v in (x, y))
        variance = (share * (x - mean_x) ** 2).sum(axis=1, keepdims=True)
        covariance = (share * (x - mean_x) * (y - mean_y)).sum(axis=1, keepdims=True)
        slope = np.divide(covariance, variance, out=np.zeros_like(variance), where=variance > 0)
        return np.concatenate([mean_y - slope * mean_x, slope], axis=1)

    def time(self, p: Array, coefficients: Array) -> Array:
        """Time at `p`, shape (series, points). [s]."""
        log_time = coefficients[:, :1] + coefficients[:, 1:] * np.log(p)
        return np.exp(np.minimum(log_time, LARGEST))


LAW = PowerLaw()
