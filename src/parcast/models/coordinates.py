"""Axes of a table as coordinates: logarithms, brought to [-1, 1] over the measured range.

Time goes with powers of most axes, so that an axis is taken by its logarithm. One with a value of
0 or below has none and is taken as it is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.models.terms import Array

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

    @property
    def doubling(self) -> float:
        """By how much the logarithm of p changes where its coordinate changes by 1."""
        return float(self.half[0])


def coordinates_of(values: Array) -> Coordinates:
    """Coordinates for the measured values of axes, shape (runs, axes).

    >>> found = coordinates_of(np.array([[1.0, 0.0], [4.0, 10.0]]))
    >>> found.unit(found.logs(np.array([[2.0, 5.0], [16.0, 10.0]])))
    array([[0., 0.],
           [3., 1.]])
    """
    is_log = np.all(values > 0, axis=0)
    logs = np.where(is_log, np.log(np.where(is_log, values, 1.0)), values)
    least, most = logs.min(axis=0), logs.max(axis=0)
    half = np.where(most > least, (most - least) / 2, 1.0)
    return Coordinates(is_log=is_log, middle=(least + most) / 2, half=half)
