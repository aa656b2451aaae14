"""What a validation answers: each case as predicted before its runs, and as measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from parcast.descriptions.fit_record import OwnLawError, validated_law_error
from parcast.errors import ParameterError
from parcast.saved.fields import NOT_SAVED
from parcast.show.result import Result
from parcast.timings.disturbed import name_of_time
from parcast.validation.comparison import INTERVAL, Accuracy, Comparison, accuracy_of, quiet
from parcast.validation.subject import Findings, Rule, Saved
from parcast.validation.verdict import Quietness, Verdict, verdict_of

PATH: Final = "callpath"  # of a run, as a table of measurements has it, and documents have not
AGREEMENT: Final = {  # what a person reads, by the words of the JSON document
    "holds": "agrees",
    "does not hold": "disagrees",
    "cannot tell": "inconclusive",
    "not compared": "not compared",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Validated:
    """A subject and its law: calibrated, predicted, run, compared."""

    name: str
    title: str
    law: str
    rule: Rule
    comparisons: tuple[Comparison[Any, Any], ...]
    # every run, with the keys of the JSON document
    runs: tuple[Mapping[str, Any], ...] = field(default=(), metadata=NOT_SAVED)
    findings: Findings
    quietness: Quietness
    seconds: float  # spent [s]
    ended_by: str = ""  # "time limit" or "interrupted" where not all was compared
    missing: int = 0  # cases that were asked for, and not predicted

    @property
    def verdict(self) -> Verdict:
        """Whether the law holds, and by which rules."""
        return verdict_of(
            self.rule, self.comparisons, self.quietness, self.findings, missing=self.missing
        )

    @property
    def holds(self) -> bool | None:
        """Whether it does; None where the runs cannot show it."""
        return self.verdict.holds

    @property
    def answer(self) -> str:
        """Whether the law holds, in the words of the JSON document."""
        if self.holds is None:
            return "cannot tell" if self.compared else "not compared"
        return "holds" if self.holds else "does not hold"

    @property
    def agreement(self) -> str:
        """Whether law and measured times agree, in the words that a person reads."""
        return AGREEMENT[self.answer]

    @property
    def tolerance(self) -> float | None:
        """Error that its rule tolerates; None where it has none. [1]."""
        return self.rule.tolerance

    @property
    def compared(self) -> tuple[Comparison[Any, Any], ...]:
        """Comparisons that have runs."""
        return tuple(x for x in self.comparisons if x.runs)

    def accuracy(self, way: str = "", *, kind: str = "") -> Accuracy | None:
        """Errors by a way, or of one kind of case, without disturbed ones; None where none is."""
        own = [x for x in self.compared if kind in ("", x.kind)]
        return accuracy_of(own if self.rule.share is not None else quiet(own), way)

    def within(self, x: Comparison[Any, Any]) -> dict[str, Any]:
        """Whether the error of a case is tolerated, with the key of the JSON document."""
        limit, error = self.tolerance, x.error()
        return {} if limit is None else {"within": None if error is None else abs(error) <= limit}

    def to_document(self) -> dict[str, Any]:
        """Facts of it, with the keys of the JSON document."""
        return {
            "title": self.title,
            "law": self.law,
            "answer": self.answer,
            "holds": self.holds,
            "verdict": list(self.verdict.rules),
            "reason": self.verdict.reason or None,
            "busy": self.quietness.is_busy,
            **({} if self.tolerance is None else {"tolerance": self.tolerance}),
            "accuracy": {
                key or "all": accuracy_document(self.accuracy(**{what: key}), self.rule)
                for what, keys in (("way", self._ways), ("kind", self._kinds))
                for key in keys
            },
            "runs_disturbed": sum(run["disturbed"] for run in self.runs),
            "seconds": self.seconds,
            "ended_by": self.ended_by or None,
            "warnings": list(self.findings.warnings),
            **self.findings.document,
        }

    def as_saved(self, document: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Self:
        """Take over what documents have of its runs and its findings."""
        own = self.to_document()
        _, *others = (name for name in document if name not in own)  # the first is what it is
        findings = replace(self.findings, document={name: document[name] for name in others})
        key = tuple(self.comparisons[0].case.columns) if self.comparisons else ()
        return replace(self, runs=tuple({**x, "key": key} for x in runs), findings=findings)

    @property
    def _ways(self) -> Sequence[str]:
        return ["", *(self.comparisons[0].ways if self.comparisons else ())]

    @property
    def _kinds(self) -> Sequence[str]:
        return list(dict.fromkeys(x.kind for x in self.comparisons))


def accuracy_document(accuracy: Accuracy | None, rule: Rule) -> dict[str, Any] | None:
    """Facts of an accuracy, with the keys of the JSON document."""
    if accuracy is None:
        return None
    within = {} if rule.tolerance is None else {"within": accuracy.within(rule.tolerance)}
    return {
        "points": accuracy.points,
        **within,
        "median_error": accuracy.median,
        "worst_error": accuracy.worst,
        "mean_error": accuracy.mean,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """Where it was measured, and how the machine was; nothing of runs that were made before."""

    place: str = ""  # the testbed in words; "" on the machine itself
    cores: int = 0  # that ranks share; hosts of a testbed whose processors are capped [1]
    load: tuple[float, float] | None = None  # of the system, before and after [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Validation(Result):
    """Agreement of the laws of some subjects with measured times on this machine."""

    _picture = "parcast.validation.picture:figure_of_validation"

    names: tuple[str, str]  # of what is validated, in JSON: the document, and one of its subjects
    parts: tuple[Validated, ...]
    conditions: Conditions = field(default_factory=Conditions)
    saved: Saved = field(default_factory=Saved)
    failures: Mapping[str, str] = field(default_factory=dict)  # subjects without answer, and why
    left_out: tuple[str, ...] = ()  # subjects that were not begun or not calibrated: interrupted
    axes: tuple[str, ...] = ("p", "n")  # that the error of the law has a range of
    repetitions: int = 1  # runs of each case that were asked for, at least [1]
    seconds: float = 0.0  # spent [s]
    seed: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else JSON says
    about: Mapping[str, str] = field(default_factory=dict)  # what else the sheet says
    inputs: Mapping[str, Any] | None = None  # what was asked: set by who reads

    @property
    def compared(self) -> tuple[Comparison[Any, Any], ...]:
        """Comparisons of all subjects that have runs."""
        return tuple(x for part in self.parts for x in part.compared)

    @property
    def predicted_at(self) -> str:
        """When its predictions were saved, in UTC; "" where the runs were there before them."""
        return self.saved.at

    @property
    def ended_by(self) -> str:
        """What ended it before all was compared: "interrupted", "time limit" or ""."""
        if self.left_out:
            return "interrupted"
        return next((part.ended_by for part in self.parts if part.ended_by), "")

    def accuracy(self, way: str = "", *, kind: str = "") -> Accuracy | None:
        """Errors of all subjects by a way, or of one kind of case; None where none is."""
        own = [x for x in self.compared if kind in ("", x.kind)]
        return accuracy_of(quiet(own), way)

    @property
    def median_error(self) -> float | None:
        """Median of the absolute errors of the undisturbed comparisons. [1]."""
        accuracy = self.accuracy()
        return None if accuracy is None else accuracy.median

    @property
    def worst_error(self) -> float | None:
        """Largest absolute error of them. [1]."""
        accuracy = self.accuracy()
        return None if accuracy is None else accuracy.worst

    @property
    def coverage(self) -> float | None:
        """Share of their runs that lie in their intervals, None where there are none. [1]."""
        accuracy = self.accuracy()
        has_intervals = any(x.lower is not None for part in self.parts for x in part.comparisons)
        return accuracy.inside / accuracy.runs if accuracy and has_intervals else None

    @property
    def holds(self) -> bool | None:
        """Whether every law agrees; None where some are inconclusive and none disagrees.

        Those of subjects that failed or were not reached are inconclusive.
        """
        verdicts = {x.holds for x in self.parts}
        if self.failures or self.left_out:
            verdicts.add(None)
        return None if None in verdicts and False not in verdicts else False not in verdicts

    def law_errors(self, platform: str) -> tuple[OwnLawError, ...]:
        """What the law was wrong by, of all parts that have one law."""
        known = [x for x in self.compared if not (x.is_disturbed or x.was_fitted)]
        axes = {axis: [x.case.columns[axis] for x in known] for axis in self.axes}
        errors = [error for x in known if (error := x.error()) is not None]
        return validated_law_error({part.law for part in self.parts}, platform, errors, axes)

    def _as_saved(self, document: Mapping[str, Any]) -> Self:
        """Take over what a document has beside its fields: runs, predictions and findings."""
        told = document[f"{self.names[1]}s"]
        parts = [
            part.as_saved(this, [x for x in document["runs"] if x[self.names[1]] == part.name])
            for part, this in zip(self.parts, told, strict=True)
        ]
        saved = replace(self.saved, made=tuple(document["predictions"]))
        return replace(self, parts=tuple(parts), saved=saved)

    def comparisons(self) -> Iterator[dict[str, Any]]:
        """Give one row for each subject and case, all with the same keys."""
        rows = [
            {self.names[1]: part.name, **x.row, **part.within(x), "kind": x.kind}
            for part in self.parts
            for x in part.comparisons
        ]
        keys = dict.fromkeys(key for row in rows for key in row)
        for row in rows:
            yield {key: row.get(key) for key in keys}

    def runs(self) -> Iterator[dict[str, Any]]:
        """Give one row for each run, by case: those of the calibration come first."""
        for part in self.parts:
            for run in part.runs:
                shown = {name: x for name, x in run.items() if name != PATH}
                yield {self.names[1]: part.name, **shown}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each subject and case."""
        return self.comparisons()

    def measurement_rows(self) -> Iterator[dict[str, Any]]:
        """Give runs as rows of a table of measurements, one for each figure of a run.

        In the columns `metric,value` a forecast reads the time and ignores the rest. Repetitions
        are counted over all launches.

        Raises
        ------
        ParameterError
            If it was read from its document, whose runs have no call paths.
        """
        if any(PATH not in run for part in self.parts for run in part.runs):
            raise ParameterError(
                "A saved validation has no table of measurements. Write it where it is validated."
            )
        made: Counter[tuple[Any, ...]] = Counter()
        for part in self.parts:
            for run in part.runs:
                key = {PATH: run[PATH]} | {name: run[name] for name in run["key"]}
                made[tuple(key.values())] += 1
                key["repetition"] = made[tuple(key.values())]
                for metric, value in _figures(run, self.conditions.cores).items():
                    if value is not None:
                        yield {**key, "metric": metric, "value": value}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        return {**self._told, "call": self._of_fields}

    @property
    def _told(self) -> dict[str, Any]:
        """Everything of a document but its call."""
        load = self.conditions.load
        return {
            "schema": f"parcast/{self.names[0]}/1",
            "rows": list(self.comparisons()),
            "runs": [{k: x for k, x in run.items() if k != "key"} for run in self.runs()],
            "interval": INTERVAL,
            "median_error": self.median_error,
            "worst_error": self.worst_error,
            "coverage": self.coverage,
            "holds": self.holds,
            f"{self.names[1]}s": [
                {self.names[1]: part.name, **part.to_document()} for part in self.parts
            ],
            "failures": [{self.names[1]: name, "why": why} for name, why in self.failures.items()],
            "left_out": list(self.left_out),
            "predicted_at": self.predicted_at or None,
            "predictions_file": self.saved.path or None,
            "predictions": list(self.saved.made),
            "testbed": self.conditions.place or None,
            "cores": self.conditions.cores or None,
            "load": None if load is None else list(load),
            "repetitions": self.repetitions,
            "ended_by": self.ended_by or None,
            "seconds": self.seconds,
            "seed": self.seed,
            **self.facts,
            "inputs": dict(self.inputs or {}),
        }

    def __repr__(self) -> str:
        """Say what was validated, in one line."""
        answers = ", ".join(f"{x.name} {x.agreement}" for x in self.parts)
        return f"Validation({answers})"


def _figures(run: Mapping[str, Any], cores: int) -> dict[str, float | None]:
    """Figures of a run, by their names in a table of measurements."""
    figures: dict[str, float | None] = {
        name_of_time(run["p"], cores, counts=run["counts"]): run["time_s"],
        "is_disturbed": int(run["disturbed"]),
        "counts": int(run["counts"]),
        "is_calibration": int(run["purpose"] == "calibration"),
        "is_inside": None if run["inside"] is None else int(run["inside"]),
    }
    for name in ("launch", "slowdown", "waiting", "others"):
        figures[name] = run[name]
    for name, value in run.items():
        if name.endswith("_s") and name != "time_s":
            figures[name.removesuffix("_s")] = value
    return figures
