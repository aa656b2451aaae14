"""Notes on a forecast in words: what it is based on, what limits it, and its warnings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parcast.forecasting.own_runs.call_paths import Profile
from parcast.forecasting.own_runs.ensemble import MEMBERS, Follows, laws_followed
from parcast.forecasting.own_runs.measured import APART, pooled_noise
from parcast.forecasting.own_runs.members import LAWS
from parcast.forecasting.own_runs.scaling import Limit, ScalingReading
from parcast.forecasting.series.curve import CurveEstimate
from parcast.laws.curves import AMDAHL
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Key, Series, label_of
from parcast.units import format_quantity, percent
from parcast.words import whole

WIDE = 4.5  # upper / lower of an interval that is remarked: of a third of public forecasts [D]
DEPENDS = 1.5  # factor by which leaving out one count may change a forecast, likewise [D]
REMARKED = 2.0  # times the largest measured count from which an extrapolation is remarked
FAR = 32.0  # the same where fewer intervals hold, docs/explanation/forecasting.md
NOISY = 0.10  # relative spread of repetitions worth a warning


@dataclass(frozen=True, kw_only=True, slots=True)
class Donor:
    """Another machine that was used, its weight in the forecast, and its own forecast."""

    _outline = "machine weight p# time_s"

    machine: str  # its name
    weight: float  # its weight in the forecast at `p` [1]
    p: float  # the largest count asked for at which donors have any weight [1]
    time: float  # time there if the program scales as on it, at the speed of this one [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesNotes:
    """What the forecast of one series is based on, in words and in numbers."""

    _outline = """
        *key# measured_p# scaling scaling_reason limited_by limit rests_on laws=weights follows
        backtest_error=backtest noise donors *exclusive no_forecast_p# useful_upto# warnings
    """

    key: Key  # the columns that distinguish the series
    # smallest and largest measured count, without those held out [1]
    measured: tuple[float, float]
    scaling: str  # `strong` or `weak`
    scaling_reason: str  # why
    limited_by: str  # what holds it back at the largest count asked for, in a sentence
    rests_on: str  # the runs that it is based on, and how it was tested
    backtest: float | None  # relative error of the largest count's forecast from the others
    noise: float | None  # relative standard deviation among repetitions; None without any [1]
    warnings: tuple[str, ...]  # its warnings
    donors: tuple[Donor, ...] = ()  # other machines used, the heaviest first
    elsewhere: str = ""  # the time if scaling continues as on each of them, in words
    shares: tuple[float, float] | None = None  # of all time, without callees: measured, forecast
    limit: Limit = ""  # the same in a word or two; empty over several axes
    laws: tuple[tuple[str, float], ...] = ()  # their names and weights, the heaviest first [1]
    follows: Follows | None = None  # the law that the times follow, where one is recognised
    no_forecast: tuple[float, ...] = ()  # counts asked for at which there is no forecast [1]
    useful_upto: float | None = None  # the last count with a forecast; None where all have one [1]

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each law in a forecast of up to twice the largest measured count. [1]."""
        return dict(self.laws)

    @property
    def exclusive(self) -> dict[str, float]:
        """With `--top`: `share_measured`, `share` of all time, at the largest counts. [1]."""
        return dict(zip(("share_measured", "share"), self.shares or (), strict=False))

    @property
    def label(self) -> str:
        """The series in a few words: "T3E", or "" where there is only one."""
        return label_of(self.key)


