"""Change of time from a known count, from runs of the same program on other machines.

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
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.measured import NORMAL_90

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
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
) -> Transfer:
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
    return Transfer(
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
