"""Batches: what a server exchanges with its clients at a time, subchunk by subchunk.

Usually that is one array. With `batch`, small arrays share messages [D]: each message carries the
overlaps of as many equal arrays as a server gathers in one buffer, wherever they are in the
request. An array of which a server has several subchunks is a batch of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.geometry.overlaps import Overlaps, Requests, overlaps
from parcast.arrays.geometry.subchunks import first_servers, storage_subchunks


class EqualArrays(NamedTuple):
    """Arrays of one shape that are distributed in the same way."""

    overlaps: Overlaps
    number: int


def dealt_out(
    chunks: Chunks,
    storage: Sequence[int],
    inner: Sequence[int] | None = None,
    *,
    number: int,
    servers: int,
    itemsize: int,
    take: Callable[..., None],
) -> list[EqualArrays]:
    """Equal arrays of which servers have whole storage chunks, by the server they begin at.

    `take` refuses chunks and subchunks of which there are too many.
    """
    firsts = first_servers(chunks.shape, storage, servers=servers, arrays=number)
    cut = partial(
        storage_subchunks, chunks.shape, storage, servers=servers, itemsize=itemsize, inner=inner
    )
    take(chunks, cut(), len(firsts))
    return [EqualArrays(overlaps(chunks, cut(first=i)), count) for i, count in firsts]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Batch:
    """Subchunks that are handled one after the other, and the messages of each.

    All but `requests` are arrays of one number for each subchunk, sorted by server.
    """

    requests: Requests  # sizes and runs of all arrays in a message
    server: Ints
    stored: Ints  # bytes on disk, before compression [B]
    files: Ints  # that are opened with it
    number: int  # of equal batches


def batches(
    groups: Sequence[EqualArrays], *, batch: bool | int, buffer: int, servers: int
) -> Iterator[Batch]:
    """Split the arrays of a request into batches.

    Each has at most `batch` arrays; where that is True, as many as fit into `buffer` bytes of each
    server, and at least one.
    """
    numbers: dict[int, int] = {}
    tables = {id(table): table for table, _ in groups}
    for table, number in groups:
        numbers[id(table)] = numbers.get(id(table), 0) + number
    for key, number in numbers.items():
        table = tables[key]
        each = min(_arrays_in(table, batch, buffer, servers), number)
        full, rest = divmod(number, each)
        yield batch_of(table, arrays=each, number=full)
        if rest:
            yield batch_of(table, arrays=rest)


def _arrays_in(table: Overlaps, batch: bool | int, buffer: int, servers: int) -> int:
    """Arrays that share messages."""
    server = table.subchunks.server
    if not batch or np.bincount(server, minlength=servers).max() > 1:
        return 1
    size = np.bincount(server, table.subchunks.size, servers)
    most = buffer // int(size.max(initial=0)) if size.any() else buffer
    return max(most if batch is True else int(batch), 1)


def batch_of(table: Overlaps, *, arrays: int = 1, number: int = 1) -> Batch:
    """Batches of so many equal arrays each."""
    subchunks = table.subchunks
    return Batch(
        requests=_scaled(table.requests, arrays),
        server=subchunks.server,
        stored=subchunks.stored * arrays,
        files=subchunks.opens * arrays,
        number=number,
    )


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
