"""Time of a collective request: arrays of N_c clients, written or read through N_s I/O servers.

    T(i)       = max over l of [T_start(l) + T_int(l)] + T_close(i)                    [R] (1)
    T_start(l) = t_con + t_send(b_sch) + t_tra(b_sch) + t_recv(b_sch) + T_fwd(l) + t_par(l)
                                                                                       [R] (2)
    T_fwd(0)   = (N_s - 1)*t_send(b_sch)                                               [R] (3)
    T_fwd(l)   = l*t_send(b_sch) + t_tra(b_sch) + t_recv(b_sch)        l >= 1          [R] (3)
    T_int(l)   = sum over the subchunks k of server l, of all arrays, of T_k           [R] (6)
    T_k        = A_k + T_fs(k)                                                         [R] (7)
    T_close(i) = t_send(b_quit) + t_tra(b_quit) + t_recv(b_quit) + T_prop(i)           [R] (4)
    T_prop(0)  = (N_c - 1)*t_send(b_quit)                                              [R] (5)
    T_prop(i)  = i*t_send(b_quit) + t_tra(b_quit) + t_recv(b_quit)     i >= 1          [R] (5)

and the time of the request is the maximum of T(i). A request starts with a schema message from
client 0 to server 0, which forwards it to one server after the other; closing goes back the same
way. The assembly A_k of a subchunk is that of `arrays.law.exchange`, equations (7) to (11),
the time of its file system T_fs that of `arrays.law.file_system`, (13), the time of a message
that of `parcast.arrays.law.message`, (12).

A read is the mirror image [R]: T_k = s/R_read + t_find + sum over the clients of t_bnd + t_ext +
t_send(o), and the last client of a server receives and unpacks after the last subchunk. With two
buffers the next subchunk is read while the last is sent [D].

With `batch`, a message carries the overlaps of as many equal arrays as a server gathers in one
buffer: `parcast.arrays.geometry.batches` [D].

Use it to choose the number of servers and how arrays are distributed over them, before a run. It
assumes a network without contention and clients that serve each server as if it were alone:
`contention` adds what that leaves out as lower bounds [D]. Rendezvous transfers count in the
handling of a client and in the receive call of the server, which doubles the wire time where a
subchunk overlaps one client only: `overlap_rendezvous` leaves it out of the handling [D]. The
synchronisation of the servers before closing takes no time beyond the maximum. Requests do not
overlap, so that the times of successive ones add.

References
----------
.. [1] Y. Chen, M. Winslett, S. Kuo, Y. Cho, M. Subramaniam and K. E. Seamons, "Performance
   modeling for the Panda array I/O library," in Proc. Supercomputing '96, 1996,
   :doi:`10.1109/SUPERC.1996.183547`. (The equations in prose; see the reference page.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Final, Literal

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.batches import Batch, EqualArrays, batches
from parcast.arrays.geometry.boxes import MOST_BYTES, Bools, Ints
from parcast.arrays.geometry.choices import AHEAD, MANY, OPERATIONS, WRITERS, Operation, Writer
from parcast.arrays.geometry.overlaps import Overlaps
from parcast.arrays.geometry.subchunks import MOST
from parcast.arrays.law.contention import Bound, NodeLoad, Placement, Traffic, lower_bound
from parcast.arrays.law.costs import ClientCosts, Costs, ServerCosts
from parcast.arrays.law.exchange import Between, Exchange, gathered, scattered
from parcast.arrays.law.file_system import (
    Sequences,
    overlapped,
    overlapped_through_cache,
    synchronous,
    synchronous_through_cache,
    written_behind,
)
from parcast.arrays.law.files import files_of
from parcast.arrays.law.message import Protocol
from parcast.errors import ParameterError, as_list, as_whole, require_kind, require_one_of
from parcast.numerics import distinct

Infinite = Literal["none", "disks", "disks and network"]
ONE_BY_ONE: Final = 10_000  # clients whose messages are added up one after the other
CHOICES: Final = {
    "operation": OPERATIONS,
    "writer": WRITERS,
    "infinite": ("none", "disks", "disks and network"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How a request is carried out, and what is counted of it.

    The defaults are those of the source.
    """

    operation: Operation = "write"  # `write` or `read`
    writer: Writer = "write-behind"  # a read has two buffers or none
    batch: bool | int = False  # arrays in a message; True: as many as a buffer holds
    buffer: int = MOST  # most that a server gathers for one batch; in plans also a subchunk [B]
    overlap_rendezvous: bool = False  # leave rendezvous transfers out of the handling of clients
    contention: bool = False  # whether clients, and what ranks share, bound the time from below
    placement: Placement | None = None  # by default every rank has cores and a link of its own
    infinite: Infinite = "none"  # what is infinitely fast
    on_disk: int | None = None  # arrays that have metadata; None: each by itself [1] [D]
    arrays_a_file: int = 1  # that lie one after the other in each file [1] [D]

    def __post_init__(self) -> None:
        """Refuse what is not among the choices."""
        for name, choices in CHOICES.items():
            require_one_of(name, getattr(self, name), choices)
        as_whole("batch", self.batch, least=0, hint="Give the arrays of a message, or True.")
        as_whole("buffer", self.buffer, least=1, hint="Give it in bytes; 1 MiB is usual.")
        for name in ("on_disk", "arrays_a_file"):
            if getattr(self, name) is not None:
                as_whole(name, getattr(self, name), least=1, hint="Count arrays from 1.")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestTime:
    """Times of a request, and what servers do in it; arrays of one number for each server."""

    startup: Array  # T_start [s]
    intermediate: Array  # T_int [s]
    assembly: Array  # assembling or sending all subchunks, with all that delays it [s]
    delay: Array  # waiting for clients, within assembly [s]
    file_system: Array  # beside assembly: opening files, waiting for them, flushing [s]
    closing: Array  # T_close of each client; of many that are alike, of the first and last [s]
    clients: int
    messages: Ints  # requests to clients, or overlaps sent to them
    subchunks: Ints
    size: Ints  # bytes of the arrays [B]
    stored: Ints  # bytes on disk [B]
    disk_rate: Array  # of writing or reading [B/s]
    bound: Bound  # of the intermediate phase by contention
    has_contention: bool  # whether the time counts it

    @property
    def finished(self) -> float:
        """Time at which the last server has finished [s]."""
        alone = float((self.startup + self.intermediate).max())
        return max(alone, self.bounded) if self.has_contention else alone

    @property
    def bounded(self) -> float:
        """Time at which what is shared is done, at the earliest [s]."""
        return float(self.startup.min()) + self.bound.time

    @property
    def time(self) -> float:
        """Time of the request, the maximum of equation (1) over the clients [s]."""
        return self.finished + float(self.closing.max())

    @property
    def is_bound(self) -> bool:
        """Whether contention determines the time."""
        alone = float((self.startup + self.intermediate).max())
        return self.finished > alone

    @property
    def throughput(self) -> Array:
        """Bytes of each server over the time of the request, inf where it takes none [B/s]."""
        return self.size / self.time if self.time > 0 else np.full(self.size.shape, np.inf)

    @property
    def utilisation(self) -> Array:
        """Throughput on disk of each server, over the rate of its file system. [1]."""
        if self.time == 0.0:  # of nothing
            return np.zeros(self.stored.shape)
        return np.asarray(self.stored / self.time / self.disk_rate)


