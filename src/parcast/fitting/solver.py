"""The least sum of squares within bounds, from many starts at once, and its intervals.

Levenberg and Marquardt on arrays: every set of coordinates takes its own steps with its own
damping; a step that would leave the bounds ends on them, the other coordinates being solved for
again. All sets are evaluated in one call [D].

The interval of a parameter is that of its profile likelihood [1]_. For a value of it the others
are fitted again; S(value) - S(best), with S the sum of squared residuals over their standard
deviations, is 0 at the best value and reaches the square of Student's t at the ends. A parameter
that can go to its bound has no end there.

References
----------
.. [1] W. Q. Meeker and L. A. Escobar, "Teaching about approximate confidence regions based on
   maximum likelihood estimation," The American Statistician, vol. 49, no. 1, pp. 48-53, 1995,
   :doi:`10.1080/00031305.1995.10476112`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.fitting.model import HOLD, Model
from parcast.fitting.observed import Observed
from parcast.fitting.runs import (
    MeasuredConfigurations,
    Noise,
    determined_by_runs,
    expected_noise,
    noise_of,
)

Residuals = Callable[[Array], tuple[Array, Array]]
MOST_STEPS: Final = 100
PASSES: Final = 4  # of a step that meets bounds
SMALLEST: Final = 1e-10  # step, over the coordinate, that no longer matters
SMALL: Final = 1e-6  # coordinate
LITTLE_DAMPING: Final = 0.1  # what a step is not held short by
DAMPING: Final = (1e-3, 1e-12, 1e12)  # first, least, most
MOST_ROUNDS: Final = 25
NEAR_ENOUGH: Final = 0.01  # of the root of the difference
LOOSE: Final = 1e-4  # steps that do not matter here
ENOUGH: Final = 2e-3  # of the difference at the ends: gains that do not matter here
STEPS: Final = 12  # of the others, for one value
FIRST_STEP: Final = (1e-6, 2.0)  # least and most, over the coordinate or 1
FURTHEST: Final = 1e3  # times the coordinate or 1: as good as infinite
INTERVAL: Final = 0.9
MOST_OF_IT: Final = 0.5  # of the time alone


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Solution:
    """Where each set of coordinates ended."""

    coordinates: Array  # (sets, parameters)
    squares: Array  # sum of squared residuals, (sets,)
    converged: NDArray[np.bool_]  # (sets,)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FitTask:
    """The sum of squares of runs, parameters with +-, and the scale of speedups."""

    model: Model
    columns: tuple[Observed, ...]
    runs: MeasuredConfigurations
    scale: float | None  # logarithm of the time alone that is held; None where times are known

    @property
    def lower(self) -> Array:
        """Least coordinates."""
        return np.array([x.lower for x in self.model.parameters])

    @property
    def upper(self) -> Array:
        """Largest coordinates."""
        return np.array([x.upper for x in self.model.parameters])

    @property
    def deviations(self) -> Array:
        """Standard deviations of the coordinates that +- says."""
        return np.array([x.sigma for x in self.model.parameters])

    @property
    def measured(self) -> Array:
        """Logarithms, shape (rows,): those of one column after the other."""
        return np.concatenate([x.measured for x in self.columns])

    @property
    def rows(self) -> NDArray[np.intp]:
        """Run of each row."""
        return np.concatenate([x.rows for x in self.columns])

    def of_rows(self, of_columns: Iterable[float]) -> Array:
        """Value of its column for each row."""
        return np.repeat(tuple(of_columns), [len(x.rows) for x in self.columns])

    def logs(
        self, coordinates: Array, alone: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Logarithms of what was measured, (sets, rows), and their Jacobian."""
        if all(x.is_whole for x in self.columns):  # whose derivatives laws may know
            return self.model.logs(coordinates, alone)
        times, slopes = self.model.parts(coordinates)
        logs, jacobians = zip(*(x.logs(times, slopes) for x in self.columns), strict=True)
        return np.concatenate(logs, axis=1), np.concatenate(jacobians, axis=1)

    def residuals(self, levels: Sequence[float], coordinates: Array) -> tuple[Array, Array]:
        """Residuals over their standard deviations, and their Jacobian; `levels` of columns."""
        alone = None if self.scale is None else self.model.logs_alone(coordinates)
        logs, jacobian = self.logs(coordinates, alone)
        level = self.of_rows(levels)
        values, slopes = [(logs - self.measured) / level], [jacobian / level[:, None]]
        if alone is not None and self.scale is not None:
            values.append((alone[0][:, :1] - self.scale) / levels[0] / HOLD)
            slopes.append(alone[1][:, :1] / levels[0] / HOLD)
        # Logarithms of a rate and of its inverse differ in sign alone.
        values.append(np.log(coordinates) / self.deviations)
        slopes.append((1.0 / coordinates / self.deviations)[..., None] * np.eye(len(self.lower)))
        return np.concatenate(values, axis=1), np.concatenate(slopes, axis=1)

    def solve(self, levels: Sequence[float], starts: Array, steps: int = 100) -> Solution:
        """Least squares from some starts."""
        return least_squares(
            lambda x: self.residuals(levels, x),
            starts,
            lower=self.lower,
            upper=self.upper,
            steps=steps,
        )

    def expected(self) -> Noise:
        """Scatter before anything is fitted."""
        of_columns = tuple(expected_noise(x.repetitions) for x in self.columns)
        return replace(expected_noise(self.runs.repetitions), of_columns=of_columns)

    def noise(self, coordinates: Array, levels: Sequence[float]) -> Noise:
        """Scatter about the law with these coordinates, in each column and of the times."""
        logs, jacobian = self.logs(coordinates[None])
        inside = (coordinates > self.lower) & (coordinates < self.upper)
        bounds = np.cumsum([len(x.rows) for x in self.columns])[:-1]
        rows = np.split(jacobian[0] / self.of_rows(levels)[:, None], bounds)
        if self.scale is not None:
            alone = self.model.logs_alone(coordinates[None])[1][0, :1]
            rows.append(alone / levels[0] / HOLD)
        determined = determined_by_runs(
            [x[:, inside] * coordinates[inside] for x in rows], self.deviations[inside]
        )
        if self.scale is not None:
            determined = [sum(determined) - 1.0]
        squares = [float(np.sum(x**2)) for x in np.split(logs[0] - self.measured, bounds)]
        of_columns = tuple(
            noise_of(s, len(x.rows), d, x.repetitions)
            for s, x, d in zip(squares, self.columns, determined, strict=True)
        )
        if all(x.is_whole for x in self.columns):
            return replace(of_columns[0], of_columns=of_columns)
        apart = self.model.logs(coordinates[None])[0][0] - np.log(self.runs.measured)
        count = len(apart)
        total = noise_of(float(np.sum(apart**2)), count, 0.0, self.runs.repetitions)
        return replace(total, of_columns=of_columns)


