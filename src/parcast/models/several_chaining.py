"""Forward chaining over several axes: what lies furthest in a direction, from the rest.

A direction is an axis and whether it is left upwards; None stands for a question that leaves none.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from parcast.models.terms import Array

FEWEST_VALUES = 3  # of an axis, so that two are left when its last is held back
FOLD = 5  # of the runs, each so many are held back for a question between them
Direction = tuple[int, bool] | None


def questions(
    is_beyond: NDArray[np.bool_], is_above: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], list[Direction]]]:
    """Group points by the directions in which they leave the measured range.

    Parameters
    ----------
    is_beyond, is_above : ndarray of bool, shape (points, axes)
        Whether a point lies outside the measured range of an axis, and in its upper half.

    Yields
    ------
    points : ndarray of int
        Places of points that leave the range alike.
    directions : list
        How they leave it; [None] where they do not.

    Examples
    --------
    >>> inside, above = np.array([[False], [True]]), np.array([[True], [True]])
    >>> [(points.tolist(), directions) for points, directions in questions(inside, above)]
    [([0], [None]), ([1], [(0, True)])]
    """
    side = np.where(is_beyond, np.where(is_above, 1, -1), 0)
    kinds, which = np.unique(side, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds.tolist()):
        left: list[Direction] = [(axis, sign > 0) for axis, sign in enumerate(kind) if sign]
        yield np.flatnonzero(which.ravel() == number), left or [None]


def chained_errors(
    logs: Array,
    log_time: Array,
    direction: Direction,
    forecasts: Callable[[Array, Array, Array], Array],
) -> Array | None:
    """Errors of forecasts of what lies furthest in a direction, told only the rest.

    Parameters
    ----------
    logs : ndarray, shape (runs, axes)
        Coordinates of the runs.
    log_time : ndarray, shape (runs,)
        What was measured.
    direction : (axis, is upwards) or None
        None holds back every fifth run.
    forecasts : callable
        Told coordinates and log times of some runs, what it forecasts at other coordinates:
        shape (points, members).

    Returns
    -------
    ndarray, shape (held back, members), or None where too little would be left
    """
    if direction is None:
        held = np.arange(len(log_time)) % FOLD == FOLD // 2
    else:
        axis, upwards = direction
        values = np.unique(logs[:, axis])
        if len(values) < FEWEST_VALUES:
            return None
        held = logs[:, axis] == (values[-1] if upwards else values[0])
    kept = logs[~held]
    varied = np.column_stack([np.ones(len(kept)), kept[:, np.ptp(logs, axis=0) > 0]])
    if not held.any() or np.linalg.matrix_rank(varied) < varied.shape[1]:
        return None
    return np.asarray(forecasts(kept, log_time[~held], logs[held]) - log_time[held, None])
