"""Explain measured times: what they consist of, at the largest count and at forecast ones."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.deciding.explain.timings.result import LessWork, SeriesExplained, TimingsExplained
from parcast.deciding.explain.timings.serial import serial_fractions
from parcast.errors import FitFailed, ParameterError
from parcast.forecasting.forecast import forecast
from parcast.forecasting.next_runs.plan_runs import plan_runs
from parcast.forecasting.next_runs.result import PlannedRun
from parcast.forecasting.own_runs.parts import parts_of
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.result import Forecast
from parcast.importers.registry import as_measurements
from parcast.saved.call import Call, array_of
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.timings.series import Key, label_of

MOST_SERIES: Final = 20  # explained; the slowest where there are more
LARGEST_DIVISOR: Final = 1e6
PART_OF: Final = {
    **{"serial": "constant", "constant": "constant"},
    **{"shared": "shared", "growing": "growing"},
}
WHAT_IF: Final = re.compile(r"\s*([a-z]+)\s*/\s*([0-9.eE+]+)\s*")
WEAK: Final = (
    "Under weak scaling the constant part holds the work of each processor, which is ideal, and "
    "serial work beside it: times do not distinguish these."
)


def less_work(text: str, *, name: str = "what_if") -> LessWork:
    """Read what would be less: "serial/2".

    >>> less_work("serial/2").part, less_work("growing/4").divisor
    ('constant', 4.0)
    """
    found = WHAT_IF.fullmatch(text) if isinstance(text, str) else None
    try:
        divisor = float(found[2]) if found else 0.0
    except ValueError:
        divisor = 0.0
    if not found or found[1] not in PART_OF or not 0 < divisor <= LARGEST_DIVISOR:
        raise ParameterError(
            name,
            must="be serial, shared or growing, a slash and a number above 0",
            got=f"{text!r:.60}",
            hint="Write for example serial/2.",
        )
    return LessWork(text=text.strip(), part=PART_OF[found[1]], divisor=divisor)


def explain_timings(
    measurements: MeasurementsLike,
    *,
    p: ArrayLike | None = None,
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    what_if: Sequence[str] = (),
    seed: int = 0,
) -> TimingsExplained:
    """Explain measured times at their largest count and at counts `p`; see `parcast.explain`."""
    less = tuple(map(less_work, [what_if] if isinstance(what_if, str) else what_if))
    runs = as_measurements(measurements)
    told = forecast(runs, p, by=by, scaling=scaling)
    counts = np.unique(told.p)
    told = forecast(runs, counts, by=by, scaling=scaling)
    rows = told.slowest(MOST_SERIES).tolist()
    planned = _planned(runs, counts, by)
    more = len(told.notes) - len(rows)
    refused = dict(told.refused)
    if more > 0:
        refused[f"{more} more series"] = f"only the {MOST_SERIES} slowest are explained."
    return TimingsExplained(
        series=tuple(_explained(told, counts, row, planned, seed) for row in rows),
        what_if=less,
        refused=refused,
        sources=told.sources,
        call=Call(
            verb="explain-timings",
            arguments={
                **{
                    "measurements": runs,
                    "p": array_of(p),
                    "by": by,
                    "scaling": scaling,
                    "seed": seed,
                },
                "what_if": [x.text for x in less] or None,
            },
        ),
    )


def _planned(runs: Measurements, counts: Array, by: Sequence[str] | None) -> list[PlannedRun]:
    """Plan one run more of each series; none where no run can be planned."""
    try:
        return plan_runs(runs, counts, runs=1, by=by)
    except (FitFailed, ParameterError):
        return []


def _explained(
    told: Forecast, counts: Array, row: int, planned: Sequence[PlannedRun], seed: int
) -> SeriesExplained:
    """Explain one series of a forecast."""
    measured, note = told.measured, told.notes[row]
    last = int(measured.count[row]) - 1
    largest = measured.p[row, last]
    shape = (len(told.notes), len(counts))
    time, lower, upper = (np.reshape(x, shape)[row] for x in (told.time, told.lower, told.upper))
    beyond = counts > largest
    p = np.concatenate([[largest], counts[beyond]])
    own = measured.time[row, last]
    of_last = np.full(3, own)
    if told.curve is not None:
        at = told.curve.choose(np.array([row])).at(largest)
        of_last = np.array([own, at.lower.item(), at.upper.item()])
    warnings = [WEAK] if note.scaling == "weak" else []
    if last < 2:
        warnings.append(
            "Constant and growing work are not determined by two counts: the intervals "
            "include all that is possible. To narrow them, measure a third."
        )
    if told.stopped is not None and told.stopped.of(row)[2]:
        warnings.append(
            "The parts are those of finished runs, without the runs that were stopped."
        )
    return SeriesExplained(
        key=note.key,
        p=p,
        time=np.concatenate([of_last[:1], time[beyond]]),
        lower=np.concatenate([of_last[1:2], lower[beyond]]),
        upper=np.concatenate([of_last[2:], upper[beyond]]),
        parts=parts_of(measured, row, p, seed),
        serial=serial_fractions(
            measured, row, counts, (time, lower, upper), is_strong=note.scaling == "strong"
        ),
        scaling=f"{note.scaling} ({note.scaling_reason})",
        rests_on=note.rests_on,
        next_run=_run_of(note.key, planned),
        warnings=tuple(warnings),
    )


def _run_of(key: Key, planned: Sequence[PlannedRun]) -> PlannedRun | None:
    """Find the run that is planned for a series."""
    return next((x for x in planned if label_of(x.key) == label_of(key)), None)
