"""The adaptive schedule on simulated ranks, whose work ends in any order."""

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from parcast.mpi.payload import EMPTY
from parcast.pipeline.engine.coordinator import (
    LONG,
    MOST_GRANTED,
    UNSERVED,
    WINDOW,
    WINDOW_OF_REDUCTIONS,
    Coordinator,
    Deliver,
    Grant,
    HeldNode,
)
from parcast.pipeline.engine.tree import Combiner, Merge, Node

MERGE = Merge(lambda a, b: f"({a}{b})")


@dataclass
class Ranks:
    """Ranks that carry orders out in an order that chance gives."""

    coordinator: Coordinator
    items: int
    chance: random.Random
    skipped: frozenset = frozenset()
    seconds: float = 0.001  # of an item
    stores: dict = field(default_factory=dict)  # values by rank and name
    delivered: dict = field(default_factory=dict)  # by first item and shard
    ran: list = field(default_factory=list)  # items and shards whose tasks were run
    pending: list = field(default_factory=list)
    furthest: int = 0  # items between the oldest that is not done and the last granted

    def run(self, steps=10**6):
        """Carry on until the run is over, or for some steps."""
        coordinator, fetched = self.coordinator, 0
        for _ in range(steps):
            for order in coordinator.orders(partial=self.chance.random() < 0.2):
                self._take(order)
            if coordinator.is_over and not self.pending:
                return self
            if self.pending and (self.chance.random() < 0.7 or coordinator.end is not None):
                self._do(self.pending.pop(self.chance.randrange(len(self.pending))))
            elif fetched == self.items:
                assert coordinator.end is None, "nothing is to be done, and the run is not over"
                coordinator.fetched(fetched, ended=True)
            elif fetched < coordinator.wants:
                fetched += 1
                coordinator.fetched(fetched)
            else:
                assert self.pending, "nothing is to be done, and nothing is wanted"
        return self

    def _take(self, order):
        if isinstance(order, Deliver):
            value = self.stores.pop((order.rank, order.node)) if order.rank >= 0 else EMPTY
            self.delivered[order.first, order.shard] = (order.stop, value)
        else:
            self.pending.append(order)
            if isinstance(order, Grant):
                open_now = [x.block.first for x in self.pending if isinstance(x, Grant)]
                self.furthest = max(self.furthest, order.block.stop - min(open_now))

    def _do(self, order):
        if not isinstance(order, Grant):
            assert order.rank in {each.rank for each in order.inputs}
            values = [self.stores.pop((each.rank, each.name)) for each in order.inputs]
            value = MERGE.of(values)
            self.stores[order.rank, order.node] = value
            self.coordinator.merged(order.rank, order.node, len(value))
            return
        block, sizes = order.block, [None] * self.coordinator.shards
        for shard in order.shards:
            combiner = Combiner(MERGE.of, self.coordinator.fan_in)
            for i in range(block.first, block.stop):
                self.ran.append((i, shard))
                combiner.add(EMPTY if i in self.skipped else f"{i}.{shard},")
            value = combiner.total()
            if value is not EMPTY:
                self.stores[order.rank, block.node._replace(shard=shard)] = value
                sizes[shard] = len(value)
        took = self.seconds * (block.stop - block.first) * self.chance.uniform(0.5, 2)
        self.coordinator.done(order.rank, block, sizes, took)


def expected(items, fan_in, every, shards, skipped):
    """What is delivered, by the definition of the tree."""

    def value(first, base, stop, level, shard):
        if level == 0:
            return EMPTY if first in skipped else f"{first}.{shard},"
        span = fan_in ** (level - 1)
        children = range(first, min(first + fan_in * span, stop), span)
        return MERGE.of([value(x, base, stop, level - 1, shard) for x in children])

    found = {}
    length = every or max(items, 1)
    for base in range(0, items, length) if items or every else [0]:
        stop = min(base + length, items)
        level = 0
        while fan_in**level < stop - base:
            level += 1
        for shard in range(shards):
            whole = value(base, base, stop, level, shard) if stop > base else EMPTY
            found[base, shard] = (stop, whole)
    return found


