"""Least squares within bounds, for many starts at once: Levenberg and Marquardt on arrays.

Every set of coordinates takes its own steps with its own damping; a step that would leave the
bounds ends on them, the other coordinates being solved for again. All sets are evaluated in one
call [D].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Residuals = Callable[[Array], tuple[Array, Array]]

MOST_STEPS: Final = 100
PASSES: Final = 4  # of a step that meets bounds
SMALLEST: Final = 1e-10  # step, over the coordinate, that no longer matters
SMALL: Final = 1e-6  # coordinate
LITTLE_DAMPING: Final = 0.1  # what a step is not held short by
DAMPING: Final = (1e-3, 1e-12, 1e12)  # first, least, most


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Solution:
    """Where each set of coordinates ended."""

    coordinates: Array  # (sets, parameters)
    squares: Array  # sum of squared residuals, (sets,)
    converged: NDArray[np.bool_]  # (sets,)


def least_squares(
    residuals: Residuals,
    start: Array,
    *,
    lower: Array,
    upper: Array,
    held: NDArray[np.bool_] | None = None,
    tolerance: float = SMALLEST,
    enough: float = 0.0,
    steps: int = MOST_STEPS,
) -> Solution:
    """Coordinates with the least sum of squares near each start.

    Parameters
    ----------
    residuals : callable
        From coordinates of shape (some sets, parameters) the residuals (some sets, rows) and
        their Jacobian (some sets, rows, parameters).
    start : ndarray, shape (sets, parameters)
    lower, upper : ndarray, shape (parameters,)
    held : ndarray of bool, shape (sets, parameters), optional
        Coordinates that stay where they start.
    tolerance : float, default 1e-10
        Longest step, over the coordinate, that no longer matters. [1]
    enough : float, default 0
        Gain of a step, in the sum of squares, that no longer matters; besides a share of 1e-9 of
        the sum. [1]
    steps : int, default 100
        How many each set may take. [1]

    Returns
    -------
    Solution
    """
    x = np.clip(start, lower, upper)
    held = np.zeros(x.shape, dtype=bool) if held is None else held
    found, slopes = (np.array(part) for part in residuals(x))
    squares = np.sum(found**2, axis=-1)
    first, least, most = DAMPING
    damping = np.full(len(x), first)
    converged = np.zeros(len(x), dtype=bool)
    active = np.arange(len(x))
    for _ in range(steps):
        if not active.size:
            break
        at, r, jacobian = x[active], found[active], slopes[active]
        step = _step(
            jacobian, r, damping[active], held=held[active], down=lower - at, up=upper - at
        )
        trial = np.clip(at + step, lower, upper)
        moved = np.max(np.abs(trial - at) / (np.abs(at) + SMALL), axis=-1)
        new_found, new_slopes = residuals(trial)
        new_squares = np.sum(new_found**2, axis=-1)
        better = new_squares < squares[active]
        gain = squares[active] - new_squares
        taken = active[better]
        x[taken], squares[taken] = trial[better], new_squares[better]
        found[taken], slopes[taken] = new_found[better], new_slopes[better]
        damping[active] = np.clip(
            np.where(better, damping[active] / 10.0, damping[active] * 5.0), least, most
        )
        # A step that hardly moves ends it where damping does not hold it short, or nothing helps.
        short = (moved < tolerance) & (damping[active] < 1e3)
        little = gain <= 1e-9 * squares[active] + enough
        flat = better & little & (damping[active] < LITTLE_DAMPING)
        stuck = ~better & ((moved < 1e-13) | (damping[active] >= most))
        done = short | flat | stuck | (squares[active] < 1e-28)
        converged[active[done]] = True
        active = active[~done]
    return Solution(coordinates=x, squares=squares, converged=converged)


def _step(
    jacobian: Array,
    residuals: Array,
    damping: Array,
    *,
    held: NDArray[np.bool_],
    down: Array,
    up: Array,
) -> Array:
    """Damped step of each set within its room down and up; 0 for coordinates that are held.

    A coordinate whose step would leave its room goes to the end of it, and the others are solved
    for again.
    """
    gradient = np.einsum("srk,sr->sk", jacobian, residuals)
    normal = np.einsum("srk,srl->skl", jacobian, jacobian)
    scale = np.einsum("skk->sk", normal)
    least = 1e-14 * np.max(scale, axis=-1, keepdims=True) + 1e-300
    index = np.arange(normal.shape[-1])
    normal[:, index, index] += damping[:, None] * np.maximum(scale, least) + least
    still, step = held.copy(), np.zeros_like(gradient)
    for _ in range(PASSES):
        moving = np.where(still, 0.0, 1.0)
        system = normal * moving[:, :, None] * moving[:, None, :]
        system[:, index, index] += 1.0 - moving
        pushed = gradient + np.einsum("skl,sl->sk", normal, np.where(still, step, 0.0))
        solved = np.linalg.solve(system, (-pushed * moving)[..., None])[..., 0]
        step = np.where(still, step, solved)
        outside = ~still & ((step < down) | (step > up))
        if not outside.any():
            break
        step = np.where(outside, np.clip(step, down, up), step)
        still = still | outside
    return np.asarray(step)
