"""Notes on the donors of a forecast: which were used, how they scale, and their warnings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument
from parcast.forecasting.donors.curve import DonatedCurve, Elsewhere, curve_with_donors
from parcast.forecasting.series.notes import Donor, SeriesNotes, runs_in_words
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Series
from parcast.units import percent
from parcast.words import NAMED, listed, whole

FEW = 2  # donors that do not show how much machines differ
ODD = 20.0  # times as fast or slow as the runs here: another unit or problem, not a machine [D]
FAR = 2.0  # times beyond its own runs that a donor is extrapolated without remark
MATTERS = 0.5  # weight of the donors in a forecast from which their warnings are its warnings
AT_ODDS = 1.5  # factor between the forecasts from own runs and from donors that is remarked [D]
NOTABLE = 0.1  # weight of the donors, and difference of two, that is remarked
KEPT = " The forecast was kept within the interval of the own runs."
DECIDED = 100  # series for which the run that decides is looked for: one run serves all
DOUBLINGS = 4  # of the last own count, at which a run is advised to decide
GAP = 1.5  # times as long as the longest of one group the shortest of another takes [D]
MEMBERS = 2  # donors of the smaller group, at least; a single one is an odd one


LAW = "; and the scaling on other machines: least relative error, in a regression on their speed"
REPEATED = " Put all runs on it into one table, or rename it."


def words_of_left_out(elsewhere: Elsewhere, i: int) -> Iterator[str]:
    """Give the warnings about donors that one series has before anything is computed."""
    left_out = elsewhere.left_out[i]
    is_itself = left_out.is_alone and left_out.both is not None and not left_out.once
    if left_out.both is not None:
        alone = ", and no other machine is" if is_itself else ""
        yield RankedWarning(
            f"{left_out.both} is among the donors as well{alone}: its runs there were not used."
            f"{REPEATED}",
            kind="donor is the machine itself",
            rank=Rank.SERIOUS if is_itself else Rank.PLAIN,
        )
    if left_out.once:
        is_one = len(left_out.once) == 1
        have, are = ("has", "is") if is_one else ("have", "are")
        yield RankedWarning(
            f"{listed(left_out.once)} {have} runs at one processor count only and {are} ignored.",
            kind="donors with one count",
            rank=Rank.MINOR,
        )
    if left_out.is_alone and not is_itself:
        with_it = f" with {left_out.kind}" if left_out.kind else ""
        yield RankedWarning(
            "No other machine can be used for this forecast: none has runs at two processor "
            f"counts or more{with_it}.",
            kind="no donor",
            rank=Rank.SERIOUS,
        )
    yield from elsewhere.remarks


def notes_with_donors(
    notes: Sequence[SeriesNotes],
    series: Series,
    elsewhere: Elsewhere,
    donated: DonatedCurve,
    targets: NDArray[np.float64],
    *,
    measure: Measure = TIME,
) -> list[SeriesNotes]:
    """Add to the notes of every series which donors were used, and the warnings about them.

    They are of the largest of `targets`, or of the largest one at which donors have any weight.
    """
    asked = _furthest(donated, targets)
    disagree = _disagreements(series, elsewhere, donated, asked, targets, measure=measure)
    can_be_odd = _can_be_odd(series, elsewhere)
    answer = []
    for i, note in enumerate(notes):
        furthest = int(asked[i])
        weights = donated.weights[i, furthest] * float(donated.share[i, furthest])
        as_there = np.exp(donated.as_there[i, furthest]).tolist()
        order = np.lexsort((as_there, -weights))  # of equal weights the shortest time first
        places = [j for j in order.tolist() if weights[j] > 0]
        used = tuple(
            Donor(
                machine=elsewhere.names[elsewhere.of[i, j]],
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
            rests_on += " (similar machines weighted more)" if elsewhere.is_described else ""
        warnings = (
            *note.warnings,
            *(_odd_ones(series, i, elsewhere) if can_be_odd[i] else ()),
            *disagree.get(i, ()),
            *_warnings(
                i,
                elsewhere,
                donated,
                share=float(donated.share[i, furthest]),
                used=used,
                reach=reach,
                at=at,
                measure=measure,
            ),
        )
        answer.append(
            replace(
                note,
                rests_on=rests_on,
                laws=() if series.count[i] == 1 else note.laws,
                donors=used,
                elsewhere=_as_there(used, at, measure),
                warnings=warnings,
            )
        )
    return answer


def _own_runs(series: Series, i: int) -> str:
    """Say what the forecast of a series of a single count is based on."""
    return f"{runs_in_words(series, i)}, and the scaling on other machines"


def _weights(
    used: Sequence[Donor], share: NDArray[np.float64], targets: NDArray[np.float64], furthest: int
) -> str:
    """Give the weight of the donors at one of the targets, together and each, and the largest."""
    machines = f"{len(used)} other machines" if used[1:] else "1 other machine"
    named = len(used) if len(used) <= NAMED + 1 else NAMED
    more = f", {len(used) - named} more" if len(used) > named else ""
    shares = ", ".join(f"{x.machine} {percent(x.weight)}" for x in used[:named])
    here, most = float(share[furthest]), int(np.argmax(share[: len(targets)]))
    upto = float(share[most])
    also = f" and {percent(upto)} at {whole(float(targets[most]))}"
    also = also if upto > here + NOTABLE else ""
    at = whole(float(targets[furthest]))
    return f"; weight of {machines} {percent(here)} at p = {at}{also}: {shares}{more}"


def _as_there(used: Sequence[Donor], at: Any, measure: Measure) -> str:
    """Give the time as on each donor, or as on three of many: least, median and largest."""
    ordered = sorted(used, key=lambda donor: donor.time)
    is_many = len(ordered) > NAMED + 1
    if is_many:
        ordered = [ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]]
    times = [f"as on {x.machine}: {measure.time_text(x.time, 2)}" for x in ordered]
    if not times:
        return ""
    among = f" (least, median and largest of {len(used)} machines)" if is_many else ""
    return f"time at p = {at} if scaling continues {', '.join(times)}{among}"


def _from_to(group: Sequence[Donor], measure: Measure) -> str:
    """Write the shortest and the longest time of some donors, which are in that order."""
    first, last = (measure.time_text(group[i].time, 2) for i in (0, -1))
    return first if first == last else f"{first} to {last}"


def _can_be_odd(series: Series, elsewhere: Elsewhere) -> NDArray[np.bool_]:
    """Which series have a donor with a time that is odd beside their last one, at any p."""
    if not elsewhere.names:
        return np.zeros(len(series), dtype=np.bool_)
    last = np.take_along_axis(series.time, series.count[:, None] - 1, axis=1)
    least, most = np.nanmin(elsewhere.runs.time, axis=1), np.nanmax(elsewhere.runs.time, axis=1)
    is_far = (most[elsewhere.of] > ODD * last) | (least[elsewhere.of] < last / ODD)
    return np.asarray(((elsewhere.of >= 0) & is_far).any(axis=1))


def _odd_ones(series: Series, i: int, elsewhere: Elsewhere) -> Iterator[str]:
    """Warn of donors whose times differ by more than two machines can."""
    last = int(series.count[i]) - 1
    p, time = float(series.p[i, last]), float(series.time[i, last])
    odd = []
    for j in elsewhere.of[i][elsewhere.of[i] >= 0].tolist():
        known = slice(0, int(elsewhere.runs.count[j]))
        counts, taken = elsewhere.runs.p[j, known], elsewhere.runs.time[j, known]
        if counts[0] <= p <= counts[-1]:
            times = float(np.exp(np.interp(np.log(p), np.log(counts), np.log(taken)))) / time
            if not 1 / ODD <= times <= ODD:
                odd.append((elsewhere.names[j], times, p in counts))
    if odd:
        odd.sort(key=lambda x: abs(np.log(x[1])), reverse=True)  # whatever stands first
        name, times, was_run = odd[0]
        factor = whole(float(f"{max(times, 1 / times):.3g}"))
        far = f"{factor} times" if times > 1 else f"1/{factor} of"
        also = f" ({listed([x for x, *_ in odd[1:]])}: similar)" if odd[1:] else ""
        between = "" if was_run else ", interpolated between its runs,"
        yield RankedWarning(
            f"At p = {whole(p)} the time on {name}{between} is {far} the time here{also}. "
            "Check that program, problem and unit of time are the same.",
            kind="odd donors",
            rank=Rank.UNUSABLE,
            size=float(abs(np.log(times))),
        )


def _furthest(donated: DonatedCurve, targets: NDArray[np.float64]) -> NDArray[np.intp]:
    """Place of the largest target of each series, or of the largest at which donors weigh."""
    ascending = np.argsort(targets, kind="stable")
    helped = donated.share[:, ascending] > 0
    last = np.where(helped.any(axis=1), helped.shape[1] - 1 - helped[:, ::-1].argmax(axis=1), -1)
    return np.asarray(ascending[last])


def _disagreements(
    series: Series,
    elsewhere: Elsewhere,
    donated: DonatedCurve,
    asked: NDArray[np.intp],
    targets: NDArray[np.float64],
    *,
    measure: Measure,
) -> dict[int, tuple[RankedWarning]]:
    """Warn where forecasts from own runs and from donors differ, with the run that decides."""
    every = np.arange(len(series))
    share, apart = donated.share[every, asked], donated.apart[every, asked]
    is_limited = donated.is_limited[every, asked]
    is_notable = (share >= NOTABLE) & (share < 1) & (np.abs(apart) >= np.log(AT_ODDS))
    rows = np.flatnonzero((series.count > 1) & (is_limited | is_notable))
    first = rows[:DECIDED]
    deciding = _deciding_runs(series, elsewhere, first, targets[asked[first]], measure=measure)
    warnings = {}
    for i in rows.tolist():
        ours, theirs = _both_texts(donated, i, int(asked[i]), measure)
        limited = KEPT if is_limited[i] else ""
        advice = deciding.get(i, "Make a run at a larger p to decide between them.")
        warning = RankedWarning(
            f"The own runs alone forecast {ours} at p = {whole(float(targets[asked[i]]))}, the "
            f"other machines {theirs}.{limited} {advice}",
            kind="donors disagree",
            rank=Rank.SERIOUS,
            size=float(abs(apart[i])),
        )
        warnings[i] = (warning,)
    return warnings


def _both_texts(donated: DonatedCurve, i: int, place: int, measure: Measure) -> tuple[str, str]:
    """Write what own runs and donors forecast at a count, each alone."""
    own = float(donated.curve.log_time[i, place] - donated.moved[i, place])
    both = (own, own + float(donated.apart[i, place]))
    ours, theirs = (measure.time_text(float(np.exp(x)), 2) for x in both)
    return ours, theirs


def _deciding_runs(
    series: Series,
    elsewhere: Elsewhere,
    rows: NDArray[np.intp],
    below: NDArray[np.float64],
    *,
    measure: Measure,
) -> dict[int, str]:
    """Advise for some series the smallest doubling of the last count that decides, `below` one."""
    last = series.p[rows, series.count[rows] - 1]
    advice = {}
    for one in np.unique(last).tolist():
        own, most = rows[last == one], below[last == one]
        counts = one * 2.0 ** np.arange(1, DOUBLINGS + 1)
        donated = curve_with_donors(series.take(own), elsewhere.take(own), counts)
        decides = (np.abs(donated.apart) >= np.log(AT_ODDS)) & (counts < most[:, None])
        for j in np.flatnonzero(decides.any(axis=1)).tolist():
            place = int(np.argmax(decides[j]))
            ours, theirs = _both_texts(donated, j, place, measure)
            advice[int(own[j])] = (
                f"A run at p = {whole(float(counts[place]))} decides between them: {ours} as the "
                f"own runs go on, {theirs} as on the other machines."
            )
    return advice


def _warnings(
    i: int,
    elsewhere: Elsewhere,
    donated: DonatedCurve,
    *,
    share: float,
    used: Sequence[Donor],
    reach: float,
    at: Any,
    measure: Measure,
) -> Iterator[str]:
    """Give the warnings about the donors of a series."""
    contrary = np.flatnonzero(donated.contradicts[i]).tolist()
    if contrary:
        names = [elsewhere.names[elsewhere.of[i, j]] for j in contrary]
        is_one = len(names) == 1
        yield RankedWarning(
            f"{listed(names)} {'was' if is_one else 'were'} not used as "
            f"{'a donor' if is_one else 'donors'}: "
            f"{'its' if is_one else 'their'} times change with p in another way than those of the "
            "runs here. Check that program and problem are the same.",
            kind="contrary donors",
            rank=Rank.SERIOUS,
        )
        if len(contrary) == (elsewhere.of[i] >= 0).sum():
            yield RankedWarning(
                "No other machine is left: the forecast is based on its own runs alone.",
                kind="no donor",
                rank=Rank.SERIOUS,
            )
    names_used = {x.machine for x in used}
    unused = [
        elsewhere.names[elsewhere.of[i, j]]
        for j in np.flatnonzero(elsewhere.of[i] >= 0).tolist()
        if j not in contrary and elsewhere.names[elsewhere.of[i, j]] not in names_used
    ]
    if unused and share > 0:
        has = "has" if len(unused) == 1 else "have"
        yield RankedWarning(
            f"{listed(unused)} {has} no weight at p = {at}: too few runs near it, or less similar "
            "to the runs here than the other machines.",
            kind="donors without weight",
            rank=Rank.MINOR,
        )
    if share < MATTERS:
        yield from words_of_left_out(elsewhere, i)
        return
    if reach > FAR:
        yield RankedWarning(
            f"No other machine has runs near p = {at}: their times there are extrapolated to at "
            f"least {whole(round(reach, 1))}x their largest p.",
            kind="donors extrapolated",
            size=reach,
        )
    if len(used) <= FEW:
        donors = "a single other machine" if len(used) == 1 else "two other machines"
        yield RankedWarning(
            f"The forecast is based on {donors}, too few to show how much machines differ: the "
            "interval assumes a typical difference.",
            kind="few donors",
        )
    yield from _groups(used, at, measure, is_described=elsewhere.is_described)
    yield from words_of_left_out(elsewhere, i)


def _groups(
    used: Sequence[Donor], at: Any, measure: Measure, *, is_described: bool
) -> Iterator[str]:
    """Warn of donors that scale in two ways, further from each other than within either."""
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
        f"{_from_to(group, measure)} (as on {listed([x.machine for x in group])})"
        for group in (ordered[:cut], ordered[cut:])
    )
    machines = Argument("machine", python="machines")
    weigh = f", or describe the machines with {machines}: similar ones get more weight"
    yield RankedWarning(
        f"The other machines fall into two groups: {quick} and {slow} at p = {at}. Use only those "
        f"as donors that are similar to this machine{'' if is_described else weigh}.",
        kind="two groups of donors",
        size=float(gaps.max()),
    )
