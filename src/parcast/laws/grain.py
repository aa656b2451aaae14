"""How many processors are best, and how large the pieces are to be that are dealt out.

    best P of a matrix product       sqrt(alpha*n*u/(beta*W))                                 [D]
    best P of the O(n^2) sorter      (2*alpha*n)^(1/3), for the time                          [D]
    fewest steps of its P parts      sqrt(alpha*n), on one processor or together              [R]
    best P of independent inputs     sqrt(n*alpha/(2*W*t0)), where messages start at a cost   [D]

The first leaves startups out, the second the terms that do not depend on P. For any other program
`parcast.prediction.best_processors` looks at all counts.

Grain is what one message hands over. The rule is to maximise alpha/beta, computing over
communication, at the same work: deal out the highest loop whose iterations are independent [S]. A
piece that is too small costs bytes and messages, one that is too large leaves processors idle.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The rules are in words; the bytes of a fractal's pieces are reconstructed, [R].
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.laws.counting import positive, sizes


def best_p_of_matmul(
    n: ArrayLike,
    *,
    compute: ArrayLike,
    network: ArrayLike,
    alpha: ArrayLike = 1.0,
    beta: ArrayLike = 8.0,
) -> Array:
    """Processors with which a product of matrices takes least time, not rounded. [1].

    Parameters
    ----------
    n : array_like, shape (...)
        Rows of a matrix, at least 1. [1]
    compute, network : array_like, broadcastable with `n`
        W and u, above 0. [1/s], [B/s]
    alpha, beta : array_like, broadcastable with `n`
        Steps and bytes, above 0, as for `parcast.laws.matmul`. [1], [B]

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> float(best_p_of_matmul(1000, compute=10e6, network=100e6).round(2))
    35.36
    """
    n, _ = sizes(n, 1.0)
    compute, network = positive("compute", compute), positive("network", network)
    alpha, beta = positive("alpha", alpha), positive("beta", beta)
    return np.clip(np.sqrt(alpha * n * network / (beta * compute)), 1.0, n)


def best_p_of_square_sort(n: ArrayLike, *, alpha: ArrayLike = 1.0) -> Array:
    """Processors with which the O(n^2) sorter takes least time, not rounded. [1].

    >>> float(best_p_of_square_sort(40_000).round(2))
    43.09
    """
    n, _ = sizes(n, 1.0)
    return np.clip(np.cbrt(2.0 * positive("alpha", alpha) * n), 1.0, n)


def best_partitions(n: ArrayLike, *, alpha: ArrayLike = 1.0) -> Array:
    """Parts in which n keys are sorted in fewest steps in all, not rounded. [1].

    >>> best_partitions([100, 40_000])
    array([ 10., 200.])
    """
    n, _ = sizes(n, 1.0)
    return np.clip(np.sqrt(positive("alpha", alpha) * n), 1.0, n)


def best_p_of_independent(
    n: ArrayLike, *, alpha: ArrayLike, compute: ArrayLike, latency: ArrayLike
) -> Array:
    """Processors with which independent inputs take least time, not rounded. [1].

    Parameters
    ----------
    n : array_like, shape (...)
        Inputs, at least 1. [1]
    alpha, compute, latency : array_like, broadcastable with `n`
        Steps of an input, W and t0, above 0. [1], [1/s], [s]

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> float(best_p_of_independent(1e6, alpha=32, compute=1e6, latency=1e-3).round(1))
    126.5
    """
    n, _ = sizes(n, 1.0)
    compute, latency = positive("compute", compute), positive("latency", latency)
    best = np.sqrt(n * positive("alpha", alpha) / (2.0 * compute * latency))
    return np.clip(best, 1.0, n)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grain:
    """One way to deal out an image of independent pixels."""

    name: str
    pixels: float  # of a message [1]
    messages: float  # that deal out the work [1]
    bytes: float  # that describe the work [B]


def fractal_grains(
    x: float, y: float, p: float, *, number: float = 4.0
) -> tuple[Grain, Grain, Grain]:
    """Ways to deal out an image, the largest pieces first.

    Parameters
    ----------
    x, y : float
        Columns of pixels and pixels of a column, at least 1. [1]
    p : float
        Processors, between 1 and the pixels. [1]
    number : float, default 4
        Bytes of a number, above 0. [B]

    Returns
    -------
    tuple of Grain
        One piece for each processor, one for each column, one for each pixel.

    Raises
    ------
    ParameterError
        If any lies outside its domain.

    Examples
    --------
    >>> [(grain.name, grain.pixels, grain.bytes) for grain in fractal_grains(600, 400, 8)]
    [('processor', 30000.0, 64.0), ('column', 400.0, 2400.0), ('pixel', 1.0, 1920000.0)]
    """
    for name, size in (("x", x), ("y", y)):
        one, ok = np.asarray(size), np.isfinite(size) and size >= 1
        require(name, one, ok, must="be at least 1", hint="Count pixels from 1.")
    pixels, _ = sizes(x * y, p, why="one pixel for each")
    number = float(positive("number", number))
    all_of_them = float(pixels)
    return (
        Grain(name="processor", pixels=all_of_them / p, messages=p, bytes=2 * number * p),
        Grain(name="column", pixels=float(y), messages=float(x), bytes=number * x),
        Grain(name="pixel", pixels=1.0, messages=all_of_them, bytes=2 * number * all_of_them),
    )


def best_grain(
    law: str, n: float, p: float, *, line: float | None = None, k: float = 2.0
) -> tuple[float, float]:
    """Least and largest piece that is worth handing over, in inputs of the law.

    Parameters
    ----------
    law : {"sort", "square_sort", "fractal", "monte_carlo", "matmul", "gauss"}
        Law of the program.
    n : float
        Problem size: keys, pixels, samples, rows. [1]
    p : float
        Processors, between 1 and `n`. [1]
    line : float, optional
        Pixels of a line of a fractal's image; the square root of `n` by default. [1]
    k : float, default 2
        Pieces a processor of a Monte Carlo program gets, at least 1 and at most n/p. [1]

    Returns
    -------
    tuple of float
        Least and largest piece: keys, pixels, samples, entries of a matrix product, rows of an
        elimination. [1]

    Raises
    ------
    ParameterError
        If any lies outside its domain, or the law has no grain.

    Examples
    --------
    >>> best_grain("fractal", 240_000, 8, line=400)
    (400.0, 30000.0)
    >>> best_grain("monte_carlo", 1e6, 10, k=4)
    (25000.0, 100000.0)
    """
    size, count = (float(value) for value in sizes(n, p))
    each = size / count
    if law in ("sort", "square_sort"):
        return each, each
    if law == "fractal":
        pixels = float(np.sqrt(size)) if line is None else float(positive("line", line))
        return min(pixels, each), max(pixels, each)
    if law == "monte_carlo":
        ok, hint = 1 <= k <= each, "1 is one piece for each processor."
        require("k", np.asarray(k), ok, must="lie between 1 and n/p", hint=hint)
        return each / k, each
    if law == "matmul":
        return size**2 / count, size**2
    if law == "gauss":
        return 1.0, each
    raise ParameterError(
        "law",
        must="be one that deals out work",
        got=f'"{law:.60}"',
        hint="Take sort, square_sort, fractal, monte_carlo, matmul or gauss.",
    )
