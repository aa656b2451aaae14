"""Strong or weak scaling, told from the times alone, and the speedup and efficiency of each.

Under strong scaling the work is fixed and time should fall as 1/p; under weak scaling the work
grows with the processors and time should stay. A table of times does not say which was run, but
the times do: wherever some count was at least a quarter of the ideal fall (in logarithms) below
the smallest count, processors shared a fixed work [D]. So they did where it is a sixth less at the
largest count than at the smallest: work that grows with the processors has no reason to be done
in less time [D].

    strong:  speedup = T(p0) / T(p),         efficiency = speedup * p0 / p
    weak:    speedup = p/p0 * T(p0) / T(p),  efficiency = T(p0) / T(p)

with p0 the smallest measured count: nobody has measured one processor of a program that does not
fit there. The weak speedup is Gustafson's scaled speedup, of the work and not of the time.

Whether the runs behind some series scaled strongly or weakly, and which times tell it.

A column `n`, the size of the problem, tells it first: where it grows with the processors scaling
is weak, where it is the same at every count strong. Else the times do. All call paths of a run
were timed together, so they cannot differ. The one that takes longest at the smallest count tells
it for all of them: it is the most likely to hold the work itself.

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, 1988,
   :doi:`10.1145/42411.42415` [S].
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series
from parcast.units import format_quantity
from parcast.words import whole

SHARE_OF_IDEAL = 0.25  # of the slope -1 that work shared by the processors would have [D]
FALL = 0.175  # of the logarithm of time: a sixth less, which noise seldom makes of it [1] [D]


def is_strong(p: Array, time: Array, count: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the times of each series fall as those of a fixed work do.

    Parameters
    ----------
    p, time : ndarray, shape (series, counts)
        Processors, ascending [1], and times [s]; padding after the first `count` of a row.
    count : ndarray of int, shape (series,)
        Measured counts of each series, at least 2. [1]

    Returns
    -------
    ndarray of bool, shape (series,)

    Examples
    --------
    >>> p, time = np.array([[1.0, 2, 4]]), np.array([[8.0, 4.5, 3]])
    >>> is_strong(p, time, np.array([3])), is_strong(p, 1 + 0 * time, np.array([3]))
    (array([ True]), array([False]))
    """
    measured = np.arange(p.shape[1]) < count[:, None]
    fall = np.where(measured, np.log(time[:, :1] / time), -np.inf)
    ideal = np.log(p / p[:, :1])
    whole_range = ideal[np.arange(len(p)), count - 1]
    shared = np.any(fall > SHARE_OF_IDEAL * ideal, axis=1)
    last = fall[np.arange(len(p)), count - 1]
    return np.asarray((shared & (fall.max(axis=1) > 0.1 * whole_range)) | (last > FALL))


def speedup_and_efficiency(
    *, p: Array, time: Array, p0: Array, time0: Array, strong: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Speedup and efficiency over the reference count.

    Parameters
    ----------
    p : ndarray, shape (points,)
        Processors. [1]
    time : ndarray, shape (series, points)
        Times at them. [s]
    p0, time0 : ndarray, shape (series,)
        Reference count [1] and the time measured there [s].
    strong : ndarray of bool, shape (series,)
        Whether the work is fixed.

    Returns
    -------
    speedup, efficiency : ndarray, shape (series, points)
        [1]
    """
    faster = time0[:, None] / time
    more = p / p0[:, None]
    speedup = np.where(strong[:, None], faster, faster * more)
    return speedup, speedup / more


Scaling = Literal["auto", "strong", "weak"]
Size = Literal["", "grows", "fixed"]  # of the problem, over the counts of processors

FIXED: Final = (
    "n is the same at every p, though time does not fall (if n is of each processor, say so: weak "
    "scaling)"
)


def scaling_of_runs(
    series: Series, scaling: Scaling, *, size: Size = ""
) -> tuple[NDArray[np.bool_], Sequence[str]]:
    """Tell strong from weak scaling for every series, and say why.

    Parameters
    ----------
    series : Series
        What was measured, at two counts or more each.
    scaling : {"auto", "strong", "weak"}
        What the user says; "auto" leaves it to the problem size and the times.
    size : {"", "grows", "fixed"}
        Whether the table has a problem size `n`, which grows with the processors or is the same at
        every count.

    Returns
    -------
    strong : ndarray of bool, shape (series,)
    reasons : sequence of str, one for each series
    """
    if scaling != "auto":
        return np.full(len(series), scaling == "strong"), ["as you said"] * len(series)
    if size == "grows":
        return np.zeros(len(series), dtype=bool), ["n grows with p"] * len(series)
    alone = is_strong(series.p, series.time, series.count)
    teller = longest_parts(series, series.time[:, 0])
    tellers = set(teller.tolist())
    if size == "fixed":
        told = {i: FIXED for i in tellers if not alone[i]}
        alone = np.ones_like(alone)
    else:
        told = {}
    reason = {i: told.get(i) or _reason(series, i, bool(alone[i])) for i in tellers}
    reasons = [
        reason[i] if i == own else as_for(series, i) for own, i in enumerate(teller.tolist())
    ]
    return alone[teller], reasons


def longest_parts(series: Series, time: NDArray[np.float64]) -> NDArray[np.intp]:
    """For every series the call path of the same run that takes longest.

    Parameters
    ----------
    series : Series
    time : ndarray, shape (series,)
        That each takes, where they are compared. [s]

    Returns
    -------
    ndarray of int, shape (series,)
        Numbers of series; its own for one that is alone or the longest.
    """
    longest: dict[tuple[object, ...], int] = {}
    runs = [
        tuple(value for name, value in key.items() if name != "callpath") for key in series.keys
    ]
    first = time.tolist()
    for i, run in enumerate(runs):
        if run not in longest or first[i] > first[longest[run]]:
            longest[run] = i
    return np.array([longest[run] for run in runs])


def as_for(series: Series, teller: int) -> str:
    """Say that another call path of the same run tells the scaling."""
    return f"as for {series.keys[teller]['callpath']}, its longest part"


def size_of_runs(measurements: Measurements, by: Sequence[str]) -> Size:
    """Whether the problem size `n` grows along with the processors, or is the same at all."""
    size = measurements.axes.get("n")
    if size is None:
        return ""
    if "n" in by or np.all(size == size[0]):
        return "fixed"
    return "grows" if np.corrcoef(np.log(measurements.p), size)[0, 1] > 0 else ""


def _reason(series: Series, i: int, strong: bool) -> str:
    """Say which times of a series tell its scaling."""
    count = int(series.count[i])
    p, time = series.p[i, :count], series.time[i, :count]
    best = int(np.argmin(time))
    first, least, last = (format_quantity(time[j], "time") for j in (0, best, -1))
    began = f"{first} at p = {whole(float(p[0]))}"
    if strong:
        return f"time falls from {began} to {least} at {whole(float(p[best]))}"
    return (
        f"time goes from {began} to {last} at {whole(float(p[-1]))}: "
        "it does not fall as shared work would (if the work was fixed, say so: strong scaling)"
    )
