"""Subchunks: the boxes that a server gathers, and writes or reads with one call each.

Servers have chunks of the array by a schema over a mesh; each chunk is cut into subchunks of at
most some bytes [R]: along the slowest dimension into slabs of as many whole rows as fit, and where
not even one row fits, every row in the same way along the next dimension.

Or servers have whole *storage chunks* of a regular grid, such as the shards of a Zarr array; the
subchunks are the inner chunks of each. On disk all have the same full extents, while those at the
edges of the array hold fewer of its elements [D].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Final

import numpy as np

from parcast.arrays.geometry.boxes import (
    MOST_BYTES,
    Bools,
    BoxArray,
    Ints,
    Point,
    as_extents,
    as_mesh,
    as_shape,
    block_edges,
    cut,
    mesh_edges,
    product_boxes,
    require_bytes,
)
from parcast.arrays.geometry.choices import Policy
from parcast.errors import ParameterError, as_whole, require_at_most

MOST: Final = 1 << 20  # largest subchunk by default, 1 MiB [S]
MANY: Final = 1_000_000  # subchunks of an array: with 8 overlaps each they take some 3 GB


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Subchunks:
    """Subchunks of one array in the order in which each server handles them, servers in order."""

    shape: tuple[int, ...]
    itemsize: int  # of an element [B]
    boxes: BoxArray
    server: Ints  # that has each of them
    storage_chunk: Ints  # that each is part of: a file of its own, or a part of one file
    stored: Ints  # bytes on disk, before compression [B]
    servers: int  # in all, those without a subchunk included

    @property
    def size(self) -> Ints:
        """Bytes of the array in each. [B]."""
        return self.boxes.elements * self.itemsize

    @property
    def opens(self) -> Bools:
        """Whether each is the first of its storage chunk."""
        is_first = np.ones(len(self.server), dtype=bool)
        is_first[1:] = self.storage_chunk[1:] != self.storage_chunk[:-1]
        return is_first

    def at(self, places: Ints | Bools) -> "Subchunks":
        """Give the subchunks at some places, such as those of one server."""
        return replace(
            self,
            boxes=self.boxes.at(places),
            server=self.server[places],
            storage_chunk=self.storage_chunk[places],
            stored=self.stored[places],
        )


def schema_subchunks(
    shape: Sequence[int],
    mesh: Sequence[int],
    *,
    itemsize: int,
    policy: Policy = "balanced",
    most: int = MOST,
) -> Subchunks:
    """Distribute an array over a mesh of servers, in subchunks of at most `most` bytes.

    >>> rows = schema_subchunks((256, 256, 256), (8, 1, 1), itemsize=8)
    >>> len(rows.server), rows.boxes.extents[0].tolist()
    (128, [2, 256, 256])
    """
    shape = as_shape(shape)
    mesh = as_mesh(mesh, len(shape), name="server mesh")
    itemsize = _itemsize(shape, itemsize)
    most = as_whole("subchunk", most, least=1, hint="Give the bytes of the largest one.")
    require_element(most, itemsize, hint="1 MiB is usual.")
    chunks = product_boxes(mesh_edges(shape, mesh, policy))
    slabs = slab_extents(chunks.extents, itemsize, min(most, MOST_BYTES))
    _require_few(np.prod(-(-chunks.extents // slabs), axis=1, dtype=np.float64).sum())
    boxes, server = cut(chunks, slabs)
    return Subchunks(
        shape=shape,
        itemsize=itemsize,
        boxes=boxes,
        server=server,
        storage_chunk=server,
        stored=boxes.elements * itemsize,
        servers=prod(mesh),
    )


@dataclass(frozen=True, kw_only=True)
class StorageGrid:
    """Storage chunks of one array in row-major order, and the inner chunks of each."""

    shape: Point
    storage: Point  # extents of a storage chunk
    inner: Point  # which divide them
    base: int = 0  # rows that are there already, as where some are appended

    @property
    def first(self) -> Point:
        """Place in the grid of the first storage chunk that has a row from `base` on."""
        return (self.base // self.storage[0], *(0,) * (len(self.shape) - 1))

    @cached_property
    def chunks(self) -> BoxArray:
        """Storage chunks that have rows from `base` on, with all rows."""
        start = np.multiply(self.first, self.storage)[None]
        return cut(BoxArray(start, np.array([self.shape])), np.array(self.storage))[0]

    def dealt(self, servers: int, first: int = 0) -> Ints:
        """Server of each storage chunk: they are dealt out in balanced, contiguous runs.

        Where there are fewer of them than servers, one goes to each from the server `first` on.
        """
        count = len(self.chunks.start)
        if count < servers:
            return (np.arange(count) + first) % servers
        return np.repeat(np.arange(servers), np.diff(block_edges(count, servers)))

    def new(self, boxes: BoxArray) -> BoxArray:
        """Rows of some boxes from `base` on."""
        lowest = np.zeros(len(self.shape), dtype=np.int64)
        lowest[0] = self.base
        return BoxArray(np.maximum(boxes.start, lowest), boxes.stop)

    def subchunks(self, numbers: Ints, among: slice = slice(None)) -> tuple[BoxArray, Ints]:
        """Inner chunks of some storage chunks, or the ones `among` them, that have new rows.

        Also given is the storage chunk that each is in.
        """
        boxes, of = cut(self.chunks.at(numbers), np.array(self.inner), among)
        boxes = self.new(boxes)
        if not self.base:
            return boxes, numbers[of]
        is_new = boxes.elements > 0
        return boxes.at(is_new), numbers[of][is_new]


def first_servers(
    shape: Sequence[int], storage: Sequence[int], *, servers: int, arrays: int
) -> list[tuple[int, int]]:
    """First servers of equal arrays in storage chunks, and how many arrays begin at each.

    Arrays that have fewer storage chunks than there are servers are dealt out in turn, as the
    library does.

    >>> first_servers((8, 8), (8, 8), servers=3, arrays=8)
    [(0, 3), (1, 3), (2, 2)]
    """
    shape = as_shape(shape)
    storage = as_extents(storage, len(shape), name="storage chunk")
    arrays = as_whole("number of arrays", arrays, least=1, hint="Count equal arrays from 1.")
    if prod(-(-n // part) for n, part in zip(shape, storage, strict=True)) >= servers:
        return [(0, arrays)]
    return [(i, len(range(i, arrays, servers))) for i in range(min(servers, arrays))]


def storage_subchunks(
    shape: Sequence[int],
    storage: Sequence[int],
    *,
    servers: int,
    itemsize: int,
    inner: Sequence[int] | None = None,
    base: int = 0,
    first: int = 0,
) -> Subchunks:
    """Distribute the storage chunks of an array over servers, each in its inner chunks.

    `storage` are the extents of a storage chunk, `inner` those of an inner one, by default the
    same; they must divide them. `base` rows are there already; `first` is the first server of
    an array that has fewer storage chunks than there are servers.

    >>> shards = storage_subchunks((10, 8), (4, 8), inner=(2, 8), servers=2, itemsize=8)
    >>> shards.storage_chunk.tolist(), shards.server.tolist()
    ([0, 0, 1, 1, 2], [0, 0, 1, 1, 1])
    """
    shape = as_shape(shape)
    itemsize = _itemsize(shape, itemsize)
    storage = as_extents(storage, len(shape), name="storage chunk")
    inner = storage if inner is None else as_extents(inner, len(shape), name="inner chunk")
    if any(whole % part for whole, part in zip(storage, inner, strict=True)):
        texts = ["x".join(map(str, each)) for each in (storage, inner)]
        raise ParameterError(
            "inner chunk",
            must=f"divide the storage chunk of {texts[0]} in every dimension",
            got=texts[1],
            hint="Choose divisors of its extents.",
        )
    count = as_whole("servers", servers, least=1, hint="Count the servers from 1.")
    grid = StorageGrid(shape=shape, storage=storage, inner=inner, base=base)
    _require_few(
        prod(-(-n // i) for n, i in zip((shape[0] - base, *shape[1:]), inner, strict=True))
    )
    server = grid.dealt(count, first)
    order = np.argsort(server, kind="stable")
    boxes, shard = grid.subchunks(order)
    return Subchunks(
        shape=shape,
        itemsize=itemsize,
        boxes=boxes,
        server=server[shard],
        storage_chunk=shard,
        stored=np.full(len(shard), prod(inner) * itemsize),
        servers=count,
    )


def slab_extents(extents: Ints, itemsize: int, most: int) -> Ints:
    """Extents of the subchunks that chunks are cut into, of shape (chunks, dimensions) [R].

    >>> slab_extents(np.array([[32, 256, 256], [2, 2, 300_000]]), 8, 2**20).tolist()
    [[2, 256, 256], [1, 1, 131072]]
    """
    extents = np.maximum(extents, 1)
    row = np.ones_like(extents)  # elements of a row in each dimension
    row[:, :-1] = np.cumprod(extents[:, :0:-1], axis=1)[:, ::-1]
    fitting = most // (row * itemsize)  # rows
    along = np.argmax(fitting > 0, axis=1)[:, None]  # the slowest dimension in which one fits
    d = np.arange(extents.shape[1])
    slab = np.minimum(extents, np.maximum(fitting, 1))
    return np.where(d < along, 1, np.where(d == along, slab, extents))


def _require_few(count: float) -> None:
    """Refuse more subchunks than fit into memory."""
    require_at_most("subchunks", count, MANY, hint="Make them larger.")


def require_element(most: int, itemsize: int, *, hint: str) -> None:
    """Refuse a subchunk of so many bytes at most that no element fits into it."""
    if most < itemsize:
        must = f"hold one element: at least {itemsize} bytes"
        raise ParameterError("subchunk", must=must, got=str(most), hint=hint)


def _itemsize(shape: Sequence[int], itemsize: int) -> int:
    hint = "Give the bytes of an element, such as 8 for float64."
    itemsize = as_whole("itemsize", itemsize, least=1, hint=hint)
    require_bytes(shape, itemsize)
    return itemsize