@given(
    items=st.integers(0, 120),
    ranks=st.integers(1, 9),
    fan_in=st.sampled_from([2, 2, 3, 4, 16]),
    every=st.sampled_from([None, None, 1, 7, 16, 50]),
    shards=st.sampled_from([1, 1, 3]),
    batch=st.sampled_from([None, 1, 4, 10]),
    window=st.sampled_from([None, 1, 20]),
    is_known=st.booleans(),
    skipping=st.sampled_from([0.0, 0.3, 1.0]),
    seconds=st.sampled_from([0.0, 1e-5, 1e-3, 0.1, 5.0]),
    seed=st.integers(0, 10**6),
)
def test_the_merge_tree_is_that_of_the_items_whatever_the_schedule(
    *, items, ranks, fan_in, every, shards, batch, window, is_known, skipping, seconds, seed
):
    chance = random.Random(seed)
    skipped = frozenset(i for i in range(items) if chance.random() < skipping)
    coordinator = Coordinator(
        range(ranks),
        fan_in=fan_in,
        shards=shards,
        pipelines=chance.randint(1, ranks),
        every=every,
        batch=batch,
        window=window,
        items=items if is_known else None,
    )
    run = Ranks(coordinator, items, chance, skipped, seconds).run()
    assert run.delivered == expected(items, fan_in, every, shards, skipped)
    assert sorted(run.ran) == [(i, shard) for i in range(items) for shard in range(shards)]
    assert not run.stores
    assert not coordinator._reductions
    assert coordinator.items_done == items


@given(
    items=st.integers(1, 90),
    ranks=st.integers(1, 5),
    fan_in=st.sampled_from([2, 3]),
    every=st.sampled_from([None, 7, 16]),
    shards=st.sampled_from([1, 2]),
    seed=st.integers(0, 10**6),
)
def test_a_run_goes_on_from_what_another_held_and_repeats_nothing_of_it(
    *, items, ranks, fan_in, every, shards, seed
):
    chance = random.Random(seed)
    keys = {"fan_in": fan_in, "shards": shards, "every": every}
    first = Coordinator(range(ranks), batch=chance.choice([1, 3]), **keys)
    run = Ranks(first, items, chance).run(steps=chance.randrange(3 * items))
    held = list(first.held())
    covered = {
        (i, each.name.shard)
        for each in held
        for i in range(*first.items_of(each.name))
        if i < items
    }
    done = {base for base, shard in run.delivered if shard == shards - 1}
    assume(every is not None or not done)  # the run is over, and its checkpoint too
    again = Coordinator(range(2), pipelines=chance.randint(1, 2), **keys)
    moved = [(x.name, HeldNode(chance.randrange(2), x.name, x.size)) for x in held]
    again.resume(moved, delivered=len(done))
    rest = Ranks(again, items, chance)
    for (name, new), old in zip(moved, held, strict=True):
        rest.stores[new.rank, name] = run.stores[old.rank, name]
    rest.run()
    assert run.delivered | rest.delivered == expected(items, fan_in, every, shards, frozenset())
    assert done.isdisjoint(base for base, _ in rest.delivered)
    assert not covered & set(rest.ran)
    assert not rest.stores


@pytest.mark.parametrize("window", [1, 5, 32])
def test_no_item_is_granted_beyond_the_window(window):
    chance = random.Random(window)
    run = Ranks(Coordinator(range(4), batch=1, window=window), 500, chance).run()
    assert run.furthest <= max(window, 1)


@pytest.mark.parametrize(("every", "blocks"), [(None, WINDOW), (8, WINDOW_OF_REDUCTIONS)])
def test_a_rank_that_hangs_lets_the_others_go_on_within_the_window(every, blocks):
    coordinator = Coordinator(range(4), batch=1, every=every)
    coordinator.fetched(10_000)
    hung, granted, most_held = None, 0, 0
    for _ in range(20_000):
        orders = list(coordinator.orders())
        for order in orders:
            if isinstance(order, Grant):
                granted += 1
                hung = hung or order
                if order is not hung:
                    coordinator.done(order.rank, order.block, [1.0], 0.01)
            elif order.rank != hung.rank:
                coordinator.merged(order.rank, order.node, 1.0)
        most_held = max(most_held, sum(1 for _ in coordinator.held()))
        if not orders:
            break
    assert not orders
    assert blocks * 4 <= granted <= blocks * 4 + 16
    assert most_held <= 30  # as what is complete is merged


def test_what_the_coordinator_keeps_does_not_grow_with_the_items():
    sizes = []
    for items in (500, 5000):
        coordinator = Coordinator(range(4), batch=1, every=50)
        largest = 0
        for i in range(items):
            coordinator.fetched(i + 1)
            for order in list(coordinator.orders()):
                if isinstance(order, Grant):
                    coordinator.done(order.rank, order.block, [1.0], 0.0)
            while merges := [x for x in coordinator.orders() if not isinstance(x, Deliver)]:
                for order in merges:
                    if isinstance(order, Grant):
                        coordinator.done(order.rank, order.block, [1.0], 0.0)
                    else:
                        coordinator.merged(order.rank, order.node, 1.0)
            kept = coordinator._open, coordinator._firsts, coordinator._reductions
            largest = max(largest, sum(map(len, kept)))
        sizes.append(largest)
    assert sizes[0] == sizes[1] < 100


