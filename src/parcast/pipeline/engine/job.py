"""What a run of the pipeline is to do: the functions of its user, and how they are used."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from parcast.pipeline.engine.tree import Merge

Schedule = Literal["adaptive", "source"]


class ServerStage(Protocol):
    """The server stage: what receives completed reductions in their order."""

    def resume(self, delivered: int) -> None:
        """Begin after so many reductions, which an interrupted run has delivered."""

    def __call__(self, reduction: "Reduction") -> None:
        """Take a reduction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The work of every rank; it is pickled once and sent to all."""

    task: Callable[..., Any]  # of an item, and of what setup returned
    merge: Merge
    zero: Any = None  # result of no item
    setup: Callable[[], Any] | None = None
    finish: Callable[..., Any] | None = None  # of a completed reduction, and its shard
    split: Callable[[Any, int], Sequence[Any]] | None = None
    server: ServerStage | None = None
    server_rank: int | None = None  # that does nothing else
    name: str = "pipeline"
    schedule: Schedule = "adaptive"
    fan_in: int = 2
    shards: int = 1
    pipelines: int = 1
    every: int | None = None  # items of a reduction
    batch: int | None = None  # items; None: chosen by their time
    window: int | None = None  # items; None: chosen by the batch
    skips: bool = False  # items whose task fails
    retries: int = 0
    timeout: float | None = None  # of an item [s]
    time_limit: float | None = None  # of the run [s]
    memory: float | None = None  # of the results that a rank holds [B]
    directory: Path | None = None  # for results that do not fit
    checkpoint: Path | None = None
    checkpoint_every: float = 60.0  # [s]
    resumes: bool = False
    check: bool = False  # whether the merge is associative
    is_traced: bool = False
    # What identifies items and functions, by its name: the same where a run is resumed.
    signature: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reduction:
    """A completed reduction of consecutive items, as the server stage receives it."""

    first: int  # item, counted from 0 [1]
    stop: int  # item after the last [1]
    value: Any  # with shards, a list with one value for each


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item whose task failed, and how."""

    _outline = "index item error"

    index: int  # its place, from 0 [1]
    item: str  # the item as Python writes it, shortened
    error: str  # the last line of its traceback
    traceback: str
