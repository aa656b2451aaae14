"""What a forecast says of itself in words: what it rests on, what limits it, what to doubt."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from parcast.forecasting.call_paths import Profile
from parcast.forecasting.curve import Estimate
from parcast.forecasting.ensemble import LAWS, MEMBERS
from parcast.forecasting.measured import pooled_noise
from parcast.forecasting.result import SeriesNotes
from parcast.timings.series import Series
from parcast.units import format_quantity, percent
from parcast.words import whole

WIDE = 2.0  # upper / lower beyond which a forecast is called doubtful
HANGS = 1.25  # factor by which leaving out one count may change a forecast unremarked
HELD = [  # what became of 90 % intervals beyond such a reach, docs/explanation/forecasting.md
    (20.0, " That far, nobody has checked how often such intervals hold."),
    (4.5, " That far, such intervals held 8 times in ten."),
]
NOISY = 0.10  # relative spread of repetitions worth a warning


def notes_of(
    series: Series,
    estimate: Estimate,
    *,
    strong: NDArray[np.bool_],
    reasons: Sequence[str],
    helped: NDArray[np.bool_] | None = None,
) -> list[SeriesNotes]:
    """Notes of every series; the last target of the `estimate` only tells the slope there.

    Of those `helped` by donors, what is said of own runs alone does not hold.
    """
    curve, targets = estimate.curve, estimate.targets
    furthest = int(np.argmax(targets[:-1]))
    step = float(np.log(targets[furthest] / targets[-1]))
    rise = np.asarray(curve.log_time[:, furthest] - curve.log_time[:, -1])
    slope = (rise / step).tolist()
    efficiency = estimate.columns.efficiency[:, furthest].tolist()
    at = whole(float(targets[furthest]))
    laws = list(LAWS)
    belongs = np.array([[law == own for law in laws] for own, _ in MEMBERS], dtype=np.float64)
    weights = curve.weights @ belongs
    heaviest = np.argsort(-weights, axis=1)[:, :3]
    noise = pooled_noise(series.spread, series.repetitions > 1)
    repeated = np.asarray(np.any(series.repetitions > 1, axis=1), dtype=bool)

    notes = []
    for i, key in enumerate(series.keys):
        count = int(series.count[i])
        first, last = float(series.p[i, 0]), float(series.p[i, count - 1])
        backtest = float(np.expm1(-curve.backtest[i])) if count > 2 else None
        shares = ", ".join(f"{laws[j]} {percent(weights[i, j])}" for j in heaviest[i])
        own_noise = float(noise[i]) if repeated[i] else None
        limit = _limit(slope[i], efficiency[i], strong=bool(strong[i]))
        is_helped = helped is not None and bool(helped[i])
        notes.append(
            SeriesNotes(
                key=key,
                measured=(first, last),
                scaling="strong" if strong[i] else "weak",
                scaling_reason=reasons[i],
                limited_by=f"at p = {at}: {limit}",
                rests_on=_rests_on(series, i, shares, backtest),
                backtest=backtest,
                noise=own_noise,
                warnings=tuple(
                    _warnings(series, i, estimate, furthest, noise=own_noise, helped=is_helped)
                ),
            )
        )
    return notes


def _limit(slope: float, efficiency: float, *, strong: bool) -> str:
    """Say what holds the program back, by the slope of log time and the efficiency at a count."""
    doubling = 2.0**slope - 1.0
    if slope > (0.1 if strong else 0.03):
        return (
            "a cost that grows with the processors: "
            f"each doubling makes it {percent(doubling)} slower"
        )
    if not strong:
        if efficiency < 0.9:
            left = percent(efficiency)
            return f"a cost that grew with the processors: {left} of the ideal is left"
        return "nothing that the times show: time stays while the work grows"
    if slope > -0.015:
        return "time that more processors do not shorten: a doubling gains nothing any more"
    if slope > -0.8:
        return (
            "time that more processors do not shorten: "
            f"each doubling saves {percent(-doubling)}, where shared work would save 50%"
        )
    return "the work itself, which the processors still share well"


def _rests_on(series: Series, i: int, shares: str, backtest: float | None) -> str:
    """Say in a sentence what the forecast was made from."""
    count = int(series.count[i])
    first, last = (whole(float(series.p[i, j])) for j in (0, count - 1))
    runs = int(series.repetitions[i, :count].sum())
    if backtest is None:
        tested = "nothing could be held back to test it"
    else:
        side = "high" if backtest > 0 else "low"
        tested = f"told only the smaller ones, it is {percent(abs(backtest))} too {side} at {last}"
    counts = f"{runs} runs at {count} counts from {first} to {last}"
    return f"{counts}; {tested}; laws that weigh most: {shares}"


def _warnings(
    series: Series,
    i: int,
    estimate: Estimate,
    furthest: int,
    *,
    noise: float | None,
    helped: bool,
) -> Iterator[str]:
    """Give what should make a reader careful, gravest first."""
    count = int(series.count[i])
    first, last = (whole(float(series.p[i, j])) for j in (0, count - 1))
    curve, targets = estimate.curve, estimate.targets[:-1]
    widest = int(np.argmax(curve.half_width[i, :-1]))
    width = float(np.exp(2 * curve.half_width[i, widest]))
    if width > WIDE:
        yield (
            f"Doubtful: at p = {whole(float(targets[widest]))} "
            f"the interval spans a factor of {format_quantity(width, 'count', 2)}."
        )
    other = curve.without_last[i, furthest]
    if targets[furthest] > last and abs(other - curve.log_time[i, furthest]) > np.log(HANGS):
        time = format_quantity(np.exp(other), "time")
        yield (
            f"It hangs on the runs at p = {last}: without them the forecast for "
            f"{whole(float(targets[furthest]))} would be {time}. "
            f"Repeat them, or measure one count more."
        )
    if count == 2 and not helped:
        yield (
            "Two counts only: nothing tells how time bends. "
            "A third count would narrow the interval most."
        )
    if targets[furthest] > 2 * last:
        times = targets[furthest] / last
        held = "" if helped else next((words for reach, words in HELD if times > reach), "")
        yield (
            f"p = {whole(float(targets[furthest]))} is {format_quantity(times, 'count')} times "
            f"the largest measured p ({last}).{held}"
        )
    lowest = float(targets.min())
    if lowest < first:
        yield f"p = {whole(lowest)} lies below the smallest measured p ({first})."
    if noise is not None and noise > NOISY:
        yield f"Repetitions of a run differ by {percent(noise)}: repeat each count more often."


def notes_of_profile(notes: Sequence[SeriesNotes], profile: Profile) -> list[SeriesNotes]:
    """Say of every call path at the root of a tree what was done with those below it."""
    tree = profile.tree
    root = np.arange(len(notes))
    while (tree.parent[root] >= 0).any():
        root = np.where(tree.parent[root] >= 0, tree.parent[root], root)
    adding, totals = (
        np.bincount(root[rows], minlength=len(notes))
        for rows in (tree.totals[tree.adds_up[tree.totals]], tree.totals)
    )
    answer = list(notes)
    for i in np.flatnonzero(totals).tolist():
        text = f"; {adding[i]} of {totals[i]} call paths made to agree with the sum of their parts"
        if adding[i] < totals[i]:
            text += " (the others' parts add up to more, as times of the slowest rank do)"
        answer[i] = replace(notes[i], rests_on=notes[i].rests_on + text)
    return answer
