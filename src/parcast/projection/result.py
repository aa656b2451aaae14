"""Results of `project`: times on a machine with their intervals, and what they consist of."""

from __future__ import annotations

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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Projection(Result):
    """Times of a base machine projected onto another; arrays have one element for each `p`."""

    _sheet: ClassVar[str] = "parcast.projection.sheet:sheet_of_ratio"

    p: Array  # [1]
    time: Array  # [s]
    lower: Array  # of the 90 % interval [s]
    upper: Array  # [s]
    scaled: Array  # part that was scaled by the ratio [s]
    communication: Array | None  # part computed for the target; None: no call path is known [s]
    ratio: float  # kappa [1]
    ratio_from: str  # what it is based on, in words
    widths: Mapping[str, Array]  # half-widths of log time by what they come from
    base: str
    target: str
    warnings: tuple[str, ...] = field(default=())
    io: Array | None = None  # part of files, computed for the target; None: not known [s]
    axes: Mapping[str, float] = field(default_factory=dict)  # besides p, such as n [1]
    program: str = "a program"

    def __repr__(self) -> str:
        """Say in one line what was projected."""
        counts = listed(str(whole(x)) for x in self.p.tolist())
        return f"Projection({self.program} on {self.target}, from {self.base}: p = {counts})"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one tidy row for each count."""
        for i, p in enumerate(self.p.tolist()):
            parts = {"communication_s": self.communication, "io_s": self.io}
            yield {
                "machine": self.target,
                "p": whole(p),
                **{axis: whole(value) for axis, value in self.axes.items()},
                "time_s": float(self.time[i]),
                "lower_s": float(self.lower[i]),
                "upper_s": float(self.upper[i]),
                "scaled_s": float(self.scaled[i]),
                **{name: None if x is None else float(x[i]) for name, x in parts.items()},
            }

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document, schema ``parcast/projection/1``."""
        return {
            "schema": "parcast/projection/1",
            "rows": list(self.rows()),
            "interval": 0.9,
            "ratio": self.ratio,
            "ratio_from": self.ratio_from,
            "program": self.program,
            "base": self.base,
            "target": self.target,
            "half_widths": {name: width.tolist() for name, width in self.widths.items()},
            "warnings": list(self.warnings),
        }