def request_time(
    arrays: Overlaps | EqualArrays | Sequence[Overlaps | EqualArrays],
    costs: Costs,
    options: Options | None = None,
) -> RequestTime:
    """Time of a collective request.

    Parameters
    ----------
    arrays : Overlaps, EqualArrays or a sequence of them
        What servers exchange with clients, of one array or several of the same clients and
        servers; they are handled one after the other.
    costs : Costs
        Costs of clients, servers and messages, scalars or one number for each node.
    options : Options, optional
        How the request is carried out; by default a write as in the source.

    Returns
    -------
    RequestTime

    Raises
    ------
    ParameterError
        If arrays have other clients or servers, or costs other numbers of nodes.

    Examples
    --------
    >>> from parcast.arrays.geometry.chunks import mesh_chunks
    >>> from parcast.arrays.geometry.overlaps import overlaps
    >>> from parcast.arrays.law.parameters import read_costs
    >>> from parcast.arrays.geometry.subchunks import schema_subchunks
    >>> chunks = mesh_chunks((32, 16, 16), (2, 4, 4))
    >>> rows = schema_subchunks((32, 16, 16), (8, 1, 1), itemsize=8)
    >>> costs = read_costs("examples/arrays/sp2_like.toml")
    >>> f"{request_time(overlaps(chunks, rows), costs).time:.9f}"
    '0.024699276'
    """
    options = Options() if options is None else options
    require_kind("options", options, Options, hint="Give parcast.arrays.law.request.Options(...).")
    [time] = request_times(arrays, costs, options, [options.infinite]).values()
    return time


