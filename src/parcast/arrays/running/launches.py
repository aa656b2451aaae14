"""Launches of ranks that make the runs of one layout, round by round."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np

from parcast.arrays.running.observation import Observed
from parcast.arrays.running.request import ArrayRequest, Layout
from parcast.errors import ParameterError, RunFailed
from parcast.mpi.folders import documents_in, failing_for, folder_for
from parcast.mpi.launcher import run_task
from parcast.testbed.testbed import testbed_here
from parcast.units import format_quantity

WORKER: Final = "parcast.arrays.running.worker"
PREFIX: Final = "parcast-array-io-"
CALLED: Final = "array I/O"
LAUNCHES: Final = 2  # that share rounds: times differ more between launches than within one
REST: Final = 0.3  # of a limited disk before a run: some slices in which Linux limits it [s] [D]
SPARE: Final = 1.2  # times the bytes of a launch that must be free [1]
LIMIT: Final = (120.0, 20.0)  # of a launch: so long, and times what is expected [s], [1]

Report = Callable[[Observed], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """Requests of one layout, and the rounds in which they are run."""

    number: int  # from 1
    layout: Layout
    requests: Mapping[int, ArrayRequest]  # by their places
    rounds: Sequence[Sequence[int]]  # places; the first round does not count
    expected: float  # [s]

    @property
    def time_limit(self) -> float:
        """Limit of the launch [s]."""
        return LIMIT[0] + LIMIT[1] * self.expected


def space_of(requests: Mapping[int, ArrayRequest]) -> int:
    """Bytes on disk that a launch of requests needs at a time. [B]."""
    reads = sum(x.size for x in requests.values() if x.operation == "read")
    writes = (x.size for x in requests.values() if x.operation == "write")
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


def random_rounds(
    places: Sequence[int], number: int, random: np.random.Generator
) -> list[list[int]]:
    """Give so many rounds of the same requests, in random orders."""
    return [[int(i) for i in random.permutation(places)] for _ in range(number)]


class Runner(Protocol):
    """What makes the runs of a launch; `run_launch` does."""

    def __call__(self, launch: Launch, *, folder: Path, report: Report) -> None:
        """Make the runs below a folder, and report each that has ended."""


def run_launch(launch: Launch, *, folder: Path, report: Report) -> None:
    """Start ranks, make the runs, and end the ranks; what was made before a Ctrl-C is reported.

    Linux limits what a slice of 0.1 s lets pass, and carries some of it over to the next: without
    a rest the time of a run depends on when the one before it has ended.
    """
    bed = testbed_here()
    require_room(folder, space_of(launch.requests))
    with failing_for(folder, "the requests"), folder_for(PREFIX, folder) as files:
        answer = files / "runs.jsonl"
        task = {
            "layout": list(launch.layout),
            "requests": {place: x.to_document() for place, x in launch.requests.items()},
            "rounds": [list(places) for places in launch.rounds],
            "launch": launch.number,
            "folder": str(files),
            "answer": str(answer),
            "rest": REST if bed is not None and bed.disk is not None else 0.0,
        }
        try:
            run_task(
                WORKER,
                task,
                ranks=launch.layout.ranks,
                time_limit=launch.time_limit,
                is_pinned=False,  # a server writes with a second thread
                called=CALLED,
            )
        finally:
            for document in documents_in(answer):
                report(Observed.from_document(document))
