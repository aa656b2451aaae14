"""What is observed of a run of a request: its time, and what each server did in it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Self

from parcast.arrays.library.client import Spent

COMPONENTS: Final = ("startup", "assembly", "file_system", "closing")


class Components(NamedTuple):
    """Parts of a request's time, of the server that is the last to finish [s]."""

    startup: float  # until the server has the schema message
    assembly: float  # gathering from clients, or sending to them
    file_system: float  # waiting for files, beside assembly
    closing: float  # from then until all clients return

    @property
    def time(self) -> float:
        """All of it [s]."""
        return sum(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerRun:
    """What a server did in a run."""

    startup: float  # from the call of the last client to its begin [s]
    seconds: float  # from there to its end [s]
    gathering: float  # of it, asking clients and waiting for overlaps [s]
    accessing: float  # opening, reading and writing files [s]
    messages: int
    subchunks: int
    size: int  # of elements [B]

    @classmethod
    def of(cls, spent: Spent, begin: float) -> Self:
        """Make it of what a server reports; clients called at `begin` on the same clock [s]."""
        return cls(
            startup=spent.begun - begin,
            seconds=spent.seconds,
            gathering=spent.gathering,
            accessing=spent.accessing,
            messages=spent.messages,
            subchunks=spent.subchunks,
            size=spent.size,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """A run that was made."""

    request: int  # its place in the list
    launch: int  # start of the ranks of a layout, from 1
    round: int  # of the launch, from 1
    time: float  # from the call of the last client to the return of the last one [s]
    others: float | None  # cores that other programs used meanwhile; None: unknown [1]
    servers: tuple[ServerRun, ...]
    is_read: bool

    @property
    def components(self) -> Components:
        """Parts of its time."""
        last = max(self.servers, key=lambda server: server.startup + server.seconds)
        files = last.accessing if self.is_read else last.seconds - last.gathering
        return Components(
            startup=last.startup,
            assembly=last.seconds - files,
            file_system=files,
            closing=self.time - last.startup - last.seconds,
        )

    def counted(self) -> tuple[int, int, int]:
        """Messages, subchunks and bytes of all servers."""
        return (
            sum(server.messages for server in self.servers),
            sum(server.subchunks for server in self.servers),
            sum(server.size for server in self.servers),
        )

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Make it again from what `to_document` gave."""
        servers = tuple(ServerRun(**each) for each in document["servers"])
        return cls(**{**document, "servers": servers})


def median_components(known: Iterable[Components]) -> Components:
    """Median of each part."""
    from statistics import median

    return Components(*map(median, zip(*known, strict=True)))
