"""Launches of ranks that measure messages and files."""

import json
import os
from dataclasses import dataclass
from typing import Any, Final

from parcast.arrays.measuring.disk_costs import Access, Files
from parcast.arrays.measuring.message_costs import Cycle
from parcast.arrays.measuring.turns import Turns
from parcast.mpi.folders import failing_for, folder_for
from parcast.mpi.launcher import run_task

WORKER: Final = "parcast.arrays.measuring.worker"
PREFIX: Final = "parcast-measuring-"
LIMIT: Final = 600.0  # of a launch [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """What a launch has measured."""

    clients: int
    servers: int
    calls: list[tuple[float, float, float]]  # sending, taking, finding none [s]
    pauses: dict[float, list[float]]  # cycles with one client that has waited [s]
    eager_limit: int  # [B]
    cycles: list[Cycle]
    files: list[tuple[Files, list[Access]]]
    turns: list[Turns]


def launch(folder: str | None, *, clients: int, servers: int, rounds: int) -> Observed:
    """Start ranks, measure on them, and end them; without a folder no files."""
    with folder_for(PREFIX) as desk, failing_for(desk, "the measurement"):
        answer = desk / "answer.json"
        task = {
            "servers": servers,
            "rounds": rounds,
            "folder": None if folder is None else os.path.abspath(folder),
            "answer": str(answer),
        }
        run_task(
            WORKER,
            task,
            ranks=clients + servers,
            time_limit=LIMIT,
            called="the measurement",
        )
        return observed_of(json.loads(answer.read_text(encoding="utf-8")), clients, servers)


def observed_of(document: dict[str, Any], clients: int, servers: int) -> Observed:
    """Read what the first server has written."""
    return Observed(
        clients=clients,
        servers=servers,
        calls=[(a, b, c) for a, b, c in document["calls"]],
        pauses=dict(document["pauses"]),
        eager_limit=document["eager_limit"],
        cycles=[Cycle(**cycle) for cycle in document["cycles"]],
        files=[
            (Files(**files), [Access(**each) for each in accesses])
            for files, accesses in document.get("files", [])
        ],
        turns=[
            Turns(**{**each, "files": Files(**each["files"])})
            for each in document.get("turns", [])
        ],
    )
