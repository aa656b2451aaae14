"""The merge tree: it follows from the numbers of the items alone, so that no timing changes it.

Node j of level l holds the items [j f^l, (j+1) f^l) of a reduction, f being the fan-in; its value
is the merge of its f children in their order. Of a reduction that ends at item n, nodes that would
begin at n or later do not exist, and a node with one child has the value of that child. Ranks,
batches and schedules decide who merges, never what is merged with what: the result has the same
bytes for every number of ranks.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Generic, NamedTuple, TypeVar

from parcast.mpi.payload import EMPTY, Nothing

Value = TypeVar("Value")


class Node(NamedTuple):
    """A node of the tree of a reduction and of one of its shards."""

    reduction: int
    level: int
    position: int  # among the nodes of its level
    shard: int = 0

    def first(self, fan_in: int) -> int:
        """First item, counted from the beginning of its reduction. [1]."""
        return self.position * int(fan_in**self.level)

    def stop(self, fan_in: int, end: int | None = None) -> int:
        """Item after its last one; `end` is that of the reduction, if it is known. [1]."""
        stop = (self.position + 1) * int(fan_in**self.level)
        return stop if end is None else min(stop, end)

    def parent(self, fan_in: int) -> "Node":
        """Node that it is merged into."""
        return Node(self.reduction, self.level + 1, self.position // fan_in, self.shard)

    def children(self, fan_in: int, end: int | None) -> int:
        """Number of its children, where the reduction ends at `end` if that is known. [1]."""
        if end is None or self.stop(fan_in) <= end:
            return fan_in
        return -(-(end - self.first(fan_in)) // int(fan_in ** (self.level - 1)))


def root_level(items: int, fan_in: int) -> int:
    """Level of the node that holds all of so many items. [1].

    >>> [root_level(n, 2) for n in (0, 1, 2, 3, 4, 5)]
    [0, 0, 1, 2, 2, 3]
    """
    level, span = 0, 1
    while span < items:
        level, span = level + 1, span * fan_in
    return level


def level_of(items: int, fan_in: int) -> int:
    """Level of the largest whole node of at most so many items. [1].

    >>> [level_of(n, 4) for n in (1, 3, 4, 15, 16)]
    [0, 0, 1, 1, 2]
    """
    level, span = 0, fan_in
    while span <= items:
        level, span = level + 1, span * fan_in
    return level


def aligned_level(first: int, most: int, fan_in: int) -> int:
    """Highest level, at most `most`, that has a node which begins at an item. [1].

    >>> [aligned_level(first, 3, 2) for first in (0, 4, 6, 7, 8)]
    [3, 2, 1, 0, 3]
    """
    level, span = 0, fan_in
    while level < most and first % span == 0:
        level, span = level + 1, span * fan_in
    return level


class Merge(NamedTuple):
    """How results are merged: two at a time, or several at once where that is cheaper."""

    two: Callable[[Any, Any], Any]
    many: Callable[[Sequence[Any]], Any] | None = None

    def of(self, values: Sequence[Any]) -> Any:
        """Merge the values of children, in their order; those of no item are left out."""
        if len(values) == 2 and values[0] is not EMPTY and values[1] is not EMPTY:
            return self.two(*values)
        there = [value for value in values if value is not EMPTY]
        if not there:
            return EMPTY
        if self.many is not None and len(there) > 2:
            return self.many(there)
        return reduce(self.two, there)


class Combiner(Generic[Value]):
    """Merges the values of items that come one by one, as the tree of their node does."""

    def __init__(self, merge: Callable[[Sequence[Value]], Value], fan_in: int) -> None:
        self._merge = merge
        self._fan_in = fan_in
        self._waiting: list[list[Value]] = [[]]  # of each level, the children of one node

    def add(self, value: Value) -> None:
        """Add the value of the next item."""
        level = 0
        self._waiting[0].append(value)
        while len(self._waiting[level]) == self._fan_in:
            value = self._merge(self._waiting[level])
            self._waiting[level] = []
            level += 1
            if level == len(self._waiting):
                self._waiting.append([])
            self._waiting[level].append(value)

    def total(self) -> Value | Nothing:
        """Value of the node that holds all items that were added, EMPTY of none."""
        value: list[Value] = []
        for waiting in self._waiting:
            value = [*waiting, *value]
            if len(value) > 1:
                value = [self._merge(value)]
        return value[0] if value else EMPTY
