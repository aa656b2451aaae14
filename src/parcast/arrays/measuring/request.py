"""A request of equal arrays as the library carries it out: what the law needs to know of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np

from parcast.arrays.batches import EqualArrays
from parcast.arrays.chunks import mesh_chunks
from parcast.arrays.geometry import Ints
from parcast.arrays.law import Options
from parcast.arrays.library.schema import LIMIT, Writer, layout_for
from parcast.arrays.overlaps import Overlaps, overlaps
from parcast.arrays.subchunks import Subchunks, storage_subchunks
from parcast.errors import ParameterError, as_whole
from parcast.units import shown

Point = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Equal arrays that the clients of a mesh write into a new store, or read from one."""

    shape: Point  # of each array
    mesh: Point  # of the clients; 1 where an array is not divided
    servers: int = 1
    number: int = 1  # of arrays
    dtype: str = "float64"
    operation: Literal["write", "read"] = "write"
    writer: Writer = "double-buffer"
    batch: bool = True  # whether many small arrays go in one message
    stack: bool = False  # whether all lie in one array on disk
    subchunk: int = LIMIT  # most bytes of one [B]
    zstd: int | None = None  # level of compression

    def __post_init__(self) -> None:
        """Refuse what is no request."""
        for name in ("shape", "mesh"):
            numbers = tuple(int(n) for n in getattr(self, name))
            object.__setattr__(self, name, numbers)
        if len(self.shape) != len(self.mesh):
            raise ParameterError(
                "mesh",
                must=f"have {len(self.shape)} numbers, one for each dimension",
                got=shown("x".join(map(str, self.mesh))),
                hint="1 where the array is not divided.",
            )
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

    @cached_property
    def layout(self) -> tuple[Point, Point]:
        """Shapes of a storage chunk and of a subchunk of each array."""
        chunk, inner = layout_for(
            self.shape, self.itemsize, servers=self.servers, limit=self.subchunk
        )
        if self.stack:
            chunk = tuple(-(-n // i) * i for n, i in zip(self.shape, inner, strict=True))
        return chunk, inner

    @property
    def arrays_a_file(self) -> int:
        """Arrays that share each of the files. [1]."""
        return -(-self.number // self.servers) if self.stack else 1

    @cached_property
    def tables(self) -> tuple[EqualArrays, ...]:
        """Overlaps of the subchunks of servers with the chunks of clients."""
        chunks = mesh_chunks(self.shape, self.mesh)
        chunk, inner = self.layout
        subchunks = storage_subchunks(
            self.shape, chunk, inner=inner, servers=self.servers, itemsize=self.itemsize
        )
        count = int(subchunks.storage_chunk.max(initial=-1)) + 1
        if count >= self.servers:
            return (EqualArrays(overlaps(chunks, subchunks), self.number),)
        # Arrays with fewer storage chunks than there are servers begin on one after the other.
        first = (np.arange(self.number) // self.arrays_a_file) % self.servers
        return tuple(
            EqualArrays(overlaps(chunks, _from_server(subchunks, server)), int(arrays))
            for server, arrays in enumerate(np.bincount(first, minlength=self.servers))
            if arrays
        )

    @cached_property
    def files(self) -> Ints:
        """Files that each server writes."""
        files = np.zeros(self.servers, dtype=np.int64)
        for table, number in self.tables:
            server, chunk = table.subchunks.server, table.subchunks.storage_chunk
            pairs = np.unique(np.stack([server, chunk]), axis=1)[0]
            files += -(-number // self.arrays_a_file) * np.bincount(pairs, minlength=self.servers)
        return files

    @property
    def arrays_on_disk(self) -> int:
        """Arrays that the store has. [1]."""
        return 1 if self.stack else self.number

    def options(self, **others: object) -> Options:
        """Give what the law must know of how it is carried out."""
        known: dict[str, object] = {
            "operation": self.operation,
            "writer": self.writer if self.operation == "write" else "sync",
            "batch": self.batch,
            "buffer": self.subchunk,
        }
        return Options(**{**known, **others})  # type: ignore[arg-type]  # others are its fields

    def names(self) -> Iterator[str]:
        """Name the arrays."""
        return (f"u{i}" for i in range(self.number))


def _from_server(subchunks: Subchunks, first: int) -> Subchunks:
    """Deal storage chunks out to one server after the other, from a first one on."""
    server = (first + subchunks.storage_chunk) % subchunks.servers
    order = np.argsort(server, kind="stable")
    dealt = subchunks.at(order)
    return Subchunks(
        shape=dealt.shape,
        itemsize=dealt.itemsize,
        boxes=dealt.boxes,
        server=server[order],
        storage_chunk=dealt.storage_chunk,
        stored=dealt.stored,
        servers=dealt.servers,
    )


def table_of(request: Request) -> Overlaps:
    """Overlaps of the first kind of arrays of a request."""
    return request.tables[0].overlaps
