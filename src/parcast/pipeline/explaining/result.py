"""What `explain pipeline` answers: a schedule step by step, with its messages and deliveries.

Steps are counted from 1, and step 0 is the start, in which every rank takes its first item. Ranks
and items are counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import log2
from typing import Any, Final, Literal, NamedTuple

from parcast.pipeline.published.schedule import ItemRange
from parcast.saved.call import Call
from parcast.show.result import Result

Schedule = Literal["source", "adaptive"]
Kind = Literal["task", "merge", "receive"]  # a rank that is empty only receives


class Activity(NamedTuple):
    """What a rank does in a step; ranks that do nothing have none."""

    step: int
    rank: int
    kind: Kind
    items: ItemRange  # of its result; of a task, the item
    partner: int | None = None  # rank whose result a merge receives; None: it has both


class Moved(NamedTuple):
    """A result that moves at the beginning of a step."""

    step: int
    source: int
    target: int
    items: ItemRange


class Delivered(NamedTuple):
    """A result that is complete at the end of a step, and goes to the server."""

    step: int
    rank: int
    items: ItemRange


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineSchedule(Result):
    """What the ranks of a pipeline do in each step, if all tasks and merges take equally long."""

    _schema = "parcast/pipeline-schedule/1"
    _outline = "schedule ranks pipelines items steps *_published speedup busy inputs rows call?"
    _picture = "parcast.pipeline.explaining.picture:figure_of"

    schedule: Schedule  # `source` or `adaptive`
    ranks: int  # ranks of one pipeline [1]
    pipelines: int  # independent pipelines [1]
    items: int | None  # of one pipeline; None: unlimited, the first steps are given [1]
    steps: int  # steps that are given, without the start [1]
    activities: tuple[Activity, ...]
    messages: tuple[Moved, ...]
    deliveries: tuple[Delivered, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    call: Call | None = None  # what made it: for `parcast.load`

    @property
    def is_source(self) -> bool:
        """Whether it is the published schedule."""
        return self.schedule == "source"

    @property
    def depth(self) -> int:
        """Stages of the published pipeline, 2 lg P + 1 [S]. [1]."""
        return round(2 * log2(self.ranks)) + 1

    @property
    def speedup_plain(self) -> float:
        """Speedup of the stages one after another, all equally long: P/(2 lg P + 1) [S (4)]."""
        return self.pipelines * self.ranks / self.depth

    @property
    def speedup(self) -> float:
        """Ideal speedup with equal stages: P 2 lg P/(2 lg P + 1) [S (5)]; of `adaptive`, as given.

        For `adaptive` it is the work of the given steps over their number [D].
        """
        if self.is_source and self.ranks > 1:
            return self.pipelines * self.ranks * (self.depth - 1) / self.depth
        return self.pipelines * self.busy * self.ranks

    @property
    def busy(self) -> float:
        """Share of the ranks that work, over all given steps with the start. [1]."""
        return len(self.activities) / (self.ranks * (self.steps + 1))

    def __repr__(self) -> str:
        pipelines = f"{self.pipelines} x " if self.pipelines > 1 else ""
        return (
            f"PipelineSchedule({self.schedule}, {pipelines}{self.ranks} ranks, {self.steps} steps)"
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give each task, merge, message and delivery, in the order of the steps."""
        yield from sorted(self._events(), key=lambda row: int(row["step"]))

    def _events(self) -> Iterator[dict[str, Any]]:
        """Give messages first: they begin a step."""
        for message in self.messages:
            yield _row("message", message.step, message.source, message.target, message.items)
        for activity in self.activities:
            partner = activity.partner
            yield _row(activity.kind, activity.step, activity.rank, partner, activity.items)
        for delivered in self.deliveries:
            yield _row("deliver", delivered.step, delivered.rank, None, delivered.items)

    @property
    def _published(self) -> dict[str, float]:
        """Of the published schedule: `depth`, `usable_depth`, `speedup_without_pipelining` [1]."""
        if not self.is_source:
            return {}
        depth = self.depth
        return {
            "depth": depth,
            "usable_depth": depth - 1,
            "speedup_without_pipelining": self.speedup_plain,
        }


def _row(
    event: str, step: int, rank: int, partner: int | None, items: ItemRange
) -> dict[str, Any]:
    first, stop = items
    row: dict[str, Any] = {"step": step, "event": event, "rank": rank, "partner": partner}
    return {**row, "first": first, "stop": stop}


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
    """Tree of the first items of a schedule: which rank makes which result, up to the root.

    It is that of the first delivery of the published schedule, P items on P ranks, and of
    `adaptive` that of all items or, where these are many, of the first P or so; at most 64 items.
    """
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
