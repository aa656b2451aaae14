"""The sum of squares that a fit minimises: runs, parameters with +-, and the scale of speedups."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.verbs.fit_model import HOLD, Model
from parcast.verbs.fit_noise import Noise, determined_by_runs, noise_of
from parcast.verbs.fit_runs import Runs
from parcast.verbs.fit_solver import Solution, least_squares

Array = NDArray[np.float64]

MOST_OF_IT: Final = 0.5  # of the time alone


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Task:
    """What is minimised."""

    model: Model
    measured: Array  # logarithms, shape (runs,)
    runs: Runs
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

    def residuals(self, level: float, coordinates: Array) -> tuple[Array, Array]:
        """Residuals over their standard deviations, and their Jacobian."""
        logs, jacobian = self.model.logs(coordinates)
        found, slopes = [(logs - self.measured) / level], [jacobian / level]
        if self.scale is not None:
            alone, slope = self.model.logs_alone(coordinates)
            found.append((alone[:, :1] - self.scale) / level / HOLD)
            slopes.append(slope[:, :1] / level / HOLD)
        # Logarithms of a rate and of its inverse differ in sign alone.
        found.append(np.log(coordinates) / self.deviations)
        slopes.append((1.0 / coordinates / self.deviations)[..., None] * np.eye(len(self.lower)))
        return np.concatenate(found, axis=1), np.concatenate(slopes, axis=1)

    def solve(self, level: float, starts: Array, steps: int = 100) -> Solution:
        """Least squares from some starts."""
        return least_squares(
            lambda x: self.residuals(level, x),
            starts,
            lower=self.lower,
            upper=self.upper,
            steps=steps,
        )

    def noise(self, coordinates: Array, level: float) -> Noise:
        """Scatter about the law with these coordinates."""
        logs, jacobian = self.model.logs(coordinates[None])
        squares = float(np.sum((logs[0] - self.measured) ** 2))
        inside = (coordinates > self.lower) & (coordinates < self.upper)
        rows = jacobian[0] / level
        if self.scale is not None:
            alone = self.model.logs_alone(coordinates[None])[1][0, :1]
            rows = np.vstack([rows, alone / level / HOLD])
        determined = determined_by_runs(
            rows[:, inside] * coordinates[inside], self.deviations[inside]
        )
        if self.scale is not None:
            determined -= 1.0
        return noise_of(squares, len(self.measured), determined, self.runs.repetitions)


def with_scale(task: Task) -> Task:
    """Hold the time alone, unless what is left as described makes up most of it."""
    start = np.ones((1, len(task.model.parameters)))
    alone, slope = task.model.logs_alone(start)
    if np.sum(slope[0, 0]) < MOST_OF_IT:
        return task
    return replace(task, scale=float(alone[0, 0]))