def request_times(
    arrays: Overlaps | EqualArrays | Sequence[Overlaps | EqualArrays],
    costs: Costs,
    options: Options,
    modes: Sequence[Infinite],
) -> dict[Infinite, RequestTime]:
    """Time of a request where what each mode names is infinitely fast, as `request_time`."""
    require_kind(
        "costs", costs, Costs, hint="Read a file with parcast.arrays.law.parameters.read_costs."
    )
    groups = _as_groups(arrays)
    first = groups[0].overlaps
    clients, servers = first.chunks.clients, first.subchunks.servers
    needed = [_needed(group, options) for group in groups]
    split = _with_starts(
        batches(needed, batch=options.batch, buffer=options.buffer, servers=servers), servers
    )
    exchange = gathered if options.operation == "write" else scattered
    times: dict[Infinite, RequestTime] = {}
    known: dict[tuple[bool, bool], tuple[Costs, list[tuple[Batch, Exchange]], _Totals]] = {}
    if options.placement is not None:
        options.placement.require_counts(clients, servers)
        costs = replace(costs, serving=tuple(options.placement.serving))
    on_disk = options.on_disk or sum(group.number for group in groups)
    if costs.files:
        files = files_of(
            groups,
            operation=options.operation,
            writer=options.writer,
            arrays=on_disk,
            arrays_a_file=options.arrays_a_file,
        )
        costs = costs.for_files(files)
    for mode in modes:
        own = replace(options, infinite=mode)
        is_free = mode == "disks and network"
        has_disks = mode == "none" or not costs.protocol.depends_on_pauses
        if (is_free, has_disks) not in known:
            used = (costs.with_free_network() if is_free else costs).for_nodes(clients, servers)
            by_batch = partial(exchange, overlap_rendezvous=options.overlap_rendezvous)
            exchanges = [
                (batch, by_batch(batch, used, between=_between(batch, used, own, is_first)))
                for batch, is_first in split
            ]
            known[is_free, has_disks] = used, exchanges, _Totals(servers, exchanges)
        if is_free and own.placement is not None:
            own = replace(own, placement=replace(own.placement, link=np.inf))
        times[mode] = _time(*known[is_free, has_disks], own, on_disk)
    return times


def _time(
    costs: Costs,
    exchanges: Sequence[tuple[Batch, Exchange]],
    totals: "_Totals",
    options: Options,
    arrays: int,
) -> RequestTime:
    """Time of a request whose messages are exchanged so."""
    sequences = [_sequences(batch, each, costs, options) for batch, each in exchanges]
    is_write, has_files = options.operation == "write", options.infinite == "none"
    files, longer = _file_system_time(sequences, totals, costs, options, arrays)
    assembly = totals.assembly + longer
    intermediate = assembly + files + totals.last
    disk = costs.servers.write_rate if is_write else costs.servers.read_rate
    ending = _ending(costs, arrays) if is_write and has_files else 0.0
    return RequestTime(
        startup=_startup(costs, arrays if has_files else None),
        intermediate=intermediate,
        assembly=assembly,
        delay=totals.delay,
        file_system=files,
        closing=_closing(costs, files + totals.last, ending),
        clients=len(costs.clients.bandwidth),
        messages=totals.messages,
        subchunks=totals.subchunks,
        size=totals.size,
        stored=np.sum([part.number * part.counts for part in sequences], axis=0),
        disk_rate=disk,
        bound=lower_bound(totals.load(intermediate, sequences, costs.servers), options.placement),
        has_contention=options.contention,
    )


