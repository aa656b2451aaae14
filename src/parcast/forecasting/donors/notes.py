"""The donors of a forecast in words: which were used, how time goes on there, and what is odd."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.forecasting.donors.curve import DonatedCurve, Elsewhere
from parcast.forecasting.result import Donor, SeriesNotes
from parcast.timings.series import Series
from parcast.units import format_quantity, percent
from parcast.words import NAMED, listed, whole

FEW = 2  # donors from which nobody can tell how much machines differ
ODD = 20.0  # times as fast or slow as the runs here: another unit or problem, not a machine [D]
FAR = 2.0  # times beyond its own runs that a donor is asked without remark
MATTERS = 0.5  # share of the donors in a forecast from which their doubts are its doubts
AT_ODDS = 1.5  # times as long as by the own runs alone, or as short, that donors say it takes [D]
NOTABLE = 0.1  # share of the donors, and difference of two, from which it is told
GAP = 1.5  # times as long as the longest of one group the shortest of another takes [D]
MEMBERS = 2  # donors of the smaller group, at least; a single one is an odd one


LAW = (
    "; beside it, how time goes on on other machines: the least relative error, regressed on "
    "their speed"
)
REPEATED = " Put all runs on it into one table, or rename it."


def words_of_left_out(elsewhere: Elsewhere, i: int) -> Iterator[str]:
    """Say of one series what became of donors before anything was computed."""
    left_out = elsewhere.left_out[i]
    if left_out.both is not None:
        yield f"{left_out.both} is among the donors too: its runs there were not used.{REPEATED}"
    if left_out.once:
        they = "it was" if len(left_out.once) == 1 else "they were"
        yield f"{_no_help(left_out.once, 'other machines')}: {they} run at one count only."
    if left_out.is_alone:
        with_it = f" with {left_out.kind}" if left_out.kind else ""
        yield (
            "No other machine helps to forecast this one: none was run at two counts or more"
            f"{with_it}."
        )
    yield from elsewhere.remarks


def notes_with_donors(
    notes: Sequence[SeriesNotes],
    series: Series,
    elsewhere: Elsewhere,
    donated: DonatedCurve,
    targets: NDArray[np.float64],
) -> list[SeriesNotes]:
    """Add to the notes of every series which donors were used, and what to think of them.

    They are of the largest of `targets`, or of the largest one at which donors have a say.
    """
    ascending = np.argsort(targets, kind="stable")
    answer = []
    for i, note in enumerate(notes):
        helped = ascending[donated.share[i, ascending] > 0]
        furthest = int((helped if helped.size else ascending)[-1])
        weights = donated.weights[i, furthest] * float(donated.share[i, furthest])
        order = np.argsort(-weights, kind="stable")
        places = [j for j in order.tolist() if weights[j] > 0]
        as_there = np.exp(donated.as_there[i, furthest]).tolist()
        used = tuple(
            Donor(
                elsewhere.names[elsewhere.of[i, j]],
                weight=float(weights[j]),
                p=float(targets[furthest]),
                time=as_there[j],
            )
            for j in places
        )
        reach = float(donated.reach[i, furthest, places].min()) if used else 1.0
        at = whole(float(targets[furthest]))
        rests_on = _own_runs(series, i) if series.count[i] == 1 else note.rests_on
        if used:
            rests_on += _weights(used, donated.share[i], targets, furthest)
            rests_on += " (those like this machine more)" if elsewhere.is_described else ""
        warnings = (
            *note.warnings,
            *_odd_ones(series, i, elsewhere),
            *_at_odds(series, i, donated, furthest, at),
            *_warnings(
                i,
                elsewhere,
                donated,
                share=float(donated.share[i, furthest]),
                used=used,
                reach=reach,
                at=at,
            ),
        )
        answer.append(
            replace(
                note,
                rests_on=rests_on,
                donors=used,
                elsewhere=_as_there(used, at),
                warnings=warnings,
            )
        )
    return answer


def _own_runs(series: Series, i: int) -> str:
    """Say what the forecast of a series of a single count was made from."""
    repetitions = int(series.repetitions[i, 0])
    return (
        f"{repetitions} run{'s' if repetitions > 1 else ''} at p = "
        f"{whole(float(series.p[i, 0]))}, and how time goes on elsewhere"
    )


def _weights(
    used: Sequence[Donor], share: NDArray[np.float64], targets: NDArray[np.float64], furthest: int
) -> str:
    """Say how much the donors weigh at one of the targets, each and all, and where most."""
    machines = f"{len(used)} other machines weigh" if used[1:] else "1 other machine weighs"
    named = len(used) if len(used) <= NAMED + 1 else NAMED
    more = f", {len(used) - named} more" if len(used) > named else ""
    shares = ", ".join(f"{x.machine} {percent(x.weight)}" for x in used[:named])
    here, most = float(share[furthest]), int(np.argmax(share[: len(targets)]))
    upto = float(share[most])
    also = f" and {percent(upto)} at {whole(float(targets[most]))}"
    also = also if upto > here + NOTABLE else ""
    at = whole(float(targets[furthest]))
    return f"; {machines} {percent(here)} at p = {at}{also}: {shares}{more}"


def _as_there(used: Sequence[Donor], at: Any) -> str:
    """Say how long it takes as on each donor, or on the ends and the middle of many."""
    ordered = sorted(used, key=lambda donor: donor.time)
    is_many = len(ordered) > NAMED + 1
    if is_many:
        ordered = [ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]]
    times = [f"as on {x.machine} {format_quantity(x.time, 'time', 2)}" for x in ordered]
    if not times:
        return ""
    among = f"; of {len(used)} machines the ends and the middle" if is_many else ""
    return f"p = {at} takes, if it goes on {', '.join(times)}{among}"


def _from_to(group: Sequence[Donor]) -> str:
    """Write the shortest and the longest time of some donors, which are in that order."""
    first, last = (format_quantity(group[i].time, "time", 2) for i in (0, -1))
    return first if first == last else f"{first} to {last}"


def _odd_ones(series: Series, i: int, elsewhere: Elsewhere) -> Iterator[str]:
    """Name the donors whose times are so far from those here that it cannot be the machine."""
    last = int(series.count[i]) - 1
    p, time = float(series.p[i, last]), float(series.time[i, last])
    odd = []
    for j in elsewhere.of[i][elsewhere.of[i] >= 0].tolist():
        known = slice(0, int(elsewhere.runs.count[j]))
        counts, taken = elsewhere.runs.p[j, known], elsewhere.runs.time[j, known]
        if counts[0] <= p <= counts[-1]:
            times = float(np.exp(np.interp(np.log(p), np.log(counts), np.log(taken)))) / time
            if not 1 / ODD <= times <= ODD:
                odd.append((elsewhere.names[j], times))
    if odd:
        name, times = odd[0]
        factor = whole(float(f"{max(times, 1 / times):.3g}"))
        far = f"{factor} times" if times > 1 else f"1/{factor} of"
        also = f", and others likewise ({listed([x for x, _ in odd[1:]])})" if odd[1:] else ""
        yield (
            f"At p = {whole(p)} {name} takes {far} the time here{also}. "
            "Is it the same program and problem, in the same unit of time?"
        )


def _at_odds(series: Series, i: int, donated: DonatedCurve, place: int, at: Any) -> Iterator[str]:
    """Say where the runs here and those elsewhere tell different things, and what would decide."""
    share, apart = float(donated.share[i, place]), float(donated.apart[i, place])
    if series.count[i] < 2 or not NOTABLE <= share < 1 or abs(apart) < np.log(AT_ODDS):
        return
    own = float(donated.curve.log_time[i, place]) - share * apart
    ours, theirs = (format_quantity(float(np.exp(x)), "time", 2) for x in (own, own + apart))
    yield (
        f"At p = {at} the runs here alone say {ours}, the other machines {theirs}. "
        "A run here nearer to it would decide."
    )


def _warnings(
    i: int,
    elsewhere: Elsewhere,
    donated: DonatedCurve,
    *,
    share: float,
    used: Sequence[Donor],
    reach: float,
    at: Any,
) -> Iterator[str]:
    """Give what should make a reader careful about the donors of a series."""
    contrary = np.flatnonzero(donated.contradicts[i]).tolist()
    if contrary:
        names = [elsewhere.names[elsewhere.of[i, j]] for j in contrary]
        theirs = "its time goes" if len(names) == 1 else "their times go"
        yield (
            f"{_no_help(names, 'this one')}: {theirs} with p otherwise than the runs here. "
            "Was it the same program and problem?"
        )
        if len(contrary) == (elsewhere.of[i] >= 0).sum():
            yield "No other machine is left: the forecast rests on its own runs alone."
    names_used = {x.machine for x in used}
    unused = [
        elsewhere.names[elsewhere.of[i, j]]
        for j in np.flatnonzero(elsewhere.of[i] >= 0).tolist()
        if j not in contrary and elsewhere.names[elsewhere.of[i, j]] not in names_used
    ]
    if unused and share > 0:
        has, of, they = (
            ("has", "it", "it is") if len(unused) == 1 else ("have", "them", "they are")
        )
        yield (
            f"{listed(unused)} {has} no say at p = {at}: beside the other machines too little is "
            f"known of {of} there, or {they} less like the runs here."
        )
    if share < MATTERS:
        yield from words_of_left_out(elsewhere, i)
        return
    if reach > FAR:
        yield (
            f"No other machine was run near p = {at}: their own forecasts stand in, "
            f"{whole(round(reach, 1))} times beyond their runs and more."
        )
    if len(used) <= FEW:
        donors = "a single other machine" if len(used) == 1 else "two other machines"
        yield f"The forecast rests on {donors}: how much machines differ is guessed."
    yield from _groups(used, at, is_described=elsewhere.is_described)
    yield from words_of_left_out(elsewhere, i)


def _groups(used: Sequence[Donor], at: Any, *, is_described: bool) -> Iterator[str]:
    """Say where the donors go on in two ways, further from each other than within either."""
    ordered = sorted(used, key=lambda x: x.time)
    if len(ordered) < 2 * MEMBERS:
        return
    log_time = np.log([x.time for x in ordered])
    gaps = np.diff(log_time)[MEMBERS - 1 : 1 - MEMBERS]
    cut = int(np.argmax(gaps)) + MEMBERS
    widest = max(log_time[cut - 1] - log_time[0], log_time[-1] - log_time[cut])
    if gaps.max() < max(np.log(GAP), widest):
        return
    quick, slow = (
        f"{_from_to(group)} as on {listed([x.machine for x in group])}"
        for group in (ordered[:cut], ordered[cut:])
    )
    weigh = (
        ""
        if is_described
        else ", or describe the machines with --machine: those like it weigh more"
    )
    yield (
        f"The other machines go on in two ways: p = {at} takes {quick}, and {slow}. Give only "
        f"those as donors that are like this one{weigh}."
    )


def _no_help(names: Sequence[str], whom: str) -> str:
    """Say that some machines do not help to forecast others."""
    return f"{listed(names)} {'does' if len(names) == 1 else 'do'} not help to forecast {whom}"
