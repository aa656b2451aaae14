"""The published static schedule, as orders of the same kind as those of the adaptive one.

Every rank executes its steps in their order, whatever the others do: it takes an item, or it waits
for a result and merges it (`pipeline.published.schedule`). Steps are ordered ahead, 2 lg P + 2 of
them, so that nobody waits for orders. A value is named by its pipeline, step and rank. Each
delivery of the last rank of a pipeline is a completed reduction.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.errors import Argument, ParameterError
from parcast.pipeline.engine.coordinator import Combine, Deliver, Grant, Input, Order, TaskBlock
from parcast.pipeline.engine.job import Job
from parcast.pipeline.engine.tree import Node
from parcast.pipeline.published.schedule import (
    FIRST_TAKE,
    check_size,
    cycle_length,
    dealt,
    items_per_step,
    label,
    last_step,
    share,
    steps,
)

WITH_SOURCE: Final = Argument("schedule", "source")
OTHERWISE: Final = ("Leave it out, or use ", Argument("schedule", "adaptive"), ".")


class StaticCoordinator:
    """The static schedule of a run."""

    def __init__(self, ranks: int, pipelines: int = 1) -> None:
        """Begin with ranks of which each pipeline has the same power of two."""
        self.loads = dict.fromkeys(range(ranks))
        self.items_done = 0
        self.end: int | None = None
        self._pipelines, self._size = pipelines, ranks // pipelines
        self._fetched = 0
        self._next = [FIRST_TAKE] * pipelines  # step that is ordered next
        self._done = [FIRST_TAKE] * ranks  # first step that is not done
        self._held: list[tuple[int, int] | None] = [None] * ranks  # items, after the last order
        self._delivered_none = False

    @staticmethod
    def require(job: Job, ranks: int) -> None:
        """Refuse what the static schedule has no place for."""
        if ranks % job.pipelines:
            must = "divide the number of ranks with ", WITH_SOURCE
            hint = f"There are {ranks} ranks."
            raise ParameterError("pipelines", must=must, got=str(job.pipelines), hint=hint)
        check_size(ranks // job.pipelines)
        for name, value, usual in (
            ("every", job.every, None),
            ("shards", job.shards, 1),
            ("fan_in", job.fan_in, 2),
            ("batch", job.batch, None),
            ("checkpoint", job.checkpoint, None),
            ("server_rank", job.server_rank, None),
        ):
            if value != usual:
                must = f"be {usual} with ", WITH_SOURCE
                raise ParameterError(name, must=must, got=str(value), hint=OTHERWISE)

    @property
    def wants(self) -> int:
        """Items that should be fetched by now. [1]."""
        if self.end is not None:
            return 0
        last = (self._last_item(g, self._furthest(g)) for g in range(self._pipelines))
        return 1 + max(last)

    @property
    def is_over(self) -> bool:
        """Whether everything has been ordered and done."""
        if self.end is None:
            return False
        if self.end == 0:
            return self._delivered_none
        size = self._size
        return all(
            min(self._done[g * size : (g + 1) * size]) > self._last(g, self.end)
            for g in range(self._pipelines)
        )

    def is_needed(self, _: int) -> bool:
        """Whether the task is to be run on an item: on all."""
        return True

    def fetched(self, items: int, *, ended: bool = False, size: float = 1.0) -> None:  # noqa: ARG002 - it has no batches
        """Hear that so many items have been fetched, the last of them too."""
        self._fetched = items
        if ended:
            self.end = items

    def done(self, rank: int, block: TaskBlock, _: Sequence[float | None], __: float) -> None:
        """Hear that a rank has taken its items."""
        self.items_done += block.stop - block.first
        self._done[rank] += 1

    def served(self, reductions: int) -> None:
        """Hear how many reductions the server stage has taken: all ranks wait for each other."""

    def merged(self, rank: int, _: Node, __: float) -> None:
        """Hear that a rank has merged."""
        self._done[rank] += 1

    def orders(self, **_: bool) -> Iterator[Order]:
        """Give the steps that may be ordered now."""
        if self.end == 0:
            if not self._delivered_none:
                self._delivered_none = True
                yield Deliver(-1, Node(0, 0, 0), 0, 0, 0)
            return
        for g in range(self._pipelines):
            while self._may_order(g):
                step = self._next[g]
                yield from self._step(g, step)
                self._next[g] += 1
                if self.end is not None and step == self._last(g, self.end):
                    last = self._size - 1
                    rank = g * self._size + last
                    yield from self._deliver(rank, self._name(g, step, last))

    def _furthest(self, pipeline: int) -> int:
        """Step up to which a pipeline is ordered ahead."""
        size = self._size
        done = min(self._done[pipeline * size : (pipeline + 1) * size])
        return done + 2 * cycle_length(size) + 1

    def _may_order(self, pipeline: int) -> bool:
        step = self._next[pipeline]
        if step > self._furthest(pipeline):
            return False
        if self.end is not None:
            return step <= self._last(pipeline, self.end)
        return self._last_item(pipeline, step) < self._fetched

    def _last(self, pipeline: int, end: int) -> int:
        """Last step of a pipeline, where the items end."""
        own = share(end, self._size, pipeline=pipeline, pipelines=self._pipelines)
        return last_step(own, self._size)

    def _last_item(self, pipeline: int, step: int) -> int:
        taken = self._size + (step + 1) * items_per_step(self._size)
        return dealt(taken - 1, self._size, pipeline=pipeline, pipelines=self._pipelines)

    def _step(self, pipeline: int, step: int) -> Iterator[Order]:
        base, before = pipeline * self._size, list(self._held)
        for own in range(self._size):
            rank = base + own
            if step == FIRST_TAKE:
                yield self._take(pipeline, own, step)
                continue
            each = steps(own, self._size)[step % cycle_length(self._size)]
            if each.kind == "merge":
                assert each.partner is not None
                yield self._merge(pipeline, own, step, before[base + each.partner])
            elif self._size == 1:
                yield from self._deliver(rank, self._name(pipeline, step - 1, own))
                yield self._take(pipeline, own, step)
            else:
                yield self._take(pipeline, own, step)
            if each.delivers:
                yield from self._deliver(rank, self._name(pipeline, step, own))

    def _take(self, pipeline: int, own: int, step: int) -> Grant:
        """Order a rank to take its item, which may lie beyond the end."""
        rank = pipeline * self._size + own
        number = label(own, step, self._size)
        first = dealt(number, self._size, pipeline=pipeline, pipelines=self._pipelines)
        stop = first + 1
        if self.end is not None:
            first, stop = min(first, self.end), min(stop, self.end)
        self._held[rank] = (first, stop)
        return Grant(rank, TaskBlock(self._name(pipeline, step, own), first, stop), (0,))

    def _merge(
        self, pipeline: int, own: int, step: int, received: tuple[int, int] | None
    ) -> Combine:
        """Order a rank to merge what it holds with what it receives."""
        assert received is not None
        base = pipeline * self._size
        rank, partner = base + own, own - (1 << step % cycle_length(self._size))
        inputs = [Input(self._name(pipeline, step - 1, partner), base + partner, *received)]
        held = self._held[rank]
        if held is not None:
            inputs.insert(0, Input(self._name(pipeline, step - 1, own), rank, *held))
        self._held[rank] = (inputs[0].first, max(inputs[0].stop, inputs[-1].stop))
        return Combine(rank, self._name(pipeline, step, own), tuple(inputs))

    def _deliver(self, rank: int, name: Node) -> Iterator[Deliver]:
        """Order the last rank of a pipeline to deliver what it holds."""
        held, self._held[rank] = self._held[rank], None
        if held is not None and held[0] < held[1]:
            yield Deliver(rank, name, 0, *held)

    @staticmethod
    def _name(pipeline: int, step: int, own: int) -> Node:
        """Name the value that a rank has after a step."""
        return Node(pipeline, step + 1, own)