class _Totals:
    """Sums over the subchunks and messages of all arrays."""

    def __init__(self, servers: int, exchanges: Sequence[tuple[Batch, Exchange]]) -> None:
        each = [batch.requests.client for batch, _ in exchanges]
        self.client = distinct(np.concatenate(each))
        self.assembly, self.delay, self.last = np.zeros((3, servers))
        self.client_time, self.client_work = np.zeros((2, len(self.client)))
        self.server_work = np.zeros(servers)
        self.messages, self.subchunks, self.size = np.zeros((3, servers), dtype=np.int64)
        self.largest = np.zeros(servers)  # of what each gathers at a time [B]
        self.traffic: list[Traffic] = []
        for batch, exchange in exchanges:
            self._add(batch, exchange)

    def _add(self, batch: Batch, exchange: Exchange) -> None:
        servers, clients = len(self.assembly), len(self.client)
        server, requests, number = batch.server, batch.requests, batch.number
        place = np.searchsorted(self.client, requests.client)
        self.assembly += number * np.bincount(server, exchange.assembly, servers)
        self.delay += number * np.bincount(server, exchange.delay, servers)
        self.server_work += number * np.bincount(server, exchange.server_work, servers)
        self.last[server] = exchange.last  # of its last subchunk
        self.client_time += number * np.bincount(place, exchange.client_time, clients)
        self.client_work += number * np.bincount(place, exchange.client_work, clients)
        self.messages += number * np.bincount(requests.server, minlength=servers)
        self.subchunks += number * np.bincount(server, minlength=servers)
        gathered_at_once = np.bincount(requests.subchunk, requests.size, len(server))
        np.maximum.at(self.largest, server, gathered_at_once)
        # Bytes are summed as integers: those of a request may exceed what a float counts exactly.
        np.add.at(self.size, requests.server, number * requests.size)
        self.traffic.append(Traffic(requests.client, requests.server, number * requests.size))

    def load(
        self, intermediate: Array, parts: Sequence[Sequences], costs: ServerCosts
    ) -> NodeLoad:
        """What all of it asks of every rank."""
        packing = sum((part.number * part.packing.sum(axis=1) for part in parts), np.zeros(1))
        if costs.through_cache:  # a core copies
            stored = np.sum([part.number * part.counts for part in parts], axis=0)
            packing = packing + stored / costs.cache_rate
        return NodeLoad(
            client=self.client,
            client_time=self.client_time,
            client_work=self.client_work,
            server_time=intermediate,
            server_work=self.server_work + packing,
            traffic=self.traffic,
        )


def _as_groups(
    arrays: Overlaps | EqualArrays | Sequence[Overlaps | EqualArrays],
) -> list[EqualArrays]:
    """Arrays of one request, which have the same clients and servers."""
    hint = "Give what parcast.arrays.geometry.overlaps.overlaps returns, or EqualArrays of it."
    given = (
        [arrays]
        if isinstance(arrays, Overlaps | EqualArrays)
        else as_list("arrays", arrays, hint=hint)
    )
    groups = [EqualArrays(each, 1) if isinstance(each, Overlaps) else each for each in given]
    as_whole("arrays", len(groups), least=1, hint="Give at least one array.")
    for group in groups:
        require_kind("arrays", group, EqualArrays, hint=hint)
        as_whole("number of arrays", group.number, least=1, hint="Count equal arrays from 1.")
        bytes_of = prod(group.overlaps.chunks.shape) * group.overlaps.subchunks.itemsize
        if group.number * bytes_of > MOST_BYTES:
            raise ParameterError(
                "arrays",
                must=f"have at most {MOST_BYTES} bytes in all",
                got=f"{group.number:,} of {bytes_of:,} bytes",
                hint="Check their number and their extents.",
            )
    nodes = {(x.overlaps.chunks.clients, x.overlaps.subchunks.servers) for x in groups}
    if len(nodes) > 1:
        texts = (f"{clients} and {servers}" for clients, servers in sorted(nodes))
        raise ParameterError(
            "arrays",
            must="have the same clients and servers",
            got=", ".join(texts),
            hint="Make a request of each.",
        )
    return groups


def tables_of(
    arrays: Overlaps | EqualArrays | Sequence[Overlaps | EqualArrays],
) -> list[Overlaps]:
    """Overlaps of each of the different arrays of a request."""
    return [group.overlaps for group in _as_groups(arrays)]


