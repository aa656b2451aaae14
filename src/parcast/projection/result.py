"""Result of `project` for a counted program: times, intervals, and shares of the time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from parcast.aliases import Array
from parcast.show.result import Result
from parcast.words import listed, whole

PARTS: Final = ("compute", "imbalance", "startups", "pairs", "shared", "collectives")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CountedProjection(Result):
    """Times of a counted program on a machine; arrays have one element for each `p`."""

    _sheet: ClassVar[str] = "parcast.projection.sheet:sheet_of"

    p: Array  # [1]
    time: Array  # [s]
    lower: Array  # of the 90 % interval [s]
    upper: Array  # [s]
    parts: Mapping[str, Array]  # of the time, by `PARTS`, before the donors' correction [s]
    factor: Array  # by which donors change the time of the model [1]
    pace: float  # time on the machine for a second where it was counted [1]
    pace_from: str  # where it comes from, in words
    donors: Mapping[str, Array]  # share of each in the correction [1]
    program: str
    machine: str
    warnings: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        """Say in one line what was projected."""
        counts = listed(str(whole(x)) for x in self.p.tolist())
        return f"CountedProjection({self.program} on {self.machine}: p = {counts})"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each processor count."""
        columns = {f"{name}_s": x for name, x in self.parts.items()}
        columns["donors_factor"] = self.factor
        for i, p in enumerate(self.p.tolist()):
            yield {
                "machine": self.machine,
                "p": whole(p),
                "time_s": float(self.time[i]),
                "lower_s": float(self.lower[i]),
                "upper_s": float(self.upper[i]),
                **{name: float(x[i]) for name, x in columns.items()},
            }

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/counted-projection/1``."""
        return {
            "schema": "parcast/counted-projection/1",
            "rows": list(self.rows()),
            "interval": 0.9,
            "pace": self.pace,
            "pace_from": self.pace_from,
            "donors": {name: share.tolist() for name, share in self.donors.items()},
            "program": self.program,
            "machine": self.machine,
            "warnings": list(self.warnings),
        }
