"""All plans of a pipeline at once: their times by the law, and how long each stage takes.

A plan is a number of ranks, of pipelines that share them, a fan-in and a batch. In the time that
every rank takes for a batch, the other stages have to do what belongs to it, or they fall behind:

    task            a batch of b items, with the merges within it
    merge           a node of the tree: f - 1 merges of two results
    communication   a message, or all messages of that time on their channel
    fetch           the items of all ranks, by rank 0

A plan is balanced if no stage takes longer than the task. In the published schedule a step is one
task; its results grow up to those of a cycle, of which the longest merge and message count, and
the messages to the server that deliver them.
"""

from dataclasses import dataclass, fields
from functools import cache
from math import isqrt
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.pipeline.law.adaptive import adaptive_time, batches, channel_time, queued_delay
from parcast.pipeline.law.formulas import (
    arrival_rate,
    message_delay,
    step_time,
    steps,
    tree_levels,
)
from parcast.pipeline.planning.costs import ReductionCosts, Tree, tree_of

Stage = Literal["task", "merge", "communication", "fetch"]
FAN_INS: Final = (2, 4, 8, 16)
EVERY: Final = 128  # ranks up to which every number is tried
STAGES: Final[tuple[Stage, ...]] = ("task", "merge", "communication", "fetch")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shapes:
    """Plans, one an element of the arrays."""

    ranks: Array  # P*G [1]
    pipelines: Array  # G [1]
    fan_in: Array  # [1]
    batch: Array  # [1]

    def __len__(self) -> int:
        return len(self.ranks)

    def __getitem__(self, where: Any) -> "Shapes":
        return Shapes(**{x.name: getattr(self, x.name)[where] for x in fields(self)})

    @property
    def p(self) -> Array:
        """Processors of a pipeline, P. [1]."""
        return np.asarray(self.ranks / self.pipelines)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StageFigures:
    """What plans take; arrays (plans,), or (samples, plans) where costs are samples."""

    time: Array  # [s]
    task: Array  # of a batch [s]
    merge: Array  # in the time of a batch, as the others [s]
    communication: Array
    fetch: Array
    utilisation: Array  # of a channel; 1 and above: it cannot carry the messages [1]
    memory: Array  # of the results that a rank may hold [B]

    @property
    def ratio(self) -> Array:
        """Longest of the other stages over the task [1]."""
        longest = np.maximum(np.maximum(self.merge, self.communication), self.fetch)
        return np.asarray(longest / self.task)

    @property
    def is_balanced(self) -> NDArray[np.bool_]:
        """Whether no stage takes longer than the task."""
        return np.asarray(self.ratio <= 1.0 + 1e-9)


