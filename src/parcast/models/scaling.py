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

References
----------
.. [1] J. L. Gustafson, "Reevaluating Amdahl's law," Commun. ACM, vol. 31, no. 5, 1988,
   :doi:`10.1145/42411.42415` [S].
"""

import numpy as np
from numpy.typing import NDArray

from parcast.models.terms import Array

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
