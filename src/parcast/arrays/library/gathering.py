"""A unit of a request, between the subchunks of a server and the boxes of clients."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from parcast.arrays.geometry import Box, Point
from parcast.arrays.library.distribution import Array
from parcast.arrays.library.schema import Kind, Unit

Wanted: TypeAlias = tuple[tuple[int, Point, Point], ...]  # part of a client, start and counts


@dataclass(frozen=True, slots=True)
class Overlap:
    """An overlap of a client with a subchunk of a unit."""

    subchunk: int  # its number in the unit
    part: int  # of what the client holds
    start: Point  # in the array
    count: Point


@dataclass(slots=True)
class Gathering:
    """Subchunks of a unit in memory, and what of them clients hold."""

    number: int
    unit: Unit
    overlaps: Mapping[int, Sequence[Overlap]]  # by client
    buffers: list[list[Array]]  # of each array, its subchunks
    missing: set[int]  # clients whose overlaps have not arrived
    base: int = 0  # rows of the arrays that clients do not know of

    @property
    def size(self) -> int:
        """Length of its elements. [B]."""
        return sum(buffer.nbytes for own in self.buffers for buffer in own)

    def wanted(self, client: int) -> Wanted:
        """Boxes of each array that a client has to do with, as it has described them."""
        return tuple(
            (x.part, (x.start[0] - self.base, *x.start[1:]), x.count)
            for x in self.overlaps[client]
        )

    def take(self, client: int, value: Array) -> None:
        """Put the overlaps of a client where they belong, from their bytes in a row."""
        begin = 0
        for view in self._views(client):
            end = begin + view.nbytes
            view[...] = value[begin:end].view(view.dtype).reshape(view.shape)
            begin = end
        self.missing.discard(client)

    def give(self, client: int) -> Array:
        """Bytes of the overlaps of a client, in a row."""
        return joined(list(self._views(client)))

    def _views(self, client: int) -> Iterator[Array]:
        for own in self.buffers:
            for x in self.overlaps[client]:
                origin = self.unit.subchunks[x.subchunk].start
                yield inside(own[x.subchunk], origin, x.start, x.count)


class Overlaps:
    """Overlaps of the subchunks of a kind by clients."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def gathering(self, number: int, unit: Unit, *, is_filled: bool) -> Gathering:
        """Begin a unit; `is_filled` if clients have its elements, not the files."""
        overlaps: dict[int, list[Overlap]] = {}
        for i, subchunk in enumerate(unit.subchunks):
            for x in subchunk.overlaps:
                overlaps.setdefault(x.client, []).append(Overlap(i, x.part, x.start, x.count))
        buffers: list[list[Array]] = []
        if is_filled:
            shapes = [subchunk.count for subchunk in unit.subchunks]
            buffers = [[np.empty(x, self._kind.dtype) for x in shapes] for _ in unit.arrays]
        return Gathering(number, unit, overlaps, buffers, set(overlaps), self._kind.base)


def inside(values: Array, origin: Point, start: Point, count: Point) -> Array:
    """View of a box of an array inside elements that begin at `origin`."""
    return values[Box(start, count).within(Box(origin, values.shape))]


def joined(views: Sequence[Array]) -> Array:
    """Bytes of some boxes in a row; those of a contiguous one where they lie."""
    if len(views) == 1:
        return np.ascontiguousarray(views[0]).reshape(-1).view(np.uint8)
    whole = np.empty(sum(view.nbytes for view in views), np.uint8)
    begin = 0
    for view in views:
        end = begin + view.nbytes
        whole[begin:end].view(view.dtype).reshape(view.shape)[...] = view
        begin = end
    return whole
