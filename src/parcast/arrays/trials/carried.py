"""A request of equal arrays as the library carries it out, for the law and for a dry run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.boxes import Point, as_mesh, as_shape, block_of
from parcast.arrays.geometry.choices import Operation, Writer
from parcast.arrays.law.files import Files, files_of
from parcast.arrays.law.request import Options
from parcast.arrays.library.client import DescribedRequest, owned
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.master import schema_of
from parcast.arrays.library.schema import LIMIT, Schema, Stored, layout_for
from parcast.arrays.planning.pricing import arrays_of, options_of
from parcast.errors import as_whole

PATH = "dry-run.zarr"  # which is not made


@dataclass(frozen=True, kw_only=True)
class CarriedRequest:
    """Equal arrays that the clients of a mesh write into a new store, or read from one."""

    shape: Point  # of each array
    mesh: Point  # of the clients; 1 where an array is not divided
    servers: int = 1
    number: int = 1  # of arrays
    dtype: str = "float64"
    operation: Operation = "write"
    writer: Writer = "double-buffer"
    batch: bool = True  # whether many small arrays go in one message
    stack: bool = False  # whether all lie in one array on disk
    subchunk: int = LIMIT  # most bytes of one [B]
    zstd: int | None = None  # level of compression

    def __post_init__(self) -> None:
        """Refuse what is no request."""
        object.__setattr__(self, "shape", as_shape(self.shape))
        object.__setattr__(self, "mesh", as_mesh(self.mesh, len(self.shape)))
        for name in ("servers", "number"):
            as_whole(name, getattr(self, name), least=1, hint="Count from 1.")

    @property
    def clients(self) -> int:
        """How many there are."""
        return prod(self.mesh)

    @property
    def itemsize(self) -> int:
        """Length of an element. [B]."""
        return np.dtype(self.dtype).itemsize

    @property
    def size(self) -> int:
        """Length of all arrays. [B]."""
        return self.number * prod(self.shape) * self.itemsize

    def described(self, client: int) -> DescribedRequest:
        """What a client says of it, as `Session` does."""
        count = block_of(self.shape, self.mesh, client).count
        block = Block(np.broadcast_to(np.zeros((), self.dtype), count), self.shape, self.mesh)
        held = [block.held(client, self.clients) for _ in range(self.number)]
        named = owned(self.names(), held)
        if self.operation == "read":
            return DescribedRequest("read", "", {}, named)
        options = {
            "writer": self.writer,
            "batch": self.batch,
            "limit": self.subchunk,
            "stack": "all" if self.stack else "",
            "servers": self.servers,
        }
        storage = {} if self.zstd is None else {"zstd": self.zstd}
        return DescribedRequest("write", PATH, options, named, None, storage)

    def stored(self) -> list[Stored]:
        """Tell how the arrays lie on disk."""
        dtype = np.dtype(self.dtype)
        chunk, inner = layout_for(
            self.shape, dtype.itemsize, servers=self.servers, limit=self.subchunk
        )
        if self.stack:
            chunk = tuple(-(-n // i) * i for n, i in zip(self.shape, inner, strict=True))
        return [Stored(name, self.shape, dtype.str, chunk, inner) for name in self.names()]

    @property
    def told(self) -> DescribedRequest:
        """What the client master goes by."""
        if self.operation == "read":
            return DescribedRequest("read", PATH, {"names": None, "limit": LIMIT})
        return self.described(0)

    @cached_property
    def schema(self) -> Schema:
        """What the client master makes of it."""
        said = [self.described(client) for client in range(self.clients)]
        return schema_of(said, self.told, self.stored())

    @cached_property
    def tables(self) -> tuple[EqualArrays, ...]:
        """Arrays for the law."""
        return tuple(arrays_of(self.schema, self.servers))

    def options(self, **others: Any) -> Options:
        """Options of the law."""
        return replace(options_of(self.schema), **others)

    @cached_property
    def files(self) -> Files:
        """Files that it writes or reads."""
        return files_of(
            self.tables,
            operation=self.operation,
            writer=self.writer,
            arrays=1 if self.stack else self.number,
            arrays_a_file=self.schema.arrays_a_chunk,
        )

    def names(self) -> Iterator[str]:
        """Name the arrays."""
        return (f"u{i}" for i in range(self.number))