def _needed(group: EqualArrays, options: Options) -> EqualArrays:
    """Leave out the subchunks that are not read."""
    if options.operation == "write":
        return group
    return EqualArrays(group.overlaps.needed(), group.number)


def _with_starts(found: Iterable[Batch], servers: int) -> list[tuple[Batch, Bools]]:
    """Tell with which subchunks servers begin, as clients have waited for long until then.

    The first of equal batches with which one begins is a batch by itself.
    """
    split: list[tuple[Batch, Bools]] = []
    have_begun = np.zeros(servers, dtype=bool)
    for batch in found:
        is_first = np.zeros(len(batch.server), dtype=bool)
        is_first[np.unique(batch.server, return_index=True)[1]] = True
        is_first &= ~have_begun[batch.server]
        have_begun[batch.server] = True
        if batch.number == 1 or not is_first.any():
            split.append((batch, is_first))
        else:
            split.append((replace(batch, number=1), is_first))
            split.append((replace(batch, number=batch.number - 1), np.zeros_like(is_first)))
    return split


def _sequences(batch: Batch, exchange: Exchange, costs: Costs, options: Options) -> Sequences:
    """What each server does for one batch, subchunk by subchunk."""
    servers, server = costs.servers, batch.server
    counts = np.bincount(server, minlength=len(servers.write_rate))
    place = np.arange(len(server)) - (np.cumsum(counts) - counts)[server]
    shape = (len(counts), int(counts.max(initial=0)))
    is_write = options.operation == "write"
    packing = servers.compression_rate if is_write else servers.decompression_rate

    def table_of(values: Array) -> Array:
        spread = np.zeros(shape)
        spread[server, place] = values
        return spread

    stored = np.ceil(batch.stored * servers.compression[server])
    return Sequences(
        number=batch.number,
        busy=table_of(exchange.assembly),
        stored=table_of(stored).astype(np.int64),
        opening=table_of(batch.files * servers.open_file[server] / options.arrays_a_file),
        packing=table_of(batch.stored / packing[server]),
    )


def _file_system_time(
    parts: Sequence[Sequences], totals: _Totals, costs: Costs, options: Options, arrays: int
) -> tuple[Array, Array]:
    """Time of each server beside its exchanges, and what these take longer by it [s].

    Memory is filled by what arrives first. Each server opens a store that is read, as client 0 has
    done before [D].
    """
    servers, assembly, is_read = costs.servers, totals.assembly, options.operation == "read"
    rate = servers.read_rate if is_read else servers.write_rate
    is_free = options.infinite != "none"
    if is_free:  # compression remains
        rate = np.full_like(rate, np.inf)
        parts = [replace(part, opening=np.zeros_like(part.opening)) for part in parts]
    through_cache = servers.through_cache and not is_read and not is_free
    longer = np.zeros(len(rate))
    if through_cache and options.writer == "double-buffer":
        time, longer = overlapped_through_cache(parts, servers, assembly)
        time = time - longer - assembly
    elif through_cache and options.writer == "sync":
        time = synchronous_through_cache(parts, servers)
    elif options.writer == "double-buffer":
        time = overlapped(parts, rate, disk_first=is_read) - assembly
    elif is_read or is_free or options.writer == "sync":
        time = synchronous(parts, rate)
    else:
        time = written_behind(parts, servers)
    if is_free:
        return time, longer
    if is_read:
        return time + servers.begin + arrays * servers.metadata, longer
    return time + servers.synchronise, longer + _filling(totals, costs, options)


def _filling(totals: _Totals, costs: Costs, options: Options) -> Array:
    """Time in which each server fills memory for the first time: of all units it has [D]. [s]."""
    units = 1
    if options.writer == "double-buffer":
        units = AHEAD if costs.servers.asks_ahead else 2
    return np.minimum(totals.size, units * totals.largest) / costs.servers.memory_rate


