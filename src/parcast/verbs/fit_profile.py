"""Profile likelihood: how far a parameter may go before the runs disagree, others adjusting.

For a value of one parameter the others are fitted again; S(value) - S(best), with S the sum of
squared residuals over their standard deviations, is 0 at the best value and reaches the square of
Student's t at the ends of the interval. A parameter that can go to its bound has no end there.

References
----------
.. [1] W. Q. Meeker and L. A. Escobar, "Teaching about approximate confidence regions based on
   maximum likelihood estimation," The American Statistician, vol. 49, no. 1, pp. 48-53, 1995,
   :doi:`10.1080/00031305.1995.10476112`.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.verbs.fit_solver import Residuals, least_squares

Array = NDArray[np.float64]

MOST_ROUNDS: Final = 25
NEAR_ENOUGH: Final = 0.01  # of the root of the difference
LOOSE: Final = 1e-4  # steps that do not matter here
ENOUGH: Final = 2e-3  # of the difference at the ends: gains that do not matter here
STEPS: Final = 12  # of the others, for one value
FIRST_STEP: Final = (1e-6, 2.0)  # least and most, over the coordinate or 1
FURTHEST: Final = 1e3  # times the coordinate or 1: as good as infinite


def profile_intervals(
    residuals: Residuals,
    best: Array,
    squares: float,
    sd: Array,
    *,
    lower: Array,
    upper: Array,
    limit: float,
) -> tuple[Array, Array]:
    """Ends of the interval of every coordinate.

    Parameters
    ----------
    residuals : callable
        As for `least_squares`, each over its standard deviation.
    best : ndarray, shape (parameters,)
        Coordinates with the least sum of squares.
    squares : float
        That sum. [1]
    sd : ndarray, shape (parameters,)
        A guess of the standard deviation of each; may be infinite. [1]
    lower, upper : ndarray, shape (parameters,)
        Bounds of the coordinates.
    limit : float
        Root of the difference of sums of squares at the ends: Student's t. [1]

    Returns
    -------
    low, high : ndarray, shape (parameters,)
        Minus and plus infinity where the bound is reached first.
    """
    count = len(best)
    which = np.tile(np.arange(count), 2)
    bound = np.concatenate([lower, upper])
    sign = np.repeat([-1.0, 1.0], count)
    centre = best[which]
    room = np.minimum(np.abs(bound - centre), FURTHEST * np.maximum(centre, 1.0))
    # Distances from the best value: `near` is inside the interval, `far` beyond it.
    near, far = np.zeros(2 * count), np.full(2 * count, np.inf)
    root_near, root_far = np.zeros(2 * count), np.full(2 * count, np.inf)
    least, most = (step * np.maximum(centre, 1.0) for step in FIRST_STEP)
    guess = np.minimum(np.clip(limit * np.tile(sd, 2), least, most), room)
    warm = np.tile(best, (2 * count, 1))
    ends = np.full(2 * count, np.nan)
    ends[room <= 0] = np.inf
    held = np.eye(count, dtype=bool)[which]
    for _ in range(MOST_ROUNDS):
        active = np.flatnonzero(np.isnan(ends))
        if not active.size:
            break
        start = warm[active]
        start[np.arange(active.size), which[active]] = (centre + sign * guess)[active]
        solved = least_squares(
            residuals,
            start,
            lower=lower,
            upper=upper,
            held=held[active],
            tolerance=LOOSE,
            enough=ENOUGH * limit**2,
            steps=STEPS,
        )
        root = np.sqrt(np.maximum(solved.squares - squares, 0.0))
        inside = root < limit
        for i, is_inside, value, x in zip(active, inside, root, solved.coordinates, strict=True):
            if is_inside:
                near[i], root_near[i] = guess[i], value
                warm[i] = x
            else:
                far[i], root_far[i] = guess[i], value
            if abs(value - limit) < NEAR_ENOUGH * limit:
                ends[i] = guess[i]
            elif is_inside and guess[i] >= room[i]:
                ends[i] = np.inf
            elif far[i] - near[i] < 1e-3 * far[i]:
                ends[i] = near[i]
            else:
                inner, outer = (near[i], root_near[i]), (far[i], root_far[i])
                guess[i] = _next(inner, outer, limit, room[i])
    ends = np.where(np.isnan(ends), near, ends)
    return best - ends[:count], best + ends[count:]


def _next(near: tuple[float, float], far: tuple[float, float], limit: float, room: float) -> float:
    """Distance to look at next, from one inside and perhaps one beyond the interval."""
    (at, root), (beyond, root_beyond) = near, far
    if np.isinf(beyond):
        factor = np.clip(1.05 * limit / max(root, 1e-9), 1.3, 8.0)
        return float(min(at * factor, room))
    # The root is nearly a line; never closer to either end than a tenth of the way.
    share = (limit - root) / (root_beyond - root)
    return float(at + (beyond - at) * np.clip(share, 0.1, 0.9))
