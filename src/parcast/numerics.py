"""What several questions compute: distinct values, sums of terms of at least 0, normal numbers.

Sums of terms with coefficients of at least 0 are fitted to times by their relative residuals:

    T = sum over k of c_k * t_k ,   c_k >= 0 ,   minimal sum over runs of (T / T_measured - 1)^2

Use it where every term is a cost, as in ``a + b/P + c*P^2``: a cost is never negative, and runs of
a millisecond count as much as runs of an hour. It is the least-squares step of the region models
[D]: the source solves its systems by least squares without saying more [1]_.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, equations (2) to (5).
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError, require

CHANGES = 0.5  # share by which a coefficient changes without a run on which it hangs [D]


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Each of the values once, ascending; ``numpy.unique`` would first load ``numpy.ma``. [1]."""
    ordered = np.sort(values, axis=None)
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    return np.asarray(ordered[is_first[: len(ordered)]])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NonNegativeFit:
    """Coefficients of a sum of terms, and what they are based on."""

    coefficients: Array  # (terms,), in units of time over those of the terms
    residuals: Array  # (runs,): T / T_measured - 1 [1]
    hangs_on: tuple[int | None, ...]  # for each term, the one run that decides its coefficient

    def __call__(self, terms: ArrayLike) -> Array:
        """Time of other runs from their terms, shape (..., terms). [s]."""
        return np.asarray(np.asarray(terms, dtype=np.float64) @ self.coefficients)


def fit_non_negative(terms: ArrayLike, time: ArrayLike) -> NonNegativeFit:
    """Coefficients of at least 0 that fit measured times best in their relative residuals.

    `terms`, of shape (runs, terms), has the value of each term, at least 0, in each run; `time`,
    (runs,), is above 0 [s]. A run decides a term where its coefficient changes by more than half,
    or is no longer determined, without this run, and without no other: what it says elsewhere is
    then unreliable.

    >>> p = np.array([1.0, 2, 4, 8])
    >>> fit = fit_non_negative(np.stack([p**0, 1 / p], axis=1), 2 + 8 / p)
    >>> fit.coefficients.round(6), fit.hangs_on
    (array([2., 8.]), (None, None))
    """
    matrix = np.asarray(terms, dtype=np.float64)
    measured = np.asarray(time, dtype=np.float64)
    if matrix.ndim != 2 or measured.shape != matrix.shape[:1]:
        raise ParameterError(
            "terms",
            must="have a row for each time",
            got=f"the shape {matrix.shape} for {measured.size} times",
            hint="Give one row per run and one column per term.",
        )
    if len(matrix) < matrix.shape[1]:
        raise ParameterError(
            "time",
            must=f"be measured at least {matrix.shape[1]} times to fit as many terms",
            got=f"{len(matrix)}",
            hint="Measure more, or leave a term out.",
        )
    require(
        "time",
        measured,
        (measured > 0) & np.isfinite(measured),
        must="be above 0",
        hint="Leave out runs that failed.",
    )
    ok = (matrix >= 0) & np.isfinite(matrix)
    require("terms", matrix, ok, must="be at least 0", hint="Check the counts.")
    relative = matrix / measured[:, None]
    coefficients = _solved(relative)
    without = np.array([_solved(np.delete(relative, run, axis=0)) for run in range(len(measured))])
    return NonNegativeFit(
        coefficients=coefficients,
        residuals=relative @ coefficients - 1.0,
        hangs_on=_hangs_on(coefficients, without),
    )


def _solved(relative: Array) -> Array:
    """Coefficients that bring the relative times nearest to 1."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    size = np.sqrt((relative**2).sum(axis=0))
    size = np.where(size > 0, size, 1.0)  # brought to one size, so that no term is lost in another
    return np.asarray(nnls(relative / size, np.ones(len(relative)))[0] / size)


def _hangs_on(coefficients: Array, without: Array) -> tuple[int | None, ...]:
    """For each term the only run without which its coefficient is another."""
    hangs = np.abs(without - coefficients) > CHANGES * coefficients
    return tuple(
        int(np.argmax(column)) if c > 0 and column.sum() == 1 else None
        for c, column in zip(coefficients, hangs.T, strict=True)
    )


def stratified_normal(order: NDArray[np.integer[Any]]) -> Array:
    """Normal numbers spread evenly over their law, the smallest where `order` is 0.

    `order` is a permutation of 0 to samples - 1, (samples,): one of several uncertain numbers in
    a Latin hypercube.

    >>> stratified_normal(np.array([2, 0, 1])).round(3)
    array([ 0.967, -0.967,  0.   ])
    """
    from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

    return np.asarray(special.ndtri((order + 0.5) / len(order)))


def probability_up_to(limit: Array | float, value: Array, lower: Array, upper: Array) -> Array:
    """Probability of at most a limit, of what has a value and a 90% interval. [1].

    It is log-normal about its value, each side with its own width.

    >>> value, lower, upper = (np.array([x]) for x in (1e9, 5e8, 2e9))
    >>> [round(float(probability_up_to(x, value, lower, upper)[0]), 3) for x in (5e8, 1e9, 2e9)]
    [0.05, 0.5, 0.95]
    """
    normal = NormalDist()
    distance = np.log(limit / value)
    side = np.where(distance > 0, upper / value, value / lower)
    width = np.maximum(np.log(side), 1e-9) / normal.inv_cdf(0.95)
    score = np.clip(distance / width, -37.0, 37.0)
    cdf = np.vectorize(normal.cdf, otypes=[float])
    return np.asarray(np.where(np.isnan(score), np.nan, cdf(np.nan_to_num(score))))
