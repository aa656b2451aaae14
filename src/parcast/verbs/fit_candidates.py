"""Runs that might be made to learn more: other processors and disks within a sensible range."""

from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParameterError
from parcast.verbs.fit_model import Model

Array = NDArray[np.float64]

BEYOND: Final = 4  # times the largest measured: how far a run is advised


def candidate_runs(model: Model, found: Array) -> tuple[list[dict[str, float]], Array]:
    """Runs that were not made, the cheapest first.

    Parameters
    ----------
    model : Model
        Its points are the runs that were made.
    found : ndarray, shape (parameters,)
        Coordinates of the parameters.

    Returns
    -------
    runs : list of dict
        Axes of each; d only where the program does I/O.
    jacobian : ndarray, shape (candidates, parameters)
        Of each, by the coordinates.
    """
    points = model.points
    measured = set(zip(points["p"].tolist(), points["d"].tolist(), strict=True))
    others = {axis: float(np.median(x)) for axis, x in points.items() if axis not in ("p", "d")}
    has_io = any(".io." in f".{name}" for name in model.program.parameters())
    disks = _doubling(float(points["d"].max())) if has_io else [1.0]
    runs = [
        {"p": p, "d": d, **others}
        for p, d in product(_counts(points["p"]), disks)
        if (p, d) not in measured
    ]
    runs, rows = _possible(model, found, runs)
    if not has_io:
        runs = [{axis: x for axis, x in run.items() if axis != "d"} for run in runs]
    return runs, rows


def _possible(
    model: Model, found: Array, runs: list[dict[str, float]]
) -> tuple[list[dict[str, float]], Array]:
    """Keep the runs that the law can answer for, with their Jacobian."""
    at = {axis: np.array([run[axis] for run in runs]) for axis in runs[0]}
    try:
        return runs, model.at(at).logs(found[None])[1][0]
    except ParameterError:  # one of them is no run of this program
        if len(runs) == 1:
            return [], np.zeros((0, len(found)))
    half = len(runs) // 2
    first, second = (_possible(model, found, part) for part in (runs[:half], runs[half:]))
    return [*first[0], *second[0]], np.concatenate([first[1], second[1]])


def _counts(p: Array) -> list[float]:
    """Processors that might be tried: squares where only squares were, else powers of two."""
    most = BEYOND * float(p.max())
    roots = np.sqrt(p)
    if np.all(roots == np.floor(roots)) and not np.all(np.log2(p) % 1 == 0):
        return [i * i for i in np.arange(1.0, np.floor(np.sqrt(most)) + 1)][:64]
    return _doubling(float(p.max()))


def _doubling(most: float) -> list[float]:
    """1, 2, 4, ... up to some times the largest."""
    return [2.0**i for i in range(int(np.log2(BEYOND * most)) + 1)]
