"""What is run: a synthetic job of known costs, or a job of the user's own.

The synthetic one counts time on the clock of the thread, so that a task takes as much processor
time on a slow processor, or a shared one, as on a fast one.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from time import thread_time
from typing import Any, Final, TypeAlias

import numpy as np

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.pipeline.job_file import functions_of, items_of, job_module
from parcast.units import format_quantity

MOST: Final = 1_000_000  # items of a job that are counted [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What an item costs."""

    task: float = 0.02  # processor time of a task [s]
    merge: float = 0.001  # processor time of a merge of two results [s]
    message: int = 24_000  # of the result of an item [B]
    grows: bool = False  # whether the result of k items has k times the length, as a lexicon

    def __post_init__(self) -> None:
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

    @property
    def seconds(self) -> float | None:
        """Processor time of an item with its merge [s]."""
        return self.task + self.merge

    def __str__(self) -> str:
        """What an item costs, in words."""
        growing = " an item" if self.grows else ""
        return (
            f"{format_quantity(self.task, 'time')} a task, {format_quantity(self.merge, 'time')} "
            f"a merge, {format_quantity(self.message, 'size')} a message{growing}"
        )

    def items(self, count: int) -> Iterable[Any]:
        """Give so many items."""
        return range(count)

    def functions(self) -> dict[str, Any]:
        """Arguments of `run_pipeline`."""
        return {"task": self.on, "merge": self.of}

    def warm_up(self) -> "Work":
        """The same with short tasks."""
        return replace(self, task=min(self.task, 1e-3), merge=0.0)

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnJob:
    """A job of the user's own, as `parcast run pipeline` takes it; runs take its first items."""

    path: str
    arguments: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Not known before the small runs."""
        return None

    def __str__(self) -> str:
        return f"job {Path(self.path).stem}"

    def items(self, count: int) -> Iterable[Any]:
        """Give the first items of the job, as many of them."""
        return list(islice(items_of(job_module(self.path), self.arguments), count))

    def count(self) -> int:
        """Count the items of the job [1]."""
        count = sum(1 for _ in islice(items_of(job_module(self.path), self.arguments), MOST))
        if count == MOST:
            raise ParameterError(
                "sizes",
                must=f"be given for a job of {MOST:,} items or more",
                hint="Say how many of them to run.",
            )
        return count

    def functions(self) -> dict[str, Any]:
        """Arguments of `run_pipeline`, without a server stage of the job."""
        return {k: x for k, x in functions_of(job_module(self.path)).items() if k != "server"}

    def warm_up(self) -> "OwnJob":
        """The same: its costs are unknown."""
        return self

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        return {"path": self.path, "arguments": list(self.arguments)}


TimedJob: TypeAlias = Work | OwnJob


def job_from(document: dict[str, Any]) -> TimedJob:
    """Make a job again from its document."""
    if "path" in document:
        return OwnJob(path=document["path"], arguments=tuple(document["arguments"]))
    return Work(**document)


def spend(seconds: float) -> None:
    """Use the processor for a time [s]."""
    end = thread_time() + seconds
    while thread_time() < end:
        pass
