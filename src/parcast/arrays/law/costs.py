"""What clients, servers, messages and disks cost: the parameters of the law, in SI units.

Every time and rate is a number, or an array with one for each client or server.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import Any, Final, TypeVar

import numpy as np

from parcast.aliases import Array
from parcast.arrays.law.declared import DeclaredCost, cost, declared_of
from parcast.arrays.law.files import OTHERS, Files
from parcast.arrays.law.message import Protocol
from parcast.errors import ParameterError, require
from parcast.words import did_you_mean

PARTITION: Final = 16384  # that is written behind as a whole [B] [S]
SINGLE: Final = ("partition", "through_cache", "asks_ahead")  # one value for all nodes
OF_SMALL_FILES: Final[dict[str, Any]] = {  # written to disk when they are flushed: all is in 1/R
    "partition": 1 << 62,  # more than any file has
    "cache": np.inf,
    "cache_rate": np.inf,
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class NodeCosts:
    """What clients and servers have in common: scalars, or one number for each of them."""

    send_startup: Array = cost("time", 0.0, "Startup of a send call, lambda_s.")
    receive_startup: Array = cost("time", 0.0, "Startup of a receive call, lambda_r.")
    packet_time: Array = cost("time", 0.0, "Software cost of a packet, tau.")
    bandwidth: Array = cost("rate", inf, "Rate of its link, r; by default unlimited.")
    run: Array = cost("time", 0.0, "Packing or unpacking one contiguous run, t_run.")
    copy_rate: Array = cost("rate", inf, "Rate of packing, R_copy; by default unlimited.")
    place_rate: Array = cost(  # [D]
        "rate",
        inf,
        "Rate of putting what has arrived into its place, R_place; by default unlimited.",
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClientCosts(NodeCosts):
    """Costs of clients: scalars, or arrays of one number for each client."""

    # of client 0
    construct_schema: Array = cost("time", 0.0, "Constructing the schema message, t_con.")
    decode: Array = cost("time", 0.0, "Decoding a request, t_proc.")

    def __post_init__(self) -> None:
        """Keep the numbers as arrays, and refuse those outside their domains."""
        _keep_numbers(self, "clients")

    def each(self, count: int) -> "ClientCosts":
        """Give arrays of one number for each of `count` clients."""
        return _each(self, count, "clients")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ServerCosts(NodeCosts):
    """Costs of servers and their disks: scalars, or arrays of one number for each server."""

    parse_schema: Array = cost("time", 0.0, "Parsing the schema message, t_par.")
    find: Array = cost("time", 0.0, "Finding the clients that overlap a subchunk, t_find.")
    boundary: Array = cost("time", 0.0, "Computing the overlap with one client, t_bnd.")
    write_rate: Array = cost("rate", None, "Rate at which its file system writes, R.")
    read_rate: Array = cost("rate", nan, "Rate of reading, R_read; by default that of writing.")
    cache: Array = cost("size", inf, "Size of the file cache, C; by default unlimited.")
    cache_rate: Array = cost(
        "rate", inf, "Rate of copying into the file cache, R_mem; by default unlimited."
    )
    partition: int = cost(
        "size",
        PARTITION,
        "Bytes that the file system writes behind as a whole, part.",
        least=1.0,
    )
    # All below [D].
    open_file: Array = cost("time", 0.0, "Creating or opening a file and closing it, t_file.")
    synchronise: Array = cost("time", 0.0, "Flushing once for each request, t_sync.")
    commit: Array = cost(
        "time",
        0.0,
        "Flushing the metadata of each of fewer than 64 arrays, by server 0, t_commit.",
    )
    begin: Array = cost(
        "time",
        0.0,
        "Beginning a request before its files, t_begin: by server 0; of a read by each server.",
    )
    end: Array = cost("time", 0.0, "Putting what was written in its place, by server 0, t_end.")
    flush: Array = cost(
        "time", 0.0, "Flushing each subchunk, t_flush: with sync and through_cache."
    )
    metadata: Array = cost(
        "time",
        0.0,
        "Metadata of each array on disk, t_meta: by server 0; of a read by each server.",
    )
    memory_rate: Array = cost(
        "rate",
        inf,
        "Rate of filling new memory where arrays are written, R_new; by default unlimited.",
    )
    interference: Array = cost(
        "count",
        0.0,
        "Part of the shorter of exchanging and writing that is added: with through_cache.",
    )
    through_cache: bool = cost("", False, "Whether every writer copies into the file cache first.")
    asks_ahead: bool = cost("", False, "Whether double-buffer asks for the next subchunks early.")
    compression: Array = cost("count", 1.0, "Bytes on disk over those of the array.", above=0.0)
    compression_rate: Array = cost(
        "rate", inf, "Bytes of the array that are compressed a second; by default unlimited."
    )
    decompression_rate: Array = cost(
        "rate", inf, "Bytes of the array that are decompressed a second; by default unlimited."
    )

    def __post_init__(self) -> None:
        """Keep the numbers as arrays, and refuse those outside their domains."""
        reading = np.asarray(self.read_rate, dtype=np.float64)
        if np.isnan(reading).all():
            object.__setattr__(self, "read_rate", self.write_rate)
        _keep_numbers(self, "servers")
        ok = self.partition >= 1 and self.partition == int(self.partition)
        hint = "Give bytes; 1 writes behind all of them."
        must = "be a whole number of at least 1"
        require("partition", self.partition, ok, must=must, hint=hint)

    def each(self, count: int) -> "ServerCosts":
        """Give arrays of one number for each of `count` servers."""
        return _each(self, count, "servers")


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryCosts:
    """What other I/O libraries cost beside messages and disks [D].

    Costs that are nan are not known: `parcast.arrays.law.libraries.library` has them from others.
    """

    open_shared: float = cost(
        "time", nan, "Opening a file that all ranks share, and closing it, t_shared."
    )
    create: float = cost(
        "time", nan, "Creating one of the files that ranks create together, t_create."
    )
    collective: float = cost(
        "time", nan, "A step of a collective call, of which it takes lg p, t_step."
    )
    pair: float = cost("time", nan, "Handling an offset and a length on one side, t_pair.")
    cache_rate: float = cost("rate", nan, "Rate of copying into the file cache, R_mem.")
    writes_behind: bool = cost(
        "", True, "Whether the file system writes while ranks exchange; else at the flush."
    )

    def __post_init__(self) -> None:
        """Refuse what lies outside its domain."""
        for key, declared in declared_of(LibraryCosts):
            value = np.asarray(getattr(self, key), dtype=np.float64)
            is_open = np.isnan(value) | ((declared.dimension == "rate") & np.isposinf(value))
            ok = declared.holds(value) | is_open
            hint = "Give seconds, or bytes per second."
            require(f"{key} of libraries", value, ok, must=declared.must, hint=hint)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Name the costs that were not given."""
        return tuple(key for key, _ in declared_of(LibraryCosts) if np.isnan(getattr(self, key)))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Costs:
    """Everything that the law of a request needs besides its geometry."""

    clients: ClientCosts
    servers: ServerCosts
    protocol: Protocol = field(default_factory=Protocol)
    serving: tuple[int, ...] = ()  # client that each server also is, -1 for none [D]
    files: Mapping[str, float] = field(default_factory=dict)  # of other files than few large ones
    libraries: LibraryCosts = field(default_factory=LibraryCosts)  # of other I/O libraries

    def __post_init__(self) -> None:
        """Refuse costs of files that do not exist, or lie outside their domains."""
        for key, value in self.files.items():
            if key not in OTHERS:
                meant = did_you_mean(key, OTHERS).strip()
                must = f"be one of {', '.join(OTHERS)}"
                raise ParameterError("costs of files", must=must, got=key, hint=meant)
            ok, hint = OTHERS[key].holds(np.asarray(value)), "Give seconds, or bytes per second."
            require(f"{key} of files", value, ok, must=OTHERS[key].must, hint=hint)

    def for_files(self, files: Files) -> "Costs":
        """Give servers the costs of some files, as far as they are known."""
        others = files.others(self.servers.partition)
        own: dict[str, Any] = {
            name: self.files[key] for name, key in others.items() if key in self.files
        }
        if "write_rate" in own:  # which contains the copy into the cache
            own |= {"cache_rate": np.inf} if files.writer == "sync" else OF_SMALL_FILES
        return replace(self, servers=replace(self.servers, **own)) if own else self

    def for_nodes(self, clients: int, servers: int) -> "Costs":
        """Give one number for each of so many clients and servers."""
        return replace(
            self, clients=self.clients.each(clients), servers=self.servers.each(servers)
        )

    def with_servers(self, servers: int | Sequence[int]) -> "Costs":
        """Give the same for some servers, or the first so many, if each has numbers of its own."""
        places = slice(servers) if isinstance(servers, int) else list(servers)
        names = [x for x, _ in _numeric(ServerCosts) if getattr(self.servers, x).ndim]
        first: dict[str, Any] = {key: getattr(self.servers, key)[places] for key in names}
        own = replace(self.servers, **first) if first else self.servers
        serving = tuple(np.array(self.serving)[places].tolist()) if self.serving else ()
        return replace(self, servers=own, serving=serving)

    def with_free_network(self) -> "Costs":
        """Give the same with messages that take no time at all."""
        free: dict[str, Any] = {
            "send_startup": 0.0,
            "receive_startup": 0.0,
            "packet_time": 0.0,
            "bandwidth": np.inf,
        }
        return replace(
            self,
            clients=replace(self.clients, **free),
            servers=replace(self.servers, **free),
            protocol=replace(self.protocol, rest=0.0, longest_rest=0.0),
        )


