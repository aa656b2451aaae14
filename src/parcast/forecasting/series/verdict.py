"""What an answer is worth, said before it: where the program does not scale, and no forecast is.

A program *does not scale* where its work is taken to be fixed and its measured times hardly fall
(`own_runs.scaling.falls_with_p`). Of the call paths of a run the longest one speaks.

There is *no forecast* at a count where the 90% interval spans more than thirtyfold, or, beyond
the measured counts, where the method was wrong by more than 100% when it was tested on the
largest of them. A number is shown there, but no count is chosen there: not as a knee, not by
`match`, not for the next run.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.donors.curve import Elsewhere, timings_of
from parcast.forecasting.own_runs.call_paths import CALLS, PATH
from parcast.forecasting.own_runs.measured import curve_from
from parcast.forecasting.own_runs.scaling import ScalingReading, falls_with_p
from parcast.forecasting.series.curve import Columns, Curve
from parcast.forecasting.series.notes import SeriesNotes
from parcast.numerics import distinct
from parcast.show.warning import Rank, RankedWarning, ranked
from parcast.timings.series import Series
from parcast.units import format_quantity, percent
from parcast.words import listed, whole

WIDEST_USEFUL: Final = (
    30.0  # upper / lower of an interval: 5.5 times either way is no forecast [D]
)
MOST_MISSED: Final = 1.0  # relative error in the test [D]
NO_FORECAST_THERE: Final = "no forecast there"  # kind of a verdict
WIDE: Final = "wide interval"  # kind of the warning that a verdict takes the place of
NEARLY_EQUAL: Final = 0.05  # relative difference of times that take "as long" [D]
TOO_CLOSE: Final = 1.5  # factor between the counts below which times show no scaling [D]
MOST_NAMED: Final = 4  # counts
FURTHEST_RUN: Final = 4.0  # times the largest measured count, of a run that is advised unasked [D]
COUNTS_A_DOUBLING: Final = 24  # steps of 3% between the counts that are looked at
COPIES: Final = (
    "Were these independent copies? Under the mpirun of another MPI each rank runs alone, and the "
    "program says that it has 1 process."
)


def said_first(text: str, *, kind: str, size: float) -> RankedWarning:
    """Make a verdict: a warning that stands before the table."""
    return RankedWarning(text, kind=kind, rank=Rank.VERDICT, size=size)


def verdicts_on_scaling(
    series: Series, reading: ScalingReading, elsewhere: Elsewhere | None = None
) -> dict[int, RankedWarning]:
    """Say of which series that they do not scale, by their numbers."""
    told = does_not_scale(series.p, series.time, series.count, reading)
    if reading.is_strong:
        for i in np.flatnonzero(_hardly_elsewhere(series, elsewhere)).tolist():
            text = f"This does not scale on most of the other machines. {reading.remedy}".strip()
            told[i] = said_first(text, kind="does not scale", size=1.0)
    if not told:
        return {}
    longest = _longest_parts(series)
    return {i: text for i, text in told.items() if longest[i] == i}


def does_not_scale(
    p: Array, time: Array, count: NDArray[np.int64], reading: ScalingReading
) -> dict[int, RankedWarning]:
    """Say it of rows of times that hardly fall, by their numbers, and what to do if work grew.

    `p` [1] and `time` [s], (rows, counts), ascend in p, padded after the first `count` of a row.
    """
    if not reading.is_strong:
        return {}
    last = p[np.arange(len(p)), count - 1]
    hardly = (last >= TOO_CLOSE * p[:, 0]) & ~falls_with_p(p, time, count)
    rows = np.flatnonzero(hardly).tolist()
    return {i: _hardly_falls(p[i, : count[i]], time[i, : count[i]], reading) for i in rows}


def _hardly_falls(p: Array, time: Array, reading: ScalingReading) -> RankedWarning:
    """Say it of one row of times."""
    ratio = float(time[-1] / time[0])
    if abs(ratio - 1) <= NEARLY_EQUAL:
        much = "as long as"
    elif ratio > 1:
        much = f"{format_quantity(ratio, 'count')} times as long as"
    else:
        much = f"{percent(ratio)} of the time of"
    texts = [
        f"This does not scale: p = {whole(float(p[-1]))} takes {much} p = {whole(float(p[0]))}.",
        reading.remedy,
        COPIES if np.ptp(time) <= NEARLY_EQUAL * time.min() else "",
    ]
    return said_first(" ".join(filter(None, texts)), kind="does not scale", size=ratio)


def _hardly_elsewhere(series: Series, elsewhere: Elsewhere | None) -> NDArray[np.bool_]:
    """Whether a series of a single count has mostly donors whose times hardly fall, (series,)."""
    if elsewhere is None or len(elsewhere.runs) == 0:
        return np.zeros(len(series), dtype=bool)
    runs = elsewhere.runs
    is_donor = elsewhere.of >= 0
    falls = falls_with_p(runs.p, runs.time, runs.count)[elsewhere.of] & is_donor
    return np.asarray((series.count == 1) & (2 * falls.sum(axis=1) < is_donor.sum(axis=1)))


def _longest_parts(series: Series) -> NDArray[np.intp]:
    """For every series the number of the longest call path of the same run, or its own if alone.

    One of several counts rather than of a single one. Of equal times at the smallest count those
    at the larger ones decide, then the outer call path: not the order of the rows.
    """
    longest: dict[tuple[object, ...], int] = {}
    runs = [tuple(value for name, value in key.items() if name != PATH) for key in series.keys]
    measured = zip(series.count.tolist(), series.time.tolist(), strict=True)
    lengths = [
        (count > 1, times[:count], -str(key.get(PATH)).count(CALLS))
        for key, (count, times) in zip(series.keys, measured, strict=True)
    ]
    for i, run in enumerate(runs):
        if run not in longest or lengths[i] > lengths[longest[run]]:
            longest[run] = i
    return np.array([longest[run] for run in runs])


def tested_errors(curve: Curve) -> Array:
    """Relative error at the largest count from the others, (series,) [1]; above 0 if too long.

    NaN where it was not tested, or donors tell what the own runs do not.
    """
    errors = np.full(len(curve.series), np.nan)
    tested = (curve.series.count > 2) & ~_has_donors(curve)
    if tested.any():
        own = timings_of(curve.series.take(tested))
        far = np.array([curve.series.p[tested, 0].max()])
        with_test = curve_from(own.p, own.time, own.count, own.noise, far, weight=own.weight)
        errors[tested] = np.expm1(-with_test.backtest)
    return errors


def _has_donors(curve: Curve) -> NDArray[np.bool_]:
    """Whether each series has runs on other machines that may help it, (series,)."""
    if curve.elsewhere is None:
        return np.zeros(len(curve.series), dtype=bool)
    return np.asarray((curve.elsewhere.of >= 0).any(axis=1))


def is_useful(columns: Columns, errors: Array) -> NDArray[np.bool_]:
    """Whether there is a forecast, (series, points), by intervals and `tested_errors`."""
    with np.errstate(invalid="ignore"):
        missed = (errors > MOST_MISSED)[:, None] & (columns.reach > 1 + 1e-9)
        return np.asarray((columns.upper / columns.lower <= WIDEST_USEFUL) & ~missed)


def counts_between(first: float, upto: float) -> Array:
    """Processor counts from one to another, close enough to look for a limit among them."""
    steps = int(np.ceil(np.log2(upto / first) * COUNTS_A_DOUBLING)) + 1
    return distinct(np.round(np.geomspace(first, upto, steps)))


def useful_upto(curve: Curve, rows: NDArray[np.intp], upto: float, errors: Array) -> list[int]:
    """Find the largest count of some series up to which there is a forecast; look up to `upto`."""
    series = curve.series
    last = series.p[rows, series.count[rows] - 1]
    counts = np.union1d(counts_between(float(series.p[:, 0].min()), max(upto, last.max())), last)
    useful = is_useful(curve.choose(rows).at(counts), errors[rows])
    unbroken = np.cumprod(useful | (counts <= last[:, None]), axis=1)
    return [int(x) for x in counts[unbroken.sum(axis=1) - 1]]


def judged(
    curve: Curve, p: Array, columns: Columns, notes: Sequence[SeriesNotes], reading: ScalingReading
) -> list[SeriesNotes]:
    """Put the verdicts on the answers at `p`, (points,) [1], before the other warnings."""
    missed = [np.nan if x.backtest is None else x.backtest for x in notes]
    errors = np.where(_has_donors(curve), np.nan, np.array(missed, dtype=np.float64))
    useful = is_useful(columns, errors)
    scaling = verdicts_on_scaling(curve.series, reading, curve.elsewhere)
    rows = np.flatnonzero(~useful.all(axis=1))
    found = useful_upto(curve, rows, p.max(), errors) if rows.size else []
    upto = dict(zip(rows.tolist(), found, strict=True))
    answer = list(notes)
    for i in sorted({*scaling, *upto}):
        said = [scaling[i]] if i in scaling else []
        if i in upto:
            failing = ~useful[i]
            widths = columns.upper[i, failing] / columns.lower[i, failing]
            text = _no_forecast(notes[i], p[failing], widths, upto[i], float(errors[i]))
            said.append(text)
        kept = [x for x in notes[i].warnings if i not in upto or ranked(x).kind != WIDE]
        answer[i] = replace(
            notes[i],
            warnings=(*said, *kept),
            no_forecast=tuple(p[~useful[i]].tolist()) if i in upto else (),
            useful_upto=upto.get(i),
        )
    return answer


def _no_forecast(
    note: SeriesNotes, p: Array, widths: Array, upto: int, error: float
) -> RankedWarning:
    """Say that there is no forecast of a series at some counts, and what to measure."""
    first, last = note.measured
    counts = listed([f"{whole(x)}" for x in distinct(p).tolist()], MOST_NAMED)
    widest = int(np.argmax(widths))
    if widths[widest] > WIDEST_USEFUL:
        factor = format_quantity(float(widths[widest]), "count", 2)
        at = f" at p = {whole(float(p[widest]))}" if len(p) > 1 else ""
        why = f"the 90% interval{at} spans a factor of {factor}"
    else:
        why = f"tested at p = {whole(last)}, it was {percent(error)} too high"
    text = f"No forecast at p = {counts}: {why}."
    target = float(p.max())
    if target > last:
        text += f" The last useful count is p = {upto}."
    measure = f"{whole(float(run_to_make(target, first, last)))}"
    return said_first(
        f"{text} Measure a run at p = {measure}.",
        kind=NO_FORECAST_THERE,
        size=float(widths[widest]),
    )


def run_to_make(target: float, first: float, last: float) -> float:
    """Give the count of a run from which a forecast at `target` is a doubling away, or itself.

    It is at most four times the largest measured one.

    >>> run_to_make(128, 1, 32), run_to_make(48, 1, 32), run_to_make(1, 64, 128)
    (64.0, 48.0, 2.0)
    >>> run_to_make(1e9, 1, 32)
    128.0
    """
    if target > last:
        half = float(np.ceil(target / 2))
        return min(half, FURTHEST_RUN * last) if half > last else float(target)
    return float(2 * target) if 2 * target < first else float(target)
