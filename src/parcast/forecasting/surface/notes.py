"""Notes on a forecast over several axes: what it is based on, and its warnings.

`n` is the problem size, and so is every axis along which no run was faster at a larger value and
equal values of the others. Where a forecast has a larger problem run faster, although the runs do
not, the form of the surface speaks and not the program.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs.scaling import ScalingReading
from parcast.forecasting.series.notes import (
    FAR,
    NOISY,
    SeriesNotes,
    warning_of_noise,
    warning_of_width,
)
from parcast.forecasting.series.verdict import (
    MOST_MISSED,
    MOST_NAMED,
    NO_FORECAST_THERE,
    WIDE,
    WIDEST_USEFUL,
    run_to_make,
    said_first,
)
from parcast.forecasting.surface.method import MEMBERS
from parcast.forecasting.surface.runs import Answered, SurfaceRuns, every_combination
from parcast.show.warning import Rank, RankedWarning, ranked
from parcast.units import format_quantity, percent
from parcast.words import listed, whole

FASTER = 0.02  # relative fall of time with a larger problem that is no rounding or noise [D]
FEWEST_PAIRS = 2  # of runs that differ in one axis alone, from which it is a problem size [D]
SAME_TIME = 0.005  # relative change that counts as none


@dataclass(frozen=True, kw_only=True, slots=True)
class SurfaceVerdict:
    """What the forecast for one combination of values is worth."""

    text: RankedWarning
    no_forecast: tuple[float, ...]  # counts asked for [1]
    useful_upto: float | None  # the last count with a forecast, asked for or measured [1]


def problem_axes(runs: SurfaceRuns) -> dict[int, bool]:
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
        falls |= _falls_below_bounds(answered, where, j)
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


def _falls_below_bounds(answered: Answered, where: Array, j: int) -> NDArray[np.bool_]:
    """Whether a point takes less time than one that differs in a smaller value of axis j had."""
    falls, bounds = np.zeros(len(where), dtype=bool), answered.runs.bounds
    log_time = answered.log_time.ravel()
    if bounds is not None:
        for place, bound in zip(bounds.axes, np.log(bounds.time).tolist(), strict=True):
            is_larger = (where[:, j] > place[j]) & (np.sum(where != place, axis=1) == 1)
            falls |= is_larger & (log_time < bound - FASTER)
    return falls.reshape(answered.shape)


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
            why = f"the 90% interval spans a factor of {format_quantity(width, 'count', 2)}"
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
        return said_first(" ".join(texts), kind=NO_FORECAST_THERE, size=width)

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


def notes_of_values(
    answered: Answered,
    combinations: Array,
    *,
    p: Array,
    furthest: int,
    slopes: Array,
    reading: ScalingReading,
    left_out: tuple[str, ...],
    verdicts: Sequence[SurfaceVerdict | None],
    does_not_scale: Mapping[int, RankedWarning],
) -> list[SeriesNotes]:
    """Notes of every combination of values, (combinations, axes besides p).

    `slopes` of log time in the logarithm of each axis are those at `answered`, where the largest
    of `p`, (points,) [1], stands at `furthest`; axes in `left_out` change together with p.
    """
    runs = answered.runs
    shape = answered.log_time.shape
    beyond = answered.estimate.beyond[: shape[0] * shape[1]].reshape(*shape, -1)
    weights = answered.estimate.weights[: shape[0] * shape[1]].reshape(*shape, -1)
    backtest = answered.estimate.backtest[: shape[0] * shape[1]].reshape(shape)
    repeated = bool((runs.repetitions > 1).any())
    general = list(_of_all_runs(answered, left_out))
    notes = []
    for i, values in enumerate(combinations.tolist()):
        missed = float(backtest[i, furthest])
        warnings = (*_of_values(answered, i, values, p, beyond[i, : len(p)]), *general)
        verdict = verdicts[i]
        if verdict:
            kept = (x for x in warnings if ranked(x).kind != WIDE)
            warnings = (verdict.text, *kept)
        if i in does_not_scale:
            warnings = (does_not_scale[i], *warnings)
        notes.append(
            SeriesNotes(
                key={**runs.key, **dict(zip(runs.names[1:], values, strict=True))},
                measured=(float(runs.axes[:, 0].min()), float(runs.axes[:, 0].max())),
                scaling=reading.name,
                scaling_reason=reading.reason,
                limited_by=_limit(answered, float(p[furthest]), slopes[i]),
                rests_on=_rests_on(answered, missed, beyond[i, furthest]),
                backtest=None if np.isnan(missed) else float(np.expm1(missed)),
                noise=answered.noise if repeated else None,
                warnings=warnings,
                laws=tuple(zip(MEMBERS, weights[i, furthest].tolist(), strict=True)),
                no_forecast=verdict.no_forecast if verdict else (),
                useful_upto=verdict.useful_upto if verdict else None,
            )
        )
    return notes


def _limit(answered: Answered, p: float, slopes: Array) -> str:
    """Say what the last doubling of each axis does to the time, at the largest count asked for."""
    changes: list[str] = []
    for j, name in enumerate(answered.runs.names):
        if j in answered.runs.varied and np.all(answered.runs.axes[:, j] > 0):
            change = float(2.0 ** slopes[j] - 1.0)
            sign = "+" if change > 0 else "-"
            much = f"{sign}{percent(abs(change))}" if abs(change) > SAME_TIME else "0%"
            changes.append(f"{name} by {much}")
    if not changes:
        return "not known from these runs"
    upto = f" to p = {whole(p)}" if 0 in answered.runs.varied else ""
    return f"the last doubling{upto} changes the time: {', '.join(changes)}"


def _rests_on(answered: Answered, missed: float, beyond: Array) -> str:
    """Say which runs the forecast is based on, and how it was tested."""
    runs, count = answered.runs, len(answered.runs.axes)
    varied = [runs.names[j] for j in answered.runs.varied]
    grid = float(np.prod([float(len(np.unique(runs.axes[:, j]))) for j in answered.runs.varied]))
    share = "a full grid" if count == grid else f"{percent(count / grid)} of the grid"
    kept = answered.runs.used
    out = in_order(runs.names[j] for j, far in zip(kept, beyond.tolist(), strict=True) if far > 0)
    held = (
        f"the runs furthest out in {' and '.join(out)}" if out else "a fifth of the runs at a time"
    )
    if np.isnan(missed):
        tested = "too few to be tested"
    else:
        tested = f"tested by leaving out {held}: {percent(float(np.expm1(missed)))} off"
    return (
        f"{int(runs.repetitions.sum())} runs at {count} configurations of {', '.join(varied)} "
        f"({share}); {tested}"
    )


def in_order(names: Iterable[str]) -> list[str]:
    """Names of axes as a sentence has them, p first."""
    return sorted(names, key=lambda name: (name != "p", name))


def _of_values(
    answered: Answered, i: int, values: list[float], p: Array, beyond: Array
) -> Iterator[str]:
    """Give the warnings about one combination."""
    half = answered.half_width[i, : len(p)]
    widest = int(np.argmax(half))
    width = float(np.exp(2 * half[widest]))
    kept = answered.runs.used
    remedy = "measure nearer to these values"
    if beyond[widest].max(initial=0.0) > 0:
        j = kept[int(np.argmax(beyond[widest]))]
        value = float(p[widest]) if j == 0 else values[j - 1]
        side = "larger" if value > answered.runs.axes[:, j].max() else "smaller"
        remedy = f"measure at a {side} {answered.runs.names[j]}"
    yield from warning_of_width(whole(float(p[widest])), width, remedy)
    for place, j in enumerate(kept):
        far = beyond[:, place]
        at = int(np.argmax(far))
        if far[at] <= 0:
            continue
        value = float(p[at]) if j == 0 else values[j - 1]
        measured = answered.runs.axes[:, j]
        side, end = ("largest", measured.max())
        if value < end:
            side, end = ("smallest", measured.min())
        name = answered.runs.names[j]
        times = format_quantity(float(np.exp(far[at])), "count")
        if measured.min() <= 0:
            much = f"lies {format_quantity(abs(value - float(end)), 'count')} beyond"
        elif side == "largest":
            much = f"is an extrapolation to {times}x"
        else:
            much = f"is an extrapolation to 1/{times} of"
        yield RankedWarning(
            f"{name} = {whole(value)} {much} the {side} measured {name} ({whole(float(end))}).",
            kind=f"extrapolation of {name}",
            rank=Rank.SERIOUS if far[at] > np.log(FAR) else Rank.MINOR,
            size=float(far[at]),
        )


def _of_all_runs(answered: Answered, left_out: tuple[str, ...]) -> Iterator[str]:
    """Give the warnings about all combinations."""
    runs, together = answered.runs, answered.estimate.together
    kept = answered.runs.used
    names = [runs.names[j] for j in kept]
    apart = sorted(
        " and ".join(in_order((names[i], names[j])))
        for i, j in combinations(range(len(names)), 2)
        if not together[i, j]
    )
    if apart:
        yield (
            f"Too few runs vary {'; '.join(apart)} at once: their combined effect is an "
            "assumption. Make a run with both at other values."
        )
    for j in answered.runs.varied:
        if runs.axes[:, j].min() <= 0:
            yield (
                f"{runs.names[j]} has values of 0 or below: it is used without taking its "
                "logarithm, and nothing is known beyond the measured values."
            )
    for name in left_out:
        yield f"{name} changes together with p in all runs and is ignored."
    if answered.noise > NOISY and (runs.repetitions > 1).any():
        yield warning_of_noise(answered.noise, answered.runs.repetitions)
