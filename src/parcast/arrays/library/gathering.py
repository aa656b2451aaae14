"""A unit of a request, between the subchunks of a server and the boxes of clients.

Elements are copied no more than needed: what lies in a row in a subchunk is received there, and
what is a whole subchunk where a client holds it is written from there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from typing import TypeAlias

import numpy as np

from parcast.arrays.geometry.boxes import Box, Point
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
    is_padded: bool = False  # whether it is copied to be written, as it ends with the array
    memory: Array | None = None  # that the buffers lie in, one after the other
    stacked: Array | None = None  # the same, of a unit of one subchunk: all of its arrays
    received: set[int] = field(default_factory=set)  # clients whose overlaps arrive in place

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

    @property
    def is_on_its_way(self) -> bool:
        """Whether overlaps have not arrived that take memory besides that of the unit."""
        return any(self._in_a_row(client) is None for client in self.missing)

    def room(self, client: int, size: int) -> memoryview | None:
        """Memory for so many bytes of a client, if its overlaps lie in a row as it sends them."""
        view = self._in_a_row(client)
        if view is None or view.nbytes != size:
            return None
        self.received.add(client)
        return view.reshape(-1).view(np.uint8).data

    def _in_a_row(self, client: int) -> Array | None:
        """View of the overlaps of a client, if they lie in a row."""
        views = list(islice(self._views(client), 2))
        return views[0] if len(views) == 1 and views[0].flags.c_contiguous else None

    def take(self, client: int, value: Array) -> None:
        """Put the overlaps of a client where they belong, from their bytes in a row."""
        self.missing.discard(client)
        if client in self.received:
            return
        begin = 0
        views = list(self._views(client))
        if len(views) == 1 and views[0].nbytes == self.size:
            whole = value.view(views[0].dtype).reshape(views[0].shape)
            self.buffers = self._cut(whole)
            return
        for view in views:
            end = begin + view.nbytes
            view[...] = value[begin:end].view(view.dtype).reshape(view.shape)
            begin = end

    def give(self, client: int) -> Array:
        """Bytes of the overlaps of a client, in a row."""
        return joined(list(self._views(client)))

    def _views(self, client: int) -> Iterator[Array]:
        """Views of the overlaps of a client, in the order in which it sends them."""
        own = self.overlaps[client]
        if self.stacked is not None and len(own) == 1:  # one for all arrays
            origin = self.unit.subchunks[0].start
            yield inside(
                self.stacked, (0, *origin), (0, *own[0].start), (len(self.stacked), *own[0].count)
            )
            return
        for buffers in self.buffers:
            for x in own:
                origin = self.unit.subchunks[x.subchunk].start
                yield inside(buffers[x.subchunk], origin, x.start, x.count)

    def _cut(self, whole: Array) -> list[list[Array]]:
        """Buffers of the arrays of a unit of one subchunk."""
        self.stacked = whole.reshape(-1, *self.unit.subchunks[0].count)
        return [[each] for each in self.stacked]

    def lay_out(self, memory: Array, dtype: str) -> None:
        """Give the subchunks of the unit memory, one after the other."""
        self.memory = memory
        item = np.dtype(dtype).itemsize
        sizes = [prod(subchunk.count) * item for subchunk in self.unit.subchunks]
        whole = memory[: sum(sizes) * len(self.unit.arrays)].view(dtype)
        if len(sizes) == 1:
            self.buffers = self._cut(whole)
            return
        starts = np.cumsum([0, *sizes])[:-1] // item
        for array in whole.reshape(len(self.unit.arrays), -1):
            parts = zip(starts, self.unit.subchunks, strict=True)
            self.buffers.append(
                [array[at : at + prod(x.count)].reshape(x.count) for at, x in parts]
            )


class Memory:
    """Memory of units, used again and again: that of the system is slow where it is new."""

    def __init__(self) -> None:
        self._free: list[Array] = []

    def taken(self, size: int) -> Array:
        """Give so many bytes in a row."""
        for i, each in enumerate(self._free):
            if each.nbytes >= size:
                return self._free.pop(i)
        self._free.clear()  # what is too small now has been replaced soon
        return np.empty(size, np.uint8)

    def give_back(self, memory: Array | None) -> None:
        """Take back what nothing uses any more."""
        if memory is not None:
            self._free.append(memory)


class KindOverlaps:
    """Overlaps of the subchunks of a kind by clients."""

    def __init__(self, kind: Kind, memory: Memory | None = None) -> None:
        self._kind, self._memory = kind, memory or Memory()

    def gathering(self, number: int, unit: Unit, *, is_filled: bool) -> Gathering:
        """Begin a unit; `is_filled` if clients have its elements, not the files."""
        overlaps: dict[int, list[Overlap]] = {}
        for i, subchunk in enumerate(unit.subchunks):
            for x in subchunk.overlaps:
                overlaps.setdefault(x.client, []).append(Overlap(i, x.part, x.start, x.count))
        is_padded = any(x.count != self._kind.inner for x in unit.subchunks)
        begun = Gathering(number, unit, overlaps, [], set(overlaps), self._kind.base, is_padded)
        if is_filled and overlaps:
            sizes = (self._kind.item * prod(subchunk.count) for subchunk in unit.subchunks)
            memory = self._memory.taken(sum(sizes) * len(unit.arrays))
            begun.lay_out(memory, self._kind.dtype)
        return begun


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
