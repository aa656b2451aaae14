"""Explain measured times: what they consist of, at the largest count and at forecast ones."""

import re
from collections.abc import Iterator, Sequence
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
from parcast.forecasting.own_runs.parts import PARTS, TimeParts, parts_of
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.forecasting.result import Forecast
from parcast.importers.registry import as_measurements
from parcast.saved.call import Call, array_of
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.timings.series import Key, label_of
from parcast.words import listed, whole

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
NONE: Final = 0.005  # a share that prints as 0% [1]
NOTABLE: Final = 0.05  # a share that matters [D]
NOT_SEPARATED: Final = (
    "These runs do not separate constant from growing work: at the largest measured count either "
    "may be 0%. To separate them, measure a larger count."
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
    stopped = _stopped_beyond(told, row, largest)
    longer = None
    if stopped:
        ends = np.stack([time, lower, upper])[:, beyond]
        longer = np.concatenate([np.full((3, 1), np.nan), ends], axis=1)
    parts = parts_of(measured, row, p, seed, longer=longer)
    return SeriesExplained(
        key=note.key,
        p=p,
        time=np.concatenate([of_last[:1], time[beyond]]),
        lower=np.concatenate([of_last[1:2], lower[beyond]]),
        upper=np.concatenate([of_last[2:], upper[beyond]]),
        parts=parts,
        serial=serial_fractions(
            measured, row, counts, (time, lower, upper), is_strong=note.scaling == "strong"
        ),
        scaling=f"{note.scaling} ({note.scaling_reason})",
        rests_on=note.rests_on,
        next_run=_run_of(note.key, planned),
        warnings=tuple(_warnings(note.scaling == "weak", last + 1, stopped, parts)),
    )


def _stopped_beyond(told: Forecast, row: int, largest: float) -> list[float]:
    """Counts above the largest measured one at which runs were stopped."""
    p = [] if told.stopped is None else told.stopped.of(row)[0].tolist()
    return [x for x in p if x > largest]


def _warnings(
    is_weak: bool, counts: int, stopped: Sequence[float], parts: TimeParts
) -> Iterator[str]:
    """What to know of the parts of one series."""
    if is_weak:
        yield WEAK
    if counts < 3:
        yield (
            "Constant and growing work are not determined by two counts: the intervals "
            "include all that is possible. To narrow them, measure a third."
        )
    elif _are_alike(parts):
        yield NOT_SEPARATED
    if stopped:
        yield (
            f"Runs at p = {listed(str(whole(x)) for x in stopped)} were stopped: time there and "
            "beyond that the finished runs do not explain counts as growing work."
        )


def _are_alike(parts: TimeParts) -> bool:
    """Whether constant or growing work, or either of them, may be all that is not shared."""
    of_both = slice(PARTS.index("constant"), PARTS.index("growing") + 1)
    least, most = parts.lower[0, of_both], parts.upper[0, of_both]
    return bool(least.max() < NONE and most.min() > NOTABLE)


def _run_of(key: Key, planned: Sequence[PlannedRun]) -> PlannedRun | None:
    """Find the run that is planned for a series."""
    return next((x for x in planned if label_of(x.key) == label_of(key)), None)