def notes_of(
    series: Series,
    estimate: CurveEstimate,
    *,
    reading: ScalingReading,
    measure: Measure = TIME,
    helped: NDArray[np.bool_] | None = None,
) -> list[SeriesNotes]:
    """Notes of every series; the last target of the `estimate` only tells what doubling does.

    Warnings about too few own runs do not apply to those `helped` by donors.
    """
    curve, targets = estimate.curve, estimate.targets
    furthest = int(np.argmax(targets[:-1]))
    step = float(np.log(targets[furthest] / targets[-1]))
    rise = np.asarray(curve.log_time[:, furthest] - curve.log_time[:, -1])
    slope = (rise / step).tolist()
    efficiency = estimate.columns.efficiency[:, furthest].tolist()
    at, doubled = whole(float(targets[furthest])), whole(float(max(targets[[furthest, -1]])))
    laws = list(LAWS)
    belongs = np.array([[law == own for law in laws] for own, _ in MEMBERS], dtype=np.float64)
    weights = curve.weights @ belongs
    heaviest = np.argsort(-weights, axis=1)
    followed = laws_followed(curve.laws, curve.log_time[:, furthest], float(targets[furthest]))
    noise = pooled_noise(series.spread, series.shows_spread)
    repeated = np.asarray(np.any(series.shows_spread, axis=1), dtype=bool)

    notes = []
    for i, key in enumerate(series.keys):
        count = int(series.count[i])
        first, last = float(series.p[i, 0]), float(series.p[i, count - 1])
        backtest = float(np.expm1(-curve.backtest[i])) if count > 2 else None
        own_noise = float(noise[i]) if repeated[i] else None
        limit, limited_by = _limit(
            at, slope[i], efficiency[i], followed[i], doubled=doubled, strong=reading.is_strong
        )
        is_helped = helped is not None and bool(helped[i])
        notes.append(
            SeriesNotes(
                key=key,
                measured=(first, last),
                scaling=reading.name,
                scaling_reason=reading.reason,
                limited_by=limited_by,
                rests_on=_rests_on(series, i, backtest),
                backtest=backtest,
                noise=own_noise,
                warnings=tuple(
                    _warnings(
                        series,
                        i,
                        estimate,
                        furthest,
                        measure=measure,
                        noise=own_noise,
                        helped=is_helped,
                    )
                ),
                limit=limit,
                laws=tuple((laws[j], float(weights[i, j])) for j in heaviest[i].tolist()),
                follows=followed[i],
            )
        )
    return notes


def _limit(
    p: float,
    slope: float,
    efficiency: float,
    follows: Follows | None,
    *,
    doubled: float,
    strong: bool,
) -> tuple[Limit, str]:
    """What holds the program back, by the slope of log time and the efficiency at a count.

    In one or two words, and in a sentence. The slope is that from half of `doubled` to it.
    """
    saved = 1.0 - 2.0**slope
    if slope > (0.1 if strong else 0.03):
        text = f"growing work: doubling p to {doubled} adds {percent(-saved)} to the time"
        return "growing work", text
    if not strong:
        if efficiency >= 0.9:
            return "scales well", "nothing measurable: time stays constant while the work grows"
        text = f"growing work: at p = {p} the efficiency is {percent(efficiency)}"
        return "growing work", text
    much = "nothing" if slope > -0.015 else percent(saved)
    saves = f"doubling p to {doubled} saves {much} (ideal: 50%)"
    if slope <= -0.8:
        return "scales well", f"the work itself, which still scales well: {saves}"
    if follows is not None and follows.law == AMDAHL.name:
        return "constant work", f"constant work, such as serial parts: {saves}"
    return "overhead", f"parallel overhead: {saves}"


def _rests_on(series: Series, i: int, backtest: float | None) -> str:
    """Say which runs the forecast is based on, and how it was tested."""
    if backtest is None:
        tested = "too few to be tested"
    else:
        last = whole(float(series.p[i, int(series.count[i]) - 1]))
        side = "high" if backtest > 0 else "low"
        missed = f"{percent(abs(backtest))} too {side}"
        tested = f"tested by leaving out p = {last}: forecast {missed}"
    return f"{runs_in_words(series, i)}; {tested}"


def runs_in_words(series: Series, i: int) -> str:
    """Say how many runs a series has, at how many counts.

    >>> from parcast.timings.measurements import Measurements
    >>> table = Measurements(p=[1, 2, 4, 4], time=[8, 5, 3, 3.1])
    >>> runs_in_words(table.series(), 0), runs_in_words(table.select(p=[1, 2]).series(), 0)
    ('4 runs at 3 counts, p = 1 to 4', '2 runs at p = 1 and 2')
    """
    count = int(series.count[i])
    first, last = (whole(float(series.p[i, j])) for j in (0, count - 1))
    runs = int(series.repetitions[i, :count].sum())
    at = f"p = {first} {'and' if count == 2 else 'to'} {last}" if count > 1 else f"p = {first}"
    many = f"{runs} run{'s' if runs > 1 else ''}"
    return f"{many} at {at}" if count in (runs, 1) else f"{many} at {count} counts, {at}"


