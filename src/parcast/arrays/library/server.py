"""A server: it asks clients for their overlaps, subchunk by subchunk, and writes them in order.

What it does for a request is a generator, which gives way wherever it waits: for clients, or for
the disk. So a server answers messages all the time, and may be a client as well.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeAlias

import numpy as np

from parcast.arrays.library.client import Spent
from parcast.arrays.library.disk import Disk, disk_for
from parcast.arrays.library.distribution import Array
from parcast.arrays.library.endpoint import Endpoint
from parcast.arrays.library.gathering import Gathering, Overlaps
from parcast.arrays.library.schema import Schema, Unit
from parcast.arrays.library.storing import ReadingFiles, Writes, files_of
from parcast.errors import ParcastError, RunFailed

Waiting: TypeAlias = Iterator[None]  # it gives way wherever it waits

NOTHING: Final = np.empty(0, np.uint8)  # in place of a subchunk that nobody wants
MOST_LEAVING: Final = 2  # units of a read that are on their way to clients at a time


@dataclass
class Request:
    """A request that a server works on."""

    number: int
    schema: Schema
    draft: Any  # what the server master has made for it
    begun: float = field(default_factory=perf_counter)
    gathering: Gathering | None = None
    gathering_time: float = 0.0  # [s]
    messages: int = 0
    subchunks: int = 0
    size: int = 0  # [B]
    failure: ParcastError | None = None


class Server:
    """The role of a rank that accesses files."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        number: int,
        clients: Sequence[int],
        servers: Sequence[int],
    ) -> None:
        """Begin as server `number`; `clients` and `servers` are the ranks of all."""
        self._endpoint, self._number = endpoint, number
        self._clients, self._servers = clients, servers
        self._queue: deque[Request] = deque()
        self._work: Waiting | None = None
        self.has_quit = False

    @property
    def is_idle(self) -> bool:
        """Whether it has done all requests, or given them up."""
        return not self._queue

    def hear(self, source: int, kind: str, facts: tuple[Any, ...], value: Any) -> bool:  # noqa: ARG002 - a role
        """Take a message; tell whether it was for a server."""
        match kind:
            case "work":
                number, schema, draft = facts
                failure = self._endpoint.failure
                self._queue.append(Request(number, schema, draft, failure=failure))
            case "have":
                number, unit, client = facts
                self._receive(number, unit, client, value)
            case "lack" | "abandon":
                self._fail(*facts)
            case "quit":
                self.has_quit = True
                for request in self._queue:  # none, unless a rank has failed
                    request.failure = self._endpoint.failure
                return False  # a client of this rank waits for it as well
            case _:
                return False
        return True

    def advance(self) -> bool:
        """Go on with the oldest request; tell whether something was done."""
        if not self._queue:
            return False
        request = self._queue[0]
        before = request.subchunks, request.gathering
        if self._work is None:
            self._work = self._worked_off(request)
        try:
            next(self._work)
        except StopIteration:
            self._work = None
            self._queue.popleft()
            return True
        return before != (request.subchunks, request.gathering)

    def _worked_off(self, request: Request) -> Waiting:
        """Do a request, and tell the server master."""
        disk = disk_for(request.schema.writer)
        try:
            if request.failure is not None:
                raise request.failure  # noqa: TRY301 - ends it as all that fails does
            files = files_of(request.schema, request.draft)
            try:
                if isinstance(files, ReadingFiles):
                    yield from self._read(request, files, disk)
                else:
                    yield from self._write(request, files, disk)
            finally:
                disk.close()
                files.close()
        except Exception as error:
            where = f"Server {self._number} (rank {self._servers[self._number]})"
            request.failure = error if isinstance(error, ParcastError) else _failed(where, error)
        spent = Spent(
            self._number,
            seconds=perf_counter() - request.begun,
            gathering=request.gathering_time,
            accessing=disk.seconds,
            messages=request.messages,
            subchunks=request.subchunks,
            size=request.size,
        )
        self._endpoint.send(self._servers[0], "finished", request.number, request.failure, spent)

    def _units(self, request: Request, *, is_filled: bool) -> Iterator[Gathering]:
        """Begin one unit after the other."""
        schema = request.schema
        overlaps = [Overlaps(kind) for kind in schema.kinds]
        for number, unit in enumerate(schema.units(self._number, len(self._servers))):
            own = overlaps[schema.arrays[unit.arrays[0]].kind]
            gathering = own.gathering(number, unit, is_filled=is_filled)
            if gathering.missing:
                request.subchunks += len(unit.arrays) * len(unit.subchunks)
                request.messages += len(gathering.missing)
                yield gathering

    def _write(self, request: Request, files: Writes, disk: Disk) -> Waiting:
        """Gather one unit after the other, and have each written."""
        for gathering in self._units(request, is_filled=True):
            begun = perf_counter()
            request.gathering = gathering
            request.size += gathering.size
            arrays = gathering.unit.arrays
            for client in gathering.overlaps:
                wanted = gathering.wanted(client)
                facts = (request.number, gathering.number, arrays, wanted)
                self._endpoint.send(self._clients[client], "want", *facts)
            while gathering.missing:
                yield from self._given_way(request)
            request.gathering_time += perf_counter() - begun
            while not disk.is_free:
                yield from self._given_way(request)
            disk.do(partial(_written, files, gathering.unit, gathering.buffers))
        while not disk.is_free:
            yield from self._given_way(request)
        disk.do(files.flush)
        while not disk.is_free:
            yield from self._given_way(request)

    def _read(self, request: Request, files: ReadingFiles, disk: Disk) -> Waiting:
        """Read one unit after the other, and send each client its overlaps."""
        for gathering in self._units(request, is_filled=False):
            request.gathering = gathering
            disk.do(partial(_fill, files, gathering))
            while not disk.is_free:
                yield from self._given_way(request)
            request.size += gathering.size
            while self._endpoint.channel.leaving > MOST_LEAVING * request.schema.limit:
                yield from self._given_way(request)
            for client in gathering.overlaps:
                facts = (request.number, gathering.unit.arrays, gathering.wanted(client))
                given = gathering.give(client)
                self._endpoint.send(self._clients[client], "give", *facts, value=given)
            yield from self._given_way(request)

    @staticmethod
    def _given_way(request: Request) -> Waiting:
        """Give way; what has failed meanwhile ends the request."""
        yield
        if request.failure is not None:
            raise request.failure

    def _receive(self, number: int, unit: int, client: int, value: Array) -> None:
        """Take overlaps of a client; those of a request that has failed are dropped."""
        request = self._queue[0] if self._queue else None
        if request is None or request.number != number or request.gathering is None:
            return
        if request.gathering.number == unit:
            request.gathering.take(client, value)

    def _fail(self, number: int, failure: ParcastError) -> None:
        for request in self._queue:
            if request.number == number:
                request.failure = failure


def _written(files: Writes, unit: Unit, buffers: Sequence[Sequence[Array]]) -> None:
    """Write the subchunks of a unit."""
    for array, own in zip(unit.arrays, buffers, strict=True):
        for subchunk, values in zip(unit.subchunks, own, strict=True):
            files.write(array, subchunk, values)


def _fill(files: ReadingFiles, gathering: Gathering) -> None:
    """Read the subchunks of a unit that clients want: another may be damaged."""
    unit = gathering.unit
    wanted = {x.subchunk for overlaps in gathering.overlaps.values() for x in overlaps}
    gathering.buffers = [
        [files.read(array, x) if i in wanted else NOTHING for i, x in enumerate(unit.subchunks)]
        for array in unit.arrays
    ]


def _failed(where: str, error: Exception) -> ParcastError:
    what = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    return RunFailed(f"{where}: {what}.")
