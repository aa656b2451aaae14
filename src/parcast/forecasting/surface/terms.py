"""Time over several axes as a sum of products of powers with coefficients of at least 0.

    T = sum_k c_k * g_k(p) * product_j x_j^(e_kj),   c_k >= 0

`g` is one of 1/p, p^(-2/3), p^(-1/3), 1, p^(1/2), p and log2 p; the exponents of every other axis
are 0 and five around the one that fits best alone. The coefficients minimise squared *relative*
residuals, as in `parcast.laws.curves`, with a little shrinkage so that there is one answer. No
time is ever 0 or negative, and sums keep what a product cannot: work that the processors share
beside a cost that they cause. Use it where runs vary several axes at once; along single axes
alone it does not know which products to take.

Coordinates are logarithms of the axes, as time goes with powers of most, brought to [-1, 1] over
the measured range; an axis with a value of 0 or below has none and is taken as it is. Forward
chaining forecasts what lies furthest in a direction from the rest, a direction being an axis and
whether it is left upwards; None stands for a question that leaves none.

References
----------
.. [1] C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM, 1995, ch. 23 [S].
   The dictionary of terms is parcast's own [D], after the normal form of A. Calotoiu et al.,
   "Using automated performance modeling to find scalability bugs in complex codes," SC 2013,
   :doi:`10.1145/2503210.2503277` [S].
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array

OF_P = (-1.0, -2 / 3, -1 / 3, 0.0, 0.5, 1.0)  # powers of p, beside its logarithm
AROUND = (-1.0, -0.5, 0.0, 0.5, 1.0)  # of the exponent that fits best alone
SHRINKAGE = 1e-3  # of coefficients, relative to the largest that one term alone could have
MOST_TERMS = 400
LARGEST = 500.0  # logarithm of a term


def sum_of_products(
    x: Array, log_time: Array, targets: Array, log_p: Array, target_log_p: Array
) -> Array:
    """Log time at `targets`, (points, axes), from a sum of products fitted to `log_time`, (runs,).

    `x`, (runs, axes), and `targets` are logarithms of the axes besides p.
    """
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    middle = (x.min(axis=0) + x.max(axis=0)) / 2 if len(x) else 0.0
    x, targets = x - middle, targets - middle
    centre = float(log_time.mean())
    straight = np.column_stack([np.ones(len(x)), log_p, x])
    slopes = np.asarray(np.linalg.lstsq(straight, log_time - centre, rcond=None)[0][2:], float)
    exponents = _exponents(slopes)
    measured = _terms(log_p, x, exponents) / np.exp(log_time - centre)[:, None]
    scale = measured.max(axis=0)
    used = scale > 0
    measured, scale = measured[:, used] / scale[used], scale[used]
    shrunk = np.sqrt(SHRINKAGE) * np.eye(len(scale))
    wanted = np.concatenate([np.ones(len(x)), np.zeros(len(scale))])
    coefficients = nnls(np.concatenate([measured, shrunk]), wanted, maxiter=20 * len(scale))[0]
    time = _terms(target_log_p, targets, exponents)[:, used] @ (coefficients / scale)
    return np.asarray(np.log(np.maximum(time, np.finfo(float).tiny)) + centre)


def _exponents(slopes: Array) -> list[list[float]]:
    """Exponents of each axis besides p; fewer where there are many axes."""
    around = AROUND if len(OF_P) * (1 + len(AROUND)) ** len(slopes) <= MOST_TERMS else (0.0,)
    return [[0.0, *(float(slope) + step for step in around)] for slope in slopes]


def _terms(log_p: Array, x: Array, exponents: list[list[float]]) -> Array:
    """Value of every term, shape (points, terms); at most e^500, however far the point lies."""
    logs = np.concatenate([np.outer(log_p, OF_P), np.zeros((len(x), 1))], axis=1)
    factor = np.concatenate([np.ones((len(x), len(OF_P))), log_p[:, None] / np.log(2.0)], axis=1)
    for j, powers in enumerate(exponents):
        more = np.outer(x[:, j], powers)
        logs = (logs[:, :, None] + more[:, None, :]).reshape(len(x), -1)
        factor = np.repeat(factor, len(powers), axis=1)
    return np.asarray(factor * np.exp(np.clip(logs, -LARGEST, LARGEST)))


SAME = 1e-9  # distance in [-1, 1] within which two places are one


@dataclass(frozen=True, kw_only=True, slots=True)
class Coordinates:
    """How values of axes become coordinates; made by `coordinates_of`."""

    is_log: NDArray[np.bool_]  # (axes,): which axes are taken by their logarithm
    middle: Array  # (axes,): of the measured range, of the logarithms where they are taken
    half: Array  # (axes,): half the length of the range; 1 for an axis that does not vary

    def logs(self, values: Array) -> Array:
        """Logarithms of values, shape (points, axes); values as they are where there are none."""
        return np.where(self.is_log, np.log(np.where(self.is_log, values, 1.0)), values)

    def unit(self, logs: Array) -> Array:
        """Bring what `logs` gives to [-1, 1], and to more or less beyond the measured range."""
        return np.asarray((logs - self.middle) / self.half)

    def beyond(self, logs: Array) -> Array:
        """How far points lie beyond the measured range, shape (points, axes); 0 inside.

        A difference of logarithms; for an axis without, a share of the length of its range.
        """
        out = np.abs(self.unit(logs)) - 1.0
        out = np.where(out > SAME, out, 0.0)
        return np.asarray(np.where(self.is_log, out * self.half, out / 2))


def coordinates_of(values: Array) -> Coordinates:
    """Coordinates for the measured values of axes, shape (runs, axes)."""
    is_log = np.all(values > 0, axis=0)
    logs = np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)
    least, most = logs.min(axis=0), logs.max(axis=0)
    half = np.where(most > least, (most - least) / 2, 1.0)
    return Coordinates(is_log=is_log, middle=(least + most) / 2, half=half)


FEWEST_VALUES = 3  # of an axis, so that two are left when its last is held back
FOLD = 5  # of the runs, each so many are held back for a question between them
Direction = tuple[int, bool] | None


def questions(
    is_beyond: NDArray[np.bool_], is_above: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], list[Direction]]]:
    """Group points, (points, axes), by the directions in which they leave the measured range.

    Each group is given by the places of its points, and [None] where they do not leave it.
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
    """Errors of forecasts of what lies furthest in a direction from the rest, (held, members).

    Without a direction every fifth run is held back; None where too little would be left.
    `forecasts` gives (points, members) at other coordinates from `logs` and log times of some
    runs.
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
