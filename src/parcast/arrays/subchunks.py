"""Subchunks: the boxes that a server gathers, and writes or reads with one call each.

Servers have chunks of the array by a schema over a mesh; each chunk is cut into subchunks of at
most some bytes [R]: along the slowest dimension into slabs of as many whole rows as fit, and where
not even one row fits, every row in the same way along the next dimension.

Or servers have whole *storage chunks* of a regular grid, such as the shards of a Zarr array, in
contiguous runs of their row-major order; the subchunks are the inner chunks of each. On disk all
have the same full extents, while those at the edges of the array hold fewer of its elements [D].
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from parcast.arrays.chunks import require_nodes
from parcast.arrays.geometry import (
    Bools,
    Boxes,
    Ints,
    Policy,
    as_extents,
    as_mesh,
    as_schema,
    as_shape,
    block_edges,
    cut,
    mesh_edges,
    product_boxes,
    require_bytes,
)
from parcast.errors import ParameterError, as_whole

MOST: Final = 1 << 20  # largest subchunk by default, 1 MiB [S]
MANY: Final = 1_000_000  # subchunks of an array: with 8 overlaps each they take some 3 GB


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Subchunks:
    """Subchunks of one array in the order in which each server handles them, servers in order."""

    shape: tuple[int, ...]
    itemsize: int  # of an element [B]
    boxes: Boxes
    server: Ints  # that has each of them
    storage_chunk: Ints  # that each is part of: a file of its own, or a part of one file
    stored: Ints  # bytes on disk, before compression [B]
    servers: int  # in all, those without a subchunk included

    @property
    def size(self) -> Ints:
        """Bytes of the array in each. [B]."""
        return self.boxes.elements * self.itemsize

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
    schema: object = None,
    policy: Policy = "balanced",
    most: int = MOST,
    servers: int | None = None,
) -> Subchunks:
    """Distribute an array over a mesh of servers, in subchunks of at most `most` bytes.

    >>> rows = schema_subchunks((256, 256, 256), (8, 1, 1), itemsize=8)
    >>> len(rows.server), rows.boxes.extents[0].tolist()
    (128, [2, 256, 256])
    """
    shape = as_shape(shape)
    mesh = as_mesh(mesh, len(shape), name="server mesh")
    as_schema(schema, mesh)
    count = require_nodes(mesh, servers, "servers")
    itemsize = _itemsize(shape, itemsize)
    most = as_whole("subchunk", most, least=1, hint="Give the bytes of the largest one.")
    if most < itemsize:
        raise ParameterError(
            "subchunk",
            must=f"have at least the {itemsize} bytes of one element",
            got=str(most),
            hint="1 MiB is usual.",
        )
    chunks = product_boxes(mesh_edges(shape, mesh, policy))
    boxes, server = _cut(chunks, slab_extents(chunks.extents, itemsize, most))
    return Subchunks(
        shape=shape,
        itemsize=itemsize,
        boxes=boxes,
        server=server,
        storage_chunk=server,
        stored=boxes.elements * itemsize,
        servers=count,
    )


def storage_subchunks(
    shape: Sequence[int],
    storage: Sequence[int],
    *,
    servers: int,
    itemsize: int,
    inner: Sequence[int] | None = None,
) -> Subchunks:
    """Distribute the storage chunks of an array over servers, each in its inner chunks.

    `storage` are the extents of a storage chunk, `inner` those of an inner one, by default the
    same; they must divide them.

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
    zero = np.zeros((1, len(shape)), dtype=np.int64)
    shards, _ = _cut(Boxes(zero, np.array([shape], dtype=np.int64)), np.array([storage]))
    boxes, shard = _cut(shards, np.broadcast_to(np.array(inner), shards.start.shape))
    edges = block_edges(len(shards.start), count)
    each = int(np.prod(inner)) * itemsize
    return Subchunks(
        shape=shape,
        itemsize=itemsize,
        boxes=boxes,
        server=np.searchsorted(edges, shard, side="right") - 1,
        storage_chunk=shard,
        stored=np.full(len(shard), each),
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


def _cut(boxes: Boxes, pieces: Ints) -> tuple[Boxes, Ints]:
    """Cut boxes into pieces, not so many that they do not fit into memory."""
    count = int(np.prod(-(-boxes.extents // pieces), axis=1, dtype=np.float64).sum())
    if count > MANY:
        raise ParameterError(
            "subchunks",
            must=f"be at most {MANY:,}",
            got=f"{count:,}",
            hint="Make them larger.",
        )
    return cut(boxes, pieces)


def _itemsize(shape: Sequence[int], itemsize: int) -> int:
    hint = "Give the bytes of an element, such as 8 for float64."
    itemsize = as_whole("itemsize", itemsize, least=1, hint=hint)
    require_bytes(shape, itemsize)
    return itemsize
