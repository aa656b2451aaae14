"""Time at any number of processors, from times measured here and on other machines.

Joins `parcast.forecasting.measured`, which uses the target's own runs, with
`parcast.forecasting.donors.transfer`. Beyond the target's own counts the donors give the change of
time from the nearest one; between two of them, how far it is from the line that joins these in
log-log. Everything is computed for many series at once, each with its own donors.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting import measured
from parcast.forecasting.donors import transfer
from parcast.forecasting.measured import WIDEST, MeasuredCurve, curve_from
from parcast.timings.series import Series

INSIDE = 1 + 1e-9  # reach up to which a donor was run there


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
    agree = transfer.agreement(difference, distance)
    has_say = ~is_between | _was_run_between(elsewhere, of, base)
    moved = transfer.transfer(
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
    share = transfer.share_of_donors(**both, counts=counts, beyond=beyond)
    apart = np.where(tells, base.log_time + moved.change - own.log_time, 0.0)
    has_donors = share > 0
    correction = np.clip(share * apart, *(both["own"] * (sign + own.skew) for sign in (-1, 1)))
    least = measured.NORMAL_90 * here.noise[:, None]  # both rest on the last run
    half = np.maximum(transfer.half_width_together(**both, share=share, apart=apart), least)
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
    doubt = transfer.doubt_of_a_step(difference, np.log(last / here.p[:, :1]), base.away)
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
