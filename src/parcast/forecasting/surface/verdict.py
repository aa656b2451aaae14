"""Where several axes have no forecast: too wide, wrong when tested, or larger problems faster.

`n` is the problem size, and so is every axis along which no run was faster at a larger value and
equal values of the others. Where a forecast has a larger problem run faster, although the runs do
not, the form of the surface speaks and not the program.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.surface.runs import Answered, Runs, every_combination
from parcast.forecasting.verdict import (
    MOST_MISSED,
    MOST_NAMED,
    WIDEST_USEFUL,
    run_to_make,
    said_first,
)
from parcast.show.warning import RankedWarning
from parcast.units import format_quantity, percent
from parcast.words import listed, whole

FASTER = 0.02  # relative fall of time with a larger problem that is no rounding or noise [D]
FEWEST_PAIRS = 2  # of runs that differ in one axis alone, from which it is a problem size [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class SurfaceVerdict:
    """What the forecast for one combination of values is worth."""

    text: RankedWarning
    no_forecast: tuple[float, ...]  # counts asked for [1]
    useful_upto: float | None  # the last count with a forecast, asked for or measured [1]


def problem_axes(runs: Runs) -> dict[int, bool]:
    """Places of axes that are problem sizes; whether some runs are faster at a larger value."""
    found = {}
    for j in runs.varied:
        others = np.delete(runs.axes, j, axis=1)
        if j == 0 or not np.all(runs.axes[:, j] > 0):
            continue
        group = np.unique(others, axis=0, return_inverse=True)[1].ravel()
        order = np.lexsort((runs.axes[:, j], group))
        change = np.diff(np.log(runs.time[order]))[np.diff(group[order]) == 0]
        falls = change < -FASTER
        if runs.names[j] == "n" or (len(change) >= FEWEST_PAIRS and np.all(change > 0)):
            found[j] = bool(falls.any())
    return found


def smaller_problems(p: Array, combinations: Array, axes: Sequence[int], step: float) -> Array:
    """Points of a problem smaller by a factor, for each of some axes: (axes x points, axes)."""
    every = every_combination(p, combinations)
    points = np.repeat(every[None], len(axes), axis=0)
    for place, j in enumerate(axes):
        points[place, :, j] /= step
    return points.reshape(-1, every.shape[1])


def runs_faster(
    answered: Answered, points: Array, combinations: Array, smaller: Array
) -> NDArray[np.intp]:
    """Which axis has a larger problem run faster, (combinations, points); 0 where none has.

    `smaller`, (axes, combinations, points), is the log time of the smaller problem.
    """
    axes = problem_axes(answered.runs)
    where = every_combination(points, combinations)
    shape = answered.log_time.shape
    is_run = ~np.isnan(answered.runs.at(answered.runs.time, where)).reshape(shape)
    is_beyond = answered.estimate.beyond[: answered.log_time.size].max(axis=-1, initial=0.0) > 0
    found = np.zeros(shape, dtype=np.intp)
    for before, (j, is_shown) in zip(smaller, axes.items(), strict=True):
        falls = (answered.log_time < before - FASTER) | _falls_among(
            answered.log_time, combinations, j - 1
        )
        falls &= ~is_run & (is_beyond.reshape(shape) if is_shown else True)
        found = np.where((found == 0) & falls, j, found)
    return found


def _falls_among(log_time: Array, combinations: Array, column: int) -> NDArray[np.bool_]:
    """Whether a value asked for takes less time than a smaller one of that column."""
    others = np.unique(np.delete(combinations, column, axis=1), axis=0, return_inverse=True)[1]
    order = np.lexsort((combinations[:, column], others.ravel()))
    falls = np.zeros(log_time.shape, dtype=bool)
    for group in np.unique(others):
        rows = order[others.ravel()[order] == group]
        most = np.maximum.accumulate(log_time[rows], axis=0)
        falls[rows] = log_time[rows] < most - FASTER
    return falls


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    """All combinations at all counts: (combinations, points)."""

    answered: Answered
    combinations: Array
    points: Array  # (points,) [1]
    width: Array  # upper / lower of the intervals
    missed: Array  # relative error in the test [1]
    beyond: Array  # (combinations, points, axes): logarithm of how far beyond the runs
    faster: NDArray[np.intp]  # the axis along which a larger problem runs faster; 0 where none

    @property
    def useful(self) -> NDArray[np.bool_]:
        """Whether there is a forecast."""
        with np.errstate(invalid="ignore"):
            is_wrong = (self.missed > MOST_MISSED) & (self.beyond.max(axis=-1, initial=0.0) > 0)
        return np.asarray((self.width <= WIDEST_USEFUL) & ~is_wrong & (self.faster == 0))

    def verdict(self, i: int, failing: NDArray[np.intp], known: Array) -> RankedWarning:
        """Say why there is no forecast of a combination at some counts, and what to do."""
        worst = int(failing[np.argmax(self.width[i, failing])])
        width = float(self.width[i, worst])
        if width > WIDEST_USEFUL:
            why = f"the 90 % interval spans a factor of {format_quantity(width, 'count', 2)}"
        elif self.faster[i, failing].any():
            name = self.answered.runs.names[int(self.faster[i, failing].max())]
            why = f"a larger {name} would run faster there than a smaller one"
        else:
            why = f"when tested it was {percent(float(np.nanmax(self.missed[i, failing])))} off"
        counts = np.unique(self.points[failing]).tolist()
        texts = [
            f"No forecast at p = {listed([f'{whole(x)}' for x in counts], MOST_NAMED)}: {why}.",
            f"The last useful count is p = {whole(float(known.max()))}."
            if known.size
            else "No smaller count is useful at these values.",
            self._measure(i, worst),
        ]
        return said_first(" ".join(texts), kind="no forecast there", size=width)

    def _measure(self, i: int, at: int) -> str:
        """Say which run would help: nearer to the question along the axis furthest out."""
        far, runs = self.beyond[i, at], self.answered.runs
        if not np.any(far > 0):
            return "Measure a run there."
        j = runs.used[int(np.argmax(far))]
        known = runs.axes[:, j]
        target = float(self.points[at] if j == 0 else self.combinations[i, j - 1])
        if known.min() > 0:
            target = run_to_make(target, float(known.min()), float(known.max()))
        return f"Measure a run at {runs.names[j]} = {whole(target)}."


def verdicts_of_values(
    answered: Answered,
    combinations: Array,
    points: Array,
    requested: int,
    faster: NDArray[np.intp],
) -> Iterator[SurfaceVerdict | None]:
    """Judge each combination at the first `requested` of `points`, [1]; None where all is well."""
    shape = answered.log_time.shape
    count = shape[0] * shape[1]
    judged = _Judged(
        answered=answered,
        combinations=combinations,
        points=points,
        width=np.exp(2 * answered.half_width),
        missed=np.expm1(np.abs(answered.estimate.backtest[:count].reshape(shape))),
        beyond=answered.estimate.beyond[:count].reshape(*shape, -1),
        faster=faster,
    )
    useful = judged.useful
    for i in range(len(combinations)):
        failing = np.flatnonzero(~useful[i, :requested])
        if not failing.size:
            yield None
            continue
        known = points[useful[i] & (points < points[failing].min())]
        yield SurfaceVerdict(
            text=judged.verdict(i, failing, known),
            no_forecast=tuple(points[failing].tolist()),
            useful_upto=float(known.max()) if known.size else None,
        )
