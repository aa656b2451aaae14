"""What forecasts say of runs that were ended before they were done."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.own_runs.bounds import UNLIKELY, LogTimes, probability_above
from parcast.forecasting.own_runs.cut_off import CutOffRuns, told_of
from parcast.forecasting.series.curve import Curve, CurveEstimate
from parcast.forecasting.series.notes import SeriesNotes
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import Measure
from parcast.words import counted, listed, whole

MATTERS: Final = 0.02  # change of log time from which it is told [D]
MOST_NAMED: Final = 3


def ended_in_words(runs: CutOffRuns, row: int, measure: Measure) -> str:
    """Say which runs of a series were ended; "" if none was.

    >>> from parcast.forecasting.own_runs.cut_off import cut_off_runs
    >>> from parcast.timings.measurements import Measurements
    >>> table = Measurements(p=[1, 2], time=[9, 5]).with_cut_off(p=[4, 4], time=[60, 60])
    >>> ended_in_words(cut_off_runs(table.cut_off, table.series()), 0, table.measure)
    '2 runs at p = 4 were stopped after 60 s'
    """
    p, bounds, counts = runs.of(row)
    at = f"p = {listed([f'{whole(x)}' for x in p.tolist()], MOST_NAMED)}"
    return in_words(at, bounds, sum(counts), measure)


def in_words(at: str, bounds: Array, runs: int, measure: Measure) -> str:
    """Say that runs were ended, and where; "" if none was."""
    if not runs:
        return ""
    times = {measure.time_text(x) for x in bounds.tolist()}
    after = times.pop() if len(times) == 1 else f"{measure.time_text(float(bounds.min()))} or more"
    were = "was" if runs == 1 else "were"
    return f"{counted(runs, 'run')} at {at} {were} stopped after {after}"


def notes_with_cut_off(
    notes: Sequence[SeriesNotes], curve: Curve, estimate: CurveEstimate, measure: Measure
) -> list[SeriesNotes]:
    """Say of each series which runs were ended, and what that changes; see `notes_of`."""
    if curve.cut_off is None:
        return list(notes)
    without = curve.without_cut_off().estimate(estimate.targets)
    counts, known = curve.at_bounds(curve.cut_off)
    answer = list(notes)
    for i, note in enumerate(notes):
        if text := ended_in_words(curve.cut_off, i, measure):
            p, bounds, _ = curve.cut_off.of(i)
            at_bounds = told_of(known, i, np.searchsorted(counts, p))
            places = [f"p = {whole(x)}" for x in p.tolist()]
            before, after = (x.curve.log_time[i, :-1] for x in (without, estimate))
            said = [*contradiction(np.log(bounds), at_bounds, places, measure)]
            said = said or [*change(estimate.targets, before, after, measure)]
            answer[i] = with_bounds(note, text, said)
    return answer


def notes_without_cut_off(notes: Sequence[SeriesNotes], runs: int, why: str) -> list[SeriesNotes]:
    """Say that runs that were ended are left out of a forecast that cannot use them."""
    if not runs:
        return list(notes)
    is_one = runs == 1
    were = "run that was stopped is" if is_one else "runs that were stopped are"
    warning = RankedWarning(
        f"{runs} {were} left out: {why} {'it does' if is_one else 'they do'} not exclude "
        "shorter times. A forecast below the time of a stopped run is too short.",
        kind="stopped runs left out",
        rank=Rank.SERIOUS,
    )
    return [replace(x, warnings=(warning, *x.warnings)) for x in notes]


def with_bounds(note: SeriesNotes, text: str, warnings: Iterable[str]) -> SeriesNotes:
    """Add runs that were ended to the notes on a forecast."""
    return replace(
        note,
        rests_on=f"{note.rests_on}; {text}: shorter times are excluded there",
        warnings=(*warnings, *note.warnings),
    )


def contradiction(
    log_bounds: Array, at_bounds: LogTimes, places: Sequence[str], measure: Measure
) -> Iterator[str]:
    """Say which bound cannot be so by the runs that ended, if one cannot."""
    likely = probability_above(log_bounds, at_bounds)
    worst = int(np.argmin(likely))
    if likely[worst] >= UNLIKELY:
        return
    log_time = at_bounds.log_time[worst]
    bound, time, upper = np.exp(
        [log_bounds[worst], log_time, log_time + at_bounds.sides[1][worst]]
    ).tolist()
    yield RankedWarning(
        f"A run at {places[worst]} was stopped after {measure.time_text(bound)}, where the other "
        f"runs forecast {measure.time_text(time)} (90% interval to {measure.time_text(upper)}). "
        "If it hung, leave it out. If not, the program scales worse there: measure nearer to it.",
        kind="stopped run contradicts",
        rank=Rank.SERIOUS,
        size=bound / time,
    )


def change(p: Array, before: Array, after: Array, measure: Measure) -> Iterator[str]:
    """Say what would be forecast at counts, (points,) [1], without runs that were ended."""
    most = int(np.argmax(np.abs(after - before)))
    if np.abs(after - before)[most] > MATTERS:
        yield RankedWarning(
            f"Without the runs that were stopped, the forecast at p = {whole(float(p[most]))} "
            f"would be {measure.time_text(float(np.exp(before[most])))}.",
            kind="stopped runs",
        )
