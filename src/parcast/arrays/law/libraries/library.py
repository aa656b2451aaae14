"""What the laws of other I/O libraries have in common: the request, its time, and what is shared.

Ranks are dealt out over hosts in turn, and aggregators or files over disks, in turn as well [D].
An aggregator writes at the rate of its disk, which it shares with others of the same disk; with
striping over as many targets as aggregators each has one of its own, as servers have in the law of
`parcast.arrays` [D].

The 90% interval is the time over and times the error of the law, and contains the times with
costs that were not given four times less and four times more than what stands in for them [D].
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.geometry.choices import Operation, Writer
from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.law.costs import Costs
from parcast.errors import ParameterError, as_whole

UNKNOWN: Final = 4.0  # that a cost which was not given may be off, each way [1] [D]
PARTS: Final = ("file system", "communication", "computation")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LibraryRequest:
    """Equal arrays that ranks write together, and what they write with."""

    chunks: Chunks
    itemsize: int  # of an element [B]
    number: int = 1  # of arrays, one collective call after the other [1]
    operation: Operation = "write"
    writer: Writer = "write-behind"  # `sync`: on disk before a call returns
    disks: int = 1  # that work side by side [1]
    hosts: int | None = None  # of the ranks; None: one each [1]

    def __post_init__(self) -> None:
        """Refuse counts below 1."""
        for name in ("number", "disks") + (() if self.hosts is None else ("hosts",)):
            as_whole(name, getattr(self, name), least=1, hint="Count from 1.")

    @property
    def ranks(self) -> int:
        """How many there are."""
        return self.chunks.clients

    @property
    def most_hosts(self) -> int:
        """Hosts that have a rank."""
        return self.ranks if self.hosts is None else min(self.hosts, self.ranks)

    @property
    def size(self) -> Ints:
        """What each rank has of an array. [B]."""
        elements = np.bincount(
            self.chunks.client, self.chunks.boxes.elements, minlength=self.ranks
        )
        return elements.astype(np.int64) * self.itemsize

    def host_of(self, rank: Ints) -> Ints:
        """Host of some ranks."""
        return np.asarray(rank % self.most_hosts)

    def disk_rates(self, costs: Costs, users: int) -> Array:
        """Rate that each of some users of the disks has. [B/s]."""
        servers = costs.servers
        rate = servers.read_rate if self.operation == "read" else servers.write_rate
        disk = np.arange(users) % self.disks
        own = rate[disk % len(rate)] if rate.ndim else np.broadcast_to(rate, users)
        return np.asarray(own / np.bincount(disk)[disk])


class LibrarySetting(NamedTuple):
    """What is set in a library."""

    aggregators: int  # ranks that write: aggregators of ROMIO, I/O tasks of PIO
    buffer: int = 1 << 24  # bytes that each writes at a time; the default of ROMIO is 16 MiB [B]


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryTime:
    """Time of a request with a library."""

    file_system: float  # opening, writing and flushing, as far as nothing is exchanged [s]
    communication: float  # messages, and waiting for the slowest rank [s]
    computation: float  # packing, unpacking, and lists of offsets [s]
    messages: int  # of data, between ranks [1]

    @property
    def time(self) -> float:
        """All of it [s]."""
        return self.file_system + self.communication + self.computation

    @property
    def parts(self) -> Mapping[str, float]:
        """The three by name [s]."""
        return dict(
            zip(PARTS, (self.file_system, self.communication, self.computation), strict=True)
        )

    @property
    def limited_by(self) -> str:
        """Largest of the three."""
        return max(self.parts, key=lambda name: self.parts[name])


class Library(Protocol):
    """A library, and its law."""

    @property
    def name(self) -> str:
        """What it is called in options: lower case."""

    @property
    def title(self) -> str:
        """What it is called in answers."""

    @property
    def error(self) -> float:
        """Factor that 90% of its times lie within, each way [1]."""

    @property
    def needs(self) -> Sequence[str]:
        """Names of the costs of libraries that matter to it."""

    def settings(
        self, request: LibraryRequest, counts: Sequence[int], buffers: Sequence[int]
    ) -> Iterator[LibrarySetting]:
        """Give what could be set, of some numbers of aggregators and sizes of buffers [B]."""

    def time(self, request: LibraryRequest, costs: Costs, setting: LibrarySetting) -> LibraryTime:
        """Time of a request; ParameterError where it cannot be set so."""

    def ready(self, request: LibraryRequest, setting: LibrarySetting) -> str:
        """Write the setting as the library takes it."""


def filled(costs: Costs, factor: float = 1.0) -> Costs:
    """Give costs of libraries that are not known those that stand in for them [D].

    Opening takes what a server takes for a file; a step of a collective call a send and a
    receive; a pair what a server takes for a run; the cache is that of servers. `factor` is by how
    much more.
    """
    own, servers, clients = costs.libraries, costs.servers, costs.clients
    step = float(np.max(clients.send_startup) + np.max(clients.receive_startup))
    stand_in: dict[str, float] = {
        "open_shared": float(np.max(servers.open_file)) * factor,
        "create": float(np.max(servers.open_file)) * factor,
        "collective": step * factor,
        "pair": float(np.max(servers.run)) * factor,
        "cache_rate": float(np.min(servers.cache_rate)) / factor,
    }
    known: dict[str, Any] = {key: stand_in[key] for key in own.unknown}
    return replace(costs, libraries=replace(own, **known))


def collective_time(ranks: int, costs: Costs) -> float:
    """Time of a collective call with next to no data, ceil(lg p) steps [R]. [s]."""
    return ceil(log2(ranks)) * costs.libraries.collective if ranks > 1 else 0.0


def interval(
    library: Library, request: LibraryRequest, costs: Costs, setting: LibrarySetting
) -> tuple[float, float]:
    """Ends of the 90% interval of a time [s]."""
    ends = [library.time(request, filled(costs), setting).time] * 2
    if set(costs.libraries.unknown) & set(library.needs):
        ends = [
            library.time(request, filled(costs, factor), setting).time
            for factor in (1 / UNKNOWN, UNKNOWN)
        ]
    return ends[0] / library.error, ends[1] * library.error


def require_aggregators(name: str, count: int, most: int, *, of: str, hint: str) -> None:
    """Refuse more of them than there may be, or none."""
    as_whole(name, count, least=1, hint="Give how many ranks write.")
    if count > most:
        raise ParameterError(name, must=f"be at most the {most} {of}", got=str(count), hint=hint)
