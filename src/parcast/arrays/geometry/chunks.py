"""Chunks: the boxes of an array that its clients hold in memory.

They are blocks over a mesh, in row-major order of its positions, or any boxes that each rank
lists, as `(start, count)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import numpy as np

from parcast.arrays.geometry.boxes import (
    BoxArray,
    Ints,
    as_mesh,
    as_shape,
    filled_blocks,
    filled_positions,
    product_boxes,
    whole,
)
from parcast.arrays.geometry.choices import Policy
from parcast.arrays.geometry.intersections import first_gap, intersecting
from parcast.errors import ParameterError, as_list, as_whole, require_at_most
from parcast.words import listed

MOST_CLIENTS: Final = 10**9
MOST_CHUNKS: Final = 10**6  # of a mesh: a table of their blocks takes some 100 MB
HINT: Final = (
    "Give a list of (start, count) for each rank, such as [((0, 0), (4, 8))]; [] for a rank that "
    "holds nothing."
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Chunks:
    """Chunks of one array, and the clients that hold them."""

    shape: tuple[int, ...]
    boxes: BoxArray
    client: Ints  # that holds each of them; they are sorted by it
    clients: int  # in all, those without a chunk included
    edges: tuple[Ints, ...] | None = None  # of blocks over a mesh that are not empty

    @property
    def part(self) -> Ints:
        """Number of each among those of its client."""
        return np.arange(len(self.client)) - np.searchsorted(self.client, self.client)

    def after(self, rows: int) -> "Chunks":
        """Give the same chunks of an array that has so many rows before its own."""
        if not rows:
            return self
        moved = np.zeros(len(self.shape), dtype=np.int64)
        moved[0] = rows
        boxes = BoxArray(self.boxes.start + moved, self.boxes.stop + moved)
        shape = (rows + self.shape[0], *self.shape[1:])
        return replace(self, shape=shape, boxes=boxes, edges=None)


def mesh_chunks(
    shape: Sequence[int],
    mesh: Sequence[int],
    *,
    policy: Policy = "balanced",
) -> Chunks:
    """Distribute an array over a mesh of clients.

    Clients whose blocks are empty have none. Of the others there are 1,000,000 at most.

    >>> mesh_chunks((8, 8), (2, 2)).boxes.start.tolist()
    [[0, 0], [0, 4], [4, 0], [4, 4]]
    >>> mesh_chunks((1, 2), (2, 2)).client
    array([2, 3])
    """
    shape = as_shape(shape)
    mesh = as_mesh(mesh, len(shape))
    _require_few_clients(shape, mesh, policy)
    edges, filled = zip(
        *(filled_blocks(n, m, policy) for n, m in zip(shape, mesh, strict=True)), strict=True
    )
    client = np.zeros((), dtype=np.int64)
    for positions, m in zip(filled, mesh, strict=True):
        client = client[..., None] * m + positions
    return Chunks(
        shape=shape,
        boxes=product_boxes(edges),
        client=client.ravel(),
        clients=prod(mesh),
        edges=edges,
    )


def listed_chunks(
    shape: Sequence[int], boxes: Sequence[Any], *, is_partial: bool = False, who: str = "rank"
) -> Chunks:
    """Distribute an array as each rank lists it: boxes as `(start, count)`, one or a list of them.

    They must cover the array and not overlap, unless it `is_partial`: where parts are read, and
    halos with them. `who` is what messages call a rank.

    >>> halves = [((0, 0), (4, 8)), [((4, 0), (4, 4)), ((4, 4), (4, 4))]]
    >>> listed_chunks((8, 8), halves).client
    array([0, 1, 1])
    """
    shape = as_shape(shape)
    ranks = as_list("boxes", boxes, hint=HINT)
    as_whole("clients", len(ranks), least=1, hint="Give the boxes of at least one rank.")
    given = [_of_rank(f"{who} {i}", each, len(shape)) for i, each in enumerate(ranks)]
    client = np.repeat(np.arange(len(given)), [len(each) for each in given])
    start, count = np.concatenate(given).transpose(1, 0, 2)
    chunks = Chunks(
        shape=shape, boxes=BoxArray(start, start + count), client=client, clients=len(given)
    )
    _require_inside(chunks, who)
    if not is_partial:
        _require_disjoint(chunks, who)
        _require_complete(chunks, who)
    return chunks


def _require_few_clients(shape: Sequence[int], mesh: Sequence[int], policy: Policy) -> None:
    """Refuse more clients than a table of their blocks should have."""
    require_at_most("clients", prod(mesh), MOST_CLIENTS)
    filled = prod(filled_positions(n, m, policy) for n, m in zip(shape, mesh, strict=True))
    hint = "Give fewer clients: blocks of one node together, for example."
    require_at_most("clients that have a part of the array", filled, MOST_CHUNKS, hint=hint)


def _of_rank(rank: str, given: object, dimensions: int) -> Ints:
    """Boxes of a rank, of shape (boxes, 2, dimensions)."""
    problem = ParameterError(
        f"boxes of {rank}",
        must=f"be (start, count) with {dimensions} whole numbers each, or a list of such pairs",
        got=f"{given!r:.60}",
        hint=HINT,
    )
    if given is None or (isinstance(given, Sequence) and not len(given)):
        return np.zeros((0, 2, dimensions), dtype=np.int64)
    try:
        numbers = np.asarray(given)
    except (TypeError, ValueError):  # of unequal lengths
        raise problem from None
    if numbers.ndim == 2:
        numbers = numbers[None]
    is_right = numbers.ndim == 3 and numbers.shape[1:] == (2, dimensions)
    if not is_right or numbers.dtype.kind not in "iu":
        raise problem
    return numbers.astype(np.int64)


def _require_inside(chunks: Chunks, who: str) -> None:
    boxes = chunks.boxes
    is_outside = (boxes.start < 0) | (boxes.stop > chunks.shape) | (boxes.stop < boxes.start)
    for i in np.flatnonzero(is_outside.any(axis=1))[:1]:
        start, count = boxes.start[i].tolist(), (boxes.stop - boxes.start)[i].tolist()
        raise ParameterError(
            f"boxes of {who} {chunks.client[i]}",
            must=f"lie inside the array of {'x'.join(map(str, chunks.shape))}",
            got=f"start {tuple(start)}, count {tuple(count)}",
            hint="Count from 0; count is the length, not the end.",
        )


def _require_disjoint(chunks: Chunks, who: str) -> None:
    boxes = chunks.boxes
    first, second = intersecting(boxes, boxes)
    for i in np.flatnonzero(first < second)[:1]:
        both = np.array([first[i], second[i]])
        [shared] = (boxes.at(both[:1]) & boxes.at(both[1:])).each()
        one, other = (f"{who} {i}" for i in chunks.client[both])
        where = f"{one} twice" if one == other else f"both {one} and {other}"
        raise ParameterError(
            "boxes",
            must="not overlap",
            got=f"{shared} in {where}",
            hint=f"Give each element to one {who}; leave out halos.",
        )


def _require_complete(chunks: Chunks, who: str) -> None:
    gap = first_gap(chunks.boxes, whole(chunks.shape))
    if gap is None:
        return
    beside, _ = intersecting(chunks.boxes, BoxArray(gap.start - 1, gap.stop + 1))
    ranks = listed(f"{who} {i}" for i in np.unique(chunks.client[beside]))
    raise ParameterError(
        "boxes",
        must="cover the array",
        got=f"a gap at {gap.each()[0]}" + (f" beside {ranks}" * bool(ranks)),
        hint=f"Check the boxes of these {who}s, or whether the list of one is missing.",
    )
