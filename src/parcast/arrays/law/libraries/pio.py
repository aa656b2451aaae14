"""PIO, the I/O library of CESM and E3SM: I/O tasks get the data first, then write one file.

    T = t_shared + T_coll + X + P + T_write + t_sync                                       [R]

The `box` rearranger gives each I/O task a box of the array, cut along the slowest dimension and,
where that is shorter than the tasks are many, along the next ones: every rank sends to each task
whose box it overlaps. The `subset` rearranger gives each task what a fixed group of p/N_io
ranks has: fewer messages, but parts that are scattered in the file [S in words]. Arrays of one
shape wait in the memory of the ranks and are exchanged together [S in words], in one round: X and
P of `parcast.arrays.law.libraries.exchange`, with packing.

T_write is that of contiguous writes where the part of each task is one [R]; other parts go through
the two-phase writes of `parcast.arrays.law.libraries.romio` between the I/O tasks, as PnetCDF and
HDF5 have it [R]. The law was compared with an imitation of the exchange, not with runs of PIO.

References
----------
.. [1] J. M. Dennis et al., "An application-level parallel I/O library for Earth system models,"
   Int. J. High Perform. Comput. Appl., vol. 26, no. 1, pp. 43-53, 2012,
   :doi:`10.1177/1094342011428143`. (The rearrangers in prose.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from parcast.arrays.geometry.boxes import (
    BoxArray,
    Ints,
    contiguous_runs,
    mesh_edges,
    product_boxes,
    whole,
)
from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import Subchunks
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.libraries.exchange import (
    RoundTimes,
    disk_time,
    exchange_times,
    joined_pieces,
)
from parcast.arrays.law.libraries.library import (
    LibraryRequest,
    LibrarySetting,
    LibraryTime,
    collective_time,
    require_aggregators,
)
from parcast.arrays.law.libraries.romio import two_phase_time


@dataclass(frozen=True, slots=True)
class Pio:
    """PIO with one of its rearrangers."""

    rearranger: Literal["box", "subset"]

    error = 1.5  # wider than of ROMIO: no run of PIO itself was made [D]
    needs = ("open_shared", "collective", "pair", "cache_rate")

    @property
    def name(self) -> str:
        """Name with that of the rearranger."""
        return f"pio-{self.rearranger}"

    @property
    def title(self) -> str:
        """Name with that of the rearranger."""
        return f"PIO {self.rearranger}"

    def settings(
        self, request: LibraryRequest, counts: Sequence[int], buffers: Sequence[int]
    ) -> Iterator[LibrarySetting]:
        """Give numbers of I/O tasks up to that of ranks, with the largest buffer."""
        for count in sorted({min(count, request.ranks) for count in counts}):
            yield LibrarySetting(count, max(buffers))

    def time(self, request: LibraryRequest, costs: Costs, setting: LibrarySetting) -> LibraryTime:
        """Time of a request."""
        count, ranks = setting.aggregators, request.ranks
        hint = "PIO takes its I/O tasks from the ranks: give fewer."
        require_aggregators("pio_numiotasks", count, ranks, of="ranks", hint=hint)
        parts = self.parts(request, count)
        own = LibraryRequest(
            chunks=parts,
            itemsize=request.itemsize,
            number=request.number,
            operation=request.operation,
            writer=request.writer,
            disks=request.disks,
            hosts=min(request.most_hosts, count),
        )
        first, messages = _gathering(request, costs, parts)
        written = _write_time(own, costs, setting)
        return LibraryTime(
            file_system=written.file_system,
            communication=written.communication
            + float(first.wire.sum())
            + collective_time(ranks, costs),
            computation=written.computation + float(first.work.sum()),
            messages=messages + written.messages,
        )

    def parts(self, request: LibraryRequest, count: int) -> Chunks:
        """Give what each I/O task has before it writes."""
        chunks = request.chunks
        if self.rearranger == "box":
            boxes = _boxes(chunks.shape, count)
            tasks = np.arange(len(boxes.start))
        else:
            boxes = chunks.boxes
            tasks = _task_of(chunks.client, chunks.clients, count)
        return Chunks(shape=chunks.shape, boxes=boxes, client=tasks, clients=count)

    def ready(self, request: LibraryRequest, setting: LibrarySetting) -> str:
        """Settings, as the namelist pio_inparm has them."""
        stride = max(request.ranks // setting.aggregators, 1)
        number = {"box": 1, "subset": 2}[self.rearranger]
        return f"pio_numiotasks={setting.aggregators};pio_stride={stride};pio_rearranger={number}"


def _task_of(client: Ints, ranks: int, count: int) -> Ints:
    """I/O task of some ranks, of groups of equal size."""
    return np.asarray(client * count // ranks)


def _boxes(shape: tuple[int, ...], count: int) -> BoxArray:
    """Cut an array along its slowest dimensions, into up to so many boxes."""
    mesh = []
    for extent in shape:
        mesh.append(min(extent, count))
        count //= mesh[-1]
    return product_boxes(mesh_edges(shape, mesh))


def _gathering(request: LibraryRequest, costs: Costs, parts: Chunks) -> tuple[RoundTimes, int]:
    """Time of the exchange between ranks and I/O tasks, and its messages."""
    count = parts.clients
    as_pieces = Subchunks(
        shape=parts.shape,
        itemsize=request.itemsize,
        boxes=parts.boxes,
        server=parts.client,
        storage_chunk=parts.client,
        stored=parts.boxes.elements * request.itemsize,
        servers=count,
    )
    table = overlaps(request.chunks, as_pieces)
    number = request.number
    pieces = joined_pieces(
        np.zeros_like(table.server),
        table.client,
        table.server * (request.ranks // count),
        number * table.size,
        number * table.runs_in_subchunk,
        number * table.runs_in_chunk,
        ranks=request.ranks,
    )
    return exchange_times(pieces, request, costs, 1, packs=True), pieces.sent


def _write_time(request: LibraryRequest, costs: Costs, setting: LibrarySetting) -> LibraryTime:
    """Time in which I/O tasks write what they have."""
    parts = request.chunks
    outer = whole(parts.shape)
    runs = contiguous_runs(
        parts.boxes, BoxArray(*(np.broadcast_to(x, parts.boxes.start.shape) for x in outer))
    )
    if runs.max() > 1 or len(parts.client) > parts.clients:
        hosts = request.most_hosts
        aggregators = setting._replace(aggregators=hosts)
        return two_phase_time(request, costs, aggregators, np.arange(hosts))
    sizes = request.size[:, None]
    exchange = np.full(1, collective_time(request.ranks, costs))
    opening = costs.libraries.open_shared + float(np.max(costs.servers.synchronise))
    return LibraryTime(
        file_system=opening + disk_time(request, costs, sizes, exchange),
        communication=request.number * float(exchange[0]),
        computation=0.0,
        messages=0,
    )
