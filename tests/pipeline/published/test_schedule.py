"""The published schedule: order, item counts, ranks without global knowledge."""

import pytest

from parcast.errors import ParameterError
from parcast.pipeline.published.schedule import (
    FIRST_TAKE,
    cycle_length,
    dealt,
    label,
    last_step,
    message_counts,
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
    delivered, _, last = run(size, count)
    assert "".join(text for *_, text in delivered) == "".join(f"{x}," for x in range(count))
    assert last == last_step(count, size)


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
    _, sent, _ = run(size, 8 * size * length)
    for step in range(length, 6 * length):
        assert sorted(part[1] - part[0] for at, *_, part in sent if at == step) == counts
    closed = message_counts(size)
    assert (closed.mean, closed.largest) == (sum(counts) / len(counts), max(counts))
    assert closed.cv2 == pytest.approx(cv2, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("pipelines", [1, 2, 3])
def test_several_pipelines_share_the_input(size, pipelines):
    for items in (0, 1, size, 3 * size, 50, 77):
        shares = [share(items, size, pipeline=g, pipelines=pipelines) for g in range(pipelines)]
        whole = [
            dealt(x, size, pipeline=g, pipelines=pipelines)
            for g in range(pipelines)
            for x in range(shares[g])
        ]
        assert sorted(whole) == [*range(items)]


@pytest.mark.parametrize("size", [0, -2, 3, 6, 12])
def test_other_numbers_of_ranks_are_refused(size, refusal):
    assert refusal(ParameterError, steps, 0, size) == (
        f'ranks must be a power of two with schedule="source", got {size}. '
        "Use schedule='adaptive', which takes any number."
    )
