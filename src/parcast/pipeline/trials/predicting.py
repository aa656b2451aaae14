"""The ways to predict a run: the formulas as stated, with measured times, and calibrated.

==========  ===================================================================================
adaptive
stated      (6) with the delay (7) of a message: what the published formulas say of such runs
law         the law of the default schedule, a message takes what its length needs
given       the same with the measured time of a message and overhead
source
mm1         (6) with the delay (7)
md1         (6) with the delay (8), which the source calls M/G/1
given       (6) with the measured time of a message
overlapped  the overlapped form with the measured time of a message and overhead
both
calibrated  T_0 and the time of a step, or of an item, fitted to the small runs
==========  ===================================================================================
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.errors import FitFailed, ParameterError, RunFailed
from parcast.pipeline.law.constants import CalibratedLaw, calibrate
from parcast.pipeline.law.phase import PipelinePhase
from parcast.pipeline.trials.observation import PipelineTrial, Point, Schedule

CALIBRATED: Final = "calibrated"
Z: Final = 1.645  # of the middle 90% of a normal law
LAUNCHES: Final = 0.03  # standard deviation of what launches and sizes differ in, relative [1] [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class StageCosts:
    """What the parts of small runs took."""

    _outline = """
        task_s task_processor_s=processor merge_s message_s exposed_message_s=exposed
        message_B=bytes cv2 channel_B_per_s=capacity overhead_s
    """

    task: float  # wall time on a core of its own [s]
    processor: float  # processor time of a task [s]
    merge: float  # [s]
    message: float  # mean time, from sending to taking it up [s]
    exposed: float  # the same of messages after the last task, which nothing overlaps [s]
    bytes: float  # mean length of a message [B]
    cv2: float  # squared coefficient of variation of the lengths [1]
    capacity: float  # of the channel [B/s]
    is_nominal: bool  # whether the capacity is that of a link, and not measured
    overhead: float  # between two pieces of work [s]


def costs_of(
    runs: Sequence[PipelineTrial], schedule: Schedule, *, cores: int, link: float | None
) -> StageCosts:
    """Medians over traced runs: of ranks with a core each, where there are any.

    Messages are those of the runs of a schedule; `link` is the capacity of the channel if it is
    known [B/s].
    """
    traced = [(run.case, run.observed) for run in runs if run.observed is not None]
    alone = [parts for point, parts in traced if point.layout.total <= cores]
    own = [parts for point, parts in traced if point.schedule == schedule]
    if not alone:
        raise RunFailed("No small run has ended. Allow more time.")
    free = [
        parts
        for point, parts in traced
        if point.layout.total <= cores and point.schedule == schedule
    ]
    length = _median([x.bytes for x in own])
    quickest = max(_median([x.quickest for x in own]), 1e-6)
    return StageCosts(
        task=_median([x.task for x in alone]),
        processor=_median([x.processor for x in alone]),
        merge=_median([x.merge for x in free or alone]),
        message=_median([x.message for x in own]),
        exposed=_median([x.exposed for x in own]),
        bytes=length,
        cv2=_median([x.cv2 for x in own]),
        capacity=link or max(length, 1.0) / quickest,
        is_nominal=link is not None,
        overhead=_median([x.overhead for x in free]) if schedule == "adaptive" else 0.0,
    )


def _median(values: Sequence[float | None]) -> float:
    """Median of those that are known; 0 if none is."""
    known = [x for x in values if x is not None]
    return median(known) if known else 0.0


def calibration_of(
    runs: Sequence[PipelineTrial], schedule: Schedule, *, cores: int, batch: int = 1
) -> CalibratedLaw:
    """Fit T_0, the time of a step or item and that of a level of the tree to small runs."""
    table = {
        "p": [run.case.layout.total for run in runs],
        "n": [run.case.items for run in runs],
        "time_s": [run.seconds for run in runs],
    }
    pipelines = np.array([run.case.layout.pipelines for run in runs], dtype=np.float64)
    options: dict[str, Any] = {"pipelines": pipelines, "schedule": schedule, "cores": cores}
    options["batch"] = batch
    try:
        return calibrate(table, **options, drain=True)
    except FitFailed:  # the runs have one depth of the tree
        return calibrate(table, **options)


def predicted(
    point: Point, costs: StageCosts, calibration: CalibratedLaw, *, cores: int, batch: int = 1
) -> dict[str, float | None]:
    """Time of a run in all ways of its schedule [s]; None where a formula does not apply."""
    layout = point.layout
    common: dict[str, Any] = {
        "items": point.items,
        "pipelines": layout.pipelines,
        "cores": cores,
        "task": _seconds(costs.task),
        "merge": _seconds(costs.merge),
    }
    sized = {"message": f"{costs.bytes!r} B"}
    given = {"communication": _seconds(costs.message)}
    spent = {"overhead": _seconds(costs.overhead)}
    stated = {**common, **sized, "form": "serial", "delay": "mm1"}
    if point.schedule == "adaptive":
        exposed = {"communication": _seconds(costs.exposed), "batch": batch}
        phases = {
            "stated": stated if _is_power_of_two(layout.ranks) else None,
            "law": {**common, **sized, "batch": batch, "form": "adaptive"},
            "given": {**common, **exposed, **spent, "form": "adaptive"},
        }
    else:
        phases = {
            "mm1": stated,
            "md1": {**stated, "delay": "md1"},
            "given": {**common, **given, "form": "serial"},
            "overlapped": {**common, **given, **spent, "form": "overlapped"},
        }
    machine = Machine.model_validate({"network": {"bandwidth": f"{costs.capacity!r} B/s"}})
    times = {way: _time(phase, machine, layout.total) for way, phase in phases.items()}
    at = (point.items, layout.total)
    return times | {CALIBRATED: float(calibration.time(*at, pipelines=layout.pipelines))}


def expected_in(point: Point, calibration: CalibratedLaw) -> tuple[float, float]:
    """90% interval of a run: that of the regression, and what one launch does not show [s]."""
    at, pipelines = (point.items, point.layout.total), point.layout.pipelines
    time = float(calibration.time(*at, pipelines=pipelines))
    _, upper = calibration.interval(*at, pipelines=pipelines)
    width = float(np.hypot(float(upper) - time, Z * LAUNCHES * time))
    return max(time - width, 0.0), time + width


def _time(phase: Mapping[str, Any] | None, machine: Machine, p: int) -> float | None:
    """Time of a phase; None where it does not apply or its channel is used at 1 or above [s]."""
    if phase is None:
        return None
    try:
        return float(PipelinePhase(law="pipeline", **phase).times(machine, {"p": float(p)}).time)
    except ParameterError:
        return None


def _is_power_of_two(number: int) -> bool:
    return number > 1 and number & (number - 1) == 0


def _seconds(time: float) -> str:
    return f"{time!r} s"
