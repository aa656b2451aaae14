"""Who does what: the adaptive schedule as a state machine without clocks, messages or values.

It hears of items that were fetched and of work that was done, and answers with orders: blocks of
items for ranks that have too little to do, and merges of siblings that are complete, each on the
rank that holds most of them. The engine carries its orders out; the simulation does so in
simulated time.

Items are granted in their order, as aligned blocks, so that a block is one node of the tree. A
pipeline, a group of ranks, takes blocks from a span of its own until it is used up, so that merges
within a span stay within the group. No item is granted that lies beyond a window from the oldest
one that is not done, which bounds what ranks hold.
"""

import heapq
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, TypeAlias

from parcast.pipeline.engine.tree import Node, aligned_level, level_of, root_level

BATCH_TIME: Final = 0.1  # that a batch takes at least, where items are short [s]
BATCH_TIME_A_RANK: Final = 0.002  # and with many ranks, so that rank 0 keeps up with them [s]
LONG: Final = 1.0  # a block that takes so long is not granted in advance [s]
BATCH_SIZE: Final = 1 << 24  # of the items of a batch, where one item is smaller [B]
FASTEST_GROWTH: Final = 8  # of a batch from one measurement to the next [1]
PARTS: Final = 3  # blocks that a rank gets at least, where the number of items is known [1]
# Blocks for each rank from the oldest that is not done to the last granted. Completed nodes behind
# a straggler merge with each other, so that few values wait; completed reductions, however, wait
# for their turn to be delivered. [1]
WINDOW: Final = 1024
WINDOW_OF_REDUCTIONS: Final = 64
UNSERVED: Final = 16  # completed reductions that wait for a slow server stage [1]
GRANTED_TIME: Final = 0.05  # of blocks that a rank has, so that none waits for rank 0 [s]
MOST_GRANTED: Final = 8  # blocks that a rank has [1]
AHEAD: Final = 2  # blocks for each rank whose items are fetched before they are asked for [1]
MOST_AHEAD: Final = 64
LASTING: Final = 0.9  # of the time of the longest block, from one block to the next [1]
SPAN: Final = 4  # blocks for each rank of a pipeline in its span [1]


class TaskBlock(NamedTuple):
    """Items that are granted together, of one reduction: a node of its tree, by its shard 0."""

    node: Node
    first: int  # of all items of the run [1]
    stop: int


class Grant(NamedTuple):
    """Order to run the task on a block, and to keep what some shards get of it."""

    rank: int
    block: TaskBlock
    shards: tuple[int, ...]


class Input(NamedTuple):
    """A value that is merged: on which rank it is, under which name, and its items of the run."""

    name: Node
    rank: int
    first: int
    stop: int


class Combine(NamedTuple):
    """Order to merge values into a node, in their order."""

    rank: int
    node: Node
    inputs: tuple[Input, ...]


class Deliver(NamedTuple):
    """Order to give a completed reduction, or a shard of it, to the server stage."""

    rank: int  # -1: it holds no item
    node: Node  # what the value is called on that rank
    shard: int
    first: int  # of all items of the run [1]
    stop: int


Order: TypeAlias = Grant | Combine | Deliver


class HeldNode(NamedTuple):
    """A completed node: where its value is, under which name, and how large."""

    rank: int  # -1: no item of it has a result
    name: Node
    size: float  # [B]


@dataclass(slots=True)
class PipelineSpan:
    """Items that one pipeline works on."""

    first: int  # not granted yet
    stop: int
    ranks: int  # of the pipeline [1]


@dataclass(slots=True)
class RankLoad:
    """What a rank has been given and not reported as done."""

    pipeline: int
    blocks: int = 0
    merges: int = 0
    seconds: float | None = None  # of an item on this rank, once a block is done [s]
    longest: float = 0.0  # of recent blocks [s]

    @property
    def all(self) -> int:
        """Blocks and merges."""
        return self.blocks + self.merges


