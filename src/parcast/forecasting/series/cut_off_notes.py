"""What forecasts say of runs that were ended before they were done."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from parcast.forecasting.own_runs.cut_off import UNLIKELY, CutOffRuns, probabilities
from parcast.forecasting.series.curve import Curve, CurveEstimate
from parcast.forecasting.series.notes import SeriesNotes
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import Measure
from parcast.timings.measurements import Measurements
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
    if not counts:
        return ""
    at = listed([f"{whole(x)}" for x in p.tolist()], MOST_NAMED)
    times = {measure.time_text(x) for x in bounds.tolist()}
    after = times.pop() if len(times) == 1 else f"{measure.time_text(float(bounds.min()))} or more"
    were = "was" if sum(counts) == 1 else "were"
    return f"{counted(sum(counts), 'run')} at p = {at} {were} stopped after {after}"


def notes_with_cut_off(
    notes: Sequence[SeriesNotes], curve: Curve, estimate: CurveEstimate, measure: Measure
) -> list[SeriesNotes]:
    """Say of each series which runs were ended, and what that changes; see `notes_of`."""
    if curve.cut_off is None:
        return list(notes)
    without = curve.without_cut_off().estimate(estimate.targets)
    answer = list(notes)
    for i, note in enumerate(notes):
        if text := ended_in_words(curve.cut_off, i, measure):
            said = _warnings(curve, curve.cut_off, i, (without, estimate), measure)
            answer[i] = replace(
                note,
                rests_on=f"{note.rests_on}; {text}: shorter times are excluded there",
                warnings=(*said, *note.warnings),
            )
    return answer


def notes_without_cut_off(
    notes: Sequence[SeriesNotes], cut_off: Measurements | None, why: str
) -> list[SeriesNotes]:
    """Say that runs that were ended are left out of a forecast that cannot use them."""
    if cut_off is None:
        return list(notes)
    is_one = len(cut_off) == 1
    were = "run that was stopped is" if is_one else "runs that were stopped are"
    warning = RankedWarning(
        f"{len(cut_off)} {were} left out: {why} {'it does' if is_one else 'they do'} not exclude "
        "shorter times. A forecast below the time of a stopped run is too short.",
        kind="stopped runs left out",
        rank=Rank.SERIOUS,
    )
    return [replace(x, warnings=(warning, *x.warnings)) for x in notes]


def _warnings(
    curve: Curve,
    runs: CutOffRuns,
    row: int,
    estimates: tuple[CurveEstimate, CurveEstimate],
    measure: Measure,
) -> Iterator[str]:
    """Say what would be forecast without runs that were ended, and which cannot be so."""
    p, bounds, _ = runs.of(row)
    counts, known = curve.at_bounds(runs)
    likely = probabilities(known, counts, runs, row)
    worst = int(np.argmin(likely))
    at = int(np.searchsorted(counts, p[worst]))
    time, upper = np.exp([known.log_time[row, at], known.ends[1][row, at]]).tolist()
    if likely[worst] < UNLIKELY:
        yield RankedWarning(
            f"A run at p = {whole(float(p[worst]))} was stopped after "
            f"{measure.time_text(float(bounds[worst]))}, where the other runs forecast "
            f"{measure.time_text(time)} (90 % interval to {measure.time_text(upper)}). If it "
            "hung, leave it out. If not, the program scales worse there: measure nearer to it.",
            kind="stopped run contradicts",
            rank=Rank.SERIOUS,
            size=float(bounds[worst]) / time,
        )
        return
    before, after = (x.curve.log_time[row, :-1] for x in estimates)
    most = int(np.argmax(np.abs(after - before)))
    if np.abs(after - before)[most] > MATTERS:
        yield RankedWarning(
            f"Without the runs that were stopped, the forecast at p = "
            f"{whole(float(estimates[0].targets[most]))} would be "
            f"{measure.time_text(float(np.exp(before[most])))}.",
            kind="stopped runs",
        )
