"""What the runs do not determine, in words, and which run would.

The relative Jacobian d ln T/d ln parameter, over the noise and with what is known beforehand below
it, has one singular value for each direction in the space of the parameters; its inverse is the
standard deviation in that direction. Directions that are not known within a factor of e are said
to be not determined [D]. Those of a singular value of 0 are algebra: with c = 1 only the sum of
serial computing and start-up enters the delay of a burst, whatever is measured. Of other
processors and disks within a sensible range, the run is advised that would determine a direction
best.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
from scipy import linalg  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.errors import Argument, ParameterError
from parcast.fitting.model import Model
from parcast.units import in_percent
from parcast.words import joined

WEAK: Final = 1.0  # standard deviation of a logarithm: known within a factor of e
SMALL_PART: Final = 0.15  # of a direction's largest part: not named
ALIKE: Final = 1e-3  # by how much two parts may differ that are called equal
WELL_KNOWN: Final = 0.1  # standard deviation of a logarithm
TOGETHER: Final = 0.8  # correlation of two that are told apart badly
NULL: Final = 1e-8  # of the largest singular value: rounding of the law
UNKNOWN: Final = 7.0  # standard deviation of a logarithm of which nothing is known
USEFUL: Final = 0.5  # of the deviation: what a run must bring it to, to be advised
CLOSE: Final = 1.1  # times the best deviation: good enough where it is cheaper
BEYOND: Final = 4  # times the largest measured: how far a run is advised


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Direction:
    """A direction in which the logarithms of the parameters are not determined."""

    names: tuple[str, ...]  # of the parameters it changes, the most changed first
    parts: Array  # how much of each, over all parameters; the largest is 1
    share: float  # of the time at any run that the named parameters stand for, at most [1]
    is_algebra: bool = False  # whatever is measured with runs of this kind, however exactly


def rank_of(jacobian: Array) -> int:
    """Combinations of parameters that a Jacobian determines, however badly. [1]."""
    norms = np.linalg.norm(jacobian, axis=0)
    scaled = jacobian / np.where(norms > 0, norms, 1.0)
    values = np.linalg.svd(scaled, compute_uv=False)
    return int(np.sum(values > NULL * max(values.max(initial=0.0), 1e-300)))


def precision_of(rows: Array, deviations: Array) -> Array:
    """Inverse of the covariance of the logarithms: from the runs and from +-. [1]."""
    return np.asarray(rows.T @ rows + np.diag(1.0 / deviations**2))


def weak_directions(
    rows: Array, relative: Array, deviations: Array, names: Sequence[str]
) -> tuple[Direction, ...]:
    """Directions that are not determined.

    `rows`, (rows, parameters), is the Jacobian by logarithms over the noise, `relative` that of
    the runs alone and not over the noise; `deviations` are infinite without +-.
    """
    stacked = np.vstack([rows, np.diag(1.0 / deviations)])
    weak = _sparse_basis(stacked, 1.0 / WEAK)
    return tuple(_direction(part, relative, names, SMALL_PART) for part in weak)


def null_directions(rows: Array, deviations: Array, names: Sequence[str]) -> tuple[Direction, ...]:
    """Directions that no run of this kind determines, however exact; as `weak_directions`."""
    stacked = np.vstack([rows, np.diag(1.0 / deviations)])
    norms = np.linalg.norm(stacked, axis=0)
    norms = np.where(norms > 0, norms, 1.0)
    basis = _sparse_basis(stacked / norms, NULL * np.sqrt(len(names)))
    exact = (_direction(part / norms, rows, names, ALIKE) for part in basis)
    return tuple(replace(direction, is_algebra=True) for direction in exact)


def trade_off(i: int, precision: Array, relative: Array, names: Sequence[str]) -> Direction:
    """How others that are not well known go along with a parameter, those that do so closely."""
    covariance = np.linalg.pinv(precision, hermitian=True)
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    together = np.abs(covariance[i]) > TOGETHER * deviation * deviation[i]
    together &= deviation > WELL_KNOWN
    part = np.where(together, covariance[i], 0.0) / max(covariance[i, i], 1e-300)
    part[i] = 1.0
    return _direction(part, relative, names, 0.0)


def _sparse_basis(stacked: Array, limit: float) -> Array:
    """Directions whose singular value is below a limit, one a row, with few parts that are not 0.

    Each changes one parameter that no other changes.
    """
    count = stacked.shape[1]
    _, values, turned = np.linalg.svd(stacked, full_matrices=True)
    values = np.concatenate([values, np.zeros(count - len(values))])
    basis = turned[values < limit].T
    _, _, order = linalg.qr(basis.T, pivoting=True, mode="economic")
    return np.asarray((basis @ np.linalg.inv(basis[order[: basis.shape[1]]])).T)


def _direction(part: Array, relative: Array, names: Sequence[str], small: float) -> Direction:
    """Name the parameters that a direction changes."""
    part = part / np.max(np.abs(part))
    part = np.where(np.abs(part) < small, 0.0, part)
    order = [i for i in np.argsort(-np.abs(part), kind="stable") if part[i]]
    share = float(np.max(np.abs(relative[:, order]), initial=0.0))
    return Direction(names=tuple(names[i] for i in order), parts=part, share=share)


def in_words(
    direction: Direction, names: Sequence[str], units: Mapping[str, Any], why: str
) -> str:
    """Say that a direction is not determined: which parameters, and what of them is.

    `units` has dimension and value of each parameter, None where it is a formula.
    """
    reason = f", {why}" if why else ""
    listed = sorted(direction.names, key=list(names).index)
    if len(listed) == 1:
        return (
            f"{listed[0]} is not determined{reason}: it contributes at most "
            f"{_percent(direction.share)} to the time of any of these runs."
        )
    if not direction.is_algebra:
        return f"these runs hardly distinguish {joined(listed)}."
    if len(listed) > 2:
        return f"only a combination of {joined(listed)} is determined, not each of them{reason}."
    first, second = (direction.parts[list(names).index(name)] for name in listed)
    (dimension, value), (other, other_value) = (units[name] for name in listed)
    together = f"the time of {listed[0]} and {listed[1]} together"
    if np.isclose(first, -second, rtol=ALIKE) and dimension != other:
        together = f"the product {listed[0]} x {listed[1]}"
    elif np.isclose(first, second, rtol=ALIKE):
        together = f"the ratio {listed[0]} / {listed[1]}"
    elif (
        value
        and other_value
        and dimension == other
        and np.isclose(first * value, -second * other_value, rtol=0.05)
    ):
        together = f"the sum {listed[0]} + {listed[1]}"
    return f"only {together} is determined, not each of them{reason}."


def _percent(share: float) -> str:
    """Write a small share."""
    return f"{in_percent(share)}%"


def advice(
    directions: Sequence[Direction],
    precision: Array,
    candidates: Sequence[Mapping[str, float]],
    rows: Array,
) -> Iterator[str]:
    """Say for each direction which further run, from the cheapest on, would determine it best.

    `rows` is the Jacobian of the `candidates` over the noise, `precision` what is known now.
    """
    count = len(precision)
    covariance = np.linalg.inv(precision + np.eye(count) / UNKNOWN**2)
    spread = covariance @ rows.T
    gained = 1.0 + np.sum(rows.T * spread, axis=0)
    wanted: dict[str, list[str]] = {}
    for direction in directions:
        unit = direction.parts / np.linalg.norm(direction.parts)
        before = float(unit @ covariance @ unit)
        after = np.maximum(before - (unit @ spread) ** 2 / gained, 0.0)
        together = joined(direction.names)
        if not len(after) or np.sqrt(after.min() / before) > USEFUL:
            text = (
                f"No run at another p or d would distinguish {{}}: fix one of them "
                f"({Argument('fixed')}), or "
                'measure it separately and write it with "+- 5%" in the description.'
            )
            if len(direction.names) == 1:
                text = (
                    "No run at another p or d would determine {}: measure it separately and write "
                    'it with "+- 5%" in the description.'
                )
        else:
            good = np.flatnonzero(np.sqrt(after) <= CLOSE * np.sqrt(after.min()))
            run = candidates[int(good[0])]
            place = ", ".join(f"{axis} = {value:g}" for axis, value in run.items())
            purpose = "distinguish {}" if len(direction.names) > 1 else "determine {}"
            text = f"A run at {place} would help most to {purpose}."
        wanted.setdefault(text, []).append(together)
    for text, groups in wanted.items():
        yield text.format("; ".join(dict.fromkeys(groups)))


def candidate_runs(model: Model, coordinates: Array) -> tuple[list[dict[str, float]], Array]:
    """Runs that were not made, the cheapest first, and their Jacobian by the coordinates.

    They have a d only where the program does I/O; the Jacobian is (candidates, parameters).
    """
    points = model.points
    measured = set(zip(points["p"].tolist(), points["d"].tolist(), strict=True))
    others = {axis: float(np.median(x)) for axis, x in points.items() if axis not in ("p", "d")}
    has_io = any(".io." in f".{name}" for name in model.program.parameters())
    disks = _doubling(float(points["d"].max())) if has_io else [float(np.median(points["d"]))]
    runs = [
        {"p": p, "d": d, **others}
        for p, d in product(_counts(points["p"]), disks)
        if (p, d) not in measured
    ]
    runs, rows = _possible(model, coordinates, runs)
    if not has_io:
        runs = [{axis: x for axis, x in run.items() if axis != "d"} for run in runs]
    return runs, rows


def _possible(
    model: Model, coordinates: Array, runs: list[dict[str, float]]
) -> tuple[list[dict[str, float]], Array]:
    """Keep the runs that the law can answer for, with their Jacobian."""
    at = {axis: np.array([run[axis] for run in runs]) for axis in runs[0]}
    try:
        return runs, model.at(at).logs(coordinates[None])[1][0]
    except ParameterError:  # one of them is no run of this program
        if len(runs) == 1:
            return [], np.zeros((0, len(coordinates)))
    half = len(runs) // 2
    first, second = (_possible(model, coordinates, part) for part in (runs[:half], runs[half:]))
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
