"""What is observed of a run: its time, what its parts took, and how far others disturbed it."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Self, TypeAlias

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """A run that was made."""

    point: Point
    launch: int  # start of the ranks, from 1
    time: float  # wall [s]
    waiting: float | None  # share of the time that others had its processors; None: unknown [1]
    parts: Parts | None = None  # of a traced run

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Make it again from what `to_document` gave."""
        point, parts = document["point"], document["parts"]
        at = Point(**{**point, "layout": Layout(*point["layout"])})
        return cls(**{**document, "point": at, "parts": None if parts is None else Parts(**parts)})
