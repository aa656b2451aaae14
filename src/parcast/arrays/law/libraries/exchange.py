"""Rounds that all ranks begin together: they exchange pieces of an array, and disks write them.

    X_k = max over hosts of max(bytes in, bytes out)/r
          + max over ranks of (messages out * t_send(0) + messages in * t_recv(0))          [R]
    P_k = max over ranks of (runs in * t_run + bytes in/R_place
          + where senders pack, runs out * t_run,c + bytes out/R_copy)                      [D]

    arrival_k = sum over j <= k of (exchange_j + s_j/R_mem)
    behind:    the disk has written all at max over k of arrival_k + (what comes from k on)/R  [R]
    at flush:  at arrival_K + (all of it)/R                                                [D]
    sync:      each round takes s_k/R more; a read as well                                 [D]

What ranks of one host exchange, and a rank with itself, does not pass its link. t_send(0) and
t_recv(0) are the calls without the wire, equation (12) of `parcast.arrays.law.message`. Of equal
arrays, which follow one another, the maximum of `behind` lies in the first or in the last one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.libraries.library import LibraryRequest


class Pieces(NamedTuple):
    """Messages, one for each round, sender and receiver."""

    round: Ints
    sender: Ints  # ranks
    receiver: Ints
    size: Ints  # [B]
    runs: Ints  # contiguous in the buffer of the receiver
    packed: Ints  # contiguous in the memory of the sender

    @property
    def sent(self) -> int:
        """Messages between different ranks."""
        return int((self.sender != self.receiver).sum())


class RoundTimes(NamedTuple):
    """Times of each round."""

    wire: Array  # X_k [s]
    work: Array  # P_k [s]


def joined_pieces(
    round_of: Ints, sender: Ints, receiver: Ints, *amounts: Ints, ranks: int
) -> Pieces:
    """Add up what goes in one message: `amounts` are bytes, runs, and runs of the sender."""
    key = (round_of * ranks + sender) * ranks + receiver
    first, place, of = np.unique(key, return_index=True, return_inverse=True)
    total = [np.bincount(of, x, len(first)).astype(np.int64) for x in amounts]
    return Pieces(round_of[place], sender[place], receiver[place], *total)


def exchange_times(
    pieces: Pieces, request: LibraryRequest, costs: Costs, rounds: int, *, packs: bool
) -> RoundTimes:
    """Times of the rounds of an exchange."""
    ranks, hosts = request.ranks, request.most_hosts
    protocol = costs.protocol
    clients = costs.clients.each(ranks)
    servers = costs.servers
    size, passes = pieces.size, pieces.sender != pieces.receiver
    start, end = request.host_of(pieces.sender), request.host_of(pieces.receiver)
    rate = np.minimum(clients.bandwidth[pieces.sender], clients.bandwidth[pieces.receiver])
    wire = np.where(start != end, size / rate, 0.0)

    def calls(rank: Ints, startup: Array) -> Array:
        own = protocol.software_time(size, startup[rank], clients.packet_time[rank])
        return np.where(passes, own, 0.0)

    def most(nodes: int, *parts: tuple[Ints, Array]) -> Array:
        return _largest(pieces.round, rounds, nodes, parts)

    links = np.maximum(most(hosts, (start, wire)), most(hosts, (end, wire)))
    sending = calls(pieces.sender, clients.send_startup)
    receiving = calls(pieces.receiver, clients.receive_startup)
    software = most(ranks, (pieces.sender, sending), (pieces.receiver, receiving))
    place = pieces.runs * np.max(servers.run) + size / np.min(servers.place_rate)
    work = [(pieces.receiver, place)]
    if packs:
        pack = pieces.packed * clients.run[pieces.sender] + size / clients.copy_rate[pieces.sender]
        work.append((pieces.sender, pack))
    return RoundTimes(links + software, most(ranks, *work))


def _largest(
    round_of: Ints, rounds: int, nodes: int, parts: Sequence[tuple[Ints, Array]]
) -> Array:
    """Largest sum of a node in each round."""
    key = np.concatenate([round_of * nodes + node for node, _ in parts])
    value = np.concatenate([times for _, times in parts])
    first, of = np.unique(key, return_inverse=True)
    found = np.zeros(rounds)
    np.maximum.at(found, first // nodes, np.bincount(of, value, len(first)))
    return found


def disk_time(
    request: LibraryRequest, costs: Costs, sizes: Ints, exchange: Array, *, around: float = 0.0
) -> float:
    """Time that all arrays take beside their exchange [s].

    `sizes` are what each writer writes in each round [B], `exchange` the time of a round before
    it, `around` that of an array beside its rounds [s].
    """
    number, own = request.number, costs.libraries
    rate = request.disk_rates(costs, len(sizes))[:, None]
    if request.operation == "read" or request.writer == "sync":
        return float(number * (sizes / rate).max(axis=0).sum())
    copying = sizes.max(axis=0) / own.cache_rate
    writing = sizes / rate
    all_of = writing.sum(axis=1)
    if not own.writes_behind:
        return float(number * (copying.sum() + all_of.max()))
    arrival = np.cumsum(exchange + copying)
    cycle = around + float(arrival[-1])
    rest = all_of[:, None] - (np.cumsum(writing, axis=1) - writing)  # from each round on
    own_end = (around + arrival + rest).max(axis=1)
    first = own_end + (number - 1) * all_of
    last = own_end + (number - 1) * cycle
    end = max(float(np.maximum(first, last).max()), number * cycle)
    return end - number * (cycle - float(copying.sum()))
