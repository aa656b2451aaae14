"""An answer that recommends one of several alternatives: what all plans have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from parcast.deciding.alternatives import Ways
from parcast.show.result import Result

SCHEMA: Final = "parcast/plan/1"


class Decision(Result):
    """An answer whose sheet and picture are those of this folder.

    A subclass names by place what is said of it, and who draws the panel below the times.
    """

    __slots__ = ()

    _sheet = "parcast.deciding.sheet:sheet_of"
    _picture = "parcast.deciding.picture:figure_of"
    _said: ClassVar[str]  # function of the result and show_all, which gives a `Said`
    _below = ""  # function of axes and the result; "" where there is no panel

    @property
    @abstractmethod
    def ways(self) -> Ways:
        """All alternatives, as arrays."""

    @property
    @abstractmethod
    def chosen(self) -> int | None:
        """Place of the recommended one among them; None if none fits."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the times come from, for a note below the picture."""
        return ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OwnDecision(Decision):
    """The answer of a plan that gives alternatives and nothing else, such as a plugin's."""

    _said = "parcast.deciding.sheet:said_of"

    name: str
    alternatives: Ways
    reasons: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ways(self) -> Ways:
        """All alternatives, as arrays."""
        return self.alternatives

    @property
    def chosen(self) -> int | None:
        """Place of the recommended one; None if none fits."""
        first = int(self.ways.order()[0])
        return first if self.ways.fits[first] else None

    def __repr__(self) -> str:
        """Say in one line what was planned."""
        return f"OwnDecision({self.name}: {len(self.ways.time)} alternatives)"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each alternative, the best first."""
        ways = self.ways
        for i in ways.order().tolist():
            yield {
                ways.asked: float(ways.cost[i]),
                **{name: values[i] for name, values in ways.columns.items()},
                "time_s": float(ways.time[i]),
                "lower_s": float(ways.lower[i]),
                "upper_s": float(ways.upper[i]),
                "fits": bool(ways.fits[i]),
                "recommended": i == self.chosen,
            }

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        return {
            "schema": SCHEMA,
            "plan": self.name,
            "title": self.ways.title,
            "reasons": list(self.reasons),
            "remedies": list(self.ways.remedies),
            "rows": list(self.rows()),
            "inputs": dict(self.inputs),
            "call": self._of_fields,
        }
