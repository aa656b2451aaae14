"""What can be validated: a subject calibrates itself, predicts its cases, and has a rule.

Predictions of a pass are saved before anything of it is run. Where other programs disturb most
runs, calibration and comparison alternate in further passes, so that both are of the same minutes.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, Final, Protocol

from parcast.errors import ParameterError
from parcast.files.document import json_pieces, write_document
from parcast.files.faults import AnyPath
from parcast.saved.fields import NOT_SAVED
from parcast.show.sheet import Fact
from parcast.trials.campaign import Campaign, Rhythm
from parcast.trials.launcher import Launcher
from parcast.trials.trial import C, O, Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What is asked of errors and intervals; None: nothing.

    A law holds only where the runs could have refused it. On a machine that is never idle most
    runs are disturbed, of the calibration as of the comparison: then they count, the limits are
    wider, and the answer says so.
    """

    tolerance: float | None = None  # error that `share` of the cases may have [1]
    share: float | None = None  # of the cases [1]
    median: float | None = None  # of the absolute errors [1]
    worst: float | None = None  # of them [1]
    chance: float | None = None  # of more points outside their intervals with a correct law [1]
    far: float = 2.0  # half widths of an interval from which one point alone refuses a law [1]
    widest: float = 2.5  # upper over lower end, above which a wrong law would pass [1] [D]
    measured: float = 0.5  # of the cases, at least [1]
    busy: float = 2.0  # times as wide limits where most runs were disturbed [1] [D]
    cases: str = "case"  # what one is called
    remedy: str = "Repeat on an idle machine"  # where the runs decide nothing


HINT: Final = "parcast.testing.validation.check_subject tests a subject."


@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """A case as it is predicted before it is run."""

    time: float  # [s]
    lower: float | None = None  # of the 90% interval of a run [s]
    upper: float | None = None  # [s]
    parts: Mapping[str, float] = field(default_factory=dict)  # of the time [s]
    ways: Mapping[str, float | None] = field(default_factory=dict)  # the time by other formulas
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else a row says of the case
    sources: Mapping[str, Any] = field(default_factory=dict)  # what it is computed from


@dataclass(frozen=True, kw_only=True, slots=True)
class Passes:
    """How often cases are run: the runs of a case in each launch, for each pass."""

    first: tuple[tuple[int, ...], ...]  # passes that are always made
    further: tuple[tuple[int, ...], ...] = ()  # and those for cases that need them
    again: int = 0  # rounds of repeating cases that others disturbed, within a pass
    patience: float = inf  # time for these, as a share of all until then [1]
    until_known: bool = False  # whether passes, however many, go on until times are known


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What a subject says of itself when it was compared."""

    facts: Sequence[Fact] = ()  # of its calibration
    # the same in JSON
    document: Mapping[str, Any] = field(default_factory=dict, metadata=NOT_SAVED)
    warnings: Sequence[str] = ()
    objections: Sequence[str] = ()  # why its law is wrong, whatever its times are
    doubts: Sequence[str] = ()  # why its law cannot be said to hold, though its times allow it


class Subject(Protocol[C, O]):
    """What can be calibrated, predicted and run."""

    @property
    def name(self) -> str:
        """Name of it, as in tables and documents."""

    @property
    def title(self) -> str:
        """What it is, in a line."""

    @property
    def law(self) -> str:
        """Name of the law that is tested."""

    @property
    def rule(self) -> Rule:
        """When the law holds."""

    @property
    def rhythm(self) -> Rhythm:
        """How launches are made."""

    @property
    def passes(self) -> Passes:
        """How often cases are run."""

    @property
    def launcher(self) -> Launcher[C, O]:
        """What makes its trials."""

    def seconds(self, case: C) -> float | None:
        """Time that a run should take, for limits and progress; None: unknown [s]."""

    def calibrate(self, runs: Campaign[C, O], wanted: Sequence[C] | None) -> None:
        """Make the runs that it is calibrated with, and fit its law.

        It is called before every pass; `wanted` are the cases of a further one.
        """

    def cases(self) -> Sequence[C]:
        """Cases to predict, once it was calibrated."""

    def predict(self, case: C) -> Predicted:
        """Predict a case from the calibration."""

    def labels(self, case: C, predicted: Predicted) -> Mapping[tuple[str, str], str]:
        """Cells that name a case in a table, by title and unit of their columns."""

    def kind(self, case: C) -> str:
        """What it is compared as in pictures and summaries: cases of a kind share a symbol."""

    def callpath(self, case: C) -> str:
        """Name of a case in a table of measurements, beside its columns."""

    def parts(self, trial: Trial[C, O]) -> Mapping[str, float]:
        """Parts of the time of a run, as those of a prediction; none where they are unknown."""

    def findings(self, runs: Campaign[C, O]) -> Findings:
        """Say what else is known when all was compared."""


def require_subject(subject: object) -> None:
    """Refuse what lacks something that every subject has."""
    lacking = [
        name for name in vars(Subject) if not name.startswith("_") and not hasattr(subject, name)
    ]
    if lacking:
        raise ParameterError(
            "subject",
            must=f"have {', '.join(lacking)}",
            got=type(subject).__name__,
            hint=f"parcast.validation.subject.Subject says what each is. {HINT}",
        )


def require_predicted(subject: Subject[C, O], case: C, predicted: object) -> Predicted:
    """Refuse a prediction that cannot be compared."""
    must, got = "", ""
    if not isinstance(predicted, Predicted):
        must, got = "give a parcast.validation.subject.Predicted", f"{predicted!r:.60}"
    elif not 0.0 < predicted.time < inf:
        must, got = "predict a time above 0", f"{predicted.time:g} s"
    elif not (predicted.lower or 0.0) <= predicted.time <= (predicted.upper or inf):
        must = "predict a time within its interval"
        got = f"{predicted.time:g} s in {predicted.lower:g} to {predicted.upper:g} s"
    if must:
        raise ParameterError(
            f"predict of {subject.name}", must=must, got=f"{got} for {case!r:.60}", hint=HINT
        )
    assert isinstance(predicted, Predicted)
    return predicted


SCHEMA: Final = "parcast/predictions/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """When and where predictions were saved; nothing where the runs were there before them."""

    at: str = ""  # time of the first, in UTC
    path: str = ""  # of their file; "" if none was asked for
    made: tuple[Mapping[str, Any], ...] = field(default=(), metadata=NOT_SAVED)  # predictions


@dataclass(kw_only=True, slots=True)
class Saving:
    """Notes when predictions were made, and writes them to a file if one was asked for."""

    path: AnyPath | None
    made: list[dict[str, Any]] = field(default_factory=list)

    def add(self, subject: str, number: int, predictions: Mapping[C, Predicted]) -> None:
        """Add predictions of a pass, and write all there are."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.made += [
            {
                "made": now,
                "subject": subject,
                "pass": number,
                **case.columns,
                **prediction_document(each),
            }
            for case, each in predictions.items()
        ]
        if self.path is not None:
            write_document(self.path, json_pieces({"schema": SCHEMA, "predictions": self.made}))

    def saved(self) -> Saved:
        """What was saved."""
        return Saved(
            at=self.made[0]["made"], path=os.fspath(self.path or ""), made=tuple(self.made)
        )


def prediction_document(each: Predicted) -> dict[str, Any]:
    """Everything of a prediction, with the keys of the JSON document."""
    return {
        "time_s": each.time,
        "lower_s": each.lower,
        "upper_s": each.upper,
        **{f"{name}_s": x for name, x in each.parts.items()},
        **{f"{name}_s": x for name, x in each.ways.items()},
        **each.sources,
    }
