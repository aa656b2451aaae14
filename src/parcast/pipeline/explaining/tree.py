"""The merge tree of a schedule: which rank makes which result, from the items up to the root.

Shown is the tree of the first delivery of the published schedule, P items on P ranks, and of
`adaptive` the tree of all items or, where these are many, of the first P or so; at most 64 items.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from parcast.pipeline.explaining.result import PipelineSchedule
from parcast.pipeline.published.schedule import ItemRange

MOST_LEAVES: Final = 32
LARGEST: Final = 64  # items of a tree


class DrawnNode(NamedTuple):
    """A result and the rank that makes it, in a step."""

    items: ItemRange
    rank: int
    step: int


@dataclass(frozen=True, slots=True)
class MergeTree:
    """Nodes by the number of merges below them, the items first; each level in their order."""

    items: ItemRange
    levels: tuple[tuple[DrawnNode, ...], ...]

    def branches(self) -> Iterator[tuple[DrawnNode, DrawnNode]]:
        """Give each node but the root with the merge that its result goes into."""
        return _branches([node for level in self.levels for node in level])


def _branches(nodes: Iterable[DrawnNode]) -> Iterator[tuple[DrawnNode, DrawnNode]]:
    """Give each node inside another with the smallest that contains it."""
    around: list[DrawnNode] = []
    for node in sorted(nodes, key=lambda x: (x.items.first, -x.items.stop)):
        while around and around[-1].items.stop <= node.items.first:
            around.pop()
        if around:
            yield node, around[-1]
        around.append(node)


def tree_of(result: PipelineSchedule) -> MergeTree:
    """Tree of the first items of a schedule."""
    stop = _stop(result)
    nodes = [
        DrawnNode(activity.items, activity.rank, activity.step)
        for activity in result.activities
        if activity.items.stop <= stop and activity.kind != "receive"
    ]
    outer = {node.items: whole.items for node, whole in _branches(nodes)}
    depth = dict.fromkeys((node.items for node in nodes), 0)
    levels: dict[int, list[DrawnNode]] = {}
    for node in sorted(nodes, key=lambda x: x.items.length):
        level = depth[node.items]
        levels.setdefault(level, []).append(node)
        if node.items in outer:
            depth[outer[node.items]] = max(depth[outer[node.items]], level + 1)
    ordered = (tuple(sorted(levels[i])) for i in sorted(levels))
    return MergeTree(ItemRange(0, stop), tuple(ordered))


def _stop(result: PipelineSchedule) -> int:
    """Where the items of the tree that is shown end."""
    if result.is_source:
        first = min(result.ranks, LARGEST)
        return first if result.items is None else min(first, result.items)
    items = result.items or 0
    most = min(max(1 << (result.ranks - 1).bit_length(), 8), LARGEST)
    return items if items <= max(most, MOST_LEAVES) else min(most, items)
