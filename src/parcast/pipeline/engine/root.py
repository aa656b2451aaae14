"""What rank 0 does besides its work: it fetches items, and turns orders into messages."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from parcast.errors import ParcastError, RunFailed
from parcast.mpi.payload import EMPTY
from parcast.pipeline.engine.checkpoint import Earlier, RunCheckpoint
from parcast.pipeline.engine.coordinator import (
    Combine,
    Coordinator,
    Deliver,
    Grant,
    HeldNode,
    Order,
    TaskBlock,
)
from parcast.pipeline.engine.items import Items
from parcast.pipeline.engine.job import Job, Skipped
from parcast.pipeline.engine.tree import Node
from parcast.pipeline.law.remaining import Remaining
from parcast.places import load

STATIC: Final = "parcast.pipeline.published.orders:StaticCoordinator"
OFTEN: Final = 0.2  # that progress is told [s]

Posted = tuple[int, tuple[Any, ...], Any]  # rank, what is said, and a value or EMPTY


class Schedule(Protocol):
    """Who works on what, and who merges: it hears what ranks have done, and gives orders."""

    @property
    def end(self) -> int | None:
        """Number of items, if it is known."""

    @property
    def loads(self) -> Mapping[int, object]:
        """Ranks that run tasks."""

    @property
    def items_done(self) -> int:
        """Items that are done."""

    @property
    def wants(self) -> int:
        """Items that should be fetched by now."""

    @property
    def is_over(self) -> bool:
        """Whether everything has been ordered and done."""

    def is_needed(self, item: int, /) -> bool:
        """Whether the task is to be run on an item."""

    def fetched(self, items: int, *, ended: bool = False, size: float = 1.0) -> None:
        """Hear that so many items have been fetched, the last of them too."""

    def done(
        self, rank: int, block: TaskBlock, sizes: Sequence[float | None], seconds: float, /
    ) -> None:
        """Hear that a rank has worked on a block."""

    def merged(self, rank: int, node: Node, size: float, /) -> None:
        """Hear that a rank has merged."""

    def served(self, reductions: int) -> None:
        """Hear how many reductions the server stage has taken."""

    def orders(self, *, partial: bool, first_waits: bool) -> Iterator[Order]:
        """Give what is to be done now."""


class Root:
    """The items, the schedule, and the checkpoint of a run."""

    def __init__(
        self,
        job: Job,
        items: Items,
        ranks: int,
        checkpoint: RunCheckpoint | None = None,
        *,
        progress: "Callable[[Root], object] | None" = None,
        report: Callable[[ParcastError], object] = lambda _: None,
    ) -> None:
        """Begin on rank 0 of some; `report` is called with a failure at once."""
        self._job, self.items, self._ranks = job, items, ranks
        self._server = 0 if job.server_rank is None else job.server_rank
        self.coordinator = _coordinator(job, items, ranks)
        self.skipped: list[Skipped] = []
        self.report = report
        self.checkpoint = checkpoint
        self._progress = progress
        self._told = 0.0
        self.reductions = 0  # delivered
        self._ordered = 0  # to be delivered
        self._is_over = False
        self._least = 0  # items, as far as an interrupted run has taken them
        self._exactly: int | None = None  # their number, if it knew it
        self._damaged: tuple[Node, ...] = ()  # whose files of an interrupted run are not used
        self._begun: list[Posted] = []
        self._measured = Remaining(
            self.coordinator.loads, fan_in=job.fan_in, shards=job.shards, every=job.every
        )

    @property
    def done(self) -> int:
        """Items that are done. [1]."""
        return self.coordinator.items_done

    @property
    def total(self) -> int | None:
        """Number of items, if it is known. [1]."""
        end = self.coordinator.end
        return self.items.total if end is None else end

    @property
    def damaged(self) -> tuple[tuple[int, int], ...]:
        """Spans of items whose results an interrupted run had saved, in files that are damaged."""
        if not self._damaged:
            return ()
        assert isinstance(self.coordinator, Coordinator)
        return tuple(sorted({self.coordinator.items_of(node) for node in self._damaged}))

    @property
    def _is_closing(self) -> bool:
        """Whether no more checkpoints are written.

        What an interrupt has cut short is no part of a run that goes on, nor is its whole result.
        """
        return self.items.was_stopped or (self._job.every is None and self.reductions > 0)

    @property
    def remaining(self) -> float | None:
        """Time that the rest takes, by the law of the schedule; None: not known. [s]."""
        if self.total is None:
            return None
        now = time.monotonic()
        if self._job.schedule == "source":
            pipelines = self._job.pipelines
            return self._measured.published(self.total, self.done, now, pipelines=pipelines)
        return self._measured.adaptive(self.total, self.done, now)

    def resume(self, earlier: Earlier) -> None:
        """Go on where an interrupted run ended: each rank gets some of what was saved."""
        assert isinstance(self.coordinator, Coordinator)
        workers = sorted(self.coordinator.loads)
        held = []
        files: dict[int, list[tuple[Any, ...]]] = {}
        for i, (node, path, written) in enumerate(earlier.nodes):
            rank = workers[i * len(workers) // len(earlier.nodes)]
            held.append((node, HeldNode(-1 if path is None else rank, node, written.size)))
            if path is not None:
                items = self.coordinator.items_of(node)
                files.setdefault(rank, []).append((node, path, written.size, items))
        self._ordered = self.reductions = earlier.delivered
        self._least, self._exactly = earlier.fetched, earlier.end
        self.coordinator.resume(held, delivered=earlier.delivered, end=earlier.end)
        needed = self.coordinator.is_needed
        self.skipped += [each for each in earlier.skipped if not needed(each.index)]
        self.coordinator.served(self.reductions)
        self._damaged = earlier.damaged
        self._begun = [(rank, ("load", own), EMPTY) for rank, own in files.items()]

    def wanted(self) -> int | None:
        """Items that should be fetched now, since the beginning; None: no more than there are."""
        fetched, wants = self.items.fetched, self.coordinator.wants
        if self.items.has_ended or (fetched >= wants and not self.items.was_stopped):
            return None
        return max(wants, fetched + 1)

    def hear(self, source: int, kind: str, facts: Sequence[Any]) -> None:
        """Take note of what a rank says it has done."""
        if kind == "done":
            block, sizes, seconds, skipped = facts
            self.skipped += skipped
            self._measured.done(source, block.stop - block.first, seconds, time.monotonic())
            self.coordinator.done(source, block, sizes, seconds)
        elif kind == "merged":
            node, size, seconds = facts
            self._measured.merged(source, seconds, time.monotonic())
            self.coordinator.merged(source, node, size)
        elif kind == "delivered":
            self.reductions += 1
            self.coordinator.served(self.reductions)
        else:  # "saved"
            assert self.checkpoint is not None
            self.checkpoint.saved(facts[0])

    def orders(self) -> Iterator[Posted]:
        """Give what is to be sent now."""
        yield from self._begun
        self._begun.clear()
        ended = self.items.has_ended  # first: the number may grow until then
        self._require_same_items(ended)
        self.coordinator.fetched(self.items.fetched, ended=ended, size=self.items.size)
        slow, awaited = self.items.is_slow, self.items.is_waited_for
        for order in self.coordinator.orders(partial=slow, first_waits=awaited):
            yield from self._posted(order)
        if self.checkpoint is not None and not self._is_closing:
            assert isinstance(self.coordinator, Coordinator)
            for rank, names in self.checkpoint.due(self.coordinator.held()):
                yield rank, ("save", names), EMPTY
            if self.checkpoint.is_complete:
                end = self.coordinator.end
                fetched = self.items.fetched
                self.checkpoint.write(self.reductions, fetched, self.skipped, end=end)
        if self._progress is not None and time.monotonic() - self._told > OFTEN:
            self._told = time.monotonic()
            self._progress(self)
        is_over = self.coordinator.is_over and self.reductions == self._ordered
        if self.checkpoint is not None and self.checkpoint.is_awaited:
            return
        if is_over and not self._is_over:
            self._is_over = True
            for rank in range(self._ranks):
                yield rank, ("quit", None), EMPTY

    def _require_same_items(self, ended: bool) -> None:
        """Refuse fewer items than an interrupted run had, or more than it knew there were."""
        fetched, had = self.items.fetched, f"had taken {self._least}"
        is_other = ended and fetched < self._least
        if self._exactly is not None:
            had = f"had {self._exactly}"
            is_other = fetched > self._exactly or (ended and fetched < self._exactly)
        if is_other and not self.items.was_stopped:
            there = f"are {'' if ended else 'at least '}{fetched}"
            raise RunFailed(
                f"There {there} items, and the interrupted run {had}. Give the same items, or "
                "start anew without resuming."
            )

    def _posted(self, order: Order) -> Iterator[Posted]:
        match order:
            case Grant(rank, block, shards):
                items = self.items.take(block.first, block.stop)
                self._measured.granted(rank, block.stop - block.first, time.monotonic())
                yield rank, ("work", block, shards), items
            case Combine(rank, node, inputs):
                yield rank, ("combine", node, inputs), EMPTY
                for each in inputs:
                    if each.rank != rank:
                        yield each.rank, ("send", each, rank), EMPTY
            case Deliver(rank, node, shard, first, stop):
                self._ordered += shard == 0
                if rank < 0:
                    yield self._server, ("reduction", shard, first, stop), EMPTY
                else:
                    yield rank, ("deliver", node, shard, first, stop, self._server), EMPTY


def _coordinator(job: Job, items: Items, ranks: int) -> Schedule:
    if job.schedule == "source":
        static: Schedule = load(STATIC)(ranks, job.pipelines)
        return static
    return Coordinator(
        [rank for rank in range(ranks) if rank != job.server_rank],
        fan_in=job.fan_in,
        shards=job.shards,
        pipelines=job.pipelines,
        every=job.every,
        batch=job.batch,
        window=job.window,
        items=items.total,
    )