_Costs = TypeVar("_Costs", ClientCosts, ServerCosts)


def _numeric(kind: Any) -> list[tuple[str, DeclaredCost]]:
    return [(name, declared) for name, declared in declared_of(kind) if name not in SINGLE]


def _keep_numbers(costs: ClientCosts | ServerCosts, whose: str) -> None:
    """Turn what was given into arrays, which lie in their domains."""
    lengths = {}
    for key, declared in _numeric(type(costs)):
        name = f"{key} of {whose}"
        given = np.asarray(getattr(costs, key), dtype=np.float64)
        if given.ndim > 1:
            raise ParameterError(
                name,
                must="be a number, or one for each",
                got=f"an array of {given.ndim} dimensions",
                hint=f"Give an array of one dimension, or one number for all {whose}.",
            )
        hint = "Give seconds, bytes or bytes per second."
        require(name, given, declared.holds(given), must=declared.must, hint=hint)
        object.__setattr__(costs, key, given)
        if given.ndim:
            lengths[len(given)] = key
    if len(lengths) > 1:
        raise ParameterError(
            f"costs of {whose}",
            must="have lists of one length",
            got=", ".join(f"{count} of {key}" for count, key in sorted(lengths.items())),
            hint=f"Give one number for all {whose}, or one for each in every list.",
        )


def _each(costs: _Costs, count: int, whose: str) -> _Costs:
    """Spread every number over the nodes; all of them are known to lie in their domains."""
    spread = object.__new__(type(costs))
    for key in SINGLE:
        if hasattr(costs, key):
            object.__setattr__(spread, key, getattr(costs, key))
    for key, _ in _numeric(type(costs)):
        given: Array = getattr(costs, key)
        if given.ndim and len(given) != count:
            raise ParameterError(
                f"{key} of {whose}",
                must=f"have one number, or one for each of the {count} {whose}",
                got=str(len(given)),
                hint="Give as many as there are.",
            )
        # As `broadcast_to`, which would take a seventh of the time of a request.
        strides = given.strides or (0,)
        object.__setattr__(spread, key, np.ndarray(count, given.dtype, given, 0, strides))
    return spread
