"""What a request says: which arrays, where their elements are, and how servers deal with them.

The client master makes a schema of what all clients have described, and sends it to the server
master, which forwards it. Arrays of one kind have shape, type, distribution and layout in common:
what follows from these is found once, however many arrays there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from parcast.arrays.geometry.boxes import Point
from parcast.arrays.geometry.choices import Writer
from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.geometry.intersections import intersecting
from parcast.arrays.geometry.subchunks import StorageGrid, require_element, slab_extents

if TYPE_CHECKING:
    from parcast.arrays.store.place import Stamp

Operation: TypeAlias = Literal["write", "append", "read"]

LIMIT: Final = 1 << 22  # of a subchunk, by default [B]
MORE_PARTS: Final = 8  # times as many subchunks at most, to have a storage chunk for each [D]
AT_ONCE: Final = 1 << 14  # overlaps that are found at a time, at most: they take some 5 MB


class Lying(NamedTuple):
    """A box of the array that a client holds, or wants."""

    client: int
    part: int  # of what it holds
    start: Point
    count: Point  # type: ignore[assignment] # that of tuples counts values: nobody calls it


@dataclass(frozen=True, slots=True)
class Subchunk:
    """What is gathered, and written or read in one piece."""

    chunk: Point  # storage chunk, in the grid
    start: Point  # in the array
    count: Point  # of elements inside the array
    overlaps: Sequence[Lying]  # with what clients hold


@dataclass(frozen=True, eq=False)
class Kind:
    """Arrays that are dealt with in the same way."""

    shape: Point
    dtype: str
    chunk: Point  # shape of a storage chunk
    inner: Point  # shape of a subchunk
    held: Chunks  # by clients, of the rows of this request
    base: int = 0  # rows that are there already

    @property
    def item(self) -> int:
        """Length of an element. [B]."""
        return np.dtype(self.dtype).itemsize

    @cached_property
    def grid(self) -> StorageGrid:
        """Storage chunks that a request has to do with."""
        return StorageGrid(shape=self.shape, storage=self.chunk, inner=self.inner, base=self.base)


class Share:
    """Subchunks of an array of a kind that one server has, in order."""

    def __init__(self, kind: Kind, server: int, servers: int, first: int) -> None:
        self._kind, self._numbers = kind, np.flatnonzero(kind.grid.dealt(servers, first) == server)
        chunks = kind.grid.chunks.at(self._numbers)
        self.size = kind.item * int(kind.grid.new(chunks).elements.sum())
        self._count = int(np.prod(-(-chunks.extents // kind.inner), axis=1).sum())
        self._few: list[Subchunk] | None = None

    def __iter__(self) -> Iterator[Subchunk]:
        """Find the overlaps of some subchunks at a time; few are found once."""
        some = max(AT_ONCE // self._kind.held.clients, 1)
        if self._count > some:
            parts = (slice(i, i + some) for i in range(0, self._count, some))
            return chain.from_iterable(map(self._found, parts))
        if self._few is None:
            self._few = list(self._found(slice(None)))
        return iter(self._few)

    def _found(self, among: slice) -> Iterator[Subchunk]:
        kind, held = self._kind, self._kind.held
        boxes, numbers = kind.grid.subchunks(self._numbers, among)
        subchunk, lying = intersecting(boxes, held.boxes)
        clients, parts = held.client[lying].tolist(), held.part[lying].tolist()
        common = (boxes.at(subchunk) & held.boxes.at(lying)).each()
        found = [Lying(c, p, *box) for c, p, box in zip(clients, parts, common, strict=True)]
        ends = np.searchsorted(subchunk, np.arange(len(numbers) + 1)).tolist()
        origins = (kind.grid.chunks.start[numbers] // kind.chunk).tolist()
        for i, (box, chunk) in enumerate(zip(boxes.each(), origins, strict=True)):
            yield Subchunk(tuple(chunk), *box, found[ends[i] : ends[i + 1]])


class Stored(NamedTuple):
    """An array as it is on disk, or will be."""

    name: str
    shape: Point
    dtype: str
    chunk: Point  # shape of a storage chunk
    inner: Point  # shape of a subchunk


class NamedArray(NamedTuple):
    """An array of a request."""

    name: str
    kind: int  # its number


@dataclass(frozen=True)
class Schema:
    """A collective request."""

    operation: Operation
    path: str
    arrays: tuple[NamedArray, ...]
    kinds: tuple[Kind, ...]
    writer: Writer = "double-buffer"
    is_batched: bool = True
    limit: int = LIMIT  # of a subchunk, and of what goes in one message [B]
    stack: str = ""  # name of the array on disk that holds all arrays, if they are stacked
    arrays_a_chunk: int = 1  # of that array [1]
    storage: Mapping[str, Any] = field(default_factory=dict)  # what only the files have to do with
    servers: tuple[int, ...] = ()  # that take part, by their numbers; (): all
    stamp: "Stamp | None" = None  # of the store that is read

    def shares(self, servers: int) -> list[tuple[int, int]]:
        """Kind of each array, and the server of its first storage chunk if not all have one."""
        is_small = [len(kind.grid.chunks.start) < servers for kind in self.kinds]
        return [
            (array.kind, number // self.arrays_a_chunk % servers if is_small[array.kind] else 0)
            for number, array in enumerate(self.arrays)
        ]

    def units(self, server: int, servers: int) -> "Iterator[Unit]":
        """Give what a server gathers at a time, in its order.

        That is a subchunk, or as much of several small arrays of a kind as the limit allows.
        """
        taking = self.servers or range(servers)
        if server not in taking:
            return
        server, servers = taking.index(server), len(taking)
        shares: dict[tuple[int, int], Share] = {}
        batches: dict[tuple[int, int], list[int]] = {}
        for number, key in enumerate(self.shares(servers)):
            if key not in shares:
                shares[key] = Share(self.kinds[key[0]], server, servers, key[1])
            share = shares[key]
            if not share.size:
                continue
            if self.stack and batches.keys() - {key}:  # those before lie before it on disk
                yield from (Unit(tuple(own), tuple(shares[k])) for k, own in batches.items())
                batches.clear()
            if not self.is_batched or share.size > self.limit:
                for subchunk in share:
                    yield Unit((number,), (subchunk,))
                continue
            batch = batches.setdefault(key, [])
            if batch and share.size * (len(batch) + 1) > self.limit:
                yield Unit(tuple(batch), tuple(share))
                batch.clear()
            batch.append(number)
        yield from (Unit(tuple(batch), tuple(shares[key])) for key, batch in batches.items())


class Unit(NamedTuple):
    """What a server gathers at a time: the same subchunks of some arrays of one kind."""

    arrays: tuple[int, ...]
    subchunks: tuple[Subchunk, ...]


@lru_cache(maxsize=256)
def layout_for(
    shape: Point,
    item: int,
    *,
    servers: int = 1,
    mesh: Point = (),
    limit: int = LIMIT,
    whole_rows: bool = False,
) -> tuple[Point, Point]:
    """Choose the shapes of storage chunks and subchunks of an array.

    It has one storage chunk for each position of the mesh, if equal ones can be, by default slabs
    of rows for as many servers, or one if it is not larger than a subchunk. Subchunks are slabs of
    whole rows of it; where a row exceeds the limit it is cut too, unless rows have to stay whole.
    They are of equal size, so that a storage chunk, which has whole ones, is hardly larger than a
    server's share.

    >>> layout_for((512, 512, 512), 8, servers=4)
    ((128, 512, 512), (2, 512, 512))
    >>> layout_for((1100, 1000), 8, servers=2)  # 524 rows are 4 MiB: 550 are cut in two
    ((550, 1000), (275, 1000))
    >>> layout_for((100, 100), 8, servers=4)
    ((100, 100), (100, 100))
    >>> layout_for((512, 512, 512), 8, mesh=(1, 2, 2))
    ((512, 256, 256), (8, 256, 256))
    >>> layout_for((12,), 8, mesh=(4,), limit=16)  # subchunks of 2 would leave 3 storage chunks
    ((3,), (1,))
    """
    require_element(limit, item, hint=f"{LIMIT} bytes is the default.")
    extents = tuple(max(n, 1) for n in shape)
    is_given = bool(mesh)
    if not mesh:
        slabs = servers if item * prod(extents) > limit else 1
        mesh = (slabs, *(1,) * (len(extents) - 1))
    share = tuple(-(-n // m) for n, m in zip(extents, mesh, strict=True))
    most = max(limit, item * prod(share[1:])) if whole_rows else limit
    parts = -(-np.array(share) // slab_extents(np.array([share]), item, most)[0])
    if is_given:
        parts = np.array(
            [_parts(*each) for each in zip(extents, share, parts.tolist(), strict=True)]
        )
    inner = -(-np.array(share) // parts)
    return tuple((parts * inner).tolist()), tuple(inner.tolist())


def _parts(extent: int, share: int, parts: int) -> int:
    """Subchunks of a storage chunk in a dimension: more, if their rounding would lose a chunk."""
    chunks = -(-extent // share)
    for tried in range(parts, min(share, MORE_PARTS * parts) + 1):
        if -(-extent // (tried * -(-share // tried))) == chunks:
            return tried
    return parts
