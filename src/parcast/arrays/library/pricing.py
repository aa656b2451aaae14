"""A request of the library as the law prices it.

Storage chunks, subchunks and overlaps are those that servers work off: the messages, subchunks
and bytes of the law are those of a run.
"""

from collections import Counter

from parcast.arrays.batches import EqualArrays
from parcast.arrays.law import Options
from parcast.arrays.library.schema import Schema
from parcast.arrays.overlaps import overlaps
from parcast.arrays.subchunks import storage_subchunks


def arrays_of(schema: Schema, servers: int) -> list[EqualArrays]:
    """Arrays of a request for the law; equal ones that the same servers have are one group."""
    priced = []
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
        priced.append(EqualArrays(overlaps(kind.held, subchunks), count))
    return priced


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
    )
