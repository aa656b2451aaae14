"""What is run of a job, and what its parts took."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from parcast.trials.trial import Trial

Schedule: TypeAlias = Literal["adaptive", "source"]


class Layout(NamedTuple):
    """How ranks form pipelines: P ranks in each of G."""

    ranks: int  # of one pipeline, P
    pipelines: int  # G

    @property
    def total(self) -> int:
        """Ranks of all pipelines."""
        return self.ranks * self.pipelines

    def __str__(self) -> str:
        """As it is written: 4x2."""
        return f"{self.ranks}x{self.pipelines}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A run that is asked for."""

    schedule: Schedule
    items: int
    layout: Layout

    @property
    def columns(self) -> Mapping[str, Any]:
        """Ranks, items, and how they form pipelines."""
        return {
            "p": self.layout.total,
            "n": self.items,
            "pipelines": self.layout.pipelines,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """What a traced run spent, for the formulas; None where the run has no such event."""

    task: float  # mean wall time of a task [s]
    processor: float  # mean processor time of a task [s]
    merge: float | None  # mean wall time of a merge of two results [s]
    message: float | None  # mean time of a message, from sending to taking it up [s]
    exposed: float | None  # the same of those sent after the last task [s]
    quickest: float | None  # time of a message: that of the quickest tenth [s]
    bytes: float | None  # mean length of a message [B]
    cv2: float | None  # squared coefficient of variation of the lengths [1]
    overhead: float | None  # between two pieces of work of a rank that has work [s]


PipelineTrial: TypeAlias = Trial[Point, Parts | None]
