"""The exchange of a subchunk with the clients that overlap it, message by message.

Writing, a server asks all n_k clients of subchunk k for their overlaps, and then receives these in
the order of the requests::

    A_k      = t_find + n_k*(t_bnd + t_send(b_req))
               + sum over i of T_del(i) + t_recv(o_i) + t_asm(i)                          [R] (7)
    t_asm(i) = o_i/R_place + (runs of the overlap in the subchunk * t_run where n_k > 1)      [D]
    h_i      = t_tra(b_req) + t_recv(b_req) + t_proc + t_ext(i) + t_send(o_i) + t_tra(o_i)  [R] (8)
    t_ext(i) = 0 if the overlap is all that the client has,
               else runs in its chunk * t_run,c + o_i/R_copy                                  [D]
    X_i      = (n_k - i)*(t_bnd + t_send(b_req))
               + sum over j < i of T_del(j) + t_recv(o_j) + t_asm(j)               [R] (9), (10)
    T_del(i) = max(0, h_i - X_i)                                                        [R] (11)

The delay of a client is what it takes to handle its request, less what the server does
meanwhile: ask the clients after it and receive from those before it.

With c_j = t_recv(o_j) + t_asm(j), the recursion of the delays has a closed form. The sum F_i of
delays and c_j up to i obeys F_i = max(F_(i-1), h_i - (n_k - i)*(t_bnd + t_send(b_req))) + c_i, so
all delays of a subchunk together are the maximum over i of

    h_i - (n_k - i)*(t_bnd + t_send(b_req)) - (c_1 + .. + c_(i-1)) , and 0

Where ranks rest while they wait, t_rest(w) of `parcast.arrays.law.message` is added to h_i, with w
the time since the last request to that client, and to the delay of a subchunk, with w that delay.
Before the first, clients rest independently: the last of n_k takes 2*n_k/(n_k + 1)*t_rest [D].
A server that asks for the next subchunks before the last has arrived, with `double-buffer`, waits
for the first one alone: the delays of all others are 0 [D].

With nonblocking messages n/r is spent by the receiver alone: not in h_i, and not by a server that
reads; an overlap of one run is sent from where it lies, t_ext = 0 [D]. A server that reads
begins to send a subchunk when the clients have the one before it [D].

Reading is the mirror image [R]: the server packs and sends one overlap after the other,

    A_k = t_find + sum over i of t_bnd + t_ext(i) + t_send(o_i)

with t_ext of the server; and after its last subchunk the last client receives and unpacks.

A message may carry the overlaps of several equal arrays [D]: then times of bytes and runs are
those of all of them, and all other times count once; even whole chunks are packed.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.batches import Batch
from parcast.arrays.geometry.boxes import Bools, Ints
from parcast.arrays.geometry.overlaps import Requests
from parcast.arrays.law.costs import Costs


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Exchange:
    """Times of the exchange of every subchunk of a batch."""

    assembly: Array  # of each subchunk, A_k [s]
    delay: Array  # of each subchunk, within its assembly [s]
    last: Array  # of each subchunk: until its last client has unpacked; 0 where written [s]
    client_time: Array  # that the client spends on each request [s]
    client_work: Array  # of it, what a core does [s]
    server_work: Array  # of each subchunk: what a core of the server does [s]


class _Sides(NamedTuple):
    """Messages as both sides of every request see them [s]."""

    size: Array  # [B]
    link: Array  # [B/s]
    server_software: Array  # of the call that receives or sends the overlap
    client_software: Array
    in_call: Array  # of the wire
    on_wire: Array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Between:
    """What a server does between two exchanges, for each subchunk."""

    time: Array  # [s]
    is_overlapped: bool = False  # whether the exchange goes on meanwhile
    is_first: Bools | None = None  # subchunks before which clients have waited for long; None: no

    def cycle(self, exchange: Array) -> Array:
        """Time from the beginning of an exchange to that of the next [s]."""
        if self.is_overlapped:
            return np.maximum(exchange, self.time)
        return np.asarray(exchange + self.time)


def gathered(
    batch: Batch,
    costs: Costs,
    *,
    overlap_rendezvous: bool = False,
    between: Between | None = None,
) -> Exchange:
    """Exchange of every subchunk that is written; `costs` are for each node."""
    requests, protocol = batch.requests, costs.protocol
    ask, receive, handling, client = _parts_of_write(requests, costs, overlap_rendezvous)
    first, of = _groups(requests.subchunk)
    pending = _total(ask, first, of) - _running(ask, first, of)
    before = _running(receive, first, of) - receive
    count = len(batch.server)
    find = costs.servers.find[batch.server]
    own = ask + receive
    is_first: Bools = np.zeros(count, dtype=bool)
    if between is not None and between.is_first is not None:
        is_first = between.is_first

    def delay_of(handling: Array) -> Array:
        late = np.maximum.reduceat(handling - pending - before, first) if len(first) else handling
        delay = np.zeros(count)
        delay[requests.subchunk[first]] = np.maximum(late, 0.0)
        return delay

    delay = delay_of(handling)
    if protocol.rest or protocol.longest_rest:
        # A client waits as long as the server takes, less if other servers ask it meanwhile.
        cycle = find + np.bincount(requests.subchunk, own, count) + delay
        waited = (cycle if between is None else between.cycle(cycle)) / len(costs.servers.find)
        asked = np.bincount(requests.subchunk, minlength=count)
        last = 2 * asked / (asked + 1)  # rests of clients that were asked together go on so
        rest = np.where(is_first, protocol.rest_time(np.inf) * last, protocol.rest_time(waited))
        delay = delay_of(handling + rest[requests.subchunk])
        delay += np.where(delay > 0, protocol.rest_time(delay), 0.0)
    if costs.servers.asks_ahead and between is not None and between.is_overlapped:
        # Clients work on a subchunk while the server takes those before it, where all overlaps of
        # one are received in place: each lies in a row, or is all of the subchunk.
        apart = np.bincount(requests.subchunk, requests.runs_in_subchunk > 1, count) > 0
        alone = np.bincount(requests.subchunk, minlength=count) == 1
        delay = np.where(is_first | (apart & ~alone), delay, 0.0)
    work = own - _wire_of_server(requests, costs)
    return Exchange(
        assembly=find + np.bincount(requests.subchunk, own, count) + delay,
        delay=delay,
        last=np.zeros(count),
        client_time=client.time,
        client_work=client.work,
        server_work=find + np.bincount(requests.subchunk, work, count),
    )


def scattered(
    batch: Batch,
    costs: Costs,
    *,
    overlap_rendezvous: bool = False,
    between: Between | None = None,
) -> Exchange:
    """Exchange of every subchunk that is read; `costs` are for each node."""
    requests = batch.requests
    sides = _sides(
        requests,
        costs,
        server_startup=costs.servers.send_startup,
        client_startup=costs.clients.receive_startup,
    )
    server, client = requests.server, requests.client
    pack = _packing(
        requests.runs_in_subchunk,
        sides.size,
        is_free=requests.is_whole_subchunk,
        run=costs.servers.run[server],
        rate=costs.servers.copy_rate[server],
    )
    unpack = _packing(
        requests.runs_in_chunk,
        sides.size,
        is_free=requests.is_whole_chunk,
        run=costs.clients.run[client],
        rate=costs.clients.copy_rate[client],
    )
    unpack = unpack + sides.size / costs.clients.place_rate[client]
    work = costs.servers.boundary[server] * requests.overlaps + pack + sides.server_software
    in_call = sides.in_call
    sending = np.zeros_like(in_call) if costs.protocol.nonblocking else in_call
    is_late = costs.protocol.nonblocking or not overlap_rendezvous
    arrival = sides.on_wire + (in_call if is_late else 0.0)
    client_time = sides.client_software + in_call + unpack
    count = len(batch.server)
    find = costs.servers.find[batch.server]
    last = np.zeros(count)
    last[requests.subchunk] = arrival + sides.client_software + unpack  # the last one stays
    busy = np.bincount(requests.subchunk, work, count)
    if between is not None:
        waited = between.cycle(find + busy) / len(costs.servers.find)
        last += costs.protocol.rest_time(waited)
    receiving = np.zeros(count)
    if costs.protocol.nonblocking:
        np.maximum.at(receiving, requests.subchunk, client_time)
    sent = busy + np.bincount(requests.subchunk, sending, count)
    meanwhile = 0.0 if between is None or between.is_overlapped else between.time
    delay = np.maximum(receiving - sent - meanwhile, 0.0)  # the next is read while they receive
    return Exchange(
        assembly=find + sent + delay,
        delay=delay,
        last=np.maximum(last - delay, 0.0),  # nothing is sent after it
        client_time=client_time,
        client_work=sides.client_software + unpack,
        server_work=find + busy,
    )


class _OfClient(NamedTuple):
    time: Array
    work: Array


def _parts_of_write(
    requests: Requests, costs: Costs, overlap_rendezvous: bool
) -> tuple[Array, Array, Array, _OfClient]:
    """What asking, receiving and handling each request takes, and what of it the client spends."""
    clients, servers, protocol = costs.clients, costs.servers, costs.protocol
    server, client = requests.server, requests.client
    sides = _sides(
        requests,
        costs,
        server_startup=servers.receive_startup,
        client_startup=clients.send_startup,
    )
    size = protocol.request_length
    ask = servers.boundary[server] * requests.overlaps + protocol.call_time(
        size, servers.send_startup[server], servers.packet_time[server], sides.link
    )
    is_alone = np.bincount(requests.subchunk)[requests.subchunk] == 1
    place = np.where(is_alone, 0.0, requests.runs_in_subchunk * servers.run[server])
    place = place + sides.size / servers.place_rate[server]
    receive = sides.server_software + sides.in_call + place
    is_free = requests.is_whole_chunk
    if protocol.nonblocking:  # what lies in a row is sent from there
        is_free = is_free | (requests.runs_in_chunk == 1)
    extract = _packing(
        requests.runs_in_chunk,
        sides.size,
        is_free=is_free,
        run=clients.run[client],
        rate=clients.copy_rate[client],
    )
    asked = protocol.software_time(
        size, clients.receive_startup[client], clients.packet_time[client]
    )
    work = asked + clients.decode[client] + extract + sides.client_software
    wire = protocol.wire_time_in_call(size, sides.link)
    late = 0.0 if overlap_rendezvous or protocol.nonblocking else sides.in_call
    spent = 0.0 if protocol.nonblocking else sides.in_call
    handling = protocol.wire_time(size, sides.link) + wire + work + late + sides.on_wire
    return ask, receive, handling, _OfClient(work + wire + spent, work)


def _wire_of_server(requests: Requests, costs: Costs) -> Array:
    """Time of the wire within the calls of a server that writes."""
    link = _link(requests, costs)
    protocol = costs.protocol
    return np.asarray(
        protocol.wire_time_in_call(protocol.request_length, link)
        + protocol.wire_time_in_call(requests.size, link)
    )


def _sides(
    requests: Requests, costs: Costs, *, server_startup: Array, client_startup: Array
) -> _Sides:
    """Message of the overlap of every request."""
    size = np.asarray(requests.size, dtype=np.float64)
    link, protocol = _link(requests, costs), costs.protocol
    server, client = requests.server, requests.client
    return _Sides(
        size=size,
        link=link,
        server_software=protocol.software_time(
            size, server_startup[server], costs.servers.packet_time[server]
        ),
        client_software=protocol.software_time(
            size, client_startup[client], costs.clients.packet_time[client]
        ),
        in_call=protocol.wire_time_in_call(size, link),
        on_wire=protocol.wire_time(size, link),
    )


def _link(requests: Requests, costs: Costs) -> Array:
    """Rate between server and client of every request; a rank needs no link to itself [B/s]."""
    link = np.minimum(
        costs.servers.bandwidth[requests.server], costs.clients.bandwidth[requests.client]
    )
    if not costs.serving:
        return link
    is_own = np.asarray(costs.serving)[requests.server] == requests.client
    return np.where(is_own, np.inf, link)


def _packing(runs: Ints, size: Array, *, is_free: Bools, run: Array, rate: Array) -> Array:
    """Time to pack or unpack overlaps that are not contiguous [D]. [s]."""
    return np.where(is_free, 0.0, runs * run + size / rate)


def _groups(subchunk: Ints) -> tuple[Ints, Ints]:
    """First request of each subchunk that has one, and the group of each request."""
    is_first = np.ones(len(subchunk), dtype=bool)
    is_first[1:] = subchunk[1:] != subchunk[:-1]
    return np.flatnonzero(is_first), np.cumsum(is_first) - 1


def _total(values: Array, first: Ints, of: Ints) -> Array:
    """Sum of the group of each request."""
    return np.asarray((np.add.reduceat(values, first) if len(first) else values)[of])


def _running(values: Array, first: Ints, of: Ints) -> Array:
    """Sum of the group of each request up to it, itself included."""
    sums = np.cumsum(values)
    return np.asarray(sums - (sums - values)[first][of])
