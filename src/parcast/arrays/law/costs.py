"""What clients, servers, messages and disks cost: the parameters of the law, in SI units.

Every time and rate is a number, or an array with one for each client or server.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from parcast.aliases import Array
from parcast.arrays.law.files import OTHERS, Files
from parcast.arrays.law.message import Protocol
from parcast.errors import ParameterError, require
from parcast.words import did_you_mean

PARTITION: Final = 16384  # that is written behind as a whole [B] [S]
RATES: Final = (
    "bandwidth",
    "copy_rate",
    "place_rate",
    "write_rate",
    "read_rate",
    "cache_rate",
    "compression_rate",
    "decompression_rate",
    "memory_rate",
)
DISKS: Final = ("write_rate", "read_rate")
SINGLE: Final = ("partition", "through_cache", "asks_ahead")  # one value for all nodes
OF_SMALL_FILES: Final[dict[str, Any]] = {  # written to disk when they are flushed: all is in 1/R
    "partition": 1 << 62,  # more than any file has
    "cache": np.inf,
    "cache_rate": np.inf,
}


_zero, _one, _unlimited = (partial(np.asarray, default) for default in (0.0, 1.0, np.inf))
_as_written = partial(np.asarray, np.nan)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClientCosts:
    """Costs of clients: scalars, or arrays of one number for each client."""

    send_startup: Array = field(default_factory=_zero)  # of a send call, lambda_s [s]
    receive_startup: Array = field(default_factory=_zero)  # lambda_r [s]
    packet_time: Array = field(default_factory=_zero)  # software cost of a packet, tau [s]
    bandwidth: Array = field(default_factory=_unlimited)  # of the link, r [B/s]
    construct_schema: Array = field(
        default_factory=_zero
    )  # the schema message; of client 0, t_con [s]
    decode: Array = field(default_factory=_zero)  # a request, t_proc [s]
    run: Array = field(
        default_factory=_zero
    )  # each contiguous run that is packed or unpacked, t_run,c [s]
    copy_rate: Array = field(default_factory=_unlimited)  # of packing, R_copy [B/s]
    place_rate: Array = field(
        default_factory=_unlimited
    )  # of putting what is read into its place, R_place [B/s] [D]

    def __post_init__(self) -> None:
        """Keep the numbers as arrays, and refuse those outside their domains."""
        _keep_numbers(self, "clients")

    def each(self, count: int) -> "ClientCosts":
        """Give arrays of one number for each of `count` clients."""
        return _each(self, count, "clients")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ServerCosts:
    """Costs of servers and their disks: scalars, or arrays of one number for each server."""

    send_startup: Array = field(default_factory=_zero)  # lambda_s [s]
    receive_startup: Array = field(default_factory=_zero)  # lambda_r [s]
    packet_time: Array = field(default_factory=_zero)  # tau [s]
    bandwidth: Array = field(default_factory=_unlimited)  # of the link, r [B/s]
    parse_schema: Array = field(default_factory=_zero)  # the schema message, t_par [s]
    find: Array = field(default_factory=_zero)  # the clients that overlap a subchunk, t_find [s]
    boundary: Array = field(default_factory=_zero)  # of the overlap with one client, t_bnd [s]
    run: Array = field(
        default_factory=_zero
    )  # each contiguous run that is packed or unpacked, t_run [s]
    copy_rate: Array = field(
        default_factory=_unlimited
    )  # of packing where arrays are read, R_copy [B/s]
    place_rate: Array = field(
        default_factory=_unlimited
    )  # of putting overlaps into their places, R_place [B/s] [D]
    write_rate: Array  # of the file system, R [B/s]
    read_rate: Array = field(default_factory=_as_written)  # R_read; by default R [B/s]
    cache: Array = field(default_factory=_unlimited)  # bytes of the file cache, C [B]
    cache_rate: Array = field(default_factory=_unlimited)  # of copying into the cache, R_mem [B/s]
    open_file: Array = field(
        default_factory=_zero
    )  # create or open and close a file, t_file [s] [D]
    synchronise: Array = field(
        default_factory=_zero
    )  # flush once for each request, t_sync [s] [D]
    commit: Array = field(
        default_factory=_zero
    )  # metadata of each of fewer than 64 arrays, flushed by server 0, t_commit [s] [D]
    begin: Array = field(
        default_factory=_zero
    )  # before its files, by server 0, or by each that opens a store to read it, t_begin [s] [D]
    end: Array = field(default_factory=_zero)  # of a write, by server 0, t_end [s] [D]
    flush: Array = field(default_factory=_zero)  # each subchunk, where `sync`, t_flush [s] [D]
    metadata: Array = field(
        default_factory=_zero
    )  # of each array on disk, by server 0, or by each that reads, t_meta [s] [D]
    compression: Array = field(
        default_factory=_one
    )  # bytes on disk over those of the array [1] [D]
    compression_rate: Array = field(default_factory=_unlimited)  # of bytes of the array [B/s] [D]
    decompression_rate: Array = field(
        default_factory=_unlimited
    )  # of bytes of the array [B/s] [D]
    memory_rate: Array = field(
        default_factory=_unlimited
    )  # of filling memory for the first time, where arrays are written, R_new [B/s] [D]
    partition: int = PARTITION  # that the file system writes behind as a whole [B]
    interference: Array = field(
        default_factory=_zero
    )  # of exchanging and writing at a time: part of the shorter one that is added [1] [D]
    through_cache: bool = False  # whether every writer copies into the file cache first [D]
    asks_ahead: bool = False  # whether `double-buffer` asks for the next subchunks early [D]

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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Costs:
    """Everything that the law of a request needs besides its geometry."""

    clients: ClientCosts
    servers: ServerCosts
    protocol: Protocol = field(default_factory=Protocol)
    serving: tuple[int, ...] = ()  # client that each server also is, -1 for none [D]
    files: Mapping[str, float] = field(default_factory=dict)  # of other files than few large ones

    def __post_init__(self) -> None:
        """Refuse costs of files that do not exist, or lie outside their domains."""
        for key, value in self.files.items():
            if key not in OTHERS:
                meant = did_you_mean(key, OTHERS).strip()
                must = f"be one of {', '.join(OTHERS)}"
                raise ParameterError("costs of files", must=must, got=key, hint=meant)
            ok = np.isfinite(value) and (value > 0 if key.endswith("rate") else value >= 0)
            hint = "Give seconds, or bytes per second."
            must = "be above 0 and finite" if key.endswith("rate") else "be at least 0 and finite"
            require(f"{key} of files", value, ok, must=must, hint=hint)

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
        names = [key for key in _numeric(self.servers) if getattr(self.servers, key).ndim]
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


def _numeric(costs: ClientCosts | ServerCosts) -> list[str]:
    return [each.name for each in fields(costs) if each.name not in SINGLE]


def _keep_numbers(costs: ClientCosts | ServerCosts, whose: str) -> None:
    """Turn what was given into arrays, which lie in their domains."""
    for key in _numeric(costs):
        name = f"{key} of {whose}"
        given = np.asarray(getattr(costs, key), dtype=np.float64)
        if given.ndim > 1:
            raise ParameterError(
                name,
                must="be a number, or one for each",
                got=f"an array of {given.ndim} dimensions",
                hint=f"Give an array of one dimension, or one number for all {whose}.",
            )
        if key in RATES or key == "compression":
            ok, must = given > 0, "be above 0"
        else:
            ok, must = given >= 0, "be at least 0"
        if key in DISKS or (key not in RATES and key != "cache"):
            ok, must = ok & np.isfinite(given), f"{must} and finite"
        require(name, given, ok, must=must, hint="Give seconds, bytes or bytes per second.")
        object.__setattr__(costs, key, given)
    lengths = {len(x): key for key in _numeric(costs) if (x := getattr(costs, key)).ndim}
    if len(lengths) > 1:
        raise ParameterError(
            f"costs of {whose}",
            must="have lists of one length",
            got=", ".join(f"{count} of {key}" for count, key in sorted(lengths.items())),
            hint=f"Give one number for all {whose}, or one for each in every list.",
        )


def _each(costs: _Costs, count: int, whose: str) -> _Costs:
    """Spread every number over the nodes; all of them are known to lie in their domains."""
    spread = copy(costs)
    for key in _numeric(costs):
        given: Array = getattr(costs, key)
        if given.ndim and len(given) != count:
            raise ParameterError(
                f"{key} of {whose}",
                must=f"have one number, or one for each of the {count} {whose}",
                got=str(len(given)),
                hint="Give as many as there are.",
            )
        object.__setattr__(spread, key, np.broadcast_to(given, (count,)))
    return spread