def blocks_of(seconds, items=1000, ranks=2, item_size=1.0, **keys):
    """Blocks that a rank has after it has measured the time of an item."""
    coordinator = Coordinator(range(ranks), items=items, **keys)
    coordinator.fetched(items, size=item_size)
    for _ in range(20):
        for order in list(coordinator.orders()):
            if isinstance(order, Grant):
                size = order.block.stop - order.block.first
                coordinator.done(order.rank, order.block, [1.0], seconds * size)
            elif not isinstance(order, Deliver):
                coordinator.merged(order.rank, order.node, 1.0)
    list(coordinator.orders())
    return coordinator


def test_short_tasks_come_in_batches_and_long_ones_one_by_one():
    assert blocks_of(50e-6, items=10**6)._level >= 8
    assert blocks_of(5e-3)._level == 4
    assert blocks_of(0.1)._level == 0
    assert blocks_of(50e-6, batch=5)._level == 2


def test_large_items_come_in_small_batches_as_a_rank_holds_several():
    assert blocks_of(50e-6, items=10**6, item_size=1e6)._level == 4
    assert blocks_of(50e-6, items=10**6, item_size=1e9)._level == 0


def test_blocks_are_granted_in_advance_so_that_no_rank_waits_but_not_long_ones():
    assert max(x.blocks for x in blocks_of(5e-3, batch=1).loads.values()) == MOST_GRANTED
    assert max(x.blocks for x in blocks_of(0.1).loads.values()) == 2
    assert max(x.blocks for x in blocks_of(2 * LONG).loads.values()) == 1
    fresh = Coordinator(range(3), batch=1)
    fresh.fetched(100)
    assert [order.rank for order in fresh.orders()] == [1, 2, 0]


def test_the_last_blocks_are_not_hoarded_by_one_rank():
    coordinator = blocks_of(5e-3, items=50, ranks=2, batch=1)
    coordinator.fetched(50, ended=True)
    blocks = [x.blocks for x in coordinator.loads.values()]
    assert abs(blocks[0] - blocks[1]) <= 1


def test_merges_of_a_pipeline_stay_on_its_ranks_while_their_span_lasts():
    coordinator = Coordinator(range(4), pipelines=2, batch=1)
    coordinator.fetched(64)
    moved = {True: 0, False: 0}
    for _ in range(200):
        for order in list(coordinator.orders()):
            if isinstance(order, Grant):
                coordinator.done(order.rank, order.block, [1.0], 0.01)
            else:
                inside = len({each.rank // 2 for each in order.inputs}) == 1
                moved[inside] += 1
                coordinator.merged(order.rank, order.node, 1.0)
    assert moved[True] > 4 * moved[False]


def test_a_merge_is_made_where_most_of_its_inputs_lie():
    coordinator = Coordinator(range(3), batch=1)
    coordinator.fetched(2)
    grants = list(coordinator.orders())
    sizes = {grants[0].rank: 10.0, grants[1].rank: 1000.0}
    for order in grants:
        coordinator.done(order.rank, order.block, [sizes[order.rank]], 0.01)
    (merge,) = coordinator.orders()
    assert merge.rank == grants[1].rank
    assert [each.first for each in merge.inputs] == [0, 1]
    assert merge.node == Node(0, 1, 0)


def test_reductions_at_the_end_of_another_run_are_as_short_as_they_were():
    coordinator = Coordinator([0], every=3, items=5)
    coordinator.resume([], delivered=2, end=5)
    list(coordinator.orders())
    coordinator.fetched(5, ended=True)
    assert list(coordinator.orders()) == []
    assert (coordinator.items_done, coordinator.is_over) == (5, True)
    short = Node(0, 3, 2)  # of items 16 to 20
    coordinator = Coordinator([0], batch=1)
    coordinator.resume([(short, HeldNode(0, short, 1.0))], delivered=0, end=21)
    assert [coordinator.is_needed(item) for item in (15, 16, 20, 21)] == [True, False, False, True]


@pytest.mark.parametrize("is_told", [True, False])
def test_a_slow_server_stage_bounds_the_reductions_that_wait_for_it(is_told):
    coordinator, delivered = Coordinator([0, 1], every=1, batch=1), 0
    coordinator.fetched(2000)
    if is_told:
        coordinator.served(0)
    for _ in range(2000):
        for order in coordinator.orders():
            if isinstance(order, Grant):
                coordinator.done(order.rank, order.block, [1.0], 1e-3)
            else:
                delivered += 1
    assert (delivered < 2 * UNSERVED) is is_told
    before = delivered
    if is_told:
        coordinator.served(delivered)
        assert any(isinstance(order, Grant) for order in coordinator.orders())
    assert before == delivered
