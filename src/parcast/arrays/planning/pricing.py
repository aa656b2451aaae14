"""A request of the library as the law prices it.

Storage chunks, subchunks, overlaps and what goes in one message are those that servers work off:
the messages, subchunks and bytes of the law are those of a run.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.boxes import BoxArray
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import Subchunks, storage_subchunks
from parcast.arrays.law.request import Options
from parcast.arrays.library.schema import Kind, Schema


def arrays_of(schema: Schema, servers: int) -> list[EqualArrays]:
    """Arrays of a request for the law; equal ones that the same servers have are one group.

    There are `servers` of the connection; those that take part are numbered from 0. Each fills its
    messages with as many arrays as it has room for: where that differs, the arrays of a server are
    a group by themselves. What a server has of an array that goes in one message is one subchunk.
    """
    return [
        EqualArrays(overlaps(kind.held, part), number)
        for kind, subchunks, number in _held(schema, servers)
        for part in (_parts(subchunks, schema.limit) if schema.is_batched else [subchunks])
    ]


def subchunks_of(schema: Schema, servers: int) -> int:
    """Count the subchunks of all servers in a request, each by itself."""
    return sum(number * len(each.server) for _, each, number in _held(schema, servers))


def options_of(schema: Schema) -> Options:
    """How servers carry out a request, as options of the law.

    A read has one buffer: the next subchunk is read when the last has been sent.
    """
    is_read = schema.operation == "read"
    return Options(
        operation="read" if is_read else "write",
        writer="sync" if is_read else schema.writer,
        batch=schema.is_batched,
        buffer=schema.limit,
        overlap_rendezvous=True,
        on_disk=1 if schema.stack else len(schema.arrays),
        arrays_a_file=schema.arrays_a_chunk,
    )


def _held(schema: Schema, servers: int) -> Iterator[tuple[Kind, Subchunks, int]]:
    """Give the subchunks of each of the different arrays, and how many such arrays there are."""
    servers = len(schema.servers) or servers
    for (number, first), count in Counter(schema.shares(servers)).items():
        kind = schema.kinds[number]
        subchunks = storage_subchunks(
            kind.shape,
            kind.chunk,
            inner=kind.inner,
            servers=servers,
            itemsize=kind.item,
            base=kind.base,
            first=first,
        )
        yield kind, subchunks, count


def _parts(subchunks: Subchunks, limit: int) -> list[Subchunks]:
    """Subchunks of each server, where servers fill their messages differently."""
    having = np.unique(subchunks.server)
    size = np.bincount(subchunks.server, subchunks.size)[having]
    is_one_each = len(having) == len(subchunks.server)
    if not len(having) or size.min() > limit or (is_one_each and size.min() == size.max()):
        return [subchunks]
    own = [subchunks.at(subchunks.server == server) for server in having]
    return [_joined(x) if n <= limit else x for x, n in zip(own, size, strict=True)]


def _joined(own: Subchunks) -> Subchunks:
    """Join the subchunks of a server, which are slabs one after the other, to one."""
    start = own.boxes.start.min(axis=0, keepdims=True)
    stop = own.boxes.stop.max(axis=0, keepdims=True)
    return replace(
        own.at(np.array([0])), boxes=BoxArray(start, stop), stored=own.stored.sum(keepdims=True)
    )
