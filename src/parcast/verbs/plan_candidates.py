"""Runs that may be planned: at counts and values measured, asked for, and between and beyond."""

import numpy as np
from numpy.typing import NDArray

from parcast.models.coordinates import coordinates_of
from parcast.verbs.several_runs import Runs

Array = NDArray[np.float64]
MOST_CANDIDATES = 400  # runs that are compared; those nearest to what is asked for where more


def candidates_of(program: Runs, combinations: Array, allowed: Array | None, upto: float) -> Array:
    """Runs that may be made and were not, shape (runs, axes)."""
    measured = np.unique(program.axes[:, 0])
    if allowed is None:
        allowed = _counts(measured, upto)
    allowed = allowed[allowed <= upto]
    values = [
        _towards(np.unique(program.axes[:, j]), np.unique(combinations[:, j - 1]))
        for j in range(1, program.axes.shape[1])
    ]
    every = np.stack([x.ravel() for x in np.meshgrid(allowed, *values, indexing="ij")], axis=1)
    is_new = np.isnan(program.at(program.time, every))
    every = every[is_new]
    if len(every) <= MOST_CANDIDATES:
        return every
    coordinates = coordinates_of(program.axes)
    asked = np.column_stack([np.full(len(combinations), upto), combinations])
    near, far = (coordinates.unit(coordinates.logs(x)) for x in (every, asked))
    distance = np.abs(near[:, None] - far).sum(axis=-1).min(axis=1)
    return every[np.sort(np.argsort(distance, kind="stable")[:MOST_CANDIDATES])]


def _towards(measured: Array, asked: Array) -> Array:
    """Values of an axis that runs may have: measured, asked for, and doublings between them."""
    values = np.union1d(measured, asked)
    if measured[0] <= 0 or asked[0] <= 0:
        return values
    up = measured[-1] * 2.0 ** np.arange(1, np.ceil(np.log2(asked[-1] / measured[-1])))
    down = measured[0] / 2.0 ** np.arange(1, np.ceil(np.log2(measured[0] / asked[0])))
    return np.unique(np.concatenate([values, up, down]))


def _counts(measured: Array, upto: float) -> Array:
    """Measured counts, the next ones by factors of two, and those in the gaps between."""
    most = max(upto, float(measured[-1]))
    doublings = int(np.ceil(np.log2(most / measured[0]))) + 1
    grown = measured[:, None] * 2.0 ** np.arange(doublings)
    apart = np.abs(np.log(grown[..., None] / measured)).min(axis=-1)
    fits = (grown <= upto) & ((apart >= np.log(2.0) - 1e-9) | (apart == 0))
    return np.union1d(measured[measured <= upto], np.round(grown[fits]))


def answers_itself(
    runs: Array, asked: Array, combinations: Array, *, beyond: bool
) -> NDArray[np.bool_]:
    """Whether runs would be what is asked for, or as large: they leave nothing to forecast."""
    if beyond:
        return np.asarray(runs[:, 0] >= asked.max())
    other = np.all(runs[:, None, 1:] == combinations, axis=-1).any(axis=1)
    return np.asarray(np.isin(runs[:, 0], asked) & other)