def intervals(task: FitTask, noise: Noise, best: Array, squares: float) -> tuple[Array, Array]:
    """Ends of the interval of every coordinate."""
    _, rows = task.residuals(noise.levels, best[None])
    precision = rows[0].T @ rows[0]
    scale = np.sqrt(np.maximum(np.diag(precision), 1e-12))
    normal = precision / np.outer(scale, scale) + 1e-10 * np.eye(len(best))
    sd = np.sqrt(np.maximum(np.diag(np.linalg.inv(normal)), 0.0)) / scale
    tail = (1.0 + INTERVAL) / 2.0
    return profile_intervals(
        lambda x: task.residuals(noise.levels, x),
        best,
        squares,
        sd,
        lower=task.lower,
        upper=task.upper,
        limit=special.stdtrit(_freedoms(task, noise, rows[0]), tail),
    )


def _freedoms(task: FitTask, noise: Noise, rows: Array) -> Array:
    """Degrees of freedom of each parameter: those of the column that says most of it. [1].

    `rows` is the Jacobian over the noise.
    """
    count = len(task.measured)
    squares = rows[:count] ** 2
    bounds = np.cumsum([len(x.rows) for x in task.columns])[:-1]
    of_columns = np.stack([x.sum(axis=0) for x in np.split(squares, bounds)])
    own = np.array([x.freedom for x in noise.of_columns])
    return np.asarray(own[np.argmax(of_columns, axis=0)])


