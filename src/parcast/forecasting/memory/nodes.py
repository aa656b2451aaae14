"""How few nodes have the memory of a run, and how likely it runs out of it.

Up to as many ranks as a node has stand on it together, and need what all of them need. Of more,
one node has the largest rank and ranks like the mean of the others::

    need = total                                              p <= ranks of a node
    need = largest + (ranks - 1) (total - largest)/(p - 1)    beyond

Where only the largest rank is known, every rank of a node is taken to be as large. Memory is
log-normal about its forecast, each side with its own width, as a time is: the probability of
running out is that of a need above what the node has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.memory.curves import MemoryAt
from parcast.numerics import probability_up_to
from parcast.timings.series import Key
from parcast.units import format_quantity, percent

FITS: Final = 0.05  # probability of running out up to which memory is said to fit [D]
MOST_NODES: Final = 4096  # that are looked at
Both = tuple[MemoryAt | None, MemoryAt | None]  # of a rank, and of all


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeMemory:
    """What a node has, and how many ranks are to stand on it."""

    _outline: ClassVar[str] = "node_memory_B=memory ranks_per_node=ranks"

    memory: float  # that programs can use [B]
    ranks: int  # of a full node [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class NodesNeeded:
    """Fewest full nodes of one series that fit, or what would."""

    _outline: ClassVar[str] = (
        "*key# p nodes ranks_per_node=ranks need_B need_lower_B need_upper_B out_of_memory "
        "one_below upto fits"
    )

    key: Key  # the columns that distinguish the series
    p: int | None  # fewest ranks of full nodes that fit; `null` where none do [1]
    nodes: int | None  # their nodes [1]
    ranks: int  # on each node: fewer than asked for where a full node does not fit [1]
    need: float | None  # memory of the node that needs most [B]
    need_lower: float | None  # lower end of its 90% interval [B]
    need_upper: float | None  # upper end of its 90% interval [B]
    out_of_memory: float | None  # probability of running out there [1]
    one_below: float | None  # the same with one node fewer; `null` for a single node [1]
    upto: int  # largest count that was looked at [1]
    fits: bool  # whether it fits with the ranks on a node that were asked for

    def sentence(self, asked: NodeMemory) -> str:
        """Say it."""
        node = format_quantity(asked.memory, "size")
        if self.p is None or self.nodes is None or self.need is None:
            return f"nothing fits into nodes of {node} up to p = {self.upto}"
        s = "s" if self.nodes > 1 else ""
        text = (
            f"{self.nodes} node{s} of {self.ranks} ranks (p = {self.p}): a node needs "
            f"{format_quantity(self.need, 'size')} of {node} and runs out with a probability of "
            f"{percent(self.out_of_memory or 0.0)}"
        )
        if self.one_below is not None:
            text += f"; on {self.nodes - 1} node{'s' * (self.nodes > 2)} "
            text += f"of {percent(self.one_below)}"
        if not self.fits:
            return (
                f"{asked.ranks} ranks do not fit on a node up to p = {self.upto}; fewer do: {text}"
            )
        return text


def need_of_node(p: Array, ranks: int, both: Both) -> MemoryAt:
    """Memory of the node that needs most, (series, points), with so many ranks on each. [B]."""
    largest, total = both
    if total is None:
        assert largest is not None
        return MemoryAt(*(x * np.minimum(p, ranks) for x in largest))
    if largest is None:
        return MemoryAt(*(x * np.minimum(ranks / p, 1.0) for x in total))
    others = [
        np.maximum(t - x, 0.0) / np.maximum(p - 1.0, 1.0)
        for t, x in zip(total, largest, strict=True)
    ]
    full = [x + (ranks - 1) * other for x, other in zip(largest, others, strict=True)]
    alone = [np.maximum(t, x) for t, x in zip(total, largest, strict=True)]
    return MemoryAt(*(np.where(p <= ranks, a, f) for a, f in zip(alone, full, strict=True)))


def running_out(memory: float, need: MemoryAt) -> Array:
    """Probability that a node of so much memory [B] does not have what is needed. [1].

    >>> need = MemoryAt(np.array([1e9]), np.array([5e8]), np.array([2e9]))
    >>> [round(float(running_out(x, need)[0]), 3) for x in (5e8, 1e9, 2e9)]
    [0.95, 0.5, 0.05]
    """
    return 1.0 - probability_up_to(memory, *need)


def nodes_needed(
    asked: NodeMemory, keys: Sequence[Key], at: Callable[[Array], Both], upto: int
) -> list[NodesNeeded]:
    """Find the fewest full nodes of each series that fit; else fewer ranks on each that do."""
    found = _fewest(asked, asked.ranks, keys, at, upto)
    fewer = asked.ranks
    while any(x.p is None for x in found) and fewer > 1:
        fewer = fewer - 1 if fewer <= 16 else fewer * 3 // 4
        other = _fewest(asked, fewer, keys, at, upto)
        found = [x if x.p is not None else y for x, y in zip(found, other, strict=True)]
    return found


def _fewest(
    asked: NodeMemory, ranks: int, keys: Sequence[Key], at: Callable[[Array], Both], upto: int
) -> list[NodesNeeded]:
    """Look at full nodes with so many ranks on each."""
    most = min(max(upto // ranks, 1), MOST_NODES)
    p = ranks * np.arange(1.0, most + 1.0)
    need = need_of_node(p, ranks, at(p))
    out = running_out(asked.memory, need)
    answer = []
    for i, key in enumerate(keys):
        fitting = np.flatnonzero(out[i] <= FITS)
        j = int(fitting[0]) if fitting.size else None
        values = [None] * 4 if j is None else [float(x[i, j]) for x in (*need, out)]
        answer.append(
            NodesNeeded(
                key=key,
                p=None if j is None else int(p[j]),
                nodes=None if j is None else j + 1,
                ranks=ranks,
                need=values[0],
                need_lower=values[1],
                need_upper=values[2],
                out_of_memory=values[3],
                one_below=float(out[i, j - 1]) if j else None,
                upto=max(upto, ranks),
                fits=j is not None and ranks == asked.ranks,
            )
        )
    return answer
