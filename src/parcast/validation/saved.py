"""A saved validation: its document has what its picture shows of each case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from parcast.errors import ParameterError
from parcast.saved.result import SavedResult

NO_CASE: Final = (AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedCase:
    """What a row says of a case."""

    kind: str
    predicted: float  # [s]
    lower: float | None  # of the 90 % interval of a run [s]
    upper: float | None  # [s]
    measured: float | None  # [s]
    is_inside: bool | None
    is_disturbed: bool
    ways: Mapping[str, float | None]  # times by other formulas [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedSubject:
    """What a document says of a subject."""

    name: str
    agreement: str
    tolerance: float | None  # [1]
    comparisons: tuple[SavedCase, ...]

    @property
    def compared(self) -> tuple[SavedCase, ...]:
        """Cases that have runs."""
        return tuple(x for x in self.comparisons if x.measured is not None)


class SavedValidation(SavedResult):
    """A validation as it was written, with its picture."""

    __slots__ = ()

    _picture = "parcast.validation.picture:figure_of_validation"

    @property
    def predicted_at(self) -> str:
        """When its predictions were saved; "" where the runs were there before them."""
        return str(self.document.get("predicted_at") or "")

    @property
    def parts(self) -> tuple[SavedSubject, ...]:
        """Its subjects.

        Raises
        ------
        ParameterError
            If the document lacks something of a case, as one that was changed may.
        """
        try:
            return tuple(_subjects(self.document))
        except NO_CASE:
            raise ParameterError(
                "the document",
                must="have the subjects and cases of a validation",
                got="others",
                hint="Validate again to draw it.",
            ) from None


def _subjects(document: Mapping[str, Any]) -> Iterator[SavedSubject]:
    """Give the subjects of a document, which it lists by what one is called."""
    from parcast.validation.result import AGREEMENT

    [name] = [x for x in ("program", "schedule", "subject") if f"{x}s" in document]
    for subject in document[f"{name}s"]:
        rows = [row for row in document["rows"] if row[name] == subject[name]]
        keys = subject["accuracy"]
        ways = [x for x in keys if rows and f"{x}_s" in rows[0] and f"{x}_error" in rows[0]]
        yield SavedSubject(
            name=str(subject[name]),
            agreement=AGREEMENT[subject["answer"]],
            tolerance=_number(subject.get("tolerance")),
            comparisons=tuple(_case(row, ways) for row in rows),
        )


def _case(row: Mapping[str, Any], ways: list[str]) -> SavedCase:
    """Read a row."""
    predicted = _number(row["predicted_s"])
    if predicted is None or predicted <= 0.0:
        raise ValueError
    return SavedCase(
        kind=str(row["kind"]),
        predicted=predicted,
        lower=_number(row["lower_s"]),
        upper=_number(row["upper_s"]),
        measured=_number(row["measured_s"]),
        is_inside=row["inside"],
        is_disturbed=bool(row["disturbed_count"]),
        ways={way: _number(row[f"{way}_s"]) for way in ways},
    )


def _number(value: Any) -> float | None:
    """Take a number, or nothing."""
    return None if value is None else float(value)
