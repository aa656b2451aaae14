"""What `validate pipeline` answers: each run as predicted in several ways, and as measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar, Final

from parcast.descriptions.fit_record import OwnLawError, validated_law_error
from parcast.pipeline.law.constants import CalibratedLaw
from parcast.pipeline.validating.observation import Observed, Point, Schedule
from parcast.pipeline.validating.predicting import CALIBRATED, WAYS, Costs
from parcast.pipeline.validating.work import Job
from parcast.show.result import Result
from parcast.timings.disturbed import name_of_time

MEDIAN: Final = 0.10  # absolute error, up to which a law agrees: the mean of the source's [1]
WORST: Final = 0.25  # absolute error of one point; the largest of the source is 0.26 [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A run that was predicted before it was made, and its repetitions."""

    point: Point
    steps: float | None  # k; None where the published schedule is not possible
    predicted: Mapping[str, float | None]  # by way [s]
    lower: float  # of the 90 % interval of the calibrated law [s]
    upper: float  # [s]
    is_shared: bool  # whether ranks share cores
    is_calibrated: bool  # whether the law was calibrated on this layout
    runs: tuple[Observed, ...] = ()  # that count
    others: tuple[Observed, ...] = ()  # that do not, as they were disturbed
    is_disturbed: bool = False  # whether disturbed runs count, for lack of others

    @property
    def measured(self) -> float | None:
        """Median time of the runs that count [s]."""
        return median(run.time for run in self.runs) if self.runs else None

    def error(self, way: str) -> float | None:
        """Predicted over measured time, less 1."""
        time, measured = self.predicted.get(way), self.measured
        return None if time is None or measured is None else time / measured - 1.0

    @property
    def is_inside(self) -> bool | None:
        """Whether the measured time is in the interval."""
        measured = self.measured
        return None if measured is None else self.lower <= measured <= self.upper


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """How far a way is from the measured times of the undisturbed rows."""

    median: float  # absolute error [1]
    worst: float
    mean: float  # signed: below 0 where the predicted times are too short
    points: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ValidatedSchedule:
    """One schedule: small runs, predictions, larger runs."""

    schedule: Schedule
    costs: Costs
    calibration: CalibratedLaw
    small: tuple[Observed, ...]  # that the law was calibrated with, and others that are disturbed
    rows_: tuple[Compared, ...]
    most_disturbed: bool = False  # whether most small runs that count were disturbed

    @property
    def compared(self) -> tuple[Compared, ...]:
        """Rows that have runs; those without disturbed ones, if there are any."""
        ran = tuple(row for row in self.rows_ if row.runs)
        return tuple(row for row in ran if not row.is_disturbed) or ran

    def accuracy(self, way: str) -> Accuracy | None:
        """Errors of a way; None where it predicts nothing that was measured."""
        errors = [error for row in self.compared if (error := row.error(way)) is not None]
        if not errors:
            return None
        sizes = [abs(x) for x in errors]
        return Accuracy(
            median=median(sizes),
            worst=max(sizes),
            mean=sum(errors) / len(errors),
            points=len(errors),
        )

    @property
    def holds(self) -> bool | None:
        """Whether the calibrated law agrees with the runs; None where they cannot tell."""
        accuracy = self.accuracy(CALIBRATED)
        if accuracy is None or self.reason:
            return None
        return accuracy.median <= MEDIAN and accuracy.worst <= WORST

    @property
    def reason(self) -> str:
        """Why the runs cannot tell whether the law holds; "" where they can."""
        quiet = [row for row in self.rows_ if row.runs and not row.is_disturbed]
        if self.most_disturbed:
            return "most of the small runs were disturbed by other processes"
        if 2 * len(quiet) < len(self.rows_):
            ran = sum(bool(row.runs) for row in self.rows_)
            if 2 * ran < len(self.rows_):
                return f"only {ran} of {len(self.rows_)} rows were measured"
            return "most of the measured rows were disturbed by other processes"
        return ""

    @property
    def answer(self) -> str:
        """Whether the law holds, in the words of the JSON document."""
        if self.holds is None:
            return "cannot tell"
        return "holds" if self.holds else "does not hold"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PipelineValidation(Result):
    """Measured and predicted times of the pipeline on this machine."""

    _sheet: ClassVar[str] = "parcast.pipeline.validating.sheet:sheet_of"
    _picture: ClassVar[str] = "parcast.pipeline.validating.picture:figure_of"

    schedules: tuple[ValidatedSchedule, ...]
    work: Job
    cores: int  # that ranks share; hosts of a testbed whose processors are capped [1]
    place: str = ""  # the testbed in words, "" on the machine itself
    load: tuple[float, float] | None = None  # of the system, before and after [1]
    ended_by: str = ""  # "interrupted" or "time limit" where not all was measured
    seconds: float = 0.0  # spent [s]
    seed: int = 0
    inputs: Mapping[str, Any] | None = None  # what was asked: set by who reads
    warnings: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool | None:
        """Whether the calibrated law agrees for every schedule; None where one cannot tell."""
        verdicts = {x.holds for x in self.schedules}
        return None if None in verdicts and False not in verdicts else False not in verdicts

    def law_errors(self, platform: str) -> tuple[OwnLawError, ...]:
        """What the calibrated law was wrong by; nothing of too few comparisons."""
        rows = [row for each in self.schedules for row in each.compared if not row.is_disturbed]
        known = [(row, x) for row in rows if (x := row.error(CALIBRATED)) is not None]
        points = [row.point for row, _ in known]
        axes = {"p": [x.layout.total for x in points], "n": [x.items for x in points]}
        return validated_law_error("pipeline", platform, [x for _, x in known], axes)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each schedule, size and layout: the source's table for this machine."""
        for each in self.schedules:
            for row in each.rows_:
                yield _row(row)

    def runs(self) -> Iterator[tuple[str, Observed, Compared | None, bool]]:
        """Give every run: its purpose, the row it belongs to, and whether it counts."""
        for each in self.schedules:
            left = set(each.calibration.outliers)
            for i, run in enumerate(each.small):
                yield "calibration", run, None, i not in left
            for row in each.rows_:
                for run in row.runs:
                    yield "comparison", run, row, True
                for run in row.others:
                    yield "comparison", run, row, False

    def measurement_rows(self) -> Iterator[dict[str, Any]]:
        """Give runs as rows of a table of measurements, one for each figure of a run."""
        made: Counter[tuple[Any, ...]] = Counter()
        for purpose, run, row, counts in self.runs():
            point = run.point
            key = {
                "callpath": f"pipeline/{point.schedule}",
                "p": point.layout.total,
                "n": point.items,
                "pipelines": point.layout.pipelines,
            }
            made[tuple(key.values())] += 1
            key["repetition"] = made[tuple(key.values())]
            figures: dict[str, float | None] = {
                name_of_time(point.layout.total, self.cores, counts=counts): run.time,
                "launch": run.launch,
                "waiting": run.waiting,
                "is_calibration": int(purpose == "calibration"),
            }
            if row is not None:
                figures |= {f"predicted_{way}": time for way, time in row.predicted.items()}
                figures |= {"lower": row.lower, "upper": row.upper}
            for metric, value in figures.items():
                if value is not None:
                    yield {**key, "metric": metric, "value": value}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/pipeline-validation/1``."""
        return {
            "schema": "parcast/pipeline-validation/1",
            "rows": list(self.rows()),
            "holds": self.holds,
            "schedules": [_schedule(each) for each in self.schedules],
            "runs": [
                {
                    "purpose": purpose,
                    "schedule": run.point.schedule,
                    "n": run.point.items,
                    "p": run.point.layout.total,
                    "pipelines": run.point.layout.pipelines,
                    "launch": run.launch,
                    "time_s": run.time,
                    "waiting": run.waiting,
                    "counts": counts,
                }
                for purpose, run, _, counts in self.runs()
            ],
            "work": self.work.to_document(),
            "cores": self.cores,
            "testbed": self.place or None,
            "load": None if self.load is None else list(self.load),
            "ended_by": self.ended_by or None,
            "seconds": self.seconds,
            "seed": self.seed,
            "warnings": list(self.warnings),
            "inputs": dict(self.inputs or {}),
        }

    def __repr__(self) -> str:
        """Say what was validated, in one line."""
        answers = ", ".join(f"{x.schedule} {x.answer}" for x in self.schedules)
        return f"PipelineValidation({answers})"


def _row(row: Compared) -> dict[str, Any]:
    """Facts of a row, with the keys of the JSON document."""
    point = row.point
    facts: dict[str, Any] = {
        "schedule": point.schedule,
        "P": point.layout.ranks,
        "pipelines": point.layout.pipelines,
        "p": point.layout.total,
        "n": point.items,
        "steps": row.steps,
    }
    ways = dict.fromkeys(way for own in WAYS.values() for way in own)  # columns of all schedules
    facts |= {f"{way}_s": row.predicted.get(way) for way in ways}
    return facts | {
        "lower_s": row.lower,
        "upper_s": row.upper,
        "measured_s": row.measured,
        **{f"{way}_error": row.error(way) if way in row.predicted else None for way in ways},
        "inside": row.is_inside,
        "runs": len(row.runs),
        "runs_disturbed": len(row.others),
        "disturbed_count": row.is_disturbed,
        "shared_cores": row.is_shared,
        "calibrated_layout": row.is_calibrated,
    }


def _schedule(each: ValidatedSchedule) -> dict[str, Any]:
    """Facts of a schedule, with the keys of the JSON document."""
    costs, found = each.costs, each.calibration
    accuracies = {way: each.accuracy(way) for way in WAYS[each.schedule]}
    return {
        "schedule": each.schedule,
        "answer": each.answer,
        "holds": each.holds,
        "reason": each.reason or None,
        "costs": {
            "task_s": costs.task,
            "task_processor_s": costs.processor,
            "merge_s": costs.merge,
            "message_s": costs.message,
            "exposed_message_s": costs.exposed,
            "message_B": costs.bytes,
            "cv2": costs.cv2,
            "channel_B_per_s": costs.capacity,
            "overhead_s": costs.overhead,
        },
        "constants": {
            name: None
            if x is None
            else {"value_s": x.value, "lower_s": x.lower, "upper_s": x.upper}
            for name, x in (
                ("startup", found.startup),
                ("step", found.step),
                ("level", found.level),
            )
        },
        "accuracy": {
            way: None
            if x is None
            else {"median_error": x.median, "worst_error": x.worst, "mean_error": x.mean}
            for way, x in accuracies.items()
        },
    }