def _between(batch: Batch, costs: Costs, options: Options, is_first: Bools) -> Between:
    """What each server does between the exchanges of two subchunks, with disks as they are."""
    servers, server = costs.servers, batch.server
    stored = np.ceil(batch.stored * servers.compression[server])
    is_write = options.operation == "write"
    packing = servers.compression_rate if is_write else servers.decompression_rate
    time = batch.stored / packing[server]
    if options.infinite == "none":
        is_sync = options.writer == "sync"
        is_cached = not is_sync and (options.writer == "write-behind" or servers.through_cache)
        disk = servers.cache_rate if is_cached else servers.write_rate
        time = time + stored / (disk if is_write else servers.read_rate)[server]
        if is_write and is_sync:
            time = time + servers.flush[server]
    return Between(
        time=time,
        is_overlapped=options.writer == "double-buffer",
        is_first=is_first if is_write else None,
    )


def _startup(costs: Costs, arrays: int | None) -> Array:
    """Time until each server has parsed the schema message, equations (2) and (3) [R]. [s].

    Server 0 has waited for long when it arrives, and writes the metadata of all `arrays`, unless
    there are no files; those of a store that is read are what client 0 reads [D].
    """
    protocol, master, others = costs.protocol, costs.clients, costs.servers
    size = protocol.schema_length
    link = np.minimum(master.bandwidth[0], others.bandwidth[0])
    first = (
        master.construct_schema[0]
        + protocol.call_time(size, master.send_startup[0], master.packet_time[0], link)
        + protocol.wire_time(size, link)
        + protocol.call_time(size, others.receive_startup[0], others.packet_time[0], link)
        + protocol.rest_time(np.inf)
        + (0.0 if arrays is None else others.begin[0] + arrays * others.metadata[0])
    )
    rest = np.full(len(others.bandwidth), protocol.rest_time(np.inf))
    rest[0] = 0.0
    forwarded = _forwarding(costs.servers, protocol, size) + rest
    return np.asarray(first + forwarded + others.parse_schema)


def _ending(costs: Costs, arrays: int) -> float:
    """Time in which server 0 puts a store with so many arrays in its place [D]. [s]."""
    flushed = arrays if arrays < MANY else 0
    return float(costs.servers.end[0] + flushed * costs.servers.commit[0])


def _closing(costs: Costs, waited: Array, ending: float) -> Array:
    """Time until each client returns, equations (4) and (5) [R]. [s].

    Server 0 takes `ending` to put a store in its place before it lets clients go on [D]. Clients
    have waited for that, and while servers wrote the last they had, at most for all of `waited`
    [D]: the master notices the message after t_rest, the last of n others after 2*t_rest*n/(n+1).
    """
    protocol, master, others = costs.protocol, costs.servers, costs.clients
    size = protocol.quit_length
    link = np.minimum(master.bandwidth[0], others.bandwidth[0])
    first = (
        ending
        + protocol.call_time(size, master.send_startup[0], master.packet_time[0], link)
        + protocol.wire_time(size, link)
        + protocol.call_time(size, others.receive_startup[0], others.packet_time[0], link)
    )
    rest = protocol.rest_time(waited.max() + ending)
    count = len(others.bandwidth)
    are_alike = not others.bandwidth.strides[0]  # one number for all of them
    forwarded = _forwarding(others, protocol, size, ends=count > ONE_BY_ONE and are_alike)
    last = np.full(len(forwarded), 2 * rest * (count - 1) / count)
    last[0] = 0.0
    return np.asarray(first + rest + forwarded + last)


def _forwarding(
    nodes: ClientCosts | ServerCosts, protocol: Protocol, size: float, *, ends: bool = False
) -> Array:
    """Time in which node 0 forwards a message to one node after the other, and they get it [s].

    Of equal nodes `ends` gives those of the first and of the last, which is the latest.
    """
    count = len(nodes.bandwidth)
    kept = slice(0, count, count - 1) if ends else slice(None)
    bandwidth, startup = nodes.bandwidth[kept], nodes.receive_startup[kept]
    link = np.minimum(bandwidth[0], bandwidth)
    send = protocol.call_time(size, nodes.send_startup[0], nodes.packet_time[0], link)
    if ends:
        send[1:] *= count - 1
    sent = np.concatenate([[0.0], np.cumsum(send[1:])])  # until the message to each is sent
    got = protocol.call_time(size, startup, nodes.packet_time[kept], link)
    time = sent + protocol.wire_time(size, link) + got
    time[0] = sent[-1]
    return np.asarray(time)