def with_scale(task: FitTask) -> FitTask:
    """Hold the time alone, unless what is left as described makes up most of it."""
    start = np.ones((1, len(task.model.parameters)))
    alone, slope = task.model.logs_alone(start)
    if np.sum(slope[0, 0]) < MOST_OF_IT:
        return task
    return replace(task, scale=float(alone[0, 0]))


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
    shifts: Array | None = None,
) -> Solution:
    """Coordinates with the least sum of squares near each start, (sets, parameters).

    `residuals` gives those of some sets, (sets, rows), and their Jacobian; `shifts`, of the same
    shape, are added to those of each set. A set has ended where its step, over the coordinate, is
    below `tolerance`, or gains less than `enough`.
    """
    x = np.clip(start, lower, upper)
    held = np.zeros(x.shape, dtype=bool) if held is None else held
    values, slopes = (np.array(part) for part in residuals(x))
    shifts = np.zeros((len(x), 1)) if shifts is None else shifts
    values = values + shifts
    squares = np.sum(values**2, axis=-1)
    first, least, most = DAMPING
    damping = np.full(len(x), first)
    converged = np.zeros(len(x), dtype=bool)
    active = np.arange(len(x))
    for _ in range(steps):
        if not active.size:
            break
        at, r, jacobian = x[active], values[active], slopes[active]
        step = _step(
            jacobian, r, damping[active], held=held[active], down=lower - at, up=upper - at
        )
        trial = np.clip(at + step, lower, upper)
        moved = np.max(np.abs(trial - at) / (np.abs(at) + SMALL), axis=-1)
        new_values, new_slopes = residuals(trial)
        new_values = new_values + shifts[active]
        new_squares = np.sum(new_values**2, axis=-1)
        better = new_squares < squares[active]
        gain = squares[active] - new_squares
        taken = active[better]
        x[taken], squares[taken] = trial[better], new_squares[better]
        values[taken], slopes[taken] = new_values[better], new_slopes[better]
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

    A coordinate that would leave its room goes to its end; the others are solved for again.
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


def profile_intervals(
    residuals: Residuals,
    best: Array,
    squares: float,
    sd: Array,
    *,
    lower: Array,
    upper: Array,
    limit: ArrayLike,
) -> tuple[Array, Array]:
    """Ends of the interval of every coordinate; infinite where the bound is reached first.

    `residuals` are over their standard deviations, `squares` their sum at `best`, (parameters,);
    `sd` guesses each coordinate's deviation, or is infinite; `limit` is Student's t of each.
    """
    count = len(best)
    limits = np.tile(np.broadcast_to(limit, count), 2)
    which = np.tile(np.arange(count), 2)
    bound = np.concatenate([lower, upper])
    sign = np.repeat([-1.0, 1.0], count)
    centre = best[which]
    room = np.minimum(np.abs(bound - centre), FURTHEST * np.maximum(centre, 1.0))
    # Distances from the best value: `near` is inside the interval, `far` beyond it.
    near, far = np.zeros(2 * count), np.full(2 * count, np.inf)
    root_near, root_far = np.zeros(2 * count), np.full(2 * count, np.inf)
    least, most = (step * np.maximum(centre, 1.0) for step in FIRST_STEP)
    guess = np.minimum(np.clip(limits * np.tile(sd, 2), least, most), room)
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
            enough=ENOUGH * float(limits.min()) ** 2,
            steps=STEPS,
        )
        root = np.sqrt(np.maximum(solved.squares - squares, 0.0))
        inside = root < limits[active]
        for i, is_inside, value, x in zip(active, inside, root, solved.coordinates, strict=True):
            if is_inside:
                near[i], root_near[i] = guess[i], value
                warm[i] = x
            else:
                far[i], root_far[i] = guess[i], value
            if abs(value - limits[i]) < NEAR_ENOUGH * limits[i]:
                ends[i] = guess[i]
            elif is_inside and guess[i] >= room[i]:
                ends[i] = np.inf
            elif far[i] - near[i] < 1e-3 * far[i]:
                ends[i] = near[i]
            else:
                inner, outer = (near[i], root_near[i]), (far[i], root_far[i])
                guess[i] = _next(inner, outer, float(limits[i]), room[i])
    ends = np.where(np.isnan(ends), near, ends)
    return best - ends[:count], best + ends[count:]


def _next(near: tuple[float, float], far: tuple[float, float], limit: float, room: float) -> float:
    """Distance to look at next, from one inside and possibly one beyond the interval."""
    (at, root), (beyond, root_beyond) = near, far
    if np.isinf(beyond):
        factor = np.clip(1.05 * limit / max(root, 1e-9), 1.3, 8.0)
        return float(min(at * factor, room))
    # The root is nearly a line; never closer to either end than a tenth of the way.
    share = (limit - root) / (root_beyond - root)
    return float(at + (beyond - at) * np.clip(share, 0.1, 0.9))
