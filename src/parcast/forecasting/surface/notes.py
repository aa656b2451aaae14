"""Notes on a forecast over several axes: what it is based on, and its warnings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.notes import FAR, NOISY, warning_of_noise, warning_of_width
from parcast.forecasting.result import SeriesNotes
from parcast.forecasting.scaling import Reading
from parcast.forecasting.surface.method import MEMBERS
from parcast.forecasting.surface.runs import Answered
from parcast.forecasting.surface.verdict import SurfaceVerdict
from parcast.forecasting.verdict import WIDE
from parcast.show.warning import Rank, RankedWarning, ranked
from parcast.units import format_quantity, percent
from parcast.words import whole

SAME_TIME = 0.005  # relative change that counts as none


def notes_of_values(
    answered: Answered,
    combinations: Array,
    *,
    p: Array,
    furthest: int,
    slopes: Array,
    reading: Reading,
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
    """Say what doubling each axis does to the time at the largest count asked for."""
    changes: list[str] = []
    for j, name in enumerate(answered.runs.names):
        if j in answered.runs.varied and np.all(answered.runs.axes[:, j] > 0):
            change = float(2.0 ** slopes[j] - 1.0)
            sign = "+" if change > 0 else "-"
            much = f"{sign}{percent(abs(change))}" if abs(change) > SAME_TIME else "0%"
            changes.append(f"{name} by {much}")
    if not changes:
        return "not known from these runs"
    return f"at p = {whole(p)} doubling changes the time: {', '.join(changes)}"


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
