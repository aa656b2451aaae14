"""Predictions as they were before anything of their pass was run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from parcast.files.document import json_pieces, write_document
from parcast.files.faults import AnyPath
from parcast.trials.trial import C
from parcast.validation.subject import Predicted

SCHEMA: Final = "parcast/predictions/1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Saved:
    """When and where predictions were saved."""

    at: str  # time of the first, in UTC
    path: str  # of their file; "" if none was asked for
    made: tuple[Mapping[str, Any], ...]  # every prediction


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
