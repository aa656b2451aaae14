"""Exchanging and writing one subchunk after the other: apart, in turn, and by two threads.

In a request a server does not send and receive in a tight loop, nor write: between two messages it
writes a subchunk, between two writes it exchanges one, and either finds the caches of the
processor full of what the other has moved. So both are timed as they follow each other.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Final

from parcast.arrays.library.disk import disk_for
from parcast.arrays.library.distribution import Array
from parcast.arrays.library.endpoint import Endpoint
from parcast.arrays.measuring.disk_costs import (
    SMALL,
    Files,
    Servers,
    encoding,
    name_of,
    specs_of,
)
from parcast.arrays.measuring.message_costs import Asking
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.reading import StoredArray, open_store
from parcast.arrays.store.writing import Part, Writer

UNITS: Final = 16  # small files
AHEAD: Final = 3  # subchunks in memory at a time
MOST_LEAVING: Final = 2  # subchunks that are on their way to clients at a time, as of a server


@dataclass(frozen=True, kw_only=True, slots=True)
class Turns:
    """Times of all subchunks, the slowest server of each [s]."""

    files: Files
    cycles: float  # exchanging alone
    writes: float  # writing alone, by another thread
    cycles_in_turn: float  # exchanging, between writes
    writes_in_turn: float  # writing, between exchanges
    both: float  # exchanging some subchunks ahead, while another thread writes the last
    reads_in_turn: float  # reading, by another thread, and sending
    encode: float  # of writing, encoding


class _Target:
    """Files of this server in a draft, written subchunk by subchunk."""

    def __init__(self, part: Part, files: Files, server: int) -> None:
        self._files, self._server = files, server
        self._writer, self._open = Writer(part), ExitStack()
        self._values = [files.values(server + i) for i in range(AHEAD)]
        self._chunk: ChunkWriter | None = None

    def write(self, number: int) -> None:
        """Write a subchunk; a file is closed when the next begins."""
        file, place = divmod(number, self._files.subchunks)
        if place == 0:
            self._open.close()
            chunk = self._writer.chunk(name_of(file, self._server), self._files.corner)
            self._chunk = self._open.enter_context(chunk)
        assert self._chunk is not None
        self._chunk.write(self._values[number % AHEAD])

    def close(self) -> None:
        """Let go of the files, flushed or not."""
        self._open.close()
        self._writer.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Measuring:
    """What a server measures with."""

    endpoint: Endpoint
    asking: Asking
    clients: int
    servers: Servers
    folder: Path

    def turns(self, files: Files) -> Turns:
        """Exchange and write all subchunks, in every way."""
        number = files.number * files.subchunks
        size = max(files.subchunk // self.clients, 1)
        together = self.servers.together
        together(0.0)
        began = perf_counter()
        for _ in range(number):
            self.asking.cycle(self.clients, size)
        cycles = together(perf_counter() - began)
        _, writes = self._drafted(files, lambda target: self._thread(target, number))
        exchanged, written = self._drafted(
            files, lambda target: self._in_turn(target, number, size)
        )
        both, _ = self._drafted(files, lambda target: self._at_a_time(target, number, size))
        return Turns(
            files=files,
            cycles=cycles,
            writes=writes,
            cycles_in_turn=exchanged,
            writes_in_turn=written,
            both=both,
            reads_in_turn=self._read(files, size) if files.number == 1 else 0.0,
            encode=together(encoding(files, files.values(self.servers.number))),
        )

    def _drafted(
        self, files: Files, do: Callable[[_Target], tuple[float, float]]
    ) -> tuple[float, float]:
        """Do something with files of a draft, which is abandoned."""
        servers = self.servers
        path = self.folder / "turns.zarr"
        is_first = servers.number == 0
        if is_first:
            os.sync()
        draft = Draft.create(path, specs_of(files, servers.count)) if is_first else None
        target = _Target(servers.share(draft.part if draft else None), files, servers.number)
        servers.together(0.0)
        times = do(target)
        target.close()
        slowest = servers.together(times[0]), servers.together(times[1])
        if draft is not None:
            draft.abandon()
        return slowest

    def _in_turn(self, target: _Target, number: int, size: int) -> tuple[float, float]:
        """Exchange and write in turn; give the time of both."""
        exchanging = writing = 0.0
        for unit in range(number):
            exchanging += self.asking.cycle(self.clients, size)
            began = perf_counter()
            target.write(unit)
            writing += perf_counter() - began
        return exchanging, writing

    def _thread(self, target: _Target, number: int) -> tuple[float, float]:
        """Have another thread write; give the time until all is done, and that of writing."""
        disk = disk_for("double-buffer", self.endpoint.wake)
        began = perf_counter()
        for unit in range(number):
            disk.do(partial(target.write, unit))
            self.endpoint.turn_until(lambda: not disk.under_way)
        disk.close()
        return perf_counter() - began, disk.seconds

    def _at_a_time(self, target: _Target, number: int, size: int) -> tuple[float, float]:
        """Ask for some subchunks ahead, and have another thread write those that are there."""
        disk, asking = disk_for("double-buffer", self.endpoint.wake), self.asking
        began = perf_counter()
        asking.arrived = asked = given = 0

        def may_ask() -> bool:
            return asked < min(given - disk.under_way + AHEAD, number)

        def is_there() -> bool:
            return asking.arrived >= (given + 1) * self.clients

        while given < number:
            while may_ask():
                asking.ask_all(self.clients, size)
                asked += 1
            if is_there():
                disk.do(partial(target.write, given))
                given += 1
            else:
                self.endpoint.turn_until(lambda: is_there() or may_ask())
        self.endpoint.turn_until(lambda: not disk.under_way)
        disk.close()
        return perf_counter() - began, disk.seconds

    def _read(self, files: Files, size: int) -> float:
        """Read subchunks by another thread, and send the clients their parts. [s]."""
        servers, path = self.servers, self.folder / "turns.zarr"
        draft = Draft.create(path, specs_of(files, servers.count)) if servers.number == 0 else None
        target = _Target(servers.share(draft.part if draft else None), files, servers.number)
        for unit in range(files.subchunks):
            target.write(unit)
        target.close()
        servers.together(0.0)
        if draft is not None:
            draft.commit()
        servers.together(0.0)
        with open_store(path) as store:
            took = servers.together(self._sent(store[name_of(0, servers.number)], files, size))
        if draft is not None:
            shutil.rmtree(path)
        return took

    def _sent(self, array: StoredArray, files: Files, size: int) -> float:
        """Read and send; give the time of both."""
        disk, channel = disk_for("double-buffer", self.endpoint.wake), self.endpoint.channel
        found: list[Array] = []
        most = MOST_LEAVING * files.subchunk

        def read(unit: int) -> None:
            start = (unit * files.subchunk, *files.corner[1:])
            found.append(array.read(start, files.extents(files.subchunk)).reshape(-1))

        began = perf_counter()
        for unit in range(files.subchunks):
            disk.do(partial(read, unit))
            self.endpoint.turn_until(lambda: not disk.under_way)
            self.endpoint.turn_until(lambda: channel.leaving <= most)
            self.asking.give_all(self.clients, found.pop(), size)
            self.endpoint.turn()
        disk.close()
        took = perf_counter() - began
        self.endpoint.turn_until(channel.drain)
        return took


def kinds_of_turns(large: Files) -> list[Files]:
    """Small files, and a large one."""
    return [Files(number=UNITS, size=SMALL, subchunk=SMALL), large]