def counts_up_to(most: int, per_node: int = 1) -> NDArray[np.int64]:
    """Numbers of ranks that are tried: all up to 128, and 64 in each doubling above.

    Those up to a smaller `most` are among them, so that more ranks are never worse. More than one
    node are whole nodes.

    >>> counts_up_to(5), len(counts_up_to(4096)), counts_up_to(12, 4)
    (array([1, 2, 3, 4, 5]), 448, array([ 1,  2,  3,  4,  8, 12]))
    """
    if per_node > 1:
        nodes = counts_up_to(most // per_node) * per_node
        return np.unique(np.concatenate([counts_up_to(min(per_node, most)), nodes]))
    half = np.arange(EVERY // 2 + 1, EVERY + 1)
    above = [half << i for i in range(1, int(most).bit_length())]
    counts = np.concatenate([np.arange(1, EVERY + 1), *above])
    return np.asarray(counts[counts <= most])


def shapes_of(items: int, counts: NDArray[np.int64], schedule: str) -> Shapes:
    """All plans for numbers of ranks.

    Pipelines have at least two ranks each and are equally large. Batches are powers of the fan-in
    of which every rank gets one, if there are so many items; the published schedule has fan-in 2
    and no batches, and pipelines of a power of two.
    """
    ranks, pipelines = _divided(tuple(counts.tolist()))
    if schedule == "source":
        p = ranks // pipelines
        # A pipeline of two delivers every item by itself: several of them would reduce nothing.
        keep = ((p & (p - 1)) == 0) & ((p > 2) | (pipelines == 1))
        ranks, pipelines = ranks[keep], pipelines[keep]
        pairs = np.array([[2.0, 1.0]])
    else:
        pairs = np.array(
            [(f, f**i) for f in FAN_INS for i in range(64) if i == 0 or f**i <= items],
            dtype=np.float64,
        )
    where, pair = (x.ravel() for x in np.indices((len(ranks), len(pairs))))
    every = Shapes(
        ranks=ranks[where].astype(np.float64),
        pipelines=pipelines[where].astype(np.float64),
        fan_in=pairs[pair, 0],
        batch=pairs[pair, 1],
    )
    return every[(np.ceil(items / every.batch) >= every.ranks) | (every.batch == 1)]


@cache
def _divided(counts: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of ranks with their numbers of pipelines of at least two ranks each, or of one."""
    ranks = np.array(counts)
    roots = np.arange(1, isqrt(max(counts)) + 1)
    where, root = np.nonzero((ranks[:, None] % roots == 0) & (roots**2 <= ranks[:, None]))
    small, large = roots[root], ranks[where] // roots[root]
    pairs = np.concatenate([np.stack([ranks[where], x]) for x in (small, large)], axis=1)
    ranks, groups = np.unique(pairs, axis=1)
    keep = (ranks >= 2 * groups) | (groups == 1)
    return ranks[keep], groups[keep]


def figures_of(
    costs: ReductionCosts, shapes: Shapes, schedule: str = "adaptive", *, drain: bool = True
) -> StageFigures:
    """Evaluate plans."""
    if schedule == "source":
        return _published(costs, shapes, drain=drain)
    return _adaptive(costs, shapes, drain=drain)


def _trees(costs: ReductionCosts, shapes: Shapes) -> Tree:
    """Merge trees of plans; of equal fan-ins and batches only one is summed."""
    # One number for both, as to sort numbers is faster than to sort pairs.
    _, first, where = np.unique(
        shapes.batch * (2 * max(FAN_INS)) + shapes.fan_in, return_index=True, return_inverse=True
    )
    tree = tree_of(costs, shapes.fan_in[first], shapes.batch[first])
    shape = (len(first),)
    spread = {
        x.name: np.broadcast_to(value, np.broadcast_shapes(value.shape, shape))[..., where]
        for x in fields(tree)
        for value in [np.asarray(getattr(tree, x.name))]
    }
    return Tree(**spread)


def _adaptive(costs: ReductionCosts, shapes: Shapes, *, drain: bool) -> StageFigures:
    """Evaluate plans of the default schedule: a batch is one item of the law."""
    tree, ranks, f = _trees(costs, shapes), shapes.ranks, shapes.fan_in
    size = np.minimum(shapes.batch, costs.items)
    item = size * costs.task + tree.local
    fetch = size * costs.fetch
    if not costs.prefetch:
        item, fetch = item + fetch, np.zeros(())
    shape: dict[str, Any] = {"cores": costs.cores, "fan_in": f}
    split = batches(tree.batches, ranks, **shape)
    channels = np.ones(()) if costs.shares_channel else shapes.pipelines
    service = np.zeros(()) if costs.bandwidth is None else tree.message / costs.bandwidth
    law: dict[str, Any] = {
        "task": item,
        "merge": tree.merge,
        "fetch": fetch,
        "prefetch": costs.prefetch,
        "overhead": costs.overhead,
        "latency": costs.latency,
        "channel": channel_time(split, service=service, channels=channels),
        **shape,
    }
    steady = adaptive_time(tree.batches, ranks, **law, drain=False).time
    if costs.communication is not None:
        sent = on_path = np.asarray(costs.communication, dtype=np.float64)
    else:
        arrivals = split.results / channels / steady
        queue: dict[str, Any] = {"service": service, "cv2": tree.cv2, "channels": channels}
        sent = queued_delay(split, arrivals, **queue, propagation=costs.latency)
        longer = 0.0 if costs.bandwidth is None else tree.path_message / costs.bandwidth - service
        on_path = sent + np.maximum(longer, 0.0)
    # Merges on the path to the root are longer than the mean merge, which the law counts there.
    # They are given to the messages of the path, of which there is one more: the delivery.
    merges = split.levels / (split.levels + 1)
    on_path = on_path + merges * (f - 1) * np.maximum(tree.path - tree.merge, 0.0)
    time = adaptive_time(tree.batches, ranks, **law, communication=on_path, drain=drain).time
    share = split.shared
    per_message = np.where(share > 0, sent + costs.overhead, 0.0)
    carried = split.busy * share * service / channels
    alone = split.working <= 1
    # Of each level of the tree, results that wait for the last of a node; and the total.
    held = (f - 1) * tree.levels * tree.path_message + costs.message_of(costs.items)
    return StageFigures(
        time=time + costs.startup,
        task=item,
        merge=np.where(alone, 0.0, (f - 1) * tree.merge),
        communication=np.maximum(per_message, carried),
        fetch=np.where(alone, 0.0, split.busy * fetch),
        utilisation=law["channel"] / time,
        memory=np.broadcast_to(held, np.broadcast_shapes(np.shape(held), np.shape(time))),
    )


def _published(costs: ReductionCosts, shapes: Shapes, *, drain: bool) -> StageFigures:
    """Evaluate plans of the published schedule, by the overlapped form of its law."""
    p, g = shapes.p, shapes.pipelines
    is_parallel = p > 1
    levels = np.maximum(tree_levels(p), 1.0)
    cycle = p / 2 * levels  # items of the largest result [1]
    merge = np.where(is_parallel, costs.merge_of(np.maximum(cycle, 2.0)), 0.0)
    sent_bytes = costs.message_of(np.maximum(p / 2, 1.0))
    task = np.asarray(costs.task + (0.0 if costs.prefetch else costs.fetch), dtype=np.float64)
    busy = task
    if costs.cores is not None:
        busy = np.maximum(task, p / 2 * g * (task + merge) / costs.cores)
    fetch = np.where(is_parallel, p / 2 * g * costs.fetch, 0.0) * costs.prefetch
    service = np.zeros(()) if costs.bandwidth is None else sent_bytes / costs.bandwidth
    step = np.maximum(np.maximum(busy, merge), fetch)
    arrivals = arrival_rate(p, step, pipelines=g if costs.shares_channel else 1.0, sending=0.5)
    used = np.where(is_parallel, arrivals * service, 0.0)
    if costs.communication is not None:
        sent = np.asarray(costs.communication, dtype=np.float64)
    else:
        is_open = used < 1
        rate = np.where(is_open & is_parallel, arrivals, 0.0)
        # On a channel that is full, messages leave at its rate: a step takes all of them.
        full = used * step
        delay = message_delay(rate, service=service * is_open, propagation=costs.latency)
        sent = np.where(is_open, delay, full)
    k = steps(costs.items, p, pipelines=g, whole_cycles=True)
    own = costs.overhead
    each = step_time(
        task=np.maximum(busy, fetch),
        merge=merge,
        communication=sent,
        overhead=own,
        overlapped=True,
    )
    first = task if costs.cores is None else task * np.maximum(p * g / costs.cores, 1.0)
    time = first + k * each + drain * levels * (merge + sent + own)
    fill = p * g * costs.fetch * costs.prefetch
    alone = np.broadcast_to(
        costs.sequential, np.broadcast_shapes(np.shape(costs.sequential), (1,))
    )
    whole = np.where(is_parallel, time + fill, alone) + costs.startup
    shape = whole.shape
    held = 2.0 * costs.message_of(cycle)
    sent = np.where(is_parallel, sent + costs.overhead, 0.0)
    # All pipelines deliver to one server.
    delivered = costs.overhead + (
        0.0 if costs.bandwidth is None else costs.message_of(cycle) / costs.bandwidth
    )
    delivered = is_parallel * g / levels * delivered
    named = {
        "task": busy,
        "merge": merge,
        "communication": np.maximum(np.maximum(sent, used * step), delivered),
        "fetch": fetch,
        "utilisation": used * step / np.maximum(step, sent),
        "memory": held,
    }
    return StageFigures(time=whole, **{x: np.broadcast_to(y, shape) for x, y in named.items()})
