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
a rank in a round. X_k and P_k are in `parcast.arrays.law.libraries.exchange`. Data is sent from
where it lies. Of a writer `sync`, and of a read, each round takes s_k/R more, and T_disk is 0.

Use it where ROMIO_HINTS has romio_cb_write enable, and all of an array is written: there are no
holes, so nothing is read before it is written. It leaves out locks of file systems whose blocks
two aggregators share; a striping_unit that divides the domains avoids them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.geometry.overlaps import overlaps
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.libraries.disks import disk_time
from parcast.arrays.law.libraries.exchange import exchange_times, joined_pieces
from parcast.arrays.law.libraries.file_domains import file_domains
from parcast.arrays.law.libraries.library import (
    LibraryRequest,
    LibrarySetting,
    LibraryTime,
    collective_time,
    require_aggregators,
)

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
