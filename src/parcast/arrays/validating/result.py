"""What `validate array-io` answers: each request as predicted before its runs, and as measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar, Final

from parcast.arrays.trials.observation import (
    COMPONENTS,
    Components,
    RequestTrial,
    median_components,
    observed_components,
    observed_counts,
)
from parcast.arrays.trials.request import ArrayRequest
from parcast.arrays.validating.predicting import Predicted, Saved
from parcast.descriptions.fit_record import OwnLawError, validated_law_error
from parcast.show.result import Result
from parcast.trials.precision import Interval, interval_of, is_known

TOLERANCE: Final = 0.20  # error of a request, as the source states of its own [1]
SHARE: Final = 0.90  # of requests that must be within it [1]
LEAST_MEASURED: Final = 0.5  # of requests, below which nothing is decided [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A request that was predicted before it was run, and its runs."""

    number: int  # in the list, from 1
    request: ArrayRequest
    predictions: Mapping[int, Predicted]  # by pass, from 1; each was made before its runs
    runs: tuple[RequestTrial, ...] = ()  # that count
    others: tuple[RequestTrial, ...] = ()  # that do not, as other programs disturbed them
    disturbed: int = 0  # runs that other programs disturbed, whether they count or not

    @property
    def is_disturbed(self) -> bool:
        """Whether disturbed runs count, as too few others were made."""
        return self.disturbed > len(self.others)

    @property
    def kind(self) -> str:
        """What is compared with what: "read", or how it is written."""
        return "read" if self.request.operation == "read" else self.request.writer

    @property
    def predicted(self) -> float:
        """Median, over the runs that count, of the time predicted in the pass of each [s]."""
        return median(each.time for each in self._paired)

    @property
    def predicted_components(self) -> Components:
        """Medians of the predicted parts of the time, over the same runs [s]."""
        return median_components(each.components for each in self._paired)

    @property
    def first(self) -> Predicted:
        """Prediction of the first pass: of all, messages and bytes are the same."""
        return next(iter(self.predictions.values()))

    @property
    def _paired(self) -> list[Predicted]:
        """Prediction for each run that counts; all predictions where none does."""
        return [self.predictions[run.turn] for run in self.runs] or [*self.predictions.values()]

    @property
    def measured(self) -> float | None:
        """Median time of the runs that count [s]."""
        return median(run.seconds for run in self.runs) if self.runs else None

    @property
    def interval(self) -> Interval | None:
        """90 % interval of that median [s]; of two to four runs their range."""
        return interval_of([run.seconds for run in self.runs]) if len(self.runs) > 1 else None

    @property
    def is_known(self) -> bool:
        """Whether the interval ends within 10 % of the median."""
        return is_known([run.seconds for run in self.runs])

    @property
    def components(self) -> Components | None:
        """Medians of the parts of the time [s]."""
        return median_components(map(observed_components, self.runs)) if self.runs else None

    @property
    def error(self) -> float | None:
        """Predicted over measured time, less 1."""
        measured = self.measured
        return None if measured is None else self.predicted / measured - 1.0

    @property
    def is_within(self) -> bool | None:
        """Whether the error is at most 20 %."""
        error = self.error
        return None if error is None else abs(error) <= TOLERANCE

    def component_error(self, name: str) -> float | None:
        """Predicted less measured part of the time, over the whole measured time [1]."""
        found, measured = self.components, self.measured
        if found is None or measured is None:
            return None
        expected = getattr(self.predicted_components, name)
        return float(expected - getattr(found, name)) / measured

    @property
    def counts_agree(self) -> bool | None:
        """Whether messages, subchunks and bytes are those that servers counted."""
        if not self.runs:
            return None
        return all(observed_counts(run.observed) == self.first.counted for run in self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """How far predictions are from measured times, of some requests."""

    requests: int
    within: int  # with an error of at most 20 %
    median: float  # absolute error [1]
    worst: float
    mean: float  # signed: below 0 where predicted times are too short

    @property
    def share(self) -> float:
        """Of requests within 20 %. [1]."""
        return self.within / self.requests


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where it was measured, and under which conditions."""

    testbed: str  # in words; "" on the machine itself
    cores: int
    folder: str  # of the files, while they were there
    space: int  # most bytes of files at a time [B]
    free: int  # bytes that were free there before [B]
    load: tuple[float, float] | None = None  # of the system, before and after [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ArrayIoValidation(Result):
    """Predicted and measured times of array I/O on this machine."""

    _sheet: ClassVar[str] = "parcast.arrays.validating.sheet:sheet_of"
    _picture: ClassVar[str] = "parcast.arrays.validating.picture:figure_of"

    compared: tuple[Compared, ...]
    source: str  # of the requests: a file, or which built-in list
    saved: Saved
    place: Place
    repetitions: int  # of each request, at least
    left_out: int = 0  # requests of the list that were not asked for
    not_reached: int = 0  # and those that were, but not predicted
    ended_by: str = ""  # "interrupted" or "time limit" where not all was measured
    seconds: float = 0.0  # spent [s]
    seed: int = 0
    inputs: Mapping[str, Any] | None = None  # what was asked: set by who reads
    warnings: tuple[str, ...] = field(default=())

    @property
    def asked(self) -> int:
        """How many requests were to be compared."""
        return len(self.compared) + self.not_reached

    @property
    def measured(self) -> tuple[Compared, ...]:
        """Requests that were run."""
        return tuple(row for row in self.compared if row.runs)

    def accuracy(self, kind: str = "") -> Accuracy | None:
        """Errors of all requests, or of one kind; None where none was measured."""
        own = [row for row in self.measured if kind in ("", row.kind)]
        errors = [row.error for row in own if row.error is not None]
        if not errors:
            return None
        return Accuracy(
            requests=len(errors),
            within=sum(abs(x) <= TOLERANCE for x in errors),
            median=median(abs(x) for x in errors),
            worst=max(map(abs, errors)),
            mean=sum(errors) / len(errors),
        )

    def law_errors(self, platform: str) -> tuple[OwnLawError, ...]:
        """What the law was wrong by; nothing of too few comparisons."""
        quiet = [row for row in self.measured if not row.is_disturbed]
        known = [(row, x) for row in quiet if (x := row.error) is not None]
        axes = {"p": [row.request.layout.ranks for row, _ in known]}
        return validated_law_error("array_io", platform, [x for _, x in known], axes)

    @property
    def miscounted(self) -> tuple[Compared, ...]:
        """Requests of which the law counts something else than the servers."""
        return tuple(row for row in self.measured if row.counts_agree is False)

    @property
    def holds(self) -> bool | None:
        """Whether the law agrees with the runs; None where too few were made to tell."""
        accuracy = self.accuracy()
        if self.miscounted:
            return False
        if accuracy is None or accuracy.requests < LEAST_MEASURED * self.asked:
            return None
        if 2 * sum(row.is_disturbed for row in self.measured) > accuracy.requests:
            return None if accuracy.share < SHARE else True
        return accuracy.share >= SHARE

    @property
    def answer(self) -> str:
        """Whether the law holds, in the words of the JSON document."""
        if self.holds is None:
            return "cannot tell"
        return "holds" if self.holds else "does not hold"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each request, in the order of the list."""
        return map(_row, self.compared)

    def measurement_rows(self) -> Iterator[dict[str, Any]]:
        """Give runs as rows of a table of measurements, one for each figure of a run."""
        made: Counter[int] = Counter()
        for row in self.compared:
            for run in (*row.runs, *row.others):
                made[row.number] += 1
                key = {
                    "callpath": f"array-io/{row.kind}",
                    "p": row.request.layout.ranks,
                    "n": row.request.size,
                    "request": row.number,
                    "repetition": made[row.number],
                }
                figures: dict[str, float | None] = {
                    "time_s" if run in row.runs else "disturbed_time": run.seconds,
                    **observed_components(run)._asdict(),
                    "predicted": row.predictions[run.turn].time,
                    "others": run.others,
                }
                for metric, value in figures.items():
                    if value is not None:
                        yield {**key, "metric": metric, "value": value}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/array-io-validation/1``."""
        kinds = dict.fromkeys(row.kind for row in self.compared)
        return {
            "schema": "parcast/array-io-validation/1",
            "rows": list(self.rows()),
            "holds": self.holds,
            "answer": self.answer,
            "accuracy": {kind or "all": _accuracy(self.accuracy(kind)) for kind in ("", *kinds)},
            "requests": self.source,
            "left_out": self.left_out,
            "not_reached": self.not_reached,
            "predictions": [
                {"request": row.number, "pass": number, **each.to_document()}
                for row in self.compared
                for number, each in row.predictions.items()
            ],
            "predicted_at": self.saved.at,
            "predictions_file": self.saved.path or None,
            "runs": [
                {"request": row.number, "counts": run in row.runs, **_run(run)}
                for row in self.compared
                for run in (*row.runs, *row.others)
            ],
            "testbed": self.place.testbed or None,
            "cores": self.place.cores,
            "folder": self.place.folder,
            "space_bytes": self.place.space,
            "load": None if self.place.load is None else list(self.place.load),
            "repetitions": self.repetitions,
            "ended_by": self.ended_by or None,
            "seconds": self.seconds,
            "seed": self.seed,
            "warnings": list(self.warnings),
            "inputs": dict(self.inputs or {}),
        }

    def __repr__(self) -> str:
        """Say what was validated, in one line."""
        accuracy = self.accuracy()
        within = f"{accuracy.within} of {accuracy.requests}" if accuracy else "none"
        return f"ArrayIoValidation({self.answer}, {within} within 20 %)"


def _row(row: Compared) -> dict[str, Any]:
    """Facts of a row, with the keys of the JSON document."""
    request, expected, found = row.request, row.predicted_components, row.components
    interval, predicted = row.interval, [each.time for each in row.predictions.values()]
    facts: dict[str, Any] = {
        "request": row.number,
        "operation": request.operation,
        "writer": None if request.operation == "read" else request.writer,
        "bytes": request.size,
        "arrays": request.arrays,
        "shape": "x".join(map(str, request.shape)),
        "dtype": request.dtype,
        "client_mesh": "x".join(map(str, request.client_mesh)),
        "clients": request.clients,
        "servers": request.servers,
        "dedicated": request.dedicated,
        "aligned": request.is_aligned,
        "predicted_s": row.predicted,
        "predicted_least_s": min(predicted),
        "predicted_most_s": max(predicted),
        "measured_s": row.measured,
        "measured_lower_s": None if interval is None else interval.lower,
        "measured_upper_s": None if interval is None else interval.upper,
        "error": row.error,
        "within": row.is_within,
    }
    for name in COMPONENTS:
        facts[f"predicted_{name}_s"] = getattr(expected, name)
        facts[f"measured_{name}_s"] = None if found is None else getattr(found, name)
    for name in COMPONENTS:
        facts[f"{name}_error"] = row.component_error(name)
    return facts | {
        "bound": row.first.bound or None,
        "counts_agree": row.counts_agree,
        "passes": len(row.predictions),
        "runs": len(row.runs),
        "runs_disturbed": row.disturbed,
        "disturbed_count": row.is_disturbed,
    }


def _run(run: RequestTrial) -> dict[str, Any]:
    """Facts of a run, with the keys of the JSON document."""
    return {
        "launch": run.turn,
        "round": run.repetition,
        "time_s": run.seconds,
        "others": run.others,
        **{f"{name}_s": x for name, x in observed_components(run)._asdict().items()},
    }


def _accuracy(accuracy: Accuracy | None) -> dict[str, Any] | None:
    """Facts of an accuracy, with the keys of the JSON document."""
    if accuracy is None:
        return None
    return {
        "requests": accuracy.requests,
        "within": accuracy.within,
        "share_within": accuracy.share,
        "median_error": accuracy.median,
        "worst_error": accuracy.worst,
        "mean_error": accuracy.mean,
    }
