"""Requests whose times are predicted and measured, and files that list them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.boxes import MOST_DIMENSIONS, Box, block_of, type_name
from parcast.arrays.geometry.choices import MOST_RANKS, Operation, Writer
from parcast.arrays.geometry.chunks import mesh_chunks
from parcast.arrays.law.files import Files, files_of
from parcast.arrays.library.client import DescribedRequest, owned
from parcast.arrays.library.distribution import Block
from parcast.arrays.library.master import schema_of
from parcast.arrays.library.schema import LIMIT, Schema, Stored, layout_for
from parcast.arrays.planning.pricing import arrays_of
from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Description, Of, parameter, tables
from parcast.descriptions.toml_files import read_description
from parcast.errors import ParameterError
from parcast.files.faults import AnyPath
from parcast.units import format_quantity, shown
from parcast.words import counted

PATH: Final = "dry-run.zarr"  # which is not made
KEPT: Final = 64  # requests that are kept as they are carried out
MOST_ARRAYS: Final = 100_000
FAST: Final = Path(__file__).with_name("requests.toml")
SLOW: Final = Path(__file__).with_name("requests_slow.toml")  # for disks of some 10 MB/s


class Layout(NamedTuple):
    """Ranks of a request: those of equal layout share a launch."""

    clients: int
    servers: int
    dedicated: bool  # whether servers are ranks of their own

    @property
    def ranks(self) -> int:
        """Ranks in all."""
        return self.clients + self.servers * self.dedicated

    def __str__(self) -> str:
        """As it is written: 4+2 with dedicated servers, 4/2 where two of the four serve."""
        return f"{self.clients}{'+' if self.dedicated else '/'}{self.servers}"


def _extents(given: object) -> object:
    """Read a list of whole numbers, one for each dimension."""
    is_list = isinstance(given, list | tuple) and 1 <= len(given) <= MOST_DIMENSIONS
    if not is_list or not all(isinstance(x, int) and x > 0 for x in given):  # type: ignore[attr-defined]  # it is a list
        raise ParameterError(
            "extents",
            must=f"be a list of 1 to {MOST_DIMENSIONS} whole numbers above 0, the slowest first",
            got=shown(repr(given)),
            hint="Write for example [64, 64, 32].",
        )
    return tuple(given)  # type: ignore[arg-type]  # it is a list


def _dtype(given: object) -> object:
    """Read the name of a type of numbers."""
    return type_name(
        given,
        lambda kind: kind.kind in "iufc" and kind.itemsize <= MOST_ITEM,
        must="be the name of a NumPy type of numbers",
        hint='Write for example "float64".',
    )


MOST_ITEM: Final = 16  # of an element: longdouble is not stored [B]
Extents = Annotated[tuple[int, ...], BeforeValidator(_extents)]


class ArrayRequest(Description):
    """Equal arrays that are written or read together.

    >>> request = ArrayRequest(shape=[64, 32], client_mesh=[2, 2], servers=1, arrays=8)
    >>> request.size, str(request.layout)
    (131072, '4/1')
    """

    operation: Operation = Field(
        default="write", description="Whether arrays are written, or read from disk."
    )
    shape: Extents = Field(description="Extents of an array, the slowest dimension first.")
    dtype: Annotated[str, BeforeValidator(_dtype)] = Field(
        default="float64", description="NumPy type of an element."
    )
    arrays: int = Field(default=1, ge=1, le=MOST_ARRAYS, description="Equal arrays.")
    client_mesh: Extents = Field(
        description="Positions of the clients in each dimension; their product is the number of "
        "clients."
    )
    servers: int = Field(ge=1, le=MOST_RANKS, description="I/O servers.")
    dedicated: bool = Field(
        default=False, description="Whether servers are ranks of their own, or clients too."
    )
    writer: Writer = Field(
        default="double-buffer", description="What servers do while a subchunk is written."
    )
    subchunk: Annotated[Amount, Of("size", above=0.0)] = parameter(
        "4 MiB", "Largest subchunk of arrays that are written."
    )
    quick: bool = Field(default=False, description="Whether --quick takes it.")

    @model_validator(mode="after")
    def _check(self) -> "ArrayRequest":
        """Refuse meshes and servers that do not fit."""
        if len(self.client_mesh) != len(self.shape):
            raise ParameterError(
                "client_mesh",
                must=f"have {counted(len(self.shape), 'number')}, one for each dimension",
                got=shown(repr(list(self.client_mesh))),
                hint="Write 1 where the array is not divided.",
            )
        if self.clients > MOST_RANKS:
            raise ParameterError(
                "client_mesh",
                must=f"have at most {MOST_RANKS} positions",
                got=str(self.clients),
                hint="Use fewer clients.",
            )
        if not self.dedicated and self.servers > self.clients:
            raise ParameterError(
                "servers",
                must=f"be at most the {self.clients} clients, as they are clients too",
                got=str(self.servers),
                hint="Write dedicated = true, or use fewer servers.",
            )
        if self.limit < self.itemsize:
            raise ParameterError(
                "subchunk",
                must=f"hold one element: at least {self.itemsize} B",
                got=self.subchunk.text,
                hint="4 MiB is the default.",
            )
        return self

    @property
    def clients(self) -> int:
        """Number of clients."""
        return prod(self.client_mesh)

    @property
    def layout(self) -> Layout:
        """Ranks that it needs."""
        return Layout(self.clients, self.servers, self.dedicated)

    @property
    def itemsize(self) -> int:
        """Length of an element. [B]."""
        return np.dtype(self.dtype).itemsize

    @property
    def size(self) -> int:
        """Length of all arrays. [B]."""
        return self.arrays * prod(self.shape) * self.itemsize

    @property
    def limit(self) -> int:
        """Largest subchunk. [B]."""
        return int(self.subchunk({}))

    @property
    def names(self) -> list[str]:
        """Names of the arrays."""
        return [f"a{i}" for i in range(self.arrays)]

    @property
    def is_aligned(self) -> bool:
        """Whether each client holds whole rows, in which extents of the slowest are equal."""
        return self.shape[0] % self.client_mesh[0] == 0 and prod(self.client_mesh[1:]) == 1

    def block(self, client: int) -> Box:
        """Start and counts of what a client holds of each array."""
        return block_of(self.shape, self.client_mesh, client)

    @property
    def largest_block(self) -> int:
        """Most bytes that a client holds of all arrays. [B]."""
        chunks = mesh_chunks(self.shape, self.client_mesh)
        return self.arrays * self.itemsize * int(chunks.boxes.elements.max())

    def described(self, client: int) -> DescribedRequest:
        """What a client says of it, as `Session` does."""
        values = np.broadcast_to(np.zeros((), self.dtype), self.block(client).count)
        block = Block(values, self.shape, self.client_mesh)
        named = owned(self.names, [block.held(client, self.clients)] * self.arrays)
        if self.operation == "read":
            return DescribedRequest("read", "", {}, named)
        options = {"writer": self.writer, "batch": True, "limit": self.limit, "stack": ""}
        options["servers"] = self.servers
        return DescribedRequest("write", PATH, options, named)

    def stored(self) -> list[Stored]:
        """Tell how the arrays lie on disk."""
        cut = {"servers": self.servers, "limit": self.limit}
        chunk, inner = layout_for(self.shape, self.itemsize, **cut)
        dtype = np.dtype(self.dtype).str
        return [Stored(name, self.shape, dtype, chunk, inner) for name in self.names]

    @property
    def told(self) -> DescribedRequest:
        """What the client master goes by."""
        if self.operation == "read":
            return DescribedRequest("read", PATH, {"names": None, "limit": LIMIT})
        return self.described(0)

    @property
    def carried(self) -> "CarriedRequest":
        """The request as the library carries it out."""
        return _carried(self)

    def __str__(self) -> str:
        """What is asked for, in a few words."""
        arrays = f"{counted(self.arrays, 'array')} of {format_quantity(self.size, 'size')}"
        how = f", {self.writer}" if self.operation == "write" else ""
        return f"{self.operation} {arrays}, {self.layout}{how}"


class CarriedRequest(NamedTuple):
    """A request as the library carries it out, for the law and for a dry run."""

    schema: Schema  # what the client master makes of what all clients say
    tables: tuple[EqualArrays, ...]  # for the law
    files: Files  # that it writes or reads


@lru_cache(maxsize=KEPT)
def _carried(request: ArrayRequest) -> CarriedRequest:
    said = [request.described(client) for client in range(request.clients)]
    schema = schema_of(said, request.told, request.stored())
    tables = tuple(arrays_of(schema, request.servers))
    how: dict[str, Any] = {"operation": request.operation, "writer": request.writer}
    return CarriedRequest(schema, tables, files_of(tables, arrays=request.arrays, **how))


@dataclass(frozen=True, slots=True)
class RequestCase:
    """A request by its place in a list."""

    number: int  # from 1
    request: ArrayRequest = field(compare=False)

    @property
    def layout(self) -> Layout:
        """Ranks that it needs."""
        return self.request.layout

    @property
    def columns(self) -> Mapping[str, Any]:
        """Its place, ranks and bytes."""
        return {"request": self.number, "p": self.layout.ranks, "n": self.request.size}


class RequestList(Description):
    """Requests of a file, in its order."""

    request: Annotated[tuple[ArrayRequest, ...], tables("request", "[[request]]")] = Field(
        description="Requests, each in a table [[request]]."
    )


def read_requests(path: AnyPath) -> tuple[ArrayRequest, ...]:
    """Read the requests of a TOML file."""
    return read_description(path, RequestList, "[[request]] with shape and servers").request
