"""The published schedule: order, item counts, ranks without global knowledge."""

from collections import Counter
from math import log2

import pytest

from parcast.errors import ParameterError
from parcast.pipeline.published.schedule import (
    FIRST_TAKE,
    ItemRange,
    cycle_length,
    dealt,
    deliveries,
    delivery,
    label,
    last_step,
    message_counts,
    message_items,
    messages,
    share,
    steps,
)

SIZES = [1, 2, 4, 8, 16, 32]
COUNTS = [*range(20), 31, 32, 33, 63, 64, 65, 96, 97, 200, 333, 500]


def published(rank, size):
    """Figure 6 as it is printed, with ranks from 1."""
    block = 2
    while block <= size:
        if 0 < rank % block <= block // 2:
            yield "send", rank + block // 2
        else:
            yield "merge", rank - block // 2
        block *= 2


@pytest.mark.parametrize("size", SIZES[1:])
def test_it_is_figure_6_with_ranks_from_0(size):
    for rank in range(size):
        ours = [(step.kind, step.partner) for step in steps(rank, size)]
        assert ours == [(kind, other - 1) for kind, other in published(rank + 1, size)]


class Rank:
    """A rank that knows its number, the count of ranks, and what it takes and receives."""

    def __init__(self, rank, size, source):
        self.rank, self.size, self.source = rank, size, source
        self.cycle = steps(rank, size)
        self.end, self.delivered = None, []
        self.result = self.take(FIRST_TAKE)

    def take(self, step):
        number = label(self.rank, step, self.size)
        if number < len(self.source):
            return (number, number + 1, self.source[number])
        self.end = len(self.source)  # what a source says that has ended
        return None

    def begin(self, step, post):
        mine = self.cycle[step % len(self.cycle)]
        if mine.kind == "send":
            if mine.partner is None:
                self.deliver()
            else:
                post[mine.partner] = (self.rank, self.result, self.end)
            self.result = self.take(step)

    def complete(self, step, post):
        mine = self.cycle[step % len(self.cycle)]
        if mine.kind == "merge":
            source, received, end = post.pop(self.rank)
            assert source == mine.partner
            self.end = end if self.end is None else self.end
            self.result = joined(self.result, received)
            if mine.delivers:
                self.deliver()

    def deliver(self):
        if self.result is not None:
            self.delivered.append(self.result)
        self.result = None

    def is_done(self, step):
        return self.end is not None and step >= last_step(self.end, self.size)


def joined(own, received):
    """Merge two results, of adjacent items only."""
    if own is None or received is None:
        return own or received
    assert own[1] == received[0]
    return (own[0], received[1], own[2] + received[2])


def run(size, count):
    """Execute it in lockstep with `count` items; give deliveries, messages, and steps."""
    source = [f"{number}," for number in range(count)]
    ranks = [Rank(rank, size, source) for rank in range(size)]
    sent, step = [], 0
    while True:
        post = {}
        for rank in ranks:
            rank.begin(step, post)
        sent += [(step, source, target, part) for target, (source, part, _) in post.items()]
        for rank in ranks:
            rank.complete(step, post)
        assert not post
        done = {rank.is_done(step) for rank in ranks}
        assert len(done) == 1, "all ranks stop after the same step"
        if done == {True}:
            break
        step += 1
    assert all(rank.result is None for rank in ranks[:-1])
    ranks[-1].deliver()
    return ranks[-1].delivered, sent, step


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", COUNTS)
def test_deliveries_in_order_concatenate_to_the_items_in_order(size, count):
    delivered, sent, last = run(size, count)
    assert "".join(text for *_, text in delivered) == "".join(f"{x}," for x in range(count))
    assert [ItemRange(first, stop) for first, stop, _ in delivered] == [*deliveries(size, count)]
    assert last == last_step(count, size)
    expected = {(m.step, m.source, m.target): m.items for m in messages(size, last + 1, count)}
    assert len(sent) == len(expected)
    for step, source, target, part in sent:
        items = expected[step, source, target]
        assert (part[:2] if part else 0) == (items if items.length else 0)


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32, 64])
def test_everything_has_arrived_after_the_last_step_and_not_two_steps_earlier(size):
    for count in (size + 1, 5 * size, 7 * size + 3):
        last = last_step(count, size)
        to_last = [m for m in messages(size, last + 1, count) if m.target == size - 1]
        arrived = 1 + sum(m.items.length for m in to_last)  # with the own first item
        assert arrived == count
        missing = sum(m.items.length for m in to_last if m.step >= last - 1)
        assert missing > 0


