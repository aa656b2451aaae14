"""What every rank of a measurement of array I/O runs: messages first, then the servers' files.

Its argument is a task: a JSON file with the rounds, the number of servers, a folder to write in,
and where the answer of the first server goes.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from mpi4py import MPI

from parcast.arrays.library.checking import servers_agreed
from parcast.arrays.library.disk import disk_for
from parcast.arrays.library.endpoint import Endpoint
from parcast.arrays.measuring.disk_costs import (
    ENOUGH,
    LEAST_ROUNDS,
    Servers,
    measured_files,
)
from parcast.arrays.measuring.message_costs import (
    Asked,
    Asking,
    eager_limit,
    measured_calls,
    measured_cycles,
    measured_pauses,
)
from parcast.arrays.measuring.turns import Measuring, kinds_of_turns
from parcast.mpi.messages import MpiChannel

PREFIX: Final = "parcast-array-io-"  # of the folder that servers write in


def main(task: dict[str, Any]) -> None:
    """Measure, on one rank."""
    world = MPI.COMM_WORLD
    ranks = servers_agreed(world, task["servers"], dedicated=True)
    clients = [rank for rank in range(world.Get_size()) if rank not in ranks]
    is_server = world.Get_rank() in ranks
    group = world.Split(int(is_server), world.Get_rank())
    own = world.Dup()
    endpoint = Endpoint(MpiChannel(own))
    if not is_server:
        asked = Asked(endpoint)
        endpoint.roles.append(asked)
        endpoint.turn_until(lambda: asked.has_left)
    else:
        answer = _served(task, endpoint, clients, group)
        if group.Get_rank() == 0:
            Path(task["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    endpoint.turn_until(lambda: endpoint.is_idle)
    own.Free()
    group.Free()


def _served(
    task: dict[str, Any], endpoint: Endpoint, clients: list[int], group: MPI.Comm
) -> dict[str, Any]:
    """Measure on a server; the first gives the answer."""
    asking = Asking(endpoint, clients)
    endpoint.roles.append(asking)
    number, count, rounds = group.Get_rank(), group.Get_size(), task["rounds"]

    def together(seconds: float) -> float:
        return float(group.allreduce(seconds, op=MPI.MAX))

    is_first = number == 0
    answer: dict[str, Any] = {}
    if is_first:
        answer["calls"] = measured_calls(asking, rounds=6 * rounds)
        answer["pauses"] = list(measured_pauses(asking, rounds=6 * rounds).items())
        answer["eager_limit"] = eager_limit(endpoint, clients[0])
    together(0.0)
    cycles = measured_cycles(
        asking, len(clients), rounds=rounds, together=together, is_first=is_first
    )
    answer["cycles"] = [asdict(cycle) for cycle in cycles]
    if task["folder"]:
        made = tempfile.mkdtemp(prefix=PREFIX, dir=task["folder"]) if is_first else None
        place = Path(group.bcast(made))
        try:
            servers = Servers(
                number=number,
                count=count,
                together=together,
                share=group.bcast,
                by_thread=partial(_by_thread, endpoint),
            )
            files = measured_files(place, servers, rounds=rounds)
            answer["files"] = [
                [asdict(kind), [asdict(each) for each in accesses]] for kind, accesses in files
            ]
            measuring = Measuring(
                endpoint=endpoint,
                asking=asking,
                clients=len(clients),
                servers=servers,
                folder=place,
            )
            large = max((kind for kind, _ in files if not kind.is_sync), key=lambda x: x.size)
            kinds = kinds_of_turns(large)
            turns = []
            for kind in kinds:
                first = measuring.turns(kind)  # which is discarded
                is_slow = first.both > ENOUGH
                turns += [
                    measuring.turns(kind) for _ in range(LEAST_ROUNDS if is_slow else rounds)
                ]
            answer["turns"] = [asdict(each) for each in turns]
        finally:
            if is_first:
                shutil.rmtree(place, ignore_errors=True)
    together(0.0)
    if is_first:
        asking.leave()
    return answer


def _by_thread(endpoint: Endpoint, access: Callable[[], object]) -> float:
    """Have another thread do something, while this one turns the loop. [s]."""
    disk = disk_for("double-buffer", endpoint.wake)
    disk.do(access)
    endpoint.turn_until(lambda: not disk.under_way)
    disk.close()
    return disk.seconds


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
