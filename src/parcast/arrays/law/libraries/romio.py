"""ROMIO, the MPI-IO of MPICH and others: two-phase collective writes of one file.

Aggregators, of which `cb_nodes` says how many, have equal domains of the file. In rounds each gets
`cb_buffer_size` bytes of its domain from the ranks that hold them, and writes them with one call.
All ranks take part in every round, as an alltoall of sizes comes before its messages::

    T      = t_shared + T_coll + N_arrays*(T_list + sum over k of (T_coll + X_k + P_k + b_k)
             + T_coll) + T_disk + t_sync + T_coll                                          [R]
    T_list = 3*T_coll + 16 B*(pairs of an aggregator)/r + t_pair*(pairs of a rank
             + pairs of an aggregator)                                                     [R]
    T_coll = ceil(lg p)*t_step                                                             [R]
    b_k    = s_k/R_mem                                                                     [D]
    T_disk = what the disks still write after the last round                               [D]

The steps are those of ADIOI_GEN_WriteStridedColl [S]; that each of its collective calls takes as
many steps as a tree has is [R]. A pair is an offset and a length in the file: a contiguous run of
a rank in a round. The bytes of an array in row-major order are divided evenly among aggregators. A
piece begins and ends anywhere: of n dimensions it is at most 2n - 1 boxes, each contiguous in the
file [S: ADIOI_Calc_file_domains and ADIOI_Exch_and_write]. Edges lie between elements [D]. X_k and
P_k are in `parcast.arrays.law.libraries.exchange`. Data is sent from where it lies. Of a writer
`sync`, and of a read, each round takes s_k/R more, and T_disk is 0.

Use it where ROMIO_HINTS has romio_cb_write enable, and all of an array is written: there are no
holes, so nothing is read before it is written. It leaves out locks of file systems whose blocks
two aggregators share; a striping_unit that divides the domains avoids them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple

import numpy as np

from parcast.arrays.geometry.boxes import BoxArray, Ints
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.geometry.subchunks import MANY, Subchunks
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.libraries.exchange import disk_time, exchange_times, joined_pieces
from parcast.arrays.law.libraries.library import (
    LibraryRequest,
    LibrarySetting,
    LibraryTime,
    collective_time,
    require_aggregators,
)
from parcast.errors import ParameterError


class FileDomains(NamedTuple):
    """Pieces of all domains, as boxes in the order of the file."""

    subchunks: Subchunks  # servers are aggregators
    round: Ints  # in which each box is exchanged
    sizes: Ints  # of each aggregator in each round [B]


def file_domains(
    shape: Sequence[int], *, itemsize: int, aggregators: int, buffer: int
) -> FileDomains:
    """Divide an array among aggregators, each of which writes `buffer` bytes at a time.

    >>> found = file_domains((4, 8), itemsize=1, aggregators=2, buffer=10)
    >>> found.sizes.tolist(), found.round.tolist()
    ([[10, 6], [10, 6]], [0, 0, 1, 0, 0, 1])
    """
    total = prod(shape)
    domain = -(-total // aggregators)
    step = max(buffer // itemsize, 1)
    rounds = max(-(-domain // step), 1)
    if rounds * aggregators > MANY:
        raise ParameterError(
            "the pieces of a file",
            must=f"be at most {MANY:,}",
            got=f"{rounds * aggregators:,}",
            hint="Give a larger buffer.",
        )
    of, place = np.divmod(np.arange(rounds * aggregators), rounds)
    last = np.minimum((of + 1) * domain, total)
    start = np.minimum(of * domain + place * step, last)
    stop = np.minimum(start + step, last)
    boxes, piece = boxes_between(start, stop, shape)
    subchunks = Subchunks(
        shape=tuple(shape),
        itemsize=itemsize,
        boxes=boxes,
        server=of[piece],
        storage_chunk=of[piece],
        stored=boxes.elements * itemsize,
        servers=aggregators,
    )
    sizes = ((stop - start) * itemsize).reshape(aggregators, rounds)
    return FileDomains(subchunks, place[piece], sizes)


def boxes_between(start: Ints, stop: Ints, shape: Sequence[int]) -> tuple[BoxArray, Ints]:
    """Cut ranges of elements in row-major order into boxes, and tell the range of each.

    >>> boxes, of = boxes_between(np.array([3]), np.array([21]), (4, 8))
    >>> boxes.each()[1], len(of)
    (Box(start=(1, 0), count=(1, 8)), 3)
    """
    extents = np.array(shape, dtype=np.int64)
    strides = np.append(np.cumprod(extents[:0:-1])[::-1], 1)
    found: list[tuple[Ints, Ints, Ints]] = []
    at = start.copy()
    inner = len(shape) - 1
    # Up to the end of its row, of its plane and so on; then down again to the end of the range.
    for d in (*range(inner, -1, -1), *range(1, inner + 1)):
        stride = strides[d]
        edge = -(-(at + 1) // (stride * extents[d])) * stride * extents[d]
        end = np.minimum(edge, stop // stride * stride)
        some = np.flatnonzero(end > at)
        first = at[some, None] // strides % extents
        box_stop = first + 1
        box_stop[:, d] = first[:, d] + (end - at)[some] // stride
        box_stop[:, d + 1 :] = extents[d + 1 :]
        found.append((some, first, box_stop))
        at = np.maximum(at, end)
    of, first, last = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((first @ strides, of))
    return BoxArray(first[order], last[order]), of[order]


PAIR: Final = 16.0  # of an offset and a length, each of 8 bytes [B] [S]
BY_CONFIG: Final = "ROMIO takes one rank a host. Give fewer, or more on each: cb_config_list=*:{}."


@dataclass(frozen=True, slots=True)
class Romio:
    """Two-phase writes of ROMIO."""

    name = "romio"
    title = "ROMIO"
    error = 1.33  # so that 80% lie within 25%, of times that are lognormal [D]
    needs = ("open_shared", "collective", "pair", "cache_rate")

    def settings(
        self, request: LibraryRequest, counts: Sequence[int], buffers: Sequence[int]
    ) -> Iterator[LibrarySetting]:
        """Give numbers of aggregators up to that of hosts, with each size of buffers."""
        most = request.most_hosts
        for count in sorted({min(count, most) for count in counts}):
            yield from (LibrarySetting(count, buffer) for buffer in buffers)

    def time(self, request: LibraryRequest, costs: Costs, setting: LibrarySetting) -> LibraryTime:
        """Time of a request."""
        count, most = setting.aggregators, request.most_hosts
        each = -(-count // most)
        hint = BY_CONFIG.format(each)
        require_aggregators("cb_nodes", count, most, of="hosts of the ranks", hint=hint)
        return two_phase_time(request, costs, setting, np.arange(count))

    def ready(self, request: LibraryRequest, setting: LibrarySetting) -> str:  # noqa: ARG002 - of all libraries
        """Hints, as MPI_Info and PNETCDF_HINTS have them."""
        return (
            f"romio_cb_write=enable;cb_nodes={setting.aggregators};cb_buffer_size={setting.buffer}"
        )


def two_phase_time(
    request: LibraryRequest, costs: Costs, setting: LibrarySetting, ranks: Ints
) -> LibraryTime:
    """Time of two-phase writes, the aggregators being some `ranks`."""
    chunks, itemsize, number = request.chunks, request.itemsize, request.number
    own = costs.libraries
    domains = file_domains(
        chunks.shape,
        itemsize=itemsize,
        aggregators=setting.aggregators,
        buffer=setting.buffer,
    )
    table = overlaps(chunks, domains.subchunks)
    pieces = joined_pieces(
        domains.round[table.subchunk],
        table.client,
        ranks[table.server],
        table.size,
        table.runs_in_subchunk,
        np.zeros_like(table.size),
        ranks=request.ranks,
    )
    rounds = domains.sizes.shape[1]
    times = exchange_times(pieces, request, costs, rounds, packs=False)
    step = collective_time(request.ranks, costs)
    of_rank, of_aggregator = (
        float(np.bincount(rank, pieces.runs).max()) for rank in (pieces.sender, pieces.receiver)
    )
    passing = of_aggregator if request.most_hosts > 1 else 0.0
    lists = PAIR * passing / float(np.min(costs.clients.bandwidth))
    handled = own.pair * (of_rank + of_aggregator)
    communication = step * (rounds + 4) + float(times.wire.sum()) + lists
    computation = float(times.work.sum()) + handled
    around = 4 * step + lists + handled
    exchange = times.wire + times.work + step
    disk = disk_time(request, costs, domains.sizes, exchange, around=around)
    opening = own.open_shared + float(np.max(costs.servers.synchronise))
    return LibraryTime(
        file_system=opening + disk,
        communication=number * communication + 2 * step,
        computation=number * computation,
        messages=number * pieces.sent,
    )
