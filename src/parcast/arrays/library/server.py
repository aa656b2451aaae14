"""A server: it asks clients for their overlaps, subchunk by subchunk, and writes them in order.

What it does for a request is a generator, which gives way wherever it waits: for clients, or for
the disk, which writes before the server gathers on, or while it does. So a server answers messages
all the time, and may be a client as well.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np

from parcast.arrays.geometry.choices import AHEAD, Writer
from parcast.arrays.library.checking import as_refusal
from parcast.arrays.library.client import Spent
from parcast.arrays.library.distribution import Array
from parcast.arrays.library.gathering import Gathering, KindOverlaps, Memory
from parcast.arrays.library.schema import Schema, Unit
from parcast.arrays.library.storing import ReadingFiles, Writes, files_of
from parcast.errors import ParcastError
from parcast.mpi.loop import EventLoop
from parcast.mpi.messages import Message


class Direct:
    """Accesses are made at once, by the thread that has the loop."""

    under_way: Final = 0

    def __init__(self) -> None:
        self.units = 1  # that are in memory at a time: gathered, waiting, or written
        self.seconds = 0.0  # in accesses [s]

    def do(self, access: Callable[[], object]) -> None:
        """Carry out an access."""
        begun = perf_counter()
        try:
            access()
        finally:
            self.seconds += perf_counter() - begun

    def close(self) -> None:
        """There is nothing to end."""


class Background:
    """Accesses are made by another thread; whoever waits for one is woken when it ends."""

    def __init__(self, wake: Callable[[], None], *, units: int = AHEAD) -> None:
        self.units = units
        self._wake = wake
        self._direct = Direct()
        self._pool = ThreadPoolExecutor(1, "parcast-array-writer")
        self._accesses: deque[Future[None]] = deque()
        self._has_failed = False

    @property
    def seconds(self) -> float:
        """Time spent in accesses. [s]."""
        return self._direct.seconds

    @property
    def under_way(self) -> int:
        """Number of accesses that have not ended; what has failed is raised."""
        while self._accesses and self._accesses[0].done():
            self._accesses.popleft().result()
        return len(self._accesses)

    def do(self, access: Callable[[], object]) -> None:
        """Carry out an access after those before it."""
        self._accesses.append(self._pool.submit(self._carry_out, access))

    def _carry_out(self, access: Callable[[], object]) -> None:
        """Carry out an access, unless one before it has failed."""
        if self._has_failed:
            return
        try:
            self._direct.do(access)
        except BaseException:
            self._has_failed = True
            raise
        finally:
            self._wake()

    def close(self) -> None:
        """Wait for the accesses, and end the thread."""
        self._pool.shutdown(wait=True, cancel_futures=True)


Disk: TypeAlias = Direct | Background  # what carries out accesses to files, one after the other


def disk_for(writer: Writer, wake: Callable[[], None], *, others_ask: bool) -> Disk:
    """Give what writes in a mode.

    A client whom other servers ask answers them while its own file is written or flushed.
    """
    if writer == "double-buffer":
        return Background(wake)
    return Background(wake, units=1) if others_ask else Direct()


Waiting: TypeAlias = Iterator[None]  # it gives way wherever it waits

COMPRESSED: Final = 2  # units in memory at a time, where these are compressed
NOTHING: Final = np.empty(0, np.uint8)  # in place of a subchunk that nobody wants


@dataclass
class ServedRequest:
    """A request that a server works on."""

    number: int
    schema: Schema
    draft: Any  # what the server master has made for it
    begun: float = field(default_factory=perf_counter)
    gatherings: deque[Gathering] = field(default_factory=deque)  # that clients are asked for
    gathering_time: float = 0.0  # [s]
    messages: int = 0
    subchunks: int = 0
    size: int = 0  # [B]
    failure: ParcastError | None = None
    progress: int = 0  # steps that were made

    @contextmanager
    def gathers(self) -> Iterator[None]:
        """Count the time meanwhile as gathering."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.gathering_time += perf_counter() - begun


