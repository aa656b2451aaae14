"""Time over several axes as a sum of products of powers with coefficients of at least 0.

    T = sum_k c_k * g_k(p) * product_j x_j^(e_kj),   c_k >= 0

`g` is one of 1/p, p^(-2/3), p^(-1/3), 1, p^(1/2), p and log2 p; the exponents of every other axis
are 0 and five around the one that fits best alone. The coefficients minimise squared *relative*
residuals, as in `parcast.models.terms`, with a little shrinkage so that there is one answer. No
time is ever 0 or negative, and sums keep what a product cannot: work that the processors share
beside a cost that they cause. Use it where runs vary several axes at once; along single axes
alone it does not know which products to take.

References
----------
.. [1] C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM, 1995, ch. 23 [S].
   The dictionary of terms is parcast's own [D], after the normal form of A. Calotoiu et al.,
   "Using automated performance modeling to find scalability bugs in complex codes," SC 2013,
   :doi:`10.1145/2503210.2503277` [S].
"""

import numpy as np

from parcast.models.terms import Array

OF_P = (-1.0, -2 / 3, -1 / 3, 0.0, 0.5, 1.0)  # powers of p, beside its logarithm
AROUND = (-1.0, -0.5, 0.0, 0.5, 1.0)  # of the exponent that fits best alone
SHRINKAGE = 1e-3  # of coefficients, relative to the largest that one term alone could have
MOST_TERMS = 400
LARGEST = 500.0  # logarithm of a term


def sum_of_products(
    x: Array, log_time: Array, targets: Array, log_p: Array, target_log_p: Array
) -> Array:
    """Log time at `targets` from a sum of products fitted to measured times.

    Parameters
    ----------
    x, targets : ndarray, shape (runs, axes) and (points, axes)
        Coordinates of the axes besides p: logarithms, whose differences are those of powers.
    log_time : ndarray, shape (runs,)
        Logarithm of time in seconds.
    log_p, target_log_p : ndarray, shape (runs,) and (points,)
        Logarithms of processors. [1]

    Returns
    -------
    ndarray, shape (points,)
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    middle = (x.min(axis=0) + x.max(axis=0)) / 2 if len(x) else 0.0
    x, targets = x - middle, targets - middle
    centre = float(log_time.mean())
    straight = np.column_stack([np.ones(len(x)), log_p, x])
    slopes = np.asarray(np.linalg.lstsq(straight, log_time - centre, rcond=None)[0][2:], float)
    exponents = _exponents(slopes)
    measured = _terms(log_p, x, exponents) / np.exp(log_time - centre)[:, None]
    scale = measured.max(axis=0)
    used = scale > 0
    measured, scale = measured[:, used] / scale[used], scale[used]
    shrunk = np.sqrt(SHRINKAGE) * np.eye(len(scale))
    wanted = np.concatenate([np.ones(len(x)), np.zeros(len(scale))])
    coefficients = nnls(np.concatenate([measured, shrunk]), wanted, maxiter=20 * len(scale))[0]
    said = _terms(target_log_p, targets, exponents)[:, used] @ (coefficients / scale)
    return np.asarray(np.log(np.maximum(said, np.finfo(float).tiny)) + centre)


def _exponents(slopes: Array) -> list[list[float]]:
    """Exponents of each axis besides p; fewer where there are many axes."""
    around = AROUND if len(OF_P) * (1 + len(AROUND)) ** len(slopes) <= MOST_TERMS else (0.0,)
    return [[0.0, *(float(slope) + step for step in around)] for slope in slopes]


def _terms(log_p: Array, x: Array, exponents: list[list[float]]) -> Array:
    """Value of every term, shape (points, terms); at most e^500, however far the point lies."""
    logs = np.concatenate([np.outer(log_p, OF_P), np.zeros((len(x), 1))], axis=1)
    factor = np.concatenate([np.ones((len(x), len(OF_P))), log_p[:, None] / np.log(2.0)], axis=1)
    for j, powers in enumerate(exponents):
        more = np.outer(x[:, j], powers)
        logs = (logs[:, :, None] + more[:, None, :]).reshape(len(x), -1)
        factor = np.repeat(factor, len(powers), axis=1)
    return np.asarray(factor * np.exp(np.clip(logs, -LARGEST, LARGEST)))
