"""Quantities with their derivatives, as arrays: arithmetic that carries both along.

A quantity is an array of shape (1 + derivatives, ...): its value, then its derivatives, by
whatever the caller differentiates by (forward differentiation with dual numbers, [1]_ [S]).

References
----------
.. [1] A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM, 2008, ch. 3,
   :doi:`10.1137/1.9780898717761`.
"""

import numpy as np

from parcast.aliases import Array


def dual(value: Array, *seeds: int, of: int = 4) -> Array:
    """A quantity with `of` derivatives: 1 by those at the indices `seeds`, 0 by the others."""
    quantity = np.zeros((1 + of, *value.shape))
    quantity[0] = value
    for i in seeds:
        quantity[1 + i] = 1.0
    return quantity


def product(f: Array, g: Array) -> Array:
    """Product of two quantities."""
    product: Array = f * g[0]
    product[1:] += f[0] * g[1:]
    return product


def ratio(f: Array, g: Array) -> Array:
    """Ratio of two quantities."""
    ratio: Array = f / g[0]
    ratio[1:] -= ratio[0] * (g[1:] / g[0])
    return ratio


def power(f: Array, g: Array) -> Array:
    """Positive quantity f to the power of g."""
    power = np.empty(np.broadcast_shapes(f.shape, g.shape))
    logarithm = np.log(f[0])
    power[0] = np.exp(g[0] * logarithm)
    power[1:] = power[0] * (g[1:] * logarithm + g[0] * f[1:] / f[0])
    return power


def root(f: Array) -> Array:
    """Square root of a quantity; the slope of a root of 0 is taken as 0."""
    answer = np.zeros_like(f)
    answer[0] = np.sqrt(f[0])
    np.divide(0.5 * f[1:], answer[0], out=answer[1:], where=answer[0] > 0)
    return answer


def hypotenuse(f: Array, g: Array) -> Array:
    """Root of the sum of the squares of two quantities."""
    return root(product(f, f) + product(g, g))


def larger_root(f: Array, g: Array, constant: Array) -> Array:
    """The larger y of (y - f)(y - g) = `constant`: the larger of the two, smoothly."""
    gap = f - g
    width = np.sqrt(gap[0] ** 2 + 4.0 * constant[0])
    slope = gap[0] * gap + 2.0 * constant
    apart = np.zeros_like(gap)
    np.divide(slope, width, out=apart, where=width > 0)
    apart[0] = width
    return np.asarray(0.5 * (f + g + apart))
