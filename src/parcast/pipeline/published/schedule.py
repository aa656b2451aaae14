"""The published schedule of the parallel pipeline as data: who works and who merges in each step.

P ranks, a power of two, repeat a cycle of lg P steps; step n of a run uses bit s = n mod lg P [S,
figure 6, there with ranks from 1]:

    bit s of the rank is 0:  send the result to rank + 2^s, and take a new item
    bit s of the rank is 1:  receive from rank - 2^s, and merge

The last rank, P - 1, only receives. At the end of a cycle it delivers its result and is empty.
One rank alone delivers and takes an item in every step.

A result moves to the last rank by setting the zero bits of the rank that took it, in cyclic
order. So the items taken in step n have all arrived after step n + lg P, one cycle later, and no
result stays in a rank for longer [D]. If a receiver puts its own result first,

    merged = merge(own, received),

every merge joins adjacent intervals of items where the items are numbered as follows [D]:

    before step 0   rank r takes item  P - 1 - r
    in step n       rank r takes item  P + n P/2 + (rot(P - 1 - r, s + 1) mod P/2)

with rot(x, i) the rotation of the lg P bits of x to the right by i. Step n takes the P/2 items
from P + n P/2 on, so that items are used in their order. Delivery 0 is the items from 0 to P - 1,
and each later one the next P/2 lg P. A message contains 2^L items, L being the number of ones
before bit s of the sender in cyclic order: mean (lg P + 1)/2, largest P/2 [S].

Nothing here depends on an engine. A rank needs its number and the number of the step, and no
other knowledge of the run; items may be unlimited. When they end, a rank that takes a number at or
beyond the end has an empty result, which is sent and merged like any other. Step `last_step` is
the last one to execute. Every rank finds it out in time if a message tells the number of items
once its sender has met their end.

References
----------
.. [1] J. Kuntraruk, research report, 2005, figure 6; earlier: J. Kuntraruk, W. M. Pottenger and
   A. M. Ross, "Application resource requirement estimation in a parallel-pipeline model of
   execution," IEEE Trans. Parallel Distrib. Syst., vol. 16, no. 12, pp. 1154-1165, 2005,
   :doi:`10.1109/TPDS.2005.143`.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, NamedTuple

from parcast.errors import Argument, ParameterError

FIRST_TAKE: Final = -1  # the step in which every rank takes its first item


@dataclass(frozen=True, slots=True)
class Step:
    """What a rank does in one step."""

    kind: Literal["send", "merge"]  # "send": send the result, then take an item
    partner: int | None  # rank that receives or sends; None is the server
    delivers: bool = False  # afterwards the result goes to the server, and the rank is empty


class ItemRange(NamedTuple):
    """The items from `first` up to `stop`, without it; none where they are equal."""

    first: int
    stop: int

    @property
    def length(self) -> int:
        """How many. [1]."""
        return self.stop - self.first


class MessageItems(NamedTuple):
    """Item counts of the messages of a step, in the steady state."""

    mean: float
    largest: int
    cv2: float  # squared coefficient of variation


def check_size(size: int) -> int:
    """Refuse numbers of ranks that this schedule is not defined for; return the others."""
    if size < 1 or size & (size - 1):
        raise ParameterError(
            "ranks",
            must=(
                "be a power of two with ",
                Argument("schedule", "source", python='schedule="source"'),
            ),
            got=str(size),
            hint=("Use ", Argument("schedule", "adaptive"), ", which takes any number."),
        )
    return size


@cache
def cycle_length(size: int) -> int:
    """Steps of a cycle, lg P; 1 for one rank."""
    return max(check_size(size).bit_length() - 1, 1)


def items_per_step(size: int) -> int:
    """Items that all ranks take in a step, P/2; 1 for one rank."""
    return max(check_size(size) // 2, 1)


@cache
def steps(rank: int, size: int) -> tuple[Step, ...]:
    """Steps of one cycle of a rank, which it repeats.

    >>> [(step.kind, step.partner) for step in steps(2, 8)]
    [('send', 3), ('merge', 0), ('send', 6)]
    >>> steps(7, 8)[-1]
    Step(kind='merge', partner=3, delivers=True)
    """
    length = cycle_length(size)
    if size == 1:
        return (Step("send", None),)
    is_last = rank == size - 1
    return tuple(
        Step("merge", rank - (1 << bit), delivers=is_last and bit == length - 1)
        if rank >> bit & 1
        else Step("send", rank + (1 << bit))
        for bit in range(length)
    )


def label(rank: int, step: int, size: int) -> int:
    """Number of the item that a rank takes in a step in which it sends, or at `FIRST_TAKE`.

    >>> [label(rank, FIRST_TAKE, 4) for rank in range(4)]
    [3, 2, 1, 0]
    >>> [label(rank, 0, 4) for rank in (0, 2)], [label(rank, 1, 4) for rank in (0, 1)]
    ([5, 4], [7, 6])
    """
    mirrored = check_size(size) - 1 - rank
    if step == FIRST_TAKE:
        return mirrored
    length, taken = cycle_length(size), items_per_step(size)
    turn = (step + 1) % length
    rotated = mirrored >> turn | mirrored << (length - turn)
    return size + step * taken + (rotated & (taken - 1))


def last_step(items: int, size: int) -> int:
    """Last step of a run of so many items, after which the last rank has everything.

    By then every rank knows of the end: it met it itself, or heard of it from a message. [1].

    >>> last_step(20, 8), last_step(0, 8)
    (6, 2)
    """
    last_full = max((items - check_size(size)) // items_per_step(size), FIRST_TAKE)
    return last_full + cycle_length(size)


def dealt(label: int, size: int, *, pipeline: int, pipelines: int) -> int:
    """Number in the whole input of an item of one of several pipelines, which take turns.

    Each gets P items, then in turn the items of a cycle: the deliveries of all pipelines, taken in
    turn, are in the order of the input.

    >>> [dealt(x, 2, pipeline=1, pipelines=2) for x in range(4)]
    [2, 3, 5, 7]
    """
    if label < check_size(size):
        return pipeline * size + label
    every = items_per_step(size) * cycle_length(size)
    turn, place = divmod(label - size, every)
    return pipelines * size + (turn * pipelines + pipeline) * every + place


def share(items: int, size: int, *, pipeline: int, pipelines: int) -> int:
    """How many of the items of the whole input one of several pipelines gets. [1].

    >>> [share(7, 2, pipeline=g, pipelines=2) for g in range(2)]
    [4, 3]
    """
    head = min(max(items - pipeline * check_size(size), 0), size)
    every = items_per_step(size) * cycle_length(size)
    turns, rest = divmod(max(items - pipelines * size, 0), pipelines * every)
    return head + turns * every + min(max(rest - pipeline * every, 0), every)


def message_counts(size: int) -> MessageItems:
    """Item counts of messages in the steady state, in closed form [S]; P is at least 2.

    mean (lg P + 1)/2, largest P/2, cv^2 (3 P - 2)/(lg P + 1)^2 - 1 [D].

    >>> message_counts(8)
    MessageItems(mean=2.0, largest=4, cv2=0.375)
    """
    if check_size(size) == 1:
        return MessageItems(1.0, 1, 0.0)
    length = cycle_length(size)
    cv2 = (3 * size - 2) / (length + 1) ** 2 - 1
    return MessageItems((length + 1) / 2, size // 2, cv2)
