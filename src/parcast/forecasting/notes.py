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
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.series import Series
from parcast.units import format_quantity, percent
from parcast.words import whole

WIDE = 2.0  # upper / lower of an interval that is remarked; half of all are at most 2.3 wide
TOO_WIDE = 4.0  # the same where too little is known to plan with [D]
DEPENDS = 1.25  # factor by which leaving out one count may change a forecast unremarked
REMARKED = 2.0  # times the largest measured count from which an extrapolation is remarked
FAR = 4.5  # the same where fewer intervals hold, docs/explanation/forecasting.md
CHECKED = 20.0  # the same where none were compared with measured times
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
    yield from warning_of_width(whole(float(targets[widest])), width)
    other = curve.without_last[i, furthest]
    change = abs(other - curve.log_time[i, furthest])
    if targets[furthest] > last and change > np.log(DEPENDS):
        yield RankedWarning(
            f"The forecast depends strongly on the runs at p = {last}: without them it would be "
            f"{format_quantity(np.exp(other), 'time')} at p = {whole(float(targets[furthest]))}. "
            "Repeat these runs or measure another count.",
            kind="depends on the last count",
            rank=Rank.SERIOUS if change > curve.half_width[i, furthest] else Rank.MINOR,
            size=change,
        )
    if count == 2 and not helped:
        yield RankedWarning(
            "Only two counts were measured, so the forecast could not be tested. "
            "A third count would narrow the interval most.",
            kind="two counts",
        )
    reach = float(targets[furthest]) / last
    if reach > REMARKED:
        yield _warning_of_reach(whole(float(targets[furthest])), last, reach, helped=helped)
    lowest = float(targets.min())
    if lowest < first:
        yield RankedWarning(
            f"p = {whole(lowest)} lies below the smallest measured p ({first}).",
            kind="below the measured counts",
            rank=Rank.PLAIN if first / lowest > FAR else Rank.MINOR,
            size=first / lowest,
        )
    if noise is not None and noise > NOISY:
        yield warning_of_noise(noise)


def warning_of_width(p: float, width: float) -> Iterator[str]:
    """Warn of an interval with so large a factor between its ends at a count."""
    if width <= WIDE:
        return
    is_too_wide = width > TOO_WIDE
    remedy = ": measure at a larger p, or add runs on other machines (donors)"
    yield RankedWarning(
        f"The 90 % interval at p = {p} spans a factor of {format_quantity(width, 'count', 2)}"
        f"{remedy if is_too_wide else ''}.",
        kind="wide interval",
        rank=Rank.SERIOUS if is_too_wide else Rank.MINOR,
        size=width,
    )


def _warning_of_reach(p: float, last: float, reach: float, *, helped: bool) -> str:
    """Warn of a count that lies far beyond the largest measured one."""
    checked = ""
    if not helped and reach > CHECKED:
        checked = " Intervals that far out have not been compared with measured times."
    elif not helped and reach > FAR:
        checked = " That far out, 80 % of such intervals contained the measured time."
    return RankedWarning(
        f"p = {p} is an extrapolation to {format_quantity(reach, 'count')}x the largest measured "
        f"p ({last}).{checked}",
        kind="extrapolation",
        rank=Rank.SERIOUS if reach > FAR else Rank.MINOR,
        size=reach,
    )


def warning_of_noise(noise: float) -> str:
    """Warn of repetitions whose times differ much."""
    return RankedWarning(
        f"Repeated runs differ by {percent(noise)}: repeat each count more often.",
        kind="noise",
        size=noise,
    )


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
