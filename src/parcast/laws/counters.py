"""Inserted counters: unit times of the small regions of a loop, and the cost of the counters.

    t_j = sum over k of n_jk * tau_k ,   j = 1..J, J >= m              [S] (2) to (5) [1]_

One row is one loop time on one processor in one run, n_jk counts how often small region k ran in
it. The unit times tau are found by non-negative least squares on relative residuals [D]; where two
regions run in step their times cannot be told apart, which the condition number of the counts
says [D]. Counters may keep a compiler from restructuring a loop and so change the program: the
ratio of times with and without them is the perturbation [S in words].

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, equations (2) to (5) and the table of execution times.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import FitFailed, ParameterError, require
from parcast.numerics import NonNegativeFit, fit_non_negative

WORST_CONDITION: Final = 1e8  # of counts that still tell unit times apart [D]
NOTICED: Final = 0.05  # change of a time by counters that is warned of [D]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class UnitTimes:
    """Unit times of the small regions of a loop."""

    fit: NonNegativeFit  # its coefficients are the unit times [s]
    condition: float  # of the counts, columns brought to one size [1]


def unit_times(counts: ArrayLike, time: ArrayLike) -> UnitTimes:
    """Time of one pass through each small region, from loop times [s] and inserted counters.

    `counts`, (rows, regions), says how often each region ran in what each `time`, (rows,), holds.
    """
    matrix = np.asarray(counts, dtype=np.float64)
    fit = fit_non_negative(matrix, time)
    size = np.sqrt((matrix**2).sum(axis=0))
    condition = float(np.linalg.cond(matrix / size)) if np.all(size > 0) else float("inf")
    if condition > WORST_CONDITION:
        raise FitFailed(
            "The counts do not distinguish the regions (condition number "
            f"{condition:.1e}): some never run, or their counts are always proportional. Join "
            "those regions, or add runs in which their counts differ."
        )
    return UnitTimes(fit=fit, condition=condition)


def perturbation(with_counters: ArrayLike, without: ArrayLike) -> Array:
    """Time with inserted counters over that without them; below 1 where they made it faster.

    >>> perturbation([17.06, 2.672], [17.04, 1.182]).round(3)
    array([1.001, 2.261])
    """
    counted, plain = (np.asarray(x, dtype=np.float64) for x in (with_counters, without))
    if counted.shape != plain.shape:
        raise ParameterError(
            "with_counters",
            must="have the shape of without",
            got=f"{counted.shape} and {plain.shape}",
            hint="Give both times of each run.",
        )
    for name, time in (("with_counters", counted), ("without", plain)):
        ok = (time > 0) & np.isfinite(time)
        require(name, time, ok, must="be above 0", hint="Leave out runs that failed.")
    return counted / plain


def perturbation_warnings(p: ArrayLike, ratio: ArrayLike) -> tuple[str, ...]:
    """Say where counters change the program by more than 5%, either way.

    >>> perturbation_warnings([1, 16, 32], [1.001, 1.22, 2.26])[0].partition(":")[0]
    'Counters change the time by more than 5% at p = 16, 32, by 126% at most'
    """
    change = np.abs(np.asarray(ratio, dtype=np.float64) - 1)
    counts = np.asarray(p, dtype=np.float64)[change > NOTICED]
    if counts.size == 0:
        return ()
    named = ", ".join(f"{x:g}" for x in counts.tolist())
    return (
        f"Counters change the time by more than 5% at p = {named}, by {change.max():.0%} at "
        "most: unit times from these runs are not those of the program without counters. Use "
        "fewer counters there.",
    )
