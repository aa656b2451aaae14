"""Overlaps: what of each subchunk each client holds, so what it sends to or gets from a server.

One table serves the law, which prices it, and the servers, which ask clients by it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import Bools, BoxArray, Ints, contiguous_runs
from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.geometry.intersections import intersecting, intersecting_blocks
from parcast.arrays.geometry.subchunks import Subchunks
from parcast.errors import ParameterError


class Requests(NamedTuple):
    """Messages of a server to its clients, one for each subchunk and client that overlap."""

    server: Ints
    subchunk: Ints
    client: Ints
    size: Ints  # of the overlap [B]
    runs_in_subchunk: Ints
    runs_in_chunk: Ints  # in the memory of the client
    overlaps: Ints  # that are computed for it
    is_whole_chunk: Bools  # of the client, which sends it as it lies in memory
    is_whole_subchunk: Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlaps:
    """Intersections of subchunks and chunks of one array, sorted by subchunk and by client."""

    chunks: Chunks
    subchunks: Subchunks
    subchunk: Ints  # place of it in `subchunks`
    chunk: Ints  # place of it in `chunks`
    boxes: BoxArray  # places in the array
    runs_in_subchunk: Ints  # contiguous in the buffer of the server
    runs_in_chunk: Ints  # contiguous in the memory of the client

    @property
    def server(self) -> Ints:
        """Server of each overlap."""
        return self.subchunks.server[self.subchunk]

    @property
    def client(self) -> Ints:
        """Client of each overlap."""
        return self.chunks.client[self.chunk]

    @property
    def size(self) -> Ints:
        """Bytes of each overlap. [B]."""
        return self.boxes.elements * self.subchunks.itemsize

    @property
    def is_whole_chunk(self) -> Bools:
        """Whether an overlap is all that the client has in that chunk."""
        return np.asarray(self.boxes.elements == self.chunks.boxes.elements[self.chunk])

    @property
    def is_whole_subchunk(self) -> Bools:
        """Whether an overlap is a whole subchunk."""
        return np.asarray(self.boxes.elements == self.subchunks.boxes.elements[self.subchunk])

    @cached_property
    def requests(self) -> Requests:
        """Overlaps of a subchunk with several chunks of one client, joined to one message."""
        size, client, whole = self.size, self.client, self.is_whole_chunk
        is_first = np.ones(len(size), dtype=bool)
        same = self.subchunk[1:] == self.subchunk[:-1]
        is_first[1:] = ~same | (client[1:] != client[:-1])
        first = np.flatnonzero(is_first)
        is_alone = np.diff(first, append=len(size)) == 1
        subchunk = self.subchunk[first]

        def joined(values: Ints) -> Ints:
            return values if is_alone.all() else np.add.reduceat(values, first)

        total = joined(size)
        return Requests(
            server=self.subchunks.server[subchunk],
            subchunk=subchunk,
            client=client[first],
            size=total,
            runs_in_subchunk=joined(self.runs_in_subchunk),
            runs_in_chunk=joined(self.runs_in_chunk),
            overlaps=np.diff(first, append=len(size)),
            is_whole_chunk=whole[first] & is_alone,
            is_whole_subchunk=total == self.subchunks.size[subchunk],
        )

    def needed(self) -> "Overlaps":
        """Leave out the subchunks that no client has a part of, as where a part is read."""
        places = np.unique(self.subchunk)
        if len(places) == len(self.subchunks.server):
            return self
        return replace(
            self,
            subchunks=self.subchunks.at(places),
            subchunk=np.searchsorted(places, self.subchunk),
        )


def overlaps(chunks: Chunks, subchunks: Subchunks) -> Overlaps:
    """Overlaps of the chunks of clients with the subchunks of servers.

    Both are in memory in row-major order.

    >>> from parcast.arrays.geometry.chunks import mesh_chunks
    >>> from parcast.arrays.geometry.subchunks import schema_subchunks
    >>> table = overlaps(mesh_chunks((8, 8), (2, 2)), schema_subchunks((8, 8), (2, 1), itemsize=8))
    >>> table.server.tolist(), table.client.tolist(), table.size.tolist()
    ([0, 0, 1, 1], [0, 1, 2, 3], [128, 128, 128, 128])
    """
    if chunks.shape != subchunks.shape:
        texts = ["x".join(map(str, shape)) for shape in (chunks.shape, subchunks.shape)]
        raise ParameterError(
            "shape",
            must=f"be that of the clients' array, {texts[0]}",
            got=texts[1],
            hint="Distribute the same array over clients and servers.",
        )
    if chunks.edges is None:
        subchunk, chunk = intersecting(subchunks.boxes, chunks.boxes)
    else:
        subchunk, chunk = intersecting_blocks(subchunks.boxes, chunks.edges)
    outer, inner = subchunks.boxes.at(subchunk), chunks.boxes.at(chunk)
    boxes = outer & inner
    return Overlaps(
        chunks=chunks,
        subchunks=subchunks,
        subchunk=subchunk,
        chunk=chunk,
        boxes=boxes,
        runs_in_subchunk=contiguous_runs(boxes, outer),
        runs_in_chunk=contiguous_runs(boxes, inner),
    )
