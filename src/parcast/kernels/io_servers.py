"""Ranks that do nothing but write: each has a disk, and serves requests in the order they come.

The last ranks of the world are the servers, the others compute. A request is one message with the
bytes; it is answered when they are on the device (`fsync`). A server receives further requests
while it writes. Each writer has a file of its own on each server, which every request replaces.
"""

import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import require

Bytes = NDArray[np.uint8]

WRITE, READ, STOP, ANSWER = 18, 19, 20, 21  # tags
# Of a rank that waits: one that looks more often takes the core of those that compute.
LONGEST_REST: Final = 5e-3  # [s]
SENDING_REST: Final = 1e-3  # while a message is on its way, which only moves when looked at [s]


@dataclass(frozen=True, slots=True)
class IoServers:
    """The I/O servers as a computing rank sees them; server i has disk i."""

    world: Any
    count: int

    @property
    def first(self) -> int:
        """Rank of the first server."""
        return int(self.world.Get_size()) - self.count

    def write(self, parts: Mapping[int, NDArray[Any]]) -> None:
        """Write contiguous arrays to servers, and wait until all are on their devices."""
        nothing = np.empty(0, dtype=np.uint8)
        answers = [self.world.Irecv(nothing, self.first + i, ANSWER) for i in parts]
        _wait_for(
            [self.world.Isend(x, self.first + i, WRITE) for i, x in parts.items()],
            longest=SENDING_REST,
        )
        _wait_for(answers)

    def read(self, parts: Mapping[int, NDArray[Any]]) -> None:
        """Read back into contiguous arrays what this rank wrote last."""
        nothing = np.empty(0, dtype=np.uint8)
        requests = [self.world.Irecv(x, self.first + i, ANSWER) for i, x in parts.items()]
        requests += [self.world.Isend(nothing, self.first + i, READ) for i in parts]
        _wait_for(requests)

    def stop(self) -> None:
        """Tell all servers that this rank has nothing more to write."""
        nothing = np.empty(0, dtype=np.uint8)
        _wait_for([self.world.Isend(nothing, self.first + i, STOP) for i in range(self.count)])


def divided(world: Any, count: int) -> tuple[Any, IoServers | None]:
    """Give the ranks like this one, and the servers to those that compute; all ranks call it."""
    computing = int(world.Get_size()) - count
    require(
        "servers",
        count,
        computing > 0,
        must="be fewer than the ranks",
        hint="The last ranks are servers, the others compute.",
    )
    is_server = int(world.Get_rank()) >= computing
    own = world.Split(int(is_server), world.Get_rank())
    return own, None if is_server else IoServers(world, count)


def _wait_for(requests: list[Any], longest: float = LONGEST_REST) -> None:
    """Wait for the ends of messages without taking the core of the ranks that compute."""
    rest = LONGEST_REST / 16
    while requests := [request for request in requests if not request.Test()]:
        time.sleep(rest)
        rest = min(2 * rest, longest)


def serve(world: Any, clients: int, directory: Path) -> None:
    """Write what the first ranks of the world send, until each of them has said stop."""
    with _disk(directory, int(world.Get_rank())) as disk:
        going, rest = clients, 0.0
        server = _Server(world, disk)
        while going or server.is_busy:
            ended = server.hear()
            going -= ended or 0
            if server.advance() or ended is not None:
                rest = 0.0
                continue
            longest = SENDING_REST if server.is_receiving else LONGEST_REST
            rest = min(2 * rest + SENDING_REST / 16, longest)
            time.sleep(rest)


@dataclass(slots=True)
class _Disk:
    """The files of a server, one for each writer, written one after the other."""

    folder: Path
    name: str
    files: dict[int, tuple[int, Path]] = field(default_factory=dict)

    def write(self, source: int, data: Bytes) -> Bytes:
        """Replace the file of a writer, flushed to the device; there is nothing to answer."""
        if source not in self.files:
            path = self.folder / f"{self.name}_{source}"
            flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
            self.files[source] = os.open(path, flags, 0o600), path
        file, _ = self.files[source]
        write_through(file, data)
        return data[:0]

    def read(self, source: int) -> Bytes:
        """Read the file of a writer."""
        return np.fromfile(self.files[source][1], dtype=np.uint8)


def write_through(file: int, data: NDArray[Any]) -> None:
    """Replace the content of a file, and wait until it is on the device."""
    left, offset = data.view(np.uint8).data, 0
    if os.fstat(file).st_size > len(left):
        os.ftruncate(file, len(left))
    while offset < len(left):
        offset += os.pwrite(file, left[offset:], offset)
    os.fsync(file)


@contextmanager
def _disk(folder: Path, rank: int) -> Iterator[_Disk]:
    """Give a disk whose files are removed at the end."""
    disk = _Disk(folder, f"server_{rank}")
    try:
        yield disk
    finally:
        for file, path in disk.files.values():
            os.close(file)
            path.unlink(missing_ok=True)


class _Server:
    """What a server has begun: messages on their way, and requests of its disk."""

    def __init__(self, world: Any, disk: _Disk) -> None:
        self._world = world
        self._disk = disk
        self._pool = ThreadPoolExecutor(1)  # one: first come, first served
        self._incoming: list[tuple[int, Bytes, Any]] = []
        self._writing: list[tuple[int, Future[Bytes]]] = []
        self._answers: list[Any] = []

    @property
    def is_busy(self) -> bool:
        """Whether something is not finished."""
        return bool(self._incoming or self._writing or self._answers)

    @property
    def is_receiving(self) -> bool:
        """Whether a message is on its way."""
        return bool(self._incoming)

    def hear(self) -> int | None:
        """Begin to receive a message; tell how many writers it ends, None if there is none."""
        from mpi4py import MPI

        status = MPI.Status()
        if not self._world.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            return None
        source, tag = status.Get_source(), status.Get_tag()
        data = np.empty(status.Get_count(MPI.BYTE), dtype=np.uint8)
        request = self._world.Irecv(data, source, tag)
        if tag == WRITE:
            self._incoming.append((source, data, request))
            return 0
        request.Wait()
        if tag == READ:
            self._writing.append((source, self._pool.submit(self._disk.read, source)))
        return int(tag == STOP)

    def advance(self) -> bool:
        """Pass on what has arrived, and answer what is on the device; tell if there was any."""
        before = len(self._incoming), len(self._writing), len(self._answers)
        self._answers = [each for each in self._answers if not each.Test()]
        for one in [one for one in self._incoming if one[2].Test()]:
            source, data, _ = one
            self._incoming.remove(one)
            self._writing.append((source, self._pool.submit(self._disk.write, source, data)))
        for ended in [each for each in self._writing if each[1].done()]:
            source, future = ended
            self._writing.remove(ended)
            self._answers.append(self._world.Isend(future.result(), source, ANSWER))
        return before != (len(self._incoming), len(self._writing), len(self._answers))