@dataclass(slots=True)
class OpenReduction:
    """What is known of a reduction that is not complete."""

    waiting: dict[Node, dict[int, HeldNode]] = field(default_factory=dict)  # children by parent
    roots: dict[int, HeldNode] = field(default_factory=dict)  # by shard


class Coordinator:
    """The adaptive schedule of a run."""

    def __init__(
        self,
        ranks: Iterable[int],
        *,
        fan_in: int = 2,
        shards: int = 1,
        pipelines: int = 1,
        every: int | None = None,
        batch: int | None = None,
        window: int | None = None,
        items: int | None = None,
    ) -> None:
        """Begin; `items` is their number if it is known, `batch` None that it follows from times.

        `every` is the number of items of a reduction, None that there is one reduction.
        """
        self.fan_in, self.shards, self.every = fan_in, shards, every
        members = list(ranks)
        pipeline_of = [i * pipelines // len(members) for i in range(len(members))]
        loads = [(rank, RankLoad(own)) for rank, own in zip(members, pipeline_of, strict=True)]
        self.loads = dict([*loads[1:], *loads[:1]])  # the first, which coordinates, is asked last
        self._spans = [PipelineSpan(0, 0, pipeline_of.count(own)) for own in range(pipelines)]
        self._level = level_of(batch or 1, fan_in)
        self._is_fixed = batch is not None
        self._window = window
        self._known = items
        self._front = 0  # first item of no span
        self._fetched = 0
        self._end: int | None = None  # number of items, once they have ended
        self._open: dict[int, int] = {}  # blocks that are granted and not done: first -> stop
        self._firsts: list[int] = []  # a heap of those, and of some that are done
        self._covered: list[list[tuple[int, int]]] = [[] for _ in range(shards)]  # before this run
        self._done = 0
        self._reductions: dict[int, OpenReduction] = {}
        self._delivered = 0  # reductions that were ordered to be delivered
        self._served: int | None = None  # that the server stage has taken; None: nobody tells
        self._seconds = 0.0  # of an item, estimated; 0: nothing is known [s]
        self._size = 1.0  # of an item [B]
        self._orders: deque[Order] = deque()

    @property
    def wants(self) -> int:
        """Items that should be fetched by now, so that nobody waits for them. [1]."""
        if self._end is not None:
            return 0
        batch = int(self.fan_in**self._level)
        if len(self.loads) == 1:  # it would wait for items that it does not need yet
            return self._spans[0].first + batch
        ahead = self._ahead * len(self.loads) * batch
        return self._front + ahead  # a pipeline may open its next span at any time

    @property
    def _ahead(self) -> int:
        """Blocks for each rank that are fetched in advance.

        Rank 0 fetches nothing while it runs a block, during which the others may run many.
        """
        first, *others = (self.loads[rank] for rank in sorted(self.loads))
        known = [each.seconds for each in others if each.seconds]
        if not known or first.longest == 0.0:
            return AHEAD
        block = min(known) * int(self.fan_in**self._level)
        return int(min(max(AHEAD, 1 + first.longest / block), MOST_AHEAD))

    @property
    def items_done(self) -> int:
        """Items of which the results are there. [1]."""
        return self._done

    @property
    def end(self) -> int | None:
        """Number of all items, once they have ended. [1]."""
        return self._end

    @property
    def is_over(self) -> bool:
        """Whether the last reduction has been ordered to be delivered."""
        return self._end is not None and self._delivered == self._count

    @property
    def _count(self) -> int:
        assert self._end is not None
        if self.every is None:
            return 1
        return -(-self._end // self.every)

    @property
    def _oldest(self) -> int:
        while self._firsts and self._firsts[0] not in self._open:
            heapq.heappop(self._firsts)
        pending = [span.first for span in self._spans if span.first < span.stop]
        return min((*self._firsts[:1], *pending), default=self._front)

    def resume(
        self, held: Iterable[tuple[Node, HeldNode]], *, delivered: int, end: int | None = None
    ) -> None:
        """Begin where another run ended: with nodes that are there, and reductions delivered.

        `end` is the number of all items, if it knew it: nodes and reductions at the end are short.
        """
        self._delivered = delivered
        most = inf if end is None else end
        for covered in self._covered:
            if delivered and self.every:
                covered.append((0, int(min(delivered * self.every, most))))
        for node, value in held:
            first, stop = self.items_of(node)
            insort(self._covered[node.shard], (first, int(min(stop, most))))
            self._hold(node, value)

    def is_covered(self, item: int, shard: int) -> bool:
        """Tell whether an item was done, for a shard, before this run."""
        return self._covered_until(item, shard) > item

    def is_needed(self, item: int) -> bool:
        """Tell whether the task is to be run on an item."""
        if not any(self._covered):
            return True
        return not all(self.is_covered(item, shard) for shard in range(self.shards))

    def _covered_until(self, item: int, shard: int) -> int:
        """End of the items that were done before this run, from an item on."""
        covered = self._covered[shard]
        i = bisect_right(covered, (item, inf)) - 1
        return max(item, covered[i][1]) if i >= 0 else item

    def fetched(self, items: int, *, ended: bool = False, size: float = 1.0) -> None:
        """Hear that so many items of a size [B] were fetched since the beginning, the last too."""
        self._fetched, self._size = items, size
        if ended and self._end is None:
            self._end = items
            for span in self._spans:
                span.stop = min(span.stop, items)
                span.first = min(span.first, span.stop)
            self._front = min(self._front, items)
            self._close()

    def done(
        self, rank: int, block: TaskBlock, sizes: Sequence[float | None], seconds: float
    ) -> None:
        """Hear that a rank holds the results of a block; sizes of its shards, None: no item."""
        load = self.loads[rank]
        load.blocks -= 1
        del self._open[block.first]
        count = block.stop - block.first
        self._done += count
        load.longest = max(seconds, LASTING * load.longest)
        if count > 0:
            each = seconds / count
            load.seconds = each if load.seconds is None else (load.seconds + each) / 2
        self._learn(count, seconds)
        for shard, size in enumerate(sizes):
            if self.is_covered(block.first, shard):
                continue
            node = block.node._replace(shard=shard)
            self._hold(node, HeldNode(-1 if size is None else rank, node, size or 0.0))

    def merged(self, rank: int, node: Node, size: float) -> None:
        """Hear that a rank has merged values into a node."""
        self.loads[rank].merges -= 1
        self._hold(node, HeldNode(rank, node, size))

    def served(self, reductions: int) -> None:
        """Hear how many reductions the server stage has taken since the beginning."""
        self._served = reductions

    def orders(self, *, partial: bool = False, first_waits: bool = False) -> Iterator[Order]:
        """Give what is to be done now; with `partial`, blocks smaller than a batch as well.

        `first_waits`: the first rank waits for an item, and others take its place.
        """
        self._grant(partial, without_first=first_waits and len(self.loads) > 1)
        while self._orders:
            yield self._orders.popleft()

    def held(self) -> Iterator[HeldNode]:
        """Completed nodes that wait to be merged."""
        for reduction in self._reductions.values():
            for children in reduction.waiting.values():
                yield from children.values()

    def items_of(self, node: Node) -> tuple[int, int]:
        """Items of the run that a node holds."""
        base = node.reduction * (self.every or 0)
        end = self._end_of(node.reduction)
        return base + node.first(self.fan_in), base + node.stop(self.fan_in, end)

    def _end_of(self, reduction: int) -> int | None:
        """Number of items of a reduction, as far as it is known."""
        if self.every is None:
            return self._end
        if self._end is None:
            return self.every
        return min(self.every, self._end - reduction * self.every)

    def _learn(self, items: int, seconds: float) -> None:
        """Follow the time of an item, and choose the batch by it."""
        if items <= 0:
            return
        each = seconds / items
        weight = 0.3 if self._seconds else 1.0
        self._seconds += weight * (each - self._seconds)
        if self._is_fixed or not self._seconds:
            return
        wanted = max(BATCH_TIME, BATCH_TIME_A_RANK * len(self.loads)) / self._seconds
        most = min(FASTEST_GROWTH * self.fan_in**self._level, BATCH_SIZE / self._size)
        self._level = level_of(int(max(min(wanted, most), 1)), self.fan_in)

    def _hold(self, node: Node, held: HeldNode) -> None:
        """Take note of a completed node, and merge it with its siblings when all are there."""
        end = self._end_of(node.reduction)
        reduction = self._reductions.setdefault(node.reduction, OpenReduction())
        while True:
            if end is not None and node.level >= root_level(end, self.fan_in):
                reduction.roots[node.shard] = held
                self._deliver()
                return
            parent = node.parent(self.fan_in)
            children = reduction.waiting.setdefault(parent, {})
            children[node.position] = held
            if len(children) < parent.children(self.fan_in, end):
                return
            del reduction.waiting[parent]
            there = [children[i] for i in sorted(children) if children[i].rank >= 0]
            if len(there) > 1:
                self._combine(parent, there)
                return
            node = parent  # there is nothing to merge
            held = there[0] if there else held

    def _combine(self, node: Node, inputs: Sequence[HeldNode]) -> None:
        """Order a merge on the rank that holds most, or that has least to do."""
        sizes: dict[int, float] = {}
        for held in inputs:
            sizes[held.rank] = sizes.get(held.rank, 0.0) + held.size
        least = max(sizes.values()) * 0.75  # sizes nearly the same are no reason
        rank = min(
            (rank for rank, size in sizes.items() if size >= least),
            key=lambda rank: (self.loads[rank].all, (rank - 1 + node.shard) % len(self.loads)),
        )
        self.loads[rank].merges += 1
        named = (Input(held.name, held.rank, *self.items_of(held.name)) for held in inputs)
        self._orders.append(Combine(rank, node, tuple(named)))

    def _close(self) -> None:
        """Complete what the end of the items has completed."""
        for number, reduction in list(self._reductions.items()):
            waiting, reduction.waiting = reduction.waiting, {}
            for parent in sorted(waiting, key=lambda node: node.level):
                for position, held in waiting[parent].items():
                    self._hold(Node(number, parent.level - 1, position, parent.shard), held)
        self._deliver()

    def _deliver(self) -> None:
        """Order the completed reductions to be delivered, in their order."""
        while self._delivered in self._reductions or self._is_empty:
            number = self._delivered
            reduction = self._reductions.get(number, OpenReduction())
            if len(reduction.roots) < self.shards and not self._is_empty:
                return
            self._reductions.pop(number, None)
            self._delivered += 1
            base = number * (self.every or 0)
            stop = base + (self._end_of(number) or 0)
            for shard in range(self.shards):
                held = reduction.roots.get(shard, HeldNode(-1, Node(number, 0, 0, shard), 0.0))
                self._orders.append(Deliver(held.rank, held.name, shard, base, stop))

    @property
    def _is_empty(self) -> bool:
        """Whether there are no items at all, and one empty reduction is still to be delivered."""
        return self._end == 0 and self.every is None and self._delivered == 0

    def _grant(self, partial: bool, *, without_first: bool) -> None:
        """Give blocks to ranks that have too few, those that have none first."""
        limits = [(rank, load, self._depth(load)) for rank, load in self.loads.items()]
        if without_first:
            limits.pop()  # it is asked last
        for depth in range(max(limit for _, _, limit in limits)):
            for rank, load, limit in limits:
                if load.blocks == depth < limit and depth < self._most:
                    self._grant_to(rank, load, partial)

    def _depth(self, load: RankLoad) -> int:
        """Blocks that a rank has at a time: some in advance, but not of a rank that takes long."""
        if load.seconds is None or len(self.loads) == 1:
            return 1
        block = load.seconds * int(self.fan_in**self._level)
        if block > LONG:
            return 1
        return min(max(int(GRANTED_TIME / block), 2), MOST_GRANTED) if block else 2

    @property
    def _most(self) -> int:
        """Blocks that a rank has at most, so that the last ones are not hoarded by a few. [1]."""
        known = self._end if self._end is not None else self._known
        if known is None:
            return MOST_GRANTED
        left = known - self._front + sum(span.stop - span.first for span in self._spans)
        return 1 + left // (len(self.loads) * int(self.fan_in**self._level))

    def _grant_to(self, rank: int, load: RankLoad, partial: bool) -> None:
        """Give a rank the next block of its pipeline, if there is one."""
        span = self._spans[load.pipeline]
        self._skip_covered(span)
        there = min(self._fetched, span.stop) - span.first
        if there <= 0:
            return
        level = self._level_at(span.first)
        if self._end is None and there < self._block(span.first, level).stop - span.first:
            if not partial:
                return
            level = min(level, level_of(there, self.fan_in))
        block = self._block(span.first, level)
        if block.stop > self._oldest + self._room or self._is_server_late:
            return
        span.first = block.stop
        load.blocks += 1
        self._open[block.first] = block.stop
        heapq.heappush(self._firsts, block.first)
        shards = (x for x in range(self.shards) if not self.is_covered(block.first, x))
        self._orders.append(Grant(rank, block, tuple(shards)))

    def _skip_covered(self, span: PipelineSpan) -> None:
        """Move a span to its next item that is not done, and on to the next span if none is."""
        while True:
            if span.first >= span.stop and not self._next_span(span):
                return
            until = min(self._covered_until(span.first, shard) for shard in range(self.shards))
            if until == span.first:
                return
            self._done += min(until, span.stop) - span.first
            span.first = min(until, span.stop)

    def _next_span(self, span: PipelineSpan) -> bool:
        """Open the next span for a pipeline, if items may be left; tell whether one was opened."""
        if self._end is not None and self._front >= self._end:
            return False
        local = self._front % self.every if self.every else self._front
        level = aligned_level(local, level_of(self._span_size(span), self.fan_in), self.fan_in)
        block = self._block(self._front, level)
        span.first, span.stop = block.first, block.stop
        self._front = block.stop
        return True

    def _span_size(self, span: PipelineSpan) -> int:
        """Items of a new span: so few near the end that all pipelines get some. [1]."""
        size = int(self.fan_in**self._level)
        left = (self._end if self._end is not None else self._known or inf) - self._front
        return int(max(min(SPAN * span.ranks * size, left // (2 * len(self._spans))), size))

    def _level_at(self, first: int) -> int:
        """Level of the block that begins at an item."""
        level = self._level
        known = self._end if self._end is not None else self._known
        if known is not None and not self._is_fixed:
            left = max(known - first, 1) // (PARTS * len(self.loads))
            level = min(level, level_of(max(left, 1), self.fan_in))
        local = first % self.every if self.every else first
        level = aligned_level(local, level, self.fan_in)
        for shard, covered in enumerate(self._covered):  # of a block, all items or none
            i = bisect_right(covered, (first, inf))
            begins = [covered[i][0]] if i < len(covered) else []
            until = self._covered_until(first, shard)
            for change in (*begins, *([until] if until > first else ())):
                level = min(level, level_of(change - first, self.fan_in))
        return level

    @property
    def _room(self) -> int:
        """Items from the oldest that is not done to the last that may be granted. [1]."""
        size = int(self.fan_in**self._level)
        if self._window is not None:
            return max(self._window, size)
        blocks = WINDOW if self.every is None else WINDOW_OF_REDUCTIONS
        return max(blocks * len(self.loads) * size, 2 * sum(map(self._span_size, self._spans)))

    @property
    def _is_server_late(self) -> bool:
        """Whether completed reductions wait for the server stage, as many as may be in memory."""
        if self._served is None:
            return False
        return self._delivered - self._served >= max(UNSERVED, 2 * len(self.loads))

    def _block(self, first: int, level: int) -> TaskBlock:
        reduction, local = divmod(first, self.every) if self.every else (0, first)
        node = Node(reduction, level, local // self.fan_in**level)
        stop = first - local + node.stop(self.fan_in, self._end_of(reduction))
        return TaskBlock(node, first, stop)
