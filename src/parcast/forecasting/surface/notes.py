"""What a forecast over several axes says of itself: what it rests on, and what to doubt."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.notes import NOISY, warning_of_noise, warning_of_width
from parcast.forecasting.result import SeriesNotes
from parcast.forecasting.surface.method import MEMBERS
from parcast.forecasting.surface.runs import Answered
from parcast.units import format_quantity, percent
from parcast.words import whole

SAME_TIME = 0.005  # relative change that is told as none


def notes_of_values(
    answered: Answered,
    combinations: Array,
    *,
    p: Array,
    furthest: int,
    slopes: Array,
    strong: NDArray[np.bool_],
    reasons: Sequence[str],
    left_out: tuple[str, ...],
) -> list[SeriesNotes]:
    """Notes of every combination of values, (combinations, axes besides p).

    `slopes` of log time in the logarithm of each axis are those at `answered`, where the largest
    of `p`, (points,) [1], stands at `furthest`; axes in `left_out` go along with p.
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
        notes.append(
            SeriesNotes(
                key={**runs.key, **dict(zip(runs.names[1:], values, strict=True))},
                measured=(float(runs.axes[:, 0].min()), float(runs.axes[:, 0].max())),
                scaling="strong" if strong[i] else "weak",
                scaling_reason=reasons[i],
                limited_by=_limit(answered, float(p[furthest]), slopes[i]),
                rests_on=_rests_on(answered, missed, weights[i, furthest], beyond[i, furthest]),
                backtest=None if np.isnan(missed) else float(np.expm1(missed)),
                noise=answered.noise if repeated else None,
                warnings=warnings,
            )
        )
    return notes


def _limit(answered: Answered, p: float, slopes: Array) -> str:
    """Say what doubling each axis does to the time at the largest count asked for."""
    changes: list[str] = []
    for j, name in enumerate(answered.runs.names):
        if j in answered.runs.varied and np.all(answered.runs.axes[:, j] > 0):
            change = float(2.0 ** slopes[j] - 1.0)
            slower = "slower" if change > 0 else "faster"
            much = f"{percent(abs(change))} {slower}" if abs(change) > SAME_TIME else "no slower"
            changes.append(f"doubling {name} makes it {much}" if not changes else f"{name} {much}")
    return (
        f"at p = {whole(p)}: {', '.join(changes)}" if changes else "nothing that these runs tell"
    )


def _rests_on(answered: Answered, missed: float, weights: Array, beyond: Array) -> str:
    """Say what the forecast was made from, how it was tested, and what weighs in it."""
    runs, count = answered.runs, len(answered.runs.axes)
    varied = [runs.names[j] for j in answered.runs.varied]
    grid = float(np.prod([float(len(np.unique(runs.axes[:, j]))) for j in answered.runs.varied]))
    share = "a full grid" if count == grid else f"{percent(count / grid)} of the grid"
    kept = answered.runs.used
    out = [runs.names[j] for j, far in zip(kept, beyond.tolist(), strict=True) if far > 0]
    held = f"the runs furthest in {' and in '.join(out)}" if out else "four of five runs"
    if np.isnan(missed):
        tested = "nothing could be held back to test it"
    elif out:
        tested = f"told all but {held}, it misses them by {percent(float(np.expm1(missed)))}"
    else:
        tested = f"told {held}, it misses the others by {percent(float(np.expm1(missed)))}"
    shares = ", ".join(f"{x} {percent(w)}" for x, w in zip(MEMBERS, weights.tolist(), strict=True))
    return (
        f"{int(runs.repetitions.sum())} runs at {count} configurations of {', '.join(varied)} "
        f"({share}); {tested}; members: {shares}"
    )


def _of_values(
    answered: Answered, i: int, values: list[float], p: Array, beyond: Array
) -> Iterator[str]:
    """Give what should make a reader careful about one combination, gravest first."""
    half = answered.half_width[i, : len(p)]
    widest = int(np.argmax(half))
    yield from warning_of_width(whole(float(p[widest])), float(np.exp(2 * half[widest])))
    kept = answered.runs.used
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
        if measured.min() <= 0:
            much = f"lies {format_quantity(abs(value - float(end)), 'count')} beyond"
        else:
            much = f"is {format_quantity(float(np.exp(far[at])), 'count')} times "
            much += "below" if side == "smallest" else "beyond"
        yield f"{name} = {whole(value)} {much} the {side} measured {name} ({whole(float(end))})."


def _of_all_runs(answered: Answered, left_out: tuple[str, ...]) -> Iterator[str]:
    """Give what should make a reader careful about all combinations."""
    runs, together = answered.runs, answered.estimate.together
    kept = answered.runs.used
    names = [runs.names[j] for j in kept]
    apart = [
        f"{names[i]} and {names[j]}"
        for i, j in combinations(range(len(names)), 2)
        if not together[i, j]
    ]
    if apart:
        yield (
            f"Too few runs vary {'; '.join(apart)} at once: how they act together is assumed. "
            "A run with both at other values would tell."
        )
    for j in answered.runs.varied:
        if runs.axes[:, j].min() <= 0:
            yield (
                f"{runs.names[j]} has values of 0 or below: it is taken as it is, "
                "not by its logarithm, and beyond them nothing is known."
            )
    for name in left_out:
        yield f"{name} goes along with p in all runs and was passed over."
    if answered.noise > NOISY and (runs.repetitions > 1).any():
        yield warning_of_noise(answered.noise)
