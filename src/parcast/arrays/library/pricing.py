"""A request of the library as the law prices it.

Storage chunks, subchunks, overlaps and what goes in one message are those that servers work off:
the messages, subchunks and bytes of the law are those of a run.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from parcast.arrays.batches import EqualArrays
from parcast.arrays.geometry import Boxes
from parcast.arrays.law import Options
from parcast.arrays.library.schema import Kind, Schema
from parcast.arrays.overlaps import overlaps
from parcast.arrays.subchunks import Subchunks, storage_subchunks

Key = tuple[int, int]  # kind of an array, and the server of its first storage chunk


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What one server has of equal arrays."""

    kind: Kind
    number: int  # of arrays
    subchunks: Subchunks  # of each
    is_alone: bool  # whether the arrays before and after it have other subchunks on this server


def arrays_of(schema: Schema, servers: int) -> list[EqualArrays]:
    """Arrays of a request for the law, those of each server by themselves.

    Servers work independently: each fills its messages with as many arrays as it has room for. Of
    an array that goes in one message, what a server has is one subchunk.
    """
    priced = []
    for held in held_by_servers(schema, servers):
        own = held.subchunks
        if schema.is_batched and own.size.sum() <= schema.limit:
            own = _joined(own)
        table = overlaps(held.kind.held, own)
        priced.append(EqualArrays(replace(table, is_alone=held.is_alone), held.number))
    return priced


def subchunks_of(schema: Schema, servers: int) -> int:
    """Count the subchunks of all servers in a request, each by itself."""
    return sum(x.number * len(x.subchunks.server) for x in held_by_servers(schema, servers))


def held_by_servers(schema: Schema, servers: int) -> Iterator[Held]:
    """Give what each server has of each of the different arrays, servers in order."""
    shares = schema.shares(servers)
    counts = Counter(shares)
    every = {key: _subchunks(schema.kinds[key[0]], key[1], servers) for key in counts}
    for server in range(servers):
        own = {key: x.at(x.server == server) for key, x in every.items()}
        keys = [key for key, subchunks in own.items() if len(subchunks.server)]
        is_alone = _is_alone(shares, keys)
        for key in keys:
            yield Held(
                kind=schema.kinds[key[0]],
                number=counts[key],
                subchunks=own[key],
                is_alone=is_alone,
            )


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


def _subchunks(kind: Kind, first: int, servers: int) -> Subchunks:
    """Subchunks of an array on all servers."""
    return storage_subchunks(
        kind.shape,
        kind.chunk,
        inner=kind.inner,
        servers=servers,
        itemsize=kind.item,
        base=kind.base,
        first=first,
    )


def _is_alone(shares: Sequence[Key], keys: Sequence[Key]) -> bool:
    """Whether a server never has the same subchunks of two arrays, one after the other."""
    own = [key for key in shares if key in keys]
    return len(keys) > 1 and all(a != b for a, b in pairwise(own))


def _joined(own: Subchunks) -> Subchunks:
    """Join the subchunks of a server, which are slabs one after the other, to one."""
    start = own.boxes.start.min(axis=0, keepdims=True)
    stop = own.boxes.stop.max(axis=0, keepdims=True)
    return replace(
        own.at(np.array([0])), boxes=Boxes(start, stop), stored=own.stored.sum(keepdims=True)
    )
