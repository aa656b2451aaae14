"""Which boxes of two lists intersect, and where a list of boxes leaves a gap.

Of blocks over a mesh a box intersects a range in every dimension. Of other boxes, pairs are
enumerated in the dimension in which the fewest come into question: there the boxes of one list are
sorted by where they start, and each box of the other has a range of them.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import BoxArray, Ints, grid_places

AT_ONCE: Final = 1 << 20  # pairs that are tested at a time: they take some 50 MB


class Pairs(NamedTuple):
    """Places in two lists of boxes, sorted by the first and then by the second."""

    first: Ints
    second: Ints


class _Candidates(NamedTuple):
    """Range of the sorted second list that may intersect each box of the first."""

    order: Ints  # places in the second list, sorted by their starts
    low: Ints
    counts: Ints


def intersecting(first: BoxArray, second: BoxArray) -> Pairs:
    """Pairs of boxes that share elements.

    >>> rows = BoxArray(np.array([[0, 0], [4, 0]]), np.array([[4, 8], [8, 8]]))
    >>> column = BoxArray(np.array([[2, 0]]), np.array([[8, 4]]))
    >>> intersecting(rows, column).first
    array([0, 1])
    """
    filled, others = (np.flatnonzero(boxes.elements > 0) for boxes in (first, second))
    if not len(filled) or not len(others):
        return Pairs(*(np.zeros(0, dtype=np.int64) for _ in range(2)))
    boxes, among = first.at(filled), second.at(others)
    by_dimension = (_candidates(boxes, among, d) for d in range(boxes.start.shape[1]))
    candidates = min(by_dimension, key=lambda each: int(each.counts.sum()))
    ends = np.cumsum(candidates.counts)
    parts, at = [], 0
    while at < len(filled):  # as many boxes as have AT_ONCE candidates together, at least one
        done = ends[at - 1] if at else 0
        stop = max(int(np.searchsorted(ends, done + AT_ONCE, side="right")), at + 1)
        parts.append(_tested(boxes, among, candidates, slice(at, stop)))
        at = stop
    place, partner = np.concatenate(parts, axis=1)
    return Pairs(filled[place], others[partner])


def intersecting_blocks(boxes: BoxArray, edges: Sequence[Ints]) -> Pairs:
    """Pairs of boxes and of blocks over a mesh, which are in row-major order, by their edges.

    No block is empty.

    >>> box = BoxArray(np.array([[2, 0]]), np.array([[8, 4]]))
    >>> intersecting_blocks(box, [np.array([0, 4, 8]), np.array([0, 4, 8])]).second
    array([0, 2])
    """
    low, counts = _ranges(boxes, edges)
    first, places = grid_places(counts)
    places += low[first]
    second = np.zeros(len(first), dtype=np.int64)
    for d, each in enumerate(edges):
        second = second * (len(each) - 1) + places[:, d]
    return Pairs(first, second)


def number_of_intersections(boxes: BoxArray, edges: Sequence[Ints]) -> float:
    """Count the pairs that `intersecting_blocks` would give."""
    return float(np.prod(_ranges(boxes, edges)[1], axis=1, dtype=np.float64).sum())


def _ranges(boxes: BoxArray, edges: Sequence[Ints]) -> tuple[Ints, Ints]:
    """First block that intersects each box, and how many do, in every dimension."""
    low, high = np.empty_like(boxes.start), np.empty_like(boxes.start)
    for d, each in enumerate(edges):
        low[:, d] = np.searchsorted(each[1:], boxes.start[:, d], side="right")
        high[:, d] = np.searchsorted(each[:-1], boxes.stop[:, d], side="left")
    is_filled = boxes.elements[:, None] > 0
    return low, np.where(is_filled, np.maximum(high - low, 0), 0)


def first_gap(boxes: BoxArray, region: BoxArray) -> BoxArray | None:
    """Find a box of the one `region` that none of `boxes` covers; they must not overlap.

    None if they cover it all.
    """
    start, stop = region.start[0], region.stop[0]
    while True:
        inside = boxes & BoxArray(start, stop)
        has_elements = inside.elements > 0
        boxes, inside = boxes.at(has_elements), inside.at(has_elements)
        missing = np.prod(stop - start) - inside.elements.sum()
        if not missing:
            return None
        if not len(boxes.start):
            return BoxArray(start[None], stop[None])
        # Some edge lies inside, else one box would cover all. Of the halves one has a gap.
        edges = np.concatenate([inside.start, inside.stop])
        row, d = np.argwhere((edges > start) & (edges < stop))[0]
        middle = stop.copy()
        middle[d] = edges[row, d]
        left = np.minimum(inside.stop, middle) - inside.start
        covered = np.prod(np.maximum(left, 0), axis=1).sum()
        if covered < np.prod(middle - start):
            stop = middle
        else:
            start = start.copy()
            start[d] = edges[row, d]


def _candidates(first: BoxArray, second: BoxArray, d: int) -> _Candidates:
    """Ranges in one dimension."""
    order = np.argsort(second.start[:, d], kind="stable")
    furthest = np.maximum.accumulate(second.stop[order, d])
    low = np.searchsorted(furthest, first.start[:, d], side="right")
    high = np.searchsorted(second.start[order, d], first.stop[:, d], side="left")
    return _Candidates(order, low, np.maximum(high - low, 0))


def _tested(first: BoxArray, second: BoxArray, candidates: _Candidates, rows: slice) -> Ints:
    """Pairs among the candidates of some boxes, in order, of shape (2, pairs)."""
    count = candidates.counts[rows]
    place = np.repeat(np.arange(rows.start, rows.stop), count)
    within = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
    partner = candidates.order[candidates.low[place] + within]
    ok = np.ones(len(place), dtype=bool)
    for d in range(first.start.shape[1]):
        ok &= first.start[place, d] < second.stop[partner, d]
        ok &= second.start[partner, d] < first.stop[place, d]
    pairs = np.stack([place[ok], partner[ok]])
    return pairs[:, np.lexsort((pairs[1], pairs[0]))]