class Server:
    """The role of a rank that accesses files."""

    def __init__(
        self,
        loop: EventLoop,
        *,
        number: int,
        clients: Sequence[int],
        servers: Sequence[int],
        files: Callable[[Schema, Any], Any] = files_of,
    ) -> None:
        """Begin as server `number`; `clients` and `servers` are the ranks of all.

        `files` opens the files of a request.
        """
        self._files = files
        self._loop, self._number = loop, number
        self._clients, self._servers = clients, servers
        self._queue: deque[ServedRequest] = deque()
        self._work: Waiting | None = None
        self.has_quit = False
        loop.rooms["have"] = self._room

    @property
    def is_idle(self) -> bool:
        """Whether it has done all requests, or given them up."""
        return not self._queue

    def hear(self, message: Message) -> bool:
        """Take a message; tell whether it was for a server."""
        kind, *facts = message.content
        match kind:
            case "work":
                number, schema, draft = facts
                failure = self._loop.failure
                self._queue.append(ServedRequest(number, schema, draft, failure=failure))
            case "have":
                number, unit, client = facts
                self._receive(number, unit, client, message.value)
            case "lack" | "abandon":
                self._fail(*facts)
            case "quit":
                self.has_quit = True
                for request in self._queue:  # none, unless a rank has failed
                    request.failure = self._loop.failure
                return False  # a client of this rank waits for it as well
            case _:
                return False
        return True

    def advance(self) -> bool:
        """Go on with the oldest request; tell whether something was done."""
        if not self._queue:
            return False
        request = self._queue[0]
        before = request.progress
        if self._work is None:
            self._work = self._worked_off(request)
        try:
            next(self._work)
        except StopIteration:
            self._work = None
            self._queue.popleft()
            return True
        return before != request.progress

    def _worked_off(self, request: ServedRequest) -> Waiting:
        """Do a request, and tell the server master."""
        others = len(self._servers) > 1 and self._servers[self._number] in self._clients
        disk = disk_for(request.schema.writer, self._loop.wake, others_ask=others)
        opening = 0.0  # [s]
        try:
            if request.failure is not None:
                raise request.failure  # noqa: TRY301 - ends it as all that fails does
            begun = perf_counter()
            files = self._files(request.schema, request.draft)
            opening = perf_counter() - begun
            try:
                if request.schema.operation == "read":
                    yield from self._read(request, files, disk)
                else:
                    yield from self._write(request, files, disk)
            finally:
                disk.close()
                files.close()
        except Exception as error:
            where = f"Server {self._number} (rank {self._servers[self._number]}): "
            request.failure = as_refusal(error, where)
        spent = Spent(
            self._number,
            seconds=perf_counter() - request.begun,
            gathering=request.gathering_time,
            accessing=opening + disk.seconds,
            messages=request.messages,
            subchunks=request.subchunks,
            size=request.size,
            begun=request.begun,
        )
        self._loop.send(self._servers[0], "finished", request.number, request.failure, spent)

    def _units(self, request: ServedRequest, memory: Memory | None = None) -> Iterator[Gathering]:
        """Begin one unit after the other; what clients have is gathered in some memory."""
        schema = request.schema
        overlaps = [KindOverlaps(kind, memory) for kind in schema.kinds]
        for number, unit in enumerate(schema.units(self._number, len(self._servers))):
            own = overlaps[schema.arrays[unit.arrays[0]].kind]
            gathering = own.gathering(number, unit, is_filled=memory is not None)
            if gathering.missing:
                request.subchunks += len(unit.arrays) * len(unit.subchunks)
                request.messages += len(gathering.missing)
                request.progress += 1
                yield gathering

    def _write(self, request: ServedRequest, files: Writes, disk: Disk) -> Waiting:
        """Gather one unit after the other, and have each written.

        With a disk that works in the background one is written, the next is there already, and
        one more is on its way: neither the disk nor the clients wait for a message. Overlaps that
        cannot be received where they belong are on their way for one unit at a time. What is
        compressed needs memory for its compressed form, and one unit less is there; so it is while
        one is padded at the end of an array.
        """
        memory, most = Memory(), min(disk.units, COMPRESSED) if files.compresses else disk.units
        units = self._units(request, memory)
        gatherings, writing = request.gatherings, deque[Gathering]()

        def held() -> int:
            """Units in memory, and a copy of one that is padded."""
            there = (*gatherings, *writing)
            return len(there) + any(unit.is_padded for unit in there)

        while True:
            while len(writing) > disk.under_way:
                memory.give_back(writing.popleft().memory)
            while held() < most:
                if gatherings and gatherings[-1].is_on_its_way:
                    break
                with request.gathers():
                    begun = next(units, None)
                    if begun is None:
                        break
                    gatherings.append(begun)
                    self._ask(request, begun)
            if gatherings and not gatherings[0].missing:
                writing.append(complete := gatherings.popleft())
                request.size += complete.size
                request.progress += 1
                disk.do(partial(_written, files, complete.unit, complete.buffers))
            elif gatherings:
                with request.gathers():
                    yield from self._given_way(request)
            elif writing:
                yield from self._given_way(request)
            else:
                break
        disk.do(files.flush)
        yield from self._until_idle(request, disk)

    def _ask(self, request: ServedRequest, gathering: Gathering) -> None:
        """Ask clients for their overlaps with a unit."""
        for client in gathering.overlaps:
            facts = (request.number, gathering.number, gathering.unit.arrays)
            wanted = gathering.wanted(client)
            self._loop.send(self._clients[client], "want", *facts, wanted)

    def _until_idle(self, request: ServedRequest, disk: Disk) -> Waiting:
        """Give way until all accesses have ended."""
        while disk.under_way:
            yield from self._given_way(request)
        request.progress += 1

    def _read(self, request: ServedRequest, files: ReadingFiles, disk: Disk) -> Waiting:
        """Read one unit after the other, and send each client its overlaps.

        A unit is read while the one before it is on its way to clients.
        """
        most = 0  # length of a unit [B]
        for gathering in self._units(request):
            while self._loop.channel.leaving > most:
                yield from self._given_way(request)
            disk.do(partial(_fill, files, gathering))
            yield from self._until_idle(request, disk)
            request.size += gathering.size
            most = gathering.size
            for client in gathering.overlaps:
                facts = (request.number, gathering.unit.arrays, gathering.wanted(client))
                given = gathering.give(client)
                self._loop.send(self._clients[client], "give", *facts, value=given)
            yield from self._given_way(request)

    @staticmethod
    def _given_way(request: ServedRequest) -> Waiting:
        """Give way; what has failed meanwhile ends the request."""
        yield
        if request.failure is not None:
            raise request.failure

    def _receive(self, number: int, unit: int, client: int, value: Array) -> None:
        """Take overlaps of a client; those of a request that has failed are dropped."""
        gathering = self._gathering(number, unit)
        if gathering is not None:
            gathering.take(client, value)

    def _room(self, facts: tuple[Any, ...], size: int) -> memoryview | None:
        """Memory for what a client sends, where it is written from."""
        number, unit, client = facts
        gathering = self._gathering(number, unit)
        return None if gathering is None else gathering.room(client, size)

    def _gathering(self, number: int, unit: int) -> Gathering | None:
        """Give the unit that clients were asked for; None if the request has failed meanwhile."""
        request = self._queue[0] if self._queue else None
        if request is None or request.number != number:
            return None
        return next((each for each in request.gatherings if each.number == unit), None)

    def _fail(self, number: int, failure: ParcastError) -> None:
        for request in self._queue:
            if request.number == number:
                request.failure = failure


def _written(files: Writes, unit: Unit, buffers: Sequence[Sequence[Array]]) -> None:
    """Write the subchunks of a unit, those of one storage chunk in one access."""
    left = len(unit.arrays) * len(unit.subchunks)
    for array, own in zip(unit.arrays, buffers, strict=True):
        for subchunk, values in zip(unit.subchunks, own, strict=True):
            left -= 1
            files.write(array, subchunk, values, more=left > 0)


def _fill(files: ReadingFiles, gathering: Gathering) -> None:
    """Read the subchunks of a unit that clients want: another may be damaged."""
    unit = gathering.unit
    wanted = {x.subchunk for overlaps in gathering.overlaps.values() for x in overlaps}
    gathering.buffers = [
        [files.read(array, x) if i in wanted else NOTHING for i, x in enumerate(unit.subchunks)]
        for array in unit.arrays
    ]
