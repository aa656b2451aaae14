"""What the library exchanges and stores for a request, as the law prices it.

The schema is the one that the client master makes, and owners, subchunks and units are those that
servers work off. So the messages, subchunks and bytes of the law are those of a run.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from parcast.arrays.batches import EqualArrays
from parcast.arrays.chunks import Chunks, listed_chunks
from parcast.arrays.contention import Placement
from parcast.arrays.geometry import Boxes
from parcast.arrays.law import Options, RequestTime
from parcast.arrays.library.client import Described
from parcast.arrays.library.master import laid_out, schema_of
from parcast.arrays.library.schema import LIMIT, Kind, Schema, Subchunk
from parcast.arrays.overlaps import overlaps
from parcast.arrays.subchunks import Subchunks
from parcast.arrays.validating.request import ArrayRequest


class Counted(NamedTuple):
    """What all servers do in a request."""

    messages: int  # to clients
    subchunks: int
    size: int  # of elements [B]


def schema_for(request: ArrayRequest, path: str = "request.zarr") -> Schema:
    """Schema of a request as the client master sends it to the servers."""
    kind = np.dtype(request.dtype).str
    options: dict[str, Any] = {"writer": request.writer, "batch": True, "limit": request.limit}
    options |= {"stack": "", "servers": request.servers}
    described = [
        Described(
            "write",
            path,
            options,
            tuple((name, request.shape, kind, (request.block(i),)) for name in request.names),
        )
        for i in range(request.clients)
    ]
    stored = laid_out(described[0], servers=request.servers)
    told = described[0]
    if request.operation == "read":
        told = Described("read", path, {"names": None, "limit": LIMIT})
    return schema_of(described, told, stored)


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What one server has of equal arrays."""

    server: int
    kind: Kind
    number: int  # of arrays
    subchunks: tuple[Subchunk, ...]  # of each, in its order
    is_one_unit: bool  # whether all of an array is gathered at a time
    is_alone: bool  # whether the arrays before and after it have other subchunks here


def shares_of(schema: Schema, servers: int) -> Iterator[Share]:
    """Arrays of a request by server, and by which subchunks it has of them."""
    numbers = Counter(
        (array.kind, _first(schema, number, servers)) for number, array in enumerate(schema.arrays)
    )
    for server in range(servers):
        held = [
            (schema.kinds[number], own, count)
            for (number, first), count in numbers.items()
            if (own := _own(schema.kinds[number], server, servers, first))
        ]
        for kind, own, count in held:
            size = kind.item * sum(prod(subchunk.count) for subchunk in own)
            yield Share(
                server=server,
                kind=kind,
                number=count,
                subchunks=own,
                is_one_unit=schema.is_batched and size <= schema.limit,
                is_alone=len(held) > 1,
            )


def arrays_of(schema: Schema, *, clients: int, servers: int) -> tuple[EqualArrays, ...]:
    """Arrays of a request for the law, those of each server by themselves.

    Servers work independently, so that each is a group of arrays that only this server has.
    """
    chunks = {kind: _chunks(kind, clients) for kind in schema.kinds}
    return tuple(
        EqualArrays(
            replace(
                overlaps(chunks[share.kind], _subchunks(share, servers)), is_alone=share.is_alone
            ),
            share.number,
        )
        for share in shares_of(schema, servers)
    )


def options_of(
    schema: Schema, *, placement: Placement | None = None, overlap_rendezvous: bool = True
) -> Options:
    """Options of the law that say how the library carries out a request.

    A server reads a subchunk and then sends it: a read has no second buffer.
    """
    is_read = schema.operation == "read"
    return Options(
        operation="read" if is_read else "write",
        writer="sync" if is_read else schema.writer,
        batch=schema.is_batched,
        buffer=schema.limit,
        overlap_rendezvous=overlap_rendezvous,
        contention=placement is not None,
        placement=placement,
    )


def counted_by(time: RequestTime, schema: Schema, servers: int) -> Counted:
    """What servers do by the law; of what is gathered at a time every subchunk counts."""
    subchunks = sum(each.number * len(each.subchunks) for each in shares_of(schema, servers))
    return Counted(int(time.messages.sum()), subchunks, int(time.size.sum()))


def _first(schema: Schema, number: int, servers: int) -> int:
    """Server that has the first storage chunk of an array, where not every server has one."""
    kind = schema.kinds[schema.arrays[number].kind]
    return (number // schema.arrays_a_chunk) % servers if kind.chunks < servers else 0


def _own(kind: Kind, server: int, servers: int, first: int) -> tuple[Subchunk, ...]:
    """Subchunks of an array that a server has, in its order."""
    chunks = kind.chunks_of(server, servers, first)
    return tuple(x for chunk in chunks for x in kind.subchunks_of(chunk))


def _chunks(kind: Kind, clients: int) -> Chunks:
    """What the clients hold of an array."""
    of_clients: list[list[Any]] = [[] for _ in range(clients)]
    for each in kind.lying:
        of_clients[each.client].append((each.start, each.count))
    return listed_chunks(kind.shape, of_clients, is_partial=True)


def _subchunks(share: Share, servers: int) -> Subchunks:
    """Subchunks of an array that a server has; those it gathers at a time are one.

    They are slabs one after the other, so that together they are a box.
    """
    kind = share.kind
    start = np.array([subchunk.start for subchunk in share.subchunks], dtype=np.int64)
    stop = start + np.array([subchunk.count for subchunk in share.subchunks], dtype=np.int64)
    chunks = [subchunk.chunk for subchunk in share.subchunks]
    storage = np.array([chunks.index(chunk) for chunk in chunks])
    each = prod(kind.inner) * kind.item  # on disk all are filled up
    stored = np.full(len(start), each)
    if share.is_one_unit:
        start, stop = start.min(axis=0, keepdims=True), stop.max(axis=0, keepdims=True)
        storage, stored = storage[:1], stored.sum(keepdims=True)
    return Subchunks(
        shape=kind.shape,
        itemsize=kind.item,
        boxes=Boxes(start, stop),
        server=np.full(len(start), share.server),
        storage_chunk=storage,
        stored=stored,
        servers=servers,
    )