def _warnings(
    series: Series,
    i: int,
    estimate: CurveEstimate,
    furthest: int,
    *,
    measure: Measure,
    noise: float | None,
    helped: bool,
) -> Iterator[str]:
    """Give the warnings of one series."""
    count = int(series.count[i])
    first, last = (whole(float(series.p[i, j])) for j in (0, count - 1))
    curve, targets = estimate.curve, estimate.targets[:-1]
    widest = int(np.argmax(curve.half_width[i, :-1]))
    width = float(np.exp(2 * curve.half_width[i, widest]))
    far = float(targets[widest])
    remedy = f"measure nearer to p = {whole(far)}"
    if not first <= far <= last:
        remedy = f"measure at a {'larger' if far > last else 'smaller'} p"
    if estimate.donated is None:
        remedy += ", or add runs on other machines"
    yield from warning_of_width(whole(far), width, remedy)
    other = curve.without_last[i, furthest]
    change = abs(other - curve.log_time[i, furthest])
    if targets[furthest] > last and change > np.log(DEPENDS):
        yield RankedWarning(
            f"The forecast depends strongly on the runs at p = {last}: without them it would be "
            f"{measure.time_text(float(np.exp(other)))} at p = {whole(float(targets[furthest]))}. "
            "Repeat these runs or measure another count.",
            kind="depends on the last count",
            rank=Rank.SERIOUS if change > curve.half_width[i, furthest] else Rank.MINOR,
            size=change,
        )
    if 1 < last / first < APART:
        yield RankedWarning(
            f"All counts lie between p = {first} and {last}, too close together to show how the "
            f"program scales. Measure at p = {2 * last} or more.",
            kind="counts close together",
            rank=Rank.SERIOUS,
        )
    elif count == 2 and not helped:
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
        yield warning_of_noise(noise, series.repetitions[i])


def warning_of_width(p: float, width: float, remedy: str) -> Iterator[str]:
    """Warn of an interval with so large a factor between its ends at a count."""
    if width <= WIDE:
        return
    yield RankedWarning(
        f"The 90% interval at p = {p} spans a factor of {format_quantity(width, 'count', 2)}: "
        f"{remedy}.",
        kind="wide interval",
        rank=Rank.SERIOUS,
        size=width,
    )


def _warning_of_reach(p: float, last: float, reach: float, *, helped: bool) -> str:
    """Warn of a count that lies far beyond the largest measured one."""
    is_far = reach > FAR and not helped
    checked = (
        " That far out, 50 to 80% of such intervals contained the measured time." if is_far else ""
    )
    return RankedWarning(
        f"p = {p} is an extrapolation to {format_quantity(reach, 'count')}x the largest measured "
        f"p ({last}).{checked}",
        kind="extrapolation",
        rank=Rank.SERIOUS if is_far else Rank.MINOR,
        size=reach,
    )


def warning_of_noise(noise: float, repetitions: NDArray[np.int64]) -> str:
    """Warn of repetitions whose times differ much, or of means with large deviations."""
    if np.any(repetitions > 1):
        spread = f"Repeated runs differ by {percent(noise)}"
    else:
        spread = f"The deviations of the means are {percent(noise)}"
    return RankedWarning(
        f"{spread}: repeat each count more often.",
        kind="noise",
        size=noise,
    )


def notes_of_profile(notes: Sequence[SeriesNotes], profile: Profile) -> list[SeriesNotes]:
    """Note at the root of every call tree how many call paths were adjusted to add up."""
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
        text = f"; {adding[i]} of {totals[i]} call paths adjusted to the sum of their parts"
        if adding[i] < totals[i]:
            text += " (the parts of the others add up to more: times of the slowest rank)"
        answer[i] = replace(notes[i], rests_on=notes[i].rests_on + text)
    return answer
