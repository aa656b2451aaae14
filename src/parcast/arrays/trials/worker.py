"""What the ranks of a launch execute: requests of the library, one after another.

The first run of each request is not told: it allots memory and blocks of the disk, and writes what
is read later.

Before a run the system is asked to write all it has to disk, and the caches of the processor are
filled with something else, as by a program that computes. Files that are read are taken out of the
cache of the system, so that they come from the disk. A limited disk then rests. As much
memory as the run is going to use is had at hand: it may wait for that longer than for its files.
"""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.arrays.library.client import Spent
from parcast.arrays.library.distribution import Array, Block
from parcast.arrays.library.session import Session, connect
from parcast.arrays.store.layout import METADATA
from parcast.arrays.trials.request import ArrayRequest, Layout
from parcast.errors import RunFailed
from parcast.instrument.accounts import Users
from parcast.instrument.memory import provide
from parcast.mpi.launched import one_world
from parcast.trials.launcher import task_of, tell

if TYPE_CHECKING:
    from mpi4py import MPI


CACHES: Final = 1 << 26  # more than the caches of the processor hold [B]


def main(arguments: Sequence[str]) -> None:
    """Run what a file asks for."""
    comm = one_world()
    task = task_of(comm, arguments)
    layout = Layout(*task["layout"])
    processes = comm.allgather(os.getpid())
    with connect(comm, servers=layout.servers, dedicated=layout.dedicated) as io:
        clients = comm.Split(0 if io.is_client else 1, comm.Get_rank())
        if io.is_client:
            _ClientRuns.of(io, clients, processes, task).make()


@dataclass(slots=True)
class _ClientRuns:
    """Runs of a launch, on a client."""

    io: Session
    clients: "MPI.Comm"
    processes: Sequence[int]  # of all ranks
    task: Mapping[str, Any]
    requests: Sequence[ArrayRequest]
    memory: Array
    other: Array  # what the caches are filled with

    @classmethod
    def of(
        cls,
        io: Session,
        clients: "MPI.Comm",
        processes: Sequence[int],
        task: Mapping[str, Any],
    ) -> "_ClientRuns":
        """Fill the memory that all requests share."""
        requests = [ArrayRequest(**each) for each in task["requests"]]
        largest = max(request.largest_block for request in requests)
        memory = np.random.default_rng(io.client).integers(0, 255, largest, dtype=np.uint8)
        return cls(
            io=io,
            clients=clients,
            processes=processes,
            task=task,
            requests=requests,
            memory=memory,
            other=np.zeros(CACHES // len(io.clients), np.uint8),
        )

    @property
    def is_first(self) -> bool:
        """Whether this client prepares runs, and tells of them."""
        return self.io.client == 0

    def make(self) -> None:
        """Make all runs."""
        made: Counter[int] = Counter()
        for place in self.task["order"]:
            is_trial = not made[place]
            made[place] += 1
            document = self._made(place, is_trial=is_trial)
            repetition = made[place] - self.task["discarded"]
            if self.is_first and repetition > 0:
                tell(self.task, {**document, "case": place, "repetition": repetition})

    def _made(self, place: int, *, is_trial: bool) -> dict[str, Any]:
        """Make a run, between two moments at which the disk has nothing to do."""
        request = self.requests[place]
        path = Path(self.task["folder"]) / f"{place}.zarr"
        values = self._values(request)
        is_read = request.operation == "read"
        if is_read and is_trial:
            self._write(path, request, values)
        if self.is_first:
            os.sync()
            if is_read:
                _forget(path)
        sleep(self.task["rest"])
        clients = len(self.io.clients)
        provide((2 if is_read else 1) * request.size // clients, sharers=clients)
        np.add(self.other, 1, out=self.other)
        self.clients.Barrier()
        users = Users.now(self.processes) if self.is_first else None
        begin = perf_counter()
        if is_read:
            found = self.io.read(path, request.names, mesh=request.client_mesh)
            spent = self.io.last_read.servers if self.io.last_read else ()
        else:
            spent = self._write(path, request, values)
        end = perf_counter()
        others = users.others() if users is not None else None
        if is_read and is_trial:
            _check(found, values, request)
        if self.is_first and not is_read:
            shutil.rmtree(path)
        begins, ends = zip(*self.clients.allgather((begin, end)), strict=True)
        return {
            "seconds": max(ends) - max(begins),
            "others": others,
            "servers": [asdict(each) | {"begun": each.begun - max(begins)} for each in spent],
        }

    def _values(self, request: ArrayRequest) -> Array:
        """What this client holds of all arrays, one after another."""
        count = request.block(self.io.client).count
        shape = (request.arrays, *count)
        length = int(np.prod(shape)) * request.itemsize
        return self.memory[:length].view(request.dtype).reshape(shape)

    def _write(self, path: Path, request: ArrayRequest, values: Array) -> tuple[Spent, ...]:
        """Write a store."""
        arrays = {
            name: Block(own, shape=request.shape, mesh=request.client_mesh)
            for name, own in zip(request.names, values, strict=True)
        }
        written = self.io.write(path, arrays, writer=request.writer, subchunk=request.limit)
        return written.servers


def _forget(path: Path) -> None:
    """Have the system take the storage chunks of a store out of its cache."""
    if not hasattr(os, "posix_fadvise"):
        return
    for file in path.rglob("*"):
        if file.name != METADATA and file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _check(found: dict[str, Array], values: Array, request: ArrayRequest) -> None:
    """Refuse to go on where something else was read than was written."""
    for name, own in zip(request.names, values, strict=True):
        if not np.array_equal(found[name].view(np.uint8), own.view(np.uint8)):
            raise RunFailed(f"{request}: what was read is not what was written. Report this.")


if __name__ == "__main__":
    main(sys.argv[1:])
