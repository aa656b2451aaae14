"""Time at any number of processors, from times measured here and on other machines.

A *donor* is another machine on which the program was run. From the count last known on the target
to the count asked for, the donor's logarithm of time changes by some ``r``; the target's change is
forecast from those of all donors:

1. A donor weighs by how well its shape agrees with what is known of the target (`agreement`), and
   less where it is asked beyond its own runs. One that weighs much less than the heaviest fades
   out of all that follows, so that nothing jumps where a donor's runs end.
2. Machines that are faster at the known count gain less from more processors than slow ones, or
   more: which of the two, and how much, the donors tell. ``r`` is regressed on the logarithm of
   their time at the known count, with what lies beyond 1.5 standard deviations drawn in, and with
   shrinkage: beforehand the slope is taken to be 0 give or take 0.8, so that few or scattered
   donors do not invent one. The line is not followed beyond the slowest and the fastest donor.
3. What the line leaves is summed up by its weighted median, **leaning** to the shorter times
   (`leaning`): machines that scale well do so similarly, the others each in its own way.
4. The standard deviation is the mean distance from that forecast, donors as fast as the target
   counting more, drawn towards what is typical of machines. It grows with the uncertainty of the
   median and about the line, and where donors are few.
5. The interval is **skewed**: longer on the side where more of the donors' scatter lies, drawn
   towards what is typical of machines, of which those that scale badly lie further off.
6. Where the target has a forecast of its own, the two are averaged by precision
   (`share_of_donors`).

This is parcast's own method [D]. The study behind it, with what else was tried, is in
``docs/explanation/donors.md``.

This is joined with `parcast.forecasting.own_runs.measured`, which uses the target's own runs.
Beyond the target's own counts the donors give the change of time from the nearest one; between two
of them, how far it is from the line that joins these in log-log. Everything is computed for many
series at once, each with its own donors.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.own_runs import measured
from parcast.forecasting.own_runs.measured import NORMAL_90, WIDEST, MeasuredCurve, curve_from
from parcast.timings.series import Series

STEEPNESS = 0.8  # sd of the slope of r over log time, believed before donors are seen [D]
DRAWN_IN = 1.5  # standard deviations beyond which a donor pulls the line no further [D]
LEANING = 1.0  # upwards: 1 for the least relative error, 0 for the least logarithmic one [D]
FURTHEST = 1.0  # e-foldings from the median beyond which a donor pulls no harder [D]
LEAST = 0.02  # no scatter of donors is taken to be smaller [D]
NEAR = 0.3  # difference in log time at which a donor tells half as much of the scatter [D]
TYPICAL = 0.17  # sd of r among machines one e-folding of p away, taken in donors' stead ... [D]
GROWTH = 1.5  # ... its square growing as this power of the distance in log p ... [D]
WORTH = 5.0  # ... and counting as much as so many of them [D]
SKEWED = 0.3  # typical skew of the interval, from many donors [D]
TOLD_SKEW = 0.5  # part of the skew that the donors' own scatter shows that is believed [D]
OUTSIDE = 0.4  # half-width of a donor's own forecast at which the donor weighs half [D]
DROPPED = (0.25, 0.55)  # part of the heaviest donor's weight: below not used, above in full [D]
UNLIKE = (
    0.1,
    0.5,
)  # rms difference of shapes that halves a weight: constant, and per log of p [D]
CONTRADICTS = 2.0  # times that from which a donor is not used [D]
GOES_ON = 3.0  # part of what an only step differs from the donors' by that may go on likewise [D]
RELATED = 0.4  # how far own runs and donors fall short of independence: 1.1 times as wide [D]
OWN_TELLS = 4.0  # own counts from which donors are trusted less, as their square grows [D]
FADES = float(np.log(2))  # distance in log p from which own runs lose their share [D]
MAD_TO_SD, MEAN_TO_SD = 1.4826, 1.2533  # of a normal distribution
MEDIAN_DOUBT = np.pi / 2  # variance of a median over that of a mean
WIDE = 1e9  # stands for the doubt of a donor that is not there
TINY = 1e-300
INSIDE = 1 + 1e-9  # reach up to which a donor was run there


@dataclass(frozen=True, kw_only=True, slots=True)
class DonatedChange:
    """What the donors say of each series; see `transfer`."""

    change: Array  # (series, points): of log time from the known count; NaN where none tells
    sd: Array  # (series, points): of that; infinite where none tells
    skew: Array  # (series, points): its upper half is (1 + skew) times that, its lower (1 - skew)
    changes: Array  # (series, points, donors): as on each donor used, its speed allowed for
    weights: Array  # (series, points, donors): leaning, summing to 1, or to 0 where none tells


def agreement(difference: Array, distance: Array) -> Array:
    """How well the donors' shapes agree with the known times: weights, (series, donors).

    `difference`, (series, donors, counts), is the change of log time from each known count to the
    last one, the donor's less the target's, NaN where unknown; `distance` that of log p. A weight
    falls to about 1/2 where shapes differ by 0.1 and 0.5 for each e-folding of p, to 0 at twice
    that.
    """
    compared = np.isfinite(difference) & (distance > 0)
    count = np.maximum(compared.sum(axis=-1), 1)
    rms = np.sqrt(np.where(compared, difference**2, 0.0).sum(axis=-1) / count)
    span = np.where(compared, distance, 0.0).max(axis=-1, initial=0.0)
    unlike = rms / (UNLIKE[0] + UNLIKE[1] * span)
    none = 1 / (1 + CONTRADICTS**2)
    return np.asarray(np.maximum(1 / (1 + unlike**2) - none, 0.0) / (1 - none))


def doubt_of_a_step(difference: Array, gap: Array, away: Array) -> Array:
    """How far the forecast from two own counts may be off where their step is not the donors'.

    `difference`, (series, donors), is the change of log time from the first count to the second,
    the donor's less the target's, NaN where unknown; `gap`, (series, 1), and `away`, (series,
    points), are distances in log p, between the two and beyond them. A half-width of log time.
    """
    known = np.isfinite(difference)
    step = _median(np.where(known, difference, 0.0), known.astype(np.float64))
    return np.asarray(GOES_ON * np.abs(step)[:, None] / np.maximum(gap, LEAST) * away)


def transfer(
    *,
    change: Array,
    slower: Array,
    agreement: Array,
    outside: Array,
    reach: Array,
    leans: NDArray[np.bool_],
) -> DonatedChange:
    """Forecast how log time changes from a known count, from its changes on other machines.

    `slower` is the log of the donor's time there over the target's, `outside` the half-width of
    `change` where the donor was not run at both counts: (series, points, donors). `reach`,
    (series, points), is the distance in log p, and `leans` whether the forecast leans there.
    """
    there = np.isfinite(change)
    best = np.where(there, outside, np.inf).min(axis=-1, keepdims=True, initial=WIDE) ** 2
    worse = (outside**2 - best) / (OUTSIDE**2 + 2 * best)  # where none was run, all are guessing
    weight = np.where(there, agreement / (1 + worse), 0.0)
    heaviest = weight.max(axis=-1, keepdims=True, initial=0.0)
    weight = weight / np.maximum(heaviest, TINY)
    presence = np.clip((weight - DROPPED[0]) / (DROPPED[1] - DROPPED[0]), 0.0, 1.0)
    weight = weight * presence  # a donor fades along p: none of what follows may jump there
    used = weight > 0
    change, slower = (np.where(used, x, 0.0) for x in (change, slower))
    count = presence.sum(axis=-1)
    third = np.clip(count - 2, 0.0, 1.0)  # from the third donor on there is a slope

    middle = _median(slower, weight, count)
    x = np.where(used, slower - middle[..., None], 0.0)
    off = np.where(used, change - _median(change, weight, count)[..., None], 0.0)
    scatter = MAD_TO_SD * _median(np.abs(off), weight, count) + LEAST
    bound = DRAWN_IN * scatter[..., None]
    stiffness = (weight * x * x).sum(axis=-1) + (scatter / STEEPNESS) ** 2
    slope = (weight * x * np.clip(off, -bound, bound)).sum(axis=-1) / stiffness
    slope = slope * third
    left = change - slope[..., None] * x
    much = np.where(leans, LEANING, 0.0)
    leant = leaning(left, weight, much, count)
    centre = _median(left, leant, count)
    seen_x = presence * x
    # the target itself stands at slower = 0
    target = np.clip(-middle, seen_x.min(axis=-1, initial=0.0), seen_x.max(axis=-1, initial=0.0))

    near = weight / (np.abs(slower) + NEAR)
    total = np.maximum(near.sum(axis=-1), TINY)
    many = np.maximum(total**2 / np.maximum((near**2).sum(axis=-1), TINY), 1.0)
    off = left - centre[..., None]
    apart = MEAN_TO_SD * (near * np.abs(off)).sum(axis=-1) / total
    typical, seen = WORTH * TYPICAL**2 * reach**GROWTH, many * apart**2
    pooled = (seen + typical) / (many - 1 + WORTH)
    doubt = 1 + MEDIAN_DOUBT / many + third**2 * middle**2 / stiffness
    all_weight = np.maximum(weight.sum(axis=-1), TINY)
    beyond = (weight * outside**2).sum(axis=-1) / all_weight / NORMAL_90**2
    sd = np.sqrt(pooled * doubt + beyond) * (1 + 1 / many**2)
    lopsided = (near * off).sum(axis=-1) / np.maximum((near * np.abs(off)).sum(axis=-1), TINY)
    skew = SKEWED * (1 - 1 / many) * typical + TOLD_SKEW * lopsided * seen
    skew *= much / np.maximum(typical + seen, TINY)
    faster = (slope * target)[..., None]
    return DonatedChange(
        change=np.where(count > 0, centre + slope * target, np.nan),
        sd=np.where(count > 0, sd, np.inf),
        skew=np.where(count > 0, skew, 0.0),
        changes=np.where(used, left + faster, np.nan),
        weights=leant / np.maximum(leant.sum(axis=-1, keepdims=True), TINY),
    )


def leaning(log_time: Array, weights: Array, much: Array, count: Array | None = None) -> Array:
    """Weights, (..., donors), whose median has the least relative error, not logarithmic one.

    The ``x`` with the least mean of ``w |x - t| / t`` is the median by the weights ``w / t``.
    These weigh at most e times what `weights` do, at least 1/e, if `much`, (...), is 1; if 0, the
    same.
    """
    off = log_time - _median(log_time, weights, count)[..., None]
    return np.asarray(weights * np.exp(-much[..., None] * np.clip(off, -FURTHEST, FURTHEST)))


def share_of_donors(
    *, own: Array, donors: Array, counts: Array, beyond: Array | float = 0.0
) -> Array:
    """Share of the donors in a forecast, from 0 to 1, by precision; the rest is the target's own.

    `own` and `donors` are half-widths of log time, infinite where there is none. Beyond four own
    `counts` donors were worse than their width says. `beyond` is how far in log p the last own
    count is exceeded: more than a doubling on, forecasts from two own counts err to one side, as
    all of them take the program to go on scaling, and their precision falls with the fourth power
    of the distance; from three with the second, from four on it does not.
    """
    trust = np.minimum(1.0, (OWN_TELLS / counts) ** 2)
    near = (FADES / np.maximum(beyond, FADES)) ** (2 * np.clip(OWN_TELLS - counts, 0.0, 2.0))
    theirs, ours = trust / donors**2, near / own**2
    return np.asarray(theirs / np.maximum(theirs + ours, TINY))


def half_width_together(*, own: Array, donors: Array, share: Array, apart: Array) -> Array:
    """Half-width of log time of both forecasts, `apart` in log time: narrower where they agree."""
    mixed = share * (1 - share)
    joint = (1 + RELATED * mixed) ** 2 / np.maximum(1 / own**2 + 1 / donors**2, TINY)
    return np.asarray(np.sqrt(joint + mixed * (NORMAL_90 * apart) ** 2))


def _median(values: Array, weights: Array, count: Array | None = None) -> Array:
    """Weighted median along the last axis, as `ensemble.weighted_median`; 0 without any weight.

    `count` is how many values there are, those that fade counted in part; by default all that have
    a weight.
    """
    many = (weights > 0).sum(axis=-1) if count is None else count
    order = np.argsort(np.where(weights > 0, values, np.inf), axis=-1)
    ordered, w = (np.take_along_axis(v, order, axis=-1) for v in (values, weights))
    w = w / np.maximum(w.sum(axis=-1, keepdims=True), TINY)
    end = np.cumsum(w, axis=-1)
    half = 0.5 / np.maximum(many, 1)[..., None]
    covered = np.clip(np.minimum(end, 0.5 + half) - np.maximum(end - w, 0.5 - half), 0.0, None)
    middle = (covered * ordered).sum(axis=-1) / np.maximum(covered.sum(axis=-1), TINY)
    return cast(Array, middle)


class LeftOut(NamedTuple):
    """Donors of one series that are of no use to it."""

    both: str | float | None  # its own machine, if that is among the donors
    once: tuple[str, ...]  # names of those that were run at one count only
    kind: str  # what they had to agree in: "callpath main", or ""
    is_alone: bool  # whether none is left


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Elsewhere:
    """Donors of every series of a forecast; made by `parcast.forecasting.donors.gather.gather`."""

    runs: Series  # every donor, each of two counts of processors or more
    names: tuple[str, ...]  # of the donors: their machines
    of: NDArray[np.intp]  # (series, donors): which donors a series has; -1 as padding
    left_out: tuple[LeftOut, ...]  # one a series
    likeness: Array  # (series, donors): of their machines to the series' own [1]
    is_described: bool  # whether it comes from descriptions; otherwise it is 1
    grows: bool  # whether the problem size grows with the processors among the donors
    remarks: tuple[str, ...] = ()  # on the donors of all series

    def adding(self, remarks: tuple[str, ...]) -> "Elsewhere":
        """Remark on the donors of all series what is not empty."""
        return replace(self, remarks=(*self.remarks, *(x for x in remarks if x)))

    def take(self, rows: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "Elsewhere":
        """Keep the donors of some of the series, by a mask, their numbers or a slice."""
        place = np.arange(len(self.left_out))[rows].tolist()
        left_out = tuple(self.left_out[i] for i in place)
        return replace(self, of=self.of[rows], likeness=self.likeness[rows], left_out=left_out)


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """Measured times of many series, as `curve_from` takes them."""

    p: Array  # (series, counts), ascending, padded on the right [1]
    time: Array  # likewise [s]
    count: NDArray[np.int64]  # (series,) [1]
    noise: Array  # (series,): standard deviation of log time among repetitions
    weight: Array  # (series, counts): how much each count counts in the fits [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Base:
    """What each point is forecast from: the nearest own count, or the two on either side."""

    low: Array  # (series, points): the own count below, or the nearest one [1]
    high: Array  # likewise above [1]
    part: Array  # likewise: of the way from `low` to `high`, in log p; 0 beyond the own counts [1]
    log_time: Array  # likewise: on the line between the two
    away: Array  # likewise: distance in log p from the nearer own count

    def line(self, at_low: Array, at_high: Array) -> Array:
        """Values of donors on the line between the two counts: (series, points, donors)."""
        part = self.part[..., None]
        return (1 - part) * at_low + part * at_high


@dataclass(frozen=True, kw_only=True, slots=True)
class _There:
    """What donors say at some counts: (series, points, donors) each, NaN where there is none."""

    log_time: Array
    half_width: Array
    noise: Array
    reach: Array  # how far the donor is asked beyond its own runs

    def guessed(self, *, is_between: NDArray[np.bool_]) -> Array:
        """Half-width where the donor guesses: beyond its runs, and in a gap that it is to fill.

        Without its noise, so that a donor does not lose its say a count beyond its last run.
        """
        squares = self.half_width**2 - (measured.NORMAL_90 * self.noise) ** 2
        is_guess = (self.reach > INSIDE) | is_between
        return np.sqrt(np.where(is_guess & (squares > 0), squares, 0.0))


@dataclass(frozen=True, kw_only=True, slots=True)
class DonatedCurve:
    """What own runs and donors say together of each series; see `donated_curve`."""

    curve: MeasuredCurve
    share: Array  # (series, points): of the donors in it; 0 where own runs speak alone
    apart: Array  # (series, points): log of the time that donors tell over that of own runs
    moved: Array  # (series, points): how far they move log time: share * apart, or less
    weights: Array  # (series, points, donors): of each in that share, summing to 1 or 0
    as_there: Array  # (series, points, donors): log time if it goes on as there; NaN if not used
    contradicts: NDArray[np.bool_]  # (series, donors): whose shape is not that of the known times
    reach: Array  # (series, points, donors): how far the donor is asked beyond its own runs

    @property
    def is_limited(self) -> NDArray[np.bool_]:
        """Whether the interval of the own runs holds the donors back: (series, points)."""
        return np.asarray(self.moved != self.share * self.apart)


def timings_of(series: Series) -> Timings:
    """Give the arrays of some series as the models take them."""
    noise = measured.pooled_noise(series.spread, series.shows_spread)
    return Timings(
        p=series.p, time=series.time, count=series.count, noise=noise, weight=series.weight
    )


def curve_with_donors(series: Series, elsewhere: Elsewhere, targets: Array) -> DonatedCurve:
    """Times of every series at `targets`, (points,) [1], from its own runs and its donors."""
    here, there = timings_of(series), timings_of(elsewhere.runs)
    return donated_curve(here, there, elsewhere.of, targets, elsewhere.likeness)


def donated_curve(
    here: Timings,
    elsewhere: Timings,
    of: NDArray[np.intp],
    targets: Array,
    likeness: Array | float = 1.0,
) -> DonatedCurve:
    """Forecast times and intervals at `targets`, (points,) at least 1 [1], from runs and donors.

    `of`, (series, donors), gives the rows of `elsewhere` that are donors, of two counts or more,
    -1 as padding; `likeness`, from 0 to 1, is the similarity of the machines.
    """
    last = here.p[np.arange(len(here.p)), here.count - 1]
    at = np.broadcast_to(targets, (len(last), len(targets)))
    own = _own(here, last, targets)

    known, y = _filled(here)
    base = _base_of(known, y, here.count, at)
    to, low, high, there = _at(elsewhere, of, at, base.low, base.high, known)
    begin = base.line(low.log_time, high.log_time)
    is_between = (base.part > 0)[..., None]
    guessed, *ends = (x.guessed(is_between=is_between) for x in (to, low, high))
    difference, distance = _shapes(here, y, known, there)
    agree = agreement(difference, distance)
    has_say = ~is_between | _was_run_between(elsewhere, of, base)
    moved = transfer(
        change=np.where(has_say, to.log_time - begin, np.nan),
        slower=begin - base.log_time[..., None],
        agreement=np.broadcast_to((agree * likeness)[:, None, :], begin.shape),
        outside=np.hypot(guessed, base.line(*ends)),
        reach=base.away,
        leans=at > last[:, None],  # only upwards is leaning measured
    )
    scatter = np.minimum(measured.NORMAL_90 * moved.sd, WIDEST)
    theirs = measured.with_noise(scatter, here.noise)
    tells = np.isfinite(moved.change) & (base.away > 0)
    own = _with_doubt_of_a_step(own, here, difference[..., 0], base)
    both = {
        "own": np.where(here.count[:, None] > 1, own.half_width, np.inf),
        "donors": np.where(tells, theirs, np.inf),
    }
    counts, beyond = here.count[:, None].astype(np.float64), np.log(at / last[:, None])
    share = share_of_donors(**both, counts=counts, beyond=beyond)
    apart = np.where(tells, base.log_time + moved.change - own.log_time, 0.0)
    has_donors = share > 0
    correction = np.clip(share * apart, *(both["own"] * (sign + own.skew) for sign in (-1, 1)))
    least = measured.NORMAL_90 * here.noise[:, None]  # both rest on the last run
    half = np.maximum(half_width_together(**both, share=share, apart=apart), least)
    skew = np.where(tells, share * moved.skew * (scatter / theirs) ** 2, 0.0)
    skew = skew + (1 - share) * own.skew
    room = 1 - least / half
    return DonatedCurve(
        curve=replace(
            own,
            log_time=own.log_time + correction,
            half_width=np.where(has_donors, half, own.half_width),
            without_last=np.where(has_donors, np.nan, own.without_last),
            skew=np.clip(skew, -room, room),
        ).bounded(),
        share=share,
        apart=apart,
        moved=correction,
        weights=moved.weights,
        as_there=base.log_time[..., None] + moved.changes,
        contradicts=(of >= 0) & (agree == 0),
        reach=to.reach,
    )


def _filled(here: Timings) -> tuple[Array, Array]:
    """Counts and log times, those of the first count as padding."""
    known = np.where(np.isnan(here.p), here.p[:, :1], here.p)
    return known, np.log(np.where(np.isnan(here.time), here.time[:, :1], here.time))


def _own(here: Timings, last: Array, targets: Array) -> MeasuredCurve:
    """Forecast from own runs alone; where there is one count, only that count is of use."""
    single = here.count == 1
    p, time, weight = here.p, here.time, here.weight
    if single.any():
        p, time = (np.pad(v, ((0, 0), (0, 1)), constant_values=np.nan) for v in (p, time))
        weight = np.pad(weight, ((0, 0), (0, 1)), constant_values=1.0)
        p[single, 1], time[single, 1] = 2 * p[single, 0], time[single, 0]
    count = np.maximum(here.count, 2)
    own = curve_from(p, time, count, here.noise, targets, weight=weight)
    beyond = np.maximum(targets / last[:, None], here.p[:, :1] / targets)
    return replace(own, reach=np.where(single[:, None], np.maximum(beyond, 1.0), own.reach))


def _with_doubt_of_a_step(
    own: MeasuredCurve, here: Timings, difference: Array, base: _Base
) -> MeasuredCurve:
    """Widen what two own counts forecast where their step is not that of the donors."""
    last = np.take_along_axis(here.p, here.count[:, None] - 1, axis=1)
    doubt = doubt_of_a_step(difference, np.log(last / here.p[:, :1]), base.away)
    is_beyond = (here.count[:, None] == 2) & (base.part == 0)
    return replace(own, half_width=np.hypot(own.half_width, np.where(is_beyond, doubt, 0.0)))


def _base_of(known: Array, y: Array, count: NDArray[np.int64], at: Array) -> _Base:
    """Find what each point is forecast from."""
    below = (known[:, None, :] <= at[..., None]) & (
        np.arange(known.shape[1]) < count[:, None, None]
    )
    left = np.maximum(below.sum(axis=-1) - 1, 0)
    right = np.where(below.any(axis=-1), np.minimum(left + 1, count[:, None] - 1), left)
    x0, x1 = (np.log(np.take_along_axis(known, i, axis=1)) for i in (left, right))
    y0, y1 = (np.take_along_axis(y, i, axis=1) for i in (left, right))
    x = np.log(at)
    gap = x1 - x0
    part = np.divide(x - x0, gap, out=np.zeros_like(x), where=gap > 0)
    return _Base(
        low=np.exp(x0),
        high=np.exp(x1),
        part=part,
        log_time=y0 + part * (y1 - y0),
        away=np.where(gap > 0, np.minimum(x - x0, x1 - x), np.abs(x - x0)),
    )


def _was_run_between(elsewhere: Timings, of: NDArray[np.intp], base: _Base) -> NDArray[np.bool_]:
    """Whether a donor was run strictly between the two counts of each point, not at these alone.

    Its own line between them would be taken for evidence of one here. (series, points, donors).
    """
    if not (base.part > 0).any() or not (of >= 0).any():
        return np.zeros((*base.part.shape, of.shape[1]), dtype=bool)
    runs = elsewhere.p[of][:, None]  # NaN beyond the last one
    low, high = (x[..., None, None] for x in (base.low * INSIDE, base.high / INSIDE))
    return np.asarray(((runs > low) & (runs < high)).any(axis=-1))


def _at(elsewhere: Timings, of: NDArray[np.intp], *at: Array) -> list[_There]:
    """What every donor says at counts of each series, given in several tables."""
    series, place = np.nonzero(of >= 0)
    pairs = of[series, place]
    counts = np.concatenate(at, axis=1)
    tables = np.full((4, *of.shape, counts.shape[1]), np.nan)
    if len(pairs) > 0:
        noise = elsewhere.noise[pairs]
        theirs = curve_from(
            elsewhere.p[pairs],
            elsewhere.time[pairs],
            elsewhere.count[pairs],
            noise,
            counts[series],
            weight=elsewhere.weight[pairs],
        )
        tables[:3, series, place] = theirs.log_time, theirs.half_width, theirs.reach
        tables[3, series, place] = noise[:, None]
    ends = np.cumsum([x.shape[1] for x in at])[:-1]
    return [
        _There(log_time=log_time, half_width=half_width, reach=reach, noise=noise)
        for log_time, half_width, reach, noise in np.split(tables.swapaxes(-1, -2), ends, axis=2)
    ]


def _shapes(here: Timings, y: Array, known: Array, there: _There) -> tuple[Array, Array]:
    """Compare the donors' shapes with the known times, from the last known count that both have.

    Change of log time to there from each count, the donor's less the target's, NaN where the donor
    was not run, and the distance in log p: (series, donors, counts) each.
    """
    is_count = np.arange(y.shape[1]) < here.count[:, None]
    was_run = (there.reach <= INSIDE) & is_count[..., None]  # (series, counts, donors)
    last = np.where(was_run, np.arange(y.shape[1])[:, None], 0).max(axis=1, keepdims=True)
    apart = np.where(was_run, there.log_time - y[..., None], np.nan)
    difference = np.take_along_axis(apart, last, axis=1) - apart
    x = np.broadcast_to(np.log(known)[..., None], apart.shape)
    distance = np.where(was_run, np.take_along_axis(x, last, axis=1) - x, 0.0)
    return difference.swapaxes(1, 2), distance.swapaxes(1, 2)
