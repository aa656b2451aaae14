"""Result of `run_pipeline`: the value, and where the time of each rank went."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from parcast.pipeline.engine.job import Skipped
from parcast.show.outline import document_of
from parcast.show.result import Result
from parcast.words import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class RankShare:
    """What one rank did."""

    _outline = "rank items tasks_s merges_s processor_s messages sent_B"

    rank: int  # its number
    items: int  # items whose task it ran [1]
    tasks: float  # wall time of its tasks, with the merges inside a batch [s]
    merges: float  # wall time of other merges [s]
    processor: float  # processor time of both [s]
    messages: int  # results that it sent [1]
    sent: int  # bytes of these [B]


def items_skipped(*runs: "PipelineResult") -> list[str]:
    """Items that runs skipped, each once and with its fault, for a list of an application."""
    return [*dict.fromkeys(f"{x.item}: {x.error}" for run in runs for x in run.skipped)]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PipelineResult(Result):
    """A reduction that has run; under mpiexec all ranks have it, and rank 0 alone the value."""

    _schema = "parcast/pipeline/1"
    _outline = """
        rows=ranks program items resumed_items retried seconds reductions schedule pipelines
        fan_in shards utilisation task_s=task_time stopped=was_stopped skipped warnings
    """

    value: Any = None  # None where reductions went to a server stage one by one
    items: int = 0  # items that are in the result, those skipped included [1]
    resumed_items: int = 0  # of these those taken over from an interrupted run [1]
    retried: int = 0  # further attempts at items whose task had failed [1]
    seconds: float = 0.0  # wall time of the run, without the start of ranks [s]
    reductions: int = 0  # reductions that were completed [1]
    skipped: tuple[Skipped, ...] = ()  # items whose task failed
    was_stopped: bool = False  # whether Ctrl-C ended it before the items did
    ranks: tuple[RankShare, ...] = ()  # what each rank did
    pipelines: int = 1  # groups of ranks [1]
    fan_in: int = 2  # results merged at a node [1]
    shards: int = 1  # parts of the result [1]
    schedule: str = "adaptive"  # `adaptive` or `source`
    program: str = "pipeline"
    is_root: bool = True  # rank 0, where the value is; on others it is None
    warnings: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
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
        return map(document_of, self.ranks)
