"""What forecasts over several axes say of runs that were ended before they were done."""

from collections.abc import Sequence

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.series.cut_off_notes import (
    MOST_NAMED,
    change,
    contradiction,
    in_words,
    notes_without_cut_off,
    with_bounds,
)
from parcast.forecasting.series.notes import SeriesNotes
from parcast.forecasting.surface.cut_off import SurfaceBounds
from parcast.forecasting.surface.runs import Answered, SurfaceRuns
from parcast.timings.measure import Measure
from parcast.words import joined, listed, whole


def notes_with_stopped(
    notes: Sequence[SeriesNotes], answered: Answered, p: Array, measure: Measure
) -> list[SeriesNotes]:
    """Say which runs were ended, and what that changes of each combination at `p`, (points,)."""
    runs, bounds = answered.runs, answered.runs.bounds
    if runs.stopped is None:
        return list(notes)
    left = int(runs.stopped.runs.sum()) - (0 if bounds is None else int(bounds.runs.sum()))
    answer = notes_without_cut_off(notes, left, _elsewhere(runs, runs.stopped))
    if bounds is None or answered.at_bounds is None:
        return answer
    text = stopped_in_words(runs, bounds, measure)
    contradicts = [
        *contradiction(np.log(bounds.time), answered.at_bounds, _places(runs, bounds), measure)
    ]
    tables = (x[:, : len(p)] for x in (answered.without_bounds, answered.log_time))
    return [
        with_bounds(note, text, contradicts or [*change(p, before, after, measure)])
        for note, before, after in zip(answer, *tables, strict=True)
    ]


def stopped_in_words(runs: SurfaceRuns, stopped: SurfaceBounds | None, measure: Measure) -> str:
    """Say which runs of a program were ended; "" if none was."""
    if stopped is None:
        return ""
    axes, places = _varied(runs, stopped)
    at = f"{axes} = {listed(places, MOST_NAMED)}"
    return in_words(at, stopped.time, int(stopped.runs.sum()), measure)


def _places(runs: SurfaceRuns, stopped: SurfaceBounds) -> list[str]:
    """Name the place of each run: "(p, n) = (64, 2000)"."""
    axes, places = _varied(runs, stopped)
    return [f"{axes} = {place}" for place in places]


def _varied(runs: SurfaceRuns, stopped: SurfaceBounds) -> tuple[str, list[str]]:
    """Axes that tell the runs of a program apart, and their values of those that were ended."""
    every = np.concatenate([runs.axes, stopped.axes])
    varied = [j for j in range(len(runs.names)) if np.ptp(every[:, j]) > 0]
    rows = [[f"{whole(x)}" for x in row] for row in stopped.axes[:, varied].tolist()]
    if len(varied) == 1:
        return runs.names[varied[0]], [row[0] for row in rows]
    names = ", ".join(runs.names[j] for j in varied)
    return f"({names})", [f"({', '.join(row)})" for row in rows]


def _elsewhere(runs: SurfaceRuns, stopped: SurfaceBounds) -> str:
    """Say why some runs that were ended are not used; "" if all are."""
    beside = np.flatnonzero(stopped.apart(runs.axes).any(axis=0)).tolist()
    names = [runs.names[j] for j in beside]
    return f"at another {joined(names)} than all finished runs" if names else ""
