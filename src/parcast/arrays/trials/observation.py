"""What is observed of a run of a request beside its time: what each server did in it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self, TypeAlias

from parcast.arrays.library.client import Spent
from parcast.arrays.trials.request import RequestCase
from parcast.trials.trial import Trial

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


RequestTrial: TypeAlias = Trial[RequestCase, tuple[ServerRun, ...]]


def observed_components(trial: RequestTrial) -> Components:
    """Parts of the time of a run."""
    last = max(trial.observed, key=lambda server: server.startup + server.seconds)
    is_read = trial.case.request.operation == "read"
    files = last.accessing if is_read else last.seconds - last.gathering
    return Components(
        startup=last.startup,
        assembly=last.seconds - files,
        file_system=files,
        closing=trial.seconds - last.startup - last.seconds,
    )


def observed_counts(servers: Sequence[ServerRun]) -> dict[str, int]:
    """Messages, subchunks and bytes of all servers."""
    return {
        "messages": sum(server.messages for server in servers),
        "subchunks": sum(server.subchunks for server in servers),
        "bytes": sum(server.size for server in servers),
    }


def servers_from(documents: Sequence[dict[str, Any]]) -> tuple[ServerRun, ...]:
    """Make what servers did again from documents."""
    return tuple(ServerRun(**each) for each in documents)


def median_components(known: Iterable[Components]) -> Components:
    """Median of each part."""
    from statistics import median

    return Components(*map(median, zip(*known, strict=True)))
