"""What a request says: which arrays, where their elements are, and how servers deal with them.

The client master makes a schema of what all clients have described, and sends it to the server
master, which forwards it. Arrays of one kind have shape, type, distribution and layout in common:
what follows from these is found once, however many arrays there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from parcast.arrays.library.distribution import Point
from parcast.errors import ParameterError

Operation: TypeAlias = Literal["write", "append", "read"]
Writer: TypeAlias = Literal["sync", "write-behind", "double-buffer"]

LIMIT: Final = 1 << 22  # of a subchunk, by default [B]


@dataclass(frozen=True, slots=True)
class Lying:
    """A box of an array that a client holds, or wants: its number there, start and counts."""

    client: int
    part: int
    start: Point
    count: Point


@dataclass(frozen=True)
class Kind:
    """Arrays that are dealt with in the same way."""

    shape: Point
    dtype: str
    chunk: Point  # shape of a storage chunk
    inner: Point  # shape of a subchunk
    lying: tuple[Lying, ...]  # on all clients
    base: int = 0  # rows that are there already

    @property
    def item(self) -> int:
        """Length of an element. [B]."""
        return np.dtype(self.dtype).itemsize

    @cached_property
    def grid(self) -> Point:
        """Number of storage chunks in each dimension."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.chunk, strict=True))

    @cached_property
    def chunks(self) -> int:
        """Number of storage chunks that a request has to do with. [1]."""
        first, *others = self.grid
        return (first - self.base // self.chunk[0]) * prod(others)

    def chunks_of(self, server: int, servers: int, first: int) -> Iterator[Point]:
        """Storage chunks of a server, row-major.

        Chunks are dealt out in contiguous runs; those of an array with fewer of them than there
        are servers go to one server each, from the server `first` on.
        """
        count = self.chunks
        if count < servers:
            begin = (server - first) % servers
            own = range(begin, min(begin + 1, count))
        else:
            own = range(server * count // servers, (server + 1) * count // servers)
        earlier = prod(self.grid) - count
        for number in own:
            yield tuple(map(int, np.unravel_index(earlier + number, self.grid)))

    def subchunks_of(self, chunk: Point) -> "Iterator[Subchunk]":
        """Subchunks of a storage chunk that hold elements, row-major."""
        origin = [c * n for c, n in zip(chunk, self.chunk, strict=True)]
        inside = [
            -(-(min(o + n, extent) - o) // i)
            for o, n, i, extent in zip(origin, self.chunk, self.inner, self.shape, strict=True)
        ]
        for place in product(*map(range, inside)):
            start = tuple(o + p * i for o, p, i in zip(origin, place, self.inner, strict=True))
            stop = [min(s + i, n) for s, i, n in zip(start, self.inner, self.shape, strict=True)]
            start = (max(start[0], self.base), *start[1:])
            count = tuple(b - a for a, b in zip(start, stop, strict=True))
            if count[0] > 0:
                yield Subchunk(chunk, place, start, count)

    @cached_property
    def _bounds(self) -> tuple[Any, Any]:
        starts = np.array([x.start for x in self.lying], dtype=np.int64)
        counts = np.array([x.count for x in self.lying], dtype=np.int64)
        shape = (len(self.lying), len(self.shape))
        return starts.reshape(shape), (starts + counts).reshape(shape)

    def overlaps(self, start: Point, count: Point) -> list[Lying]:
        """Overlaps of a box of the array with what clients hold."""
        starts, stops = self._bounds
        begin = np.maximum(starts, start)
        end = np.minimum(stops, np.add(start, count))
        found = np.flatnonzero((end > begin).all(axis=1))
        begins, counts = begin[found].tolist(), (end[found] - begin[found]).tolist()
        return [
            Lying(self.lying[i].client, self.lying[i].part, tuple(a), tuple(n))
            for i, a, n in zip(found.tolist(), begins, counts, strict=True)
        ]


class Stored(NamedTuple):
    """An array as it is on disk, or will be."""

    name: str
    shape: Point
    dtype: str
    chunk: Point  # shape of a storage chunk
    inner: Point  # shape of a subchunk


@dataclass(frozen=True, slots=True)
class Subchunk:
    """What is gathered, and written or read in one piece."""

    chunk: Point  # storage chunk, in the grid
    place: Point  # in the storage chunk
    start: Point  # in the array
    count: Point  # of elements inside the array


class Named(NamedTuple):
    """An array of a request."""

    name: str
    kind: int  # its number


@dataclass(frozen=True)
class Schema:
    """A collective request."""

    operation: Operation
    path: str
    arrays: tuple[Named, ...]
    kinds: tuple[Kind, ...]
    writer: Writer = "double-buffer"
    is_batched: bool = True
    limit: int = LIMIT  # of a subchunk, and of what goes in one message [B]
    stack: str = ""  # name of the array on disk that holds all arrays, if they are stacked
    arrays_a_chunk: int = 1  # of that array [1]
    storage: Mapping[str, Any] = field(default_factory=dict)  # what only the files have to do with

    def units(self, server: int, servers: int) -> "Iterator[Unit]":
        """Give what a server gathers at a time, in its order.

        That is a subchunk, or as much of several small arrays of a kind as the limit allows.
        """
        own: dict[tuple[int, int], tuple[Subchunk, ...]] = {}
        batch: list[int] = []
        same: tuple[Subchunk, ...] = ()
        for number, array in enumerate(self.arrays):
            kind = self.kinds[array.kind]
            first = (number // self.arrays_a_chunk) % servers
            key = array.kind, first if kind.chunks < servers else 0
            if key not in own:
                chunks = kind.chunks_of(server, servers, key[1])
                own[key] = tuple(x for chunk in chunks for x in kind.subchunks_of(chunk))
            subchunks = own[key]
            if not subchunks:
                continue
            size = kind.item * sum(prod(x.count) for x in subchunks)
            if batch and (subchunks is not same or size * (len(batch) + 1) > self.limit):
                yield Unit(tuple(batch), same)
                batch = []
            if self.is_batched and size <= self.limit:
                batch.append(number)
                same = subchunks
            else:
                yield from (Unit((number,), (subchunk,)) for subchunk in subchunks)
        if batch:
            yield Unit(tuple(batch), same)


class Unit(NamedTuple):
    """What a server gathers at a time: the same subchunks of some arrays of one kind."""

    arrays: tuple[int, ...]
    subchunks: tuple[Subchunk, ...]


def layout_for(
    shape: Sequence[int], item: int, *, servers: int, limit: int = LIMIT, whole_rows: bool = False
) -> tuple[Point, Point]:
    """Choose the shapes of storage chunks and subchunks of an array, in slabs of whole rows.

    Where a row exceeds the limit it is cut too, unless rows have to stay whole.

    >>> layout_for((512, 512, 512), 8, servers=4)
    ((128, 512, 512), (2, 512, 512))
    >>> layout_for((100, 100), 8, servers=4)
    ((100, 100), (100, 100))
    """
    if limit < item:
        raise ParameterError(
            "subchunk",
            must=f"hold one element: at least {item} bytes",
            got=str(limit),
            hint=f"{LIMIT} bytes is the default.",
        )
    extents = [max(int(n), 1) for n in shape]
    inner = list(extents)
    for axis in range(len(extents)):
        row = item * prod(extents[axis + 1 :])
        inner[axis] = max(min(limit // max(row, 1), extents[axis]), 1)
        if row <= limit or whole_rows:
            break
    if item * prod(extents) <= limit:
        return tuple(extents), tuple(inner)
    share = -(-extents[0] // servers)
    rows = -(-share // inner[0]) * inner[0]
    others = (-(-n // i) * i for n, i in zip(extents[1:], inner[1:], strict=True))
    return (rows, *others), tuple(inner)
