"""How alike log time is at two points of several axes: a sum over axes, pairs of axes, and all.

Points are coordinates in [-1, 1]. See `parcast.models.several_kriging` for what the parts mean,
and for the sources.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from parcast.models.terms import Array

FREE = 10.0  # standard deviation of the trend's coefficients: as good as unknown
CURVED, MIXED = 0.3, 0.2  # of squares and of products of two axes [D]
ALONE, PAIRED, ALL_TOGETHER = 0.3, 0.1, 0.03  # of smooth departures [D]
MOST_BENDS = 4  # degree of what a single axis may do, where interactions are looked for


def parts(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Covariance between points of the trend, and of what departs from it, each at scale 1.

    The departures of the single axes, and those of several axes together.
    """
    axes = range(a.shape[1])
    product = [np.outer(a[:, j], b[:, j]) for j in axes]
    smooth = [matern(np.abs(a[:, j, None] - b[None, :, j])) for j in axes]
    straight, single = np.full((len(a), len(b)), FREE**2), np.zeros((len(a), len(b)))
    joint = ALL_TOGETHER**2 * np.prod(smooth, axis=0)
    for x, k in zip(product, smooth, strict=True):
        straight += FREE**2 * x
        single += CURVED**2 * x * x + ALONE**2 * k
    for i, j in combinations(axes, 2):
        joint += MIXED**2 * product[i] * product[j] + PAIRED**2 * smooth[i] * smooth[j]
    return straight, single, joint


def together(straight: Array, single: Array, joint: Array, departure: float) -> Array:
    """Add up the parts; what several axes do together stays small, however curved each is."""
    return np.asarray(straight + departure**2 * single + min(departure, 1.0) ** 2 * joint)


def rowwise(a: Array, b: Array, departure: float) -> Array:
    """Covariance of the points of `a` and `b` row by row: `parts` without the other pairs."""
    product, smooth = a * b, matern(np.abs(a - b))
    straight = FREE**2 * (1.0 + product.sum(axis=1))
    single = (CURVED**2 * product**2 + ALONE**2 * smooth).sum(axis=1)
    joint = MIXED**2 * pairs(product) + PAIRED**2 * pairs(smooth)
    joint += ALL_TOGETHER**2 * np.prod(smooth, axis=1)
    return together(straight, single, joint, departure)


def pairs(factors: Array) -> Array:
    """Sum of the products of every two columns, shape (rows,)."""
    return np.asarray((factors.sum(axis=1) ** 2 - (factors**2).sum(axis=1)) / 2)


def matern(distance: Array) -> Array:
    """Correlation at a distance, of functions with one derivative [1], eq. 4.17."""
    scaled = np.sqrt(3.0) * distance
    return np.asarray((1.0 + scaled) * np.exp(-scaled))


def vary_together(u: Array) -> NDArray[np.bool_]:
    """Whether runs vary two axes at once, beyond what each does alone, shape (axes, axes).

    >>> lines = np.array([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> bool(vary_together(lines).all()), bool(vary_together(np.append(lines, [[1, 1]], 0)).all())
    (False, True)
    """
    axes = u.shape[1]
    degrees = [min(len(np.unique(u[:, j])) - 1, MOST_BENDS) for j in range(axes)]
    alone = [u[:, j, None] ** np.arange(1, degrees[j] + 1) for j in range(axes)]
    told = np.ones((axes, axes), dtype=bool)
    for i, j in combinations(range(axes), 2):
        single = np.column_stack([np.ones(len(u)), alone[i], alone[j]])
        both = np.column_stack([single, u[:, i] * u[:, j]])
        varies = degrees[i] and degrees[j]
        known = np.linalg.matrix_rank(both) > np.linalg.matrix_rank(single)
        told[i, j] = told[j, i] = not varies or known
    return told
