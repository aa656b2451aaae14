"""Capacities W, u, B and t0 of a program on a machine, from what was counted and what was timed.

    B   = disk bytes / time of reading and writing                                [S in words]
    W   = steps / (T_seq - disk bytes / B)                                        [R], from (1.2)
    u_P = network bytes(P) / (T_par(P) - T_comp(P) - T_disk)                      [R]

Of several runs 1/W and 1/u are those with the least sum of squared relative errors of the times;
of one run they are the formulas above. u_2, two processors, has the least contention and is an
upper bound of u; with all processors it is the lower one [R]. A negative u says that W was
under-estimated [S]: the parallel run took less than its computing should have.

`fitted` finds all of them at once from any runs [D].

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The formulas are reconstructed from its prose.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import FitFailed
from parcast.numerics import fit_non_negative

INTERVAL: Final = 0.9
NAMES: Final = ("compute", "network", "latency", "disk")  # of the terms of a fit
MOST_CONDITION: Final = 1e8  # of the terms, brought to one size


def capacity(amount: ArrayLike, rest: ArrayLike, time: ArrayLike) -> Array:
    """Rate of an amount, (..., runs), where `rest` [s] of each time is taken by something else.

    Negative where the rest takes more than the time, infinite where it takes all of it.
    """
    time = np.asarray(time, dtype=np.float64)
    share, left = np.asarray(amount) / time, (time - np.asarray(rest)) / time
    with np.errstate(divide="ignore"):
        return np.asarray((share**2).sum(axis=-1) / (share * left).sum(axis=-1))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedTerms:
    """Inverse rates that explain runs best."""

    costs: Array  # 1/W, 1/u, t0, 1/B; 0 where a term shows in no run [s], [s/B]
    lower: Array  # of their 90 % intervals
    upper: Array  # infinite where the runs leave no freedom
    residuals: Array  # fitted over measured time, less 1 [1]
    left_out: Array  # the same of each run by the others; NaN where these do not determine it [1]
    condition: float  # of the terms [1]


def fitted(terms: ArrayLike, time: ArrayLike) -> FittedTerms:
    """Costs of at least 0 of steps, bytes, messages and disk bytes that explain times [s] best.

    `terms` are of shape (runs, 4); one that is 0 in all runs has the cost 0.
    """
    matrix, measured = (np.asarray(x, dtype=np.float64) for x in (terms, time))
    present = np.asarray((matrix > 0).any(axis=0))
    used = matrix[:, present]
    names = ", ".join(name for name, is_used in zip(NAMES, present, strict=True) if is_used)
    if len(used) < used.shape[1]:
        raise FitFailed(
            f"{len(used)} run{'s' if len(used) > 1 else ''} cannot determine "
            f"{used.shape[1]} capacities ({names}). Measure other n or p, or describe some of "
            "them.",
            outcome="No capacities.",
        )
    relative = used / measured[:, None]
    scaled = relative / np.linalg.norm(relative, axis=0)
    condition = float(np.linalg.cond(scaled))
    if not condition < MOST_CONDITION:
        raise FitFailed(
            f"The runs cannot distinguish the costs of {names}, which grow in proportion. "
            "Measure other n or p, or describe some of them.",
            outcome="No capacities.",
        )
    solution = fit_non_negative(used, measured)
    costs = np.zeros(matrix.shape[1])
    costs[present] = solution.coefficients
    deviation, freedom = _deviations(relative, solution.coefficients, solution.residuals)
    wide = np.zeros(matrix.shape[1])
    wide[present] = deviation * special.stdtrit(freedom, (1.0 + INTERVAL) / 2.0)
    return FittedTerms(
        costs=costs,
        lower=np.maximum(costs - wide, 0.0),
        upper=costs + wide,
        residuals=solution.residuals,
        left_out=_left_out(used, measured),
        condition=condition,
    )


def _deviations(relative: Array, costs: Array, residuals: Array) -> tuple[Array, float]:
    """Standard deviations of the costs, and their degrees of freedom."""
    freedom = len(relative) - relative.shape[1]
    if freedom < 1:
        return np.full(len(costs), np.inf), 1.0
    variance = float(residuals @ residuals) / freedom
    size = np.linalg.norm(relative, axis=0)
    inverse = np.linalg.inv((relative / size).T @ (relative / size))
    return np.sqrt(variance * np.diag(inverse)) / size, float(freedom)


def _left_out(terms: Array, time: Array) -> Array:
    """Relative error of each run by the costs that the others give."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    relative = terms / time[:, None]
    relative = relative / np.linalg.norm(relative, axis=0)
    errors = np.full(len(time), np.nan)
    for i in range(len(time)):
        others = np.delete(relative, i, axis=0)
        if np.linalg.matrix_rank(others) == terms.shape[1]:
            errors[i] = relative[i] @ nnls(others, np.ones(len(others)))[0] - 1.0
    return errors