@pytest.mark.parametrize("size", SIZES)
def test_every_item_is_taken_once_and_in_the_order_of_steps(size):
    taken = [[label(rank, FIRST_TAKE, size) for rank in range(size)]]
    length = cycle_length(size)
    for step in range(4 * length):
        kinds = [steps(rank, size)[step % length].kind for rank in range(size)]
        takers = [rank for rank in range(size) if kinds[rank] == "send"]
        assert len(takers) == max(size // 2, 1)  # the others merge: every rank is busy
        taken.append([label(rank, step, size) for rank in takers])
    assert [x for each in taken for x in sorted(each)] == [*range(sum(map(len, taken)))]


@pytest.mark.parametrize(
    ("size", "counts", "cv2"), [(8, [1, 1, 2, 4], 0.375), (16, [1, 1, 1, 1, 2, 2, 4, 8], 0.84)]
)
def test_messages_of_every_step_hold_the_published_counts(size, counts, cv2):
    length = cycle_length(size)
    sent = [m for m in messages(size, 6 * length) if m.step >= length]
    by_step = {}
    for message in sent:
        by_step.setdefault(message.step, []).append(message.items.length)
    assert {tuple(sorted(each)) for each in by_step.values()} == {tuple(counts)}
    assert message_counts(size).cv2 == pytest.approx(cv2, abs=1e-12)


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32, 64, 1024])
def test_closed_forms_of_messages_are_those_of_all_messages(size):
    length = cycle_length(size)
    counts = [m.items.length for m in messages(size, 2 * length + 1) if m.step == 2 * length]
    mean = sum(counts) / len(counts)
    square = sum(x * x for x in counts) / len(counts)
    closed = message_counts(size)
    assert closed.mean == mean == (log2(size) + 1) / 2
    assert closed.largest == max(counts) == size // 2
    assert closed.cv2 == pytest.approx(square / mean**2 - 1, abs=1e-12)
    assert Counter(counts)[size // 2] >= 1


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_cycle_takes_half_p_lg_p_items(size):
    assert delivery(3, size).length == size // 2 * cycle_length(size)
    assert delivery(0, size).length == size


def test_messages_of_one_rank_are_its_deliveries():
    assert [*messages(1, 5)] == []
    assert message_items(0, 3, 1) == (3, 4)
    assert message_counts(1) == (1.0, 1, 0.0)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("pipelines", [1, 2, 3])
def test_several_pipelines_share_the_input_and_deliver_in_turn(size, pipelines):
    for items in (0, 1, size, 3 * size, 50, 77):
        shares = [share(items, size, pipeline=g, pipelines=pipelines) for g in range(pipelines)]
        whole = [
            [dealt(x, size, pipeline=g, pipelines=pipelines) for x in range(shares[g])]
            for g in range(pipelines)
        ]
        assert sorted(x for each in whole for x in each) == [*range(items)]
        parts = [
            (turn, g, whole[g][part.first : part.stop])
            for g in range(pipelines)
            for turn, part in enumerate(deliveries(size, shares[g]))
        ]
        assert [x for *_, part in sorted(parts) for x in part] == [*range(items)]


@pytest.mark.parametrize("size", [0, -2, 3, 6, 12])
def test_other_numbers_of_ranks_are_refused(size, refusal):
    assert refusal(ParameterError, steps, 0, size) == (
        f'ranks must be a power of two with schedule="source", got {size}. '
        "Use schedule='adaptive', which takes any number."
    )
