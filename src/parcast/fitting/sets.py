"""What a fit writes: values, and sets of constants that explain the runs about equally well.

A constant that the runs do not determine counts as known to a factor of 11, the widest +- there
is: of all values that explain the runs, those nearest the description are written [D]. Each set
then is the best fit to runs and described values that were disturbed as much as they are uncertain
(randomised maximum likelihood [1]_): exact for laws that are linear in their constants, and near
enough for others. A noise that is based on few degrees of freedom is drawn as well, so that the
sets have Student's t for tails.

References
----------
.. [1] D. S. Oliver, N. He, and A. C. Reynolds, "Conditioning permeability fields to pressure
   data," in Proc. 5th European Conf. on the Mathematics of Oil Recovery, 1996, pp. 259-269,
   :doi:`10.3997/2214-4609.201406884`.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final
from zlib import crc32

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, WIDEST
from parcast.fitting.model import LEAST
from parcast.fitting.runs import Noise
from parcast.fitting.solver import LOOSE, Task, least_squares

SETS: Final = 100  # five of them below a 90 % interval, and five above
STEPS: Final = 20
ENOUGH: Final = 3e-3  # gain of a sum of squares that does not matter here
OPEN: Final = (
    float(np.log1p(WIDEST)) / NORMAL_90
)  # deviation of a logarithm of which little is known
MOST_STEP: Final = 5.0  # of a logarithm at the start
DIGITS: Final = 4


def with_open(task: Task, names: Collection[str]) -> Task:
    """The same task, where some constants are known to a factor of 11."""
    parameters = tuple(
        replace(x, sigma=min(x.sigma, OPEN)) if x.name in names else x
        for x in task.model.parameters
    )
    return replace(task, model=replace(task.model, parameters=parameters))


def nearest(task: Task, noise: Noise, best: Array) -> Array:
    """Coordinates that explain the runs nearest the description, from the best ones."""
    is_open = np.isfinite(task.deviations)
    inside = np.clip(best, np.maximum(task.lower, 1e-3), task.upper)
    starts = np.stack([np.where(is_open, 1.0, best), inside, np.ones_like(best)])
    solved = task.solve(noise.seen, np.clip(starts, task.lower, task.upper))
    return np.asarray(solved.coordinates[np.argmin(solved.squares)])


def sets_of(task: Task, noise: Noise, coordinates: Array) -> Array:
    """Factors over those at the coordinates, of constants that explain the runs too.

    Of shape (sets, parameters). [1].
    """
    values, jacobian = task.residuals(noise.level, coordinates[None])
    runs, known = len(task.measured), np.isfinite(task.deviations)
    seed = crc32(np.round(task.measured, 9).tobytes())
    random = np.random.default_rng(seed)
    shifts = np.zeros((SETS, values.shape[1]))
    deviation = np.sqrt(noise.freedom / special.chdtri(noise.freedom, _levels(random, 1)))
    shifts[:, :runs] = special.ndtri(_levels(random, runs)) * deviation
    own = special.ndtri(_levels(random, len(known)))
    shifts[:, -len(known) :] = np.where(known, own, 0.0)

    def residuals(x: Array) -> tuple[Array, Array]:
        return task.residuals(noise.level, x)

    solved = least_squares(
        residuals,
        _near(task, coordinates, jacobian[0], shifts),
        lower=task.lower,
        upper=task.upper,
        tolerance=LOOSE,
        enough=ENOUGH,
        steps=STEPS,
        shifts=shifts,
    )
    ratio = np.maximum(solved.coordinates, LEAST) / np.maximum(coordinates, LEAST)
    is_rate = np.array([x.is_rate for x in task.model.parameters])
    return np.asarray(np.where(is_rate, 1.0 / ratio, ratio))


def _near(task: Task, coordinates: Array, jacobian: Array, shifts: Array) -> Array:
    """Coordinates of each set to start from, were logarithms linear in logarithms.

    So they begin far along a product that alone is known; steps of coordinates would creep there.
    """
    by_log = jacobian * coordinates
    steps = -shifts @ np.linalg.pinv(by_log, rcond=1e-8).T
    far = coordinates * np.exp(np.clip(steps, -MOST_STEP, MOST_STEP))
    return np.asarray(np.clip(far, task.lower, task.upper))


def _levels(random: np.random.Generator, columns: int) -> Array:
    """Probabilities of a Latin hypercube, (sets, columns)."""
    order = np.stack([random.permutation(SETS) for _ in range(columns)], axis=1)
    return np.asarray((order + 0.5) / SETS)
