"""Batches: what a server exchanges with its clients at a time, subchunk by subchunk.

Usually that is one array. With `batch`, small arrays share messages [D]: each message carries the
overlaps of as many arrays of the request as a server gathers in one buffer, equal or not. An array
of which a server has several subchunks is a batch of its own, and so is one that `is_alone`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parcast.arrays.geometry import Ints
from parcast.arrays.overlaps import Overlaps, Requests


class EqualArrays(NamedTuple):
    """Arrays of one shape that are distributed in the same way."""

    overlaps: Overlaps
    number: int


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Batch:
    """Subchunks that are handled one after the other, and the messages of each.

    All but `requests` are arrays of one number for each subchunk, sorted by server.
    """

    requests: Requests  # sizes and runs of all arrays in a message
    server: Ints
    stored: Ints  # bytes on disk, before compression [B]
    files: Ints  # that are opened with it
    kinds: Ints  # arrays that differ, whose overlaps are found one by one
    number: int  # of equal batches


def batches(
    groups: Sequence[EqualArrays], *, batch: bool | int, buffer: int, servers: int
) -> Iterator[Batch]:
    """Split the arrays of a request into batches, in their order.

    Each has at most `batch` arrays; where that is True, as many as fit into `buffer` bytes of each
    server, and at least one.
    """
    waiting = _Waiting(batch, buffer, servers)
    for table, arrays in groups:
        number = arrays
        of_server = np.bincount(table.subchunks.server, minlength=servers)
        if not batch or table.is_alone or of_server.max() > 1:
            yield from waiting.taken()
            yield batch_of(table, number=number)
            continue
        size = np.bincount(table.subchunks.server, table.subchunks.size, servers)
        first = min(waiting.room(size), number)
        if waiting.parts and first < number:  # it is full
            waiting.add(table, first, size)
            yield from waiting.taken()
            number -= first
        each = max(waiting.room(size), 1)
        if not waiting.parts and number >= each:
            full, number = divmod(number, each)
            yield batch_of(table, arrays=each, number=full)
        waiting.add(table, number, size)
    yield from waiting.taken()


def batch_of(table: Overlaps, *, arrays: int = 1, number: int = 1) -> Batch:
    """Batches of so many equal arrays each."""
    subchunks = table.subchunks
    is_first = np.ones(len(subchunks.server), dtype=bool)  # of its storage chunk
    is_first[1:] = subchunks.storage_chunk[1:] != subchunks.storage_chunk[:-1]
    return Batch(
        requests=_scaled(table.requests(), arrays),
        server=subchunks.server,
        stored=subchunks.stored * arrays,
        files=is_first * arrays,
        kinds=np.ones(len(subchunks.server), dtype=np.int64),
        number=number,
    )


def joined(parts: Sequence[Batch], servers: int) -> Batch:
    """One batch of several, each with one subchunk of a server at most."""
    server = np.unique(np.concatenate([part.server for part in parts]))
    place = np.zeros(servers, dtype=np.int64)
    place[server] = np.arange(len(server))

    def total(name: str) -> Ints:
        sums = np.zeros(len(server), dtype=np.int64)
        for part in parts:
            sums[place[part.server]] += getattr(part, name)
        return sums

    every = Requests(*map(np.concatenate, zip(*(part.requests for part in parts), strict=True)))
    clients = int(every.client.max(initial=0)) + 1
    keys, first, of = np.unique(
        every.server * clients + every.client, return_index=True, return_inverse=True
    )
    is_alone = np.bincount(of, minlength=len(keys)) == 1
    sums = {
        name: _summed(getattr(every, name), of, len(keys))
        for name in ("size", "runs_in_subchunk", "runs_in_chunk", "overlaps")
    }
    return Batch(
        requests=Requests(
            server=every.server[first],
            subchunk=place[every.server[first]],
            client=every.client[first],
            is_whole_chunk=every.is_whole_chunk[first] & is_alone,
            is_whole_subchunk=every.is_whole_subchunk[first] & is_alone,
            **sums,
        ),
        server=server,
        stored=total("stored"),
        files=total("files"),
        kinds=total("kinds"),
        number=1,
    )


class _Waiting:
    """Arrays that wait for others to fill a batch."""

    def __init__(self, batch: bool | int, buffer: int, servers: int) -> None:
        self.batch, self.buffer, self.servers = batch, buffer, servers
        self.parts: list[Batch] = []
        self.arrays, self.size = 0, np.zeros(servers)

    def room(self, size: Ints) -> int:
        """Arrays of which each server gathers so many bytes that still fit."""
        if self.batch is not True:
            return int(self.batch) - self.arrays
        has_some = size > 0
        left = (self.buffer - self.size[has_some]) // size[has_some]
        return max(int(left.min(initial=self.buffer)), 0)

    def add(self, table: Overlaps, arrays: int, size: Ints) -> None:
        """Take some equal arrays in."""
        if arrays:
            self.parts.append(batch_of(table, arrays=arrays))
            self.arrays += arrays
            self.size += arrays * size

    def taken(self) -> Iterator[Batch]:
        """Give what waits as one batch, if anything does."""
        if self.parts:
            yield self.parts[0] if len(self.parts) == 1 else joined(self.parts, self.servers)
        self.parts = []
        self.arrays, self.size = 0, np.zeros(self.servers)


def _scaled(requests: Requests, arrays: int) -> Requests:
    """Give the messages of so many equal arrays together; even whole chunks then are packed."""
    if arrays == 1:
        return requests
    return requests._replace(
        size=requests.size * arrays,
        runs_in_subchunk=requests.runs_in_subchunk * arrays,
        runs_in_chunk=requests.runs_in_chunk * arrays,
        is_whole_chunk=np.zeros_like(requests.is_whole_chunk),
        is_whole_subchunk=np.zeros_like(requests.is_whole_subchunk),
    )


def _summed(values: Ints, of: Ints, count: int) -> Ints:
    """Sum of each group, as integers."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, of, values)
    return sums
