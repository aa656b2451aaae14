"""Ranks that run requests of the library, and what each server did in a run beside its time."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from parcast.arrays.library.client import Spent
from parcast.arrays.trials.request import ArrayRequest, RequestCase
from parcast.errors import ParameterError, RunFailed
from parcast.testbed.testbed import testbed_here
from parcast.trials.campaign import Rhythm
from parcast.trials.launcher import run_on_ranks
from parcast.trials.trial import Launch, Trial
from parcast.units import format_quantity


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


# `begun` is from the call of the last client [s].
RequestTrial: TypeAlias = Trial[RequestCase, tuple[Spent, ...]]


def observed_components(trial: RequestTrial) -> Components:
    """Parts of the time of a run."""
    last = max(trial.observed, key=lambda server: server.begun + server.seconds)
    is_read = trial.case.request.operation == "read"
    files = last.accessing if is_read else last.seconds - last.gathering
    return Components(
        startup=last.begun,
        assembly=last.seconds - files,
        file_system=files,
        closing=trial.seconds - last.begun - last.seconds,
    )


def observed_counts(servers: Sequence[Spent]) -> dict[str, int]:
    """Messages, subchunks and bytes of all servers."""
    return {
        "messages": sum(server.messages for server in servers),
        "subchunks": sum(server.subchunks for server in servers),
        "bytes": sum(server.size for server in servers),
    }


def median_components(known: Iterable[Components]) -> Components:
    """Median of each part."""
    from statistics import median

    return Components(*map(median, zip(*known, strict=True)))


WORKER: Final = "parcast.arrays.trials.worker"
PREFIX: Final = "parcast-array-io-"
CALLED: Final = "array I/O"
LAUNCHES: Final = 2  # that share rounds: times differ more between launches than within one
REST: Final = 0.3  # of a limited disk before a run: some slices in which Linux limits it [s] [D]
SPARE: Final = 1.2  # times the bytes of a launch that must be free [1]
RHYTHM: Final = Rhythm(
    start=3.0,
    between=0.3,  # to remove files and empty caches
    discarded=1,  # it allots memory and blocks of the disk, and writes what is read later
    in_rounds=True,
)


def space_of(requests: Iterable[ArrayRequest]) -> int:
    """Bytes on disk that a launch of requests needs at a time. [B]."""
    asked = list(requests)
    reads = sum(x.size for x in asked if x.operation == "read")
    writes = (x.size for x in asked if x.operation == "write")
    return reads + max(writes, default=0)


def require_room(folder: Path, space: int) -> int:
    """Bytes that are free in a folder, which must be enough for the files. [B]."""
    if not folder.is_dir():
        raise ParameterError(
            "folder", must="be a folder that exists", got=str(folder), hint="Make it first."
        )
    free = shutil.disk_usage(folder).free
    if free < SPARE * space:
        raise RunFailed(
            f"{folder} has {format_quantity(free, 'size')} free, but the files take up to "
            f"{format_quantity(SPARE * space, 'size')}. Choose another folder."
        )
    return free


def shares(rounds: int) -> list[int]:
    """Rounds that count of each launch: at least 2 where there are several launches."""
    launches = min(LAUNCHES, max(rounds // 2, 1))
    return [len(own) for own in np.array_split(np.arange(rounds), launches)]


@dataclass(frozen=True, slots=True)
class RequestLauncher:
    """Starts ranks, has them run requests in a folder, and ends them.

    Linux limits what a slice of 0.1 s lets pass, and carries some of it over to the next: without
    a rest the time of a run depends on when the one before it has ended.
    """

    folder: Path

    def __call__(
        self, launch: Launch[RequestCase], *, report: Callable[[RequestTrial], object]
    ) -> None:
        """Make the runs of a launch."""
        bed, cases = testbed_here(), launch.distinct
        require_room(self.folder, space_of(case.request for case in cases))
        layout = cases[0].layout

        def told(document: dict[str, Any]) -> None:
            case = cases[document.pop("case")]
            observed = tuple(Spent(**each) for each in document.pop("servers"))
            report(launch.trial(case, document.pop("seconds"), observed, **document))

        run_on_ranks(
            WORKER,
            {
                "layout": list(layout),
                "requests": [case.request.model_dump(mode="json") for case in cases],
                "order": [cases.index(case) for case in launch.cases],
                "discarded": launch.discarded,
                "rest": REST if bed is not None and bed.disk is not None else 0.0,
            },
            ranks=layout.ranks,
            time_limit=launch.time_limit,
            report=told,
            called=CALLED,
            prefix=PREFIX,
            folder=self.folder,
            is_pinned=False,  # a server writes with a second thread
        )
