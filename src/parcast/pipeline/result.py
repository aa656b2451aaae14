"""Result of `run_pipeline`: the value, and where the time of each rank went."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from parcast.pipeline.engine.job import Skipped
from parcast.show.result import Result
from parcast.words import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class RankShare:
    """What one rank did."""

    rank: int
    items: int  # whose task it ran [1]
    tasks: float  # wall time of the tasks [s]
    merges: float  # wall time of merges [s]
    processor: float  # processor time of both [s]
    messages: int  # results that it sent [1]
    sent: int  # [B]


def items_skipped(*runs: "PipelineResult") -> list[str]:
    """Items that runs skipped, each once and with its fault, for a list of an application."""
    return [*dict.fromkeys(f"{x.item}: {x.error}" for run in runs for x in run.skipped)]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PipelineResult(Result):
    """A reduction that has run; under mpiexec all ranks have it, and rank 0 alone the value."""

    _sheet: ClassVar[str] = "parcast.pipeline.sheet:sheet_of"

    value: Any = None  # None where reductions went to a server stage one by one
    items: int = 0  # that are in it, those skipped included [1]
    resumed_items: int = 0  # of these, those taken over from an interrupted run [1]
    retried: int = 0  # further attempts at items whose task had failed [1]
    seconds: float = 0.0  # wall time of the run, without the start of ranks [s]
    reductions: int = 0  # that were completed [1]
    skipped: tuple[Skipped, ...] = ()
    was_stopped: bool = False  # by Ctrl-C, before the items ended
    ranks: tuple[RankShare, ...] = ()
    pipelines: int = 1
    fan_in: int = 2
    shards: int = 1
    schedule: str = "adaptive"
    program: str = "pipeline"
    is_root: bool = True  # rank 0, where the value is; on others it is None
    warnings: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        """Say in one line what ran."""
        on = counted(len(self.ranks), "rank")
        where = "" if self.is_root else "; the value is on rank 0"
        facts = f"{counted(self.items, 'item')} on {on}, {self.seconds:.3g} s{where}"
        return f"PipelineResult({self.program}: {facts})"

    @property
    def task_time(self) -> float | None:
        """Mean time of the task of an item, T_comp. [s]."""
        items = sum(x.items for x in self.ranks)
        return sum(x.tasks for x in self.ranks) / items if items else None

    @property
    def utilisation(self) -> float:
        """Share of the time that ranks ran tasks or merges. [1]."""
        busy = sum(x.tasks + x.merges for x in self.ranks)
        return busy / (len(self.ranks) * self.seconds) if self.seconds and self.ranks else 0.0

    def rows(self) -> Iterator[dict[str, Any]]:
        """One tidy row for each rank."""
        for share in self.ranks:
            yield {
                "rank": share.rank,
                "items": share.items,
                "tasks_s": share.tasks,
                "merges_s": share.merges,
                "processor_s": share.processor,
                "messages": share.messages,
                "sent_B": share.sent,
            }

    def to_document(self) -> dict[str, Any]:
        """Everything but the value as one JSON document, schema ``parcast/pipeline/1``."""
        return {
            "schema": "parcast/pipeline/1",
            "rows": list(self.rows()),
            "program": self.program,
            "items": self.items,
            "resumed_items": self.resumed_items,
            "retried": self.retried,
            "seconds": self.seconds,
            "reductions": self.reductions,
            "schedule": self.schedule,
            "pipelines": self.pipelines,
            "fan_in": self.fan_in,
            "shards": self.shards,
            "utilisation": self.utilisation,
            "task_s": self.task_time,
            "stopped": self.was_stopped,
            "skipped": [
                {"index": x.index, "item": x.item, "error": x.error} for x in self.skipped
            ],
            "warnings": list(self.warnings),
        }
