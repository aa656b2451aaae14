"""The synthetic job: tasks and merges of a known processor time, messages of a known length.

Time is counted on the clock of the thread, so that a task takes as much processor time on a slow
processor, or a shared one, as on a fast one.
"""

from dataclasses import asdict, dataclass
from time import thread_time
from typing import Any, Self

import numpy as np

from parcast.aliases import Array
from parcast.errors import require


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What an item costs."""

    task: float = 0.02  # processor time of a task [s]
    merge: float = 0.001  # processor time of a merge of two results [s]
    message: int = 24_000  # of the result of an item [B]
    grows: bool = False  # whether the result of k items has k times the length, as a lexicon

    def __post_init__(self) -> None:
        """Refuse what no task can take."""
        hint = "Give it in seconds."
        require("task", self.task, self.task > 0, must="be above 0", hint=hint)
        require("merge", self.merge, self.merge >= 0, must="be at least 0", hint=hint)
        must, hint = "be at least 8 bytes, one number", "Give it in bytes."
        require("message", self.message, self.message >= 8, must=must, hint=hint)

    def on(self, item: int) -> Array:
        """Run the task on an item."""
        spend(self.task)
        return np.full(self.message // 8, float(item))

    def of(self, earlier: Array, later: Array) -> Array:
        """Merge two results."""
        spend(self.merge)
        if self.grows:
            return np.concatenate((earlier, later))
        earlier += later
        return earlier

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Make it again from what `to_document` gave."""
        return cls(**document)


def spend(seconds: float) -> None:
    """Use the processor for a time [s]."""
    end = thread_time() + seconds
    while thread_time() < end:
        pass
