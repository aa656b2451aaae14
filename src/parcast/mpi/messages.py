"""Messages between ranks: never blocking, values by their buffers, whatever their size.

A message is a tuple, and may carry a value. Its head goes in one message of MPI, large buffers of
the value each in further ones. `poll` moves all transfers on and gives the messages that are
complete; those of one rank may overtake each other, as a short one does a long one.

A value of one buffer can be received where it belongs: `room` gives the memory, by the head.
"""

import pickle
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from parcast.errors import FAILURES, RunFailed, cause_of
from parcast.mpi.payload import EMPTY, packed, unpacked

if TYPE_CHECKING:
    from mpi4py import MPI

HEAD: Final = 1  # tag of what a message says
BODY: Final = 2  # tag of the buffers of its value
MISSES: Final = 4  # a probe takes up one message at most, and not every one does that it could
LARGEST: Final = 1 << 30  # message of MPI; larger buffers go in pieces [B]


# By the source and content of a message, the memory for a value of one buffer of so many bytes, or
# None if it may lie anywhere.
Room: TypeAlias = Callable[[int, tuple[Any, ...], int], memoryview | None]


# Names a value that has arrived by the message that carried it.
Named: TypeAlias = Callable[[tuple[Any, ...]], str]


def unnamed(content: tuple[Any, ...]) -> str:  # noqa: ARG001 - a Named
    """Leave it to the rank that has sent it."""
    return "What was sent"


def anywhere(source: int, content: tuple[Any, ...], size: int) -> memoryview | None:  # noqa: ARG001 - a Room
    """Leave it to the channel where a value lies."""
    return None


class Message(NamedTuple):
    """A message that has arrived."""

    source: int
    content: tuple[Any, ...]
    value: Any = EMPTY
    size: int = 0  # as it travelled [B]


def as_sent(content: tuple[Any, ...], value: Any = EMPTY) -> tuple[bytes, tuple[memoryview, ...]]:
    """Give what travels of a message: its head, and large buffers of its value."""
    if value is EMPTY:
        return pickle.dumps((content, None, ()), protocol=5), ()
    inside, buffers = packed(value)
    sizes = tuple(buffer.nbytes for buffer in buffers)
    return pickle.dumps((content, inside, sizes), protocol=5), buffers


def as_received(head: bytes | bytearray) -> tuple[tuple[Any, ...], bytes | None, tuple[int, ...]]:
    """Read a head: what it says, the pickled value, and the lengths of the buffers [B]."""
    content, inside, sizes = pickle.loads(head)
    return content, inside, sizes


def _unset(size: int) -> memoryview:
    """Give memory that is not set to zero first, as that of a bytearray is."""
    import numpy as np  # late: many ranks receive nothing large

    return np.empty(size, np.uint8).data


class Channel(Protocol):
    """What carries messages between the ranks of a run."""

    rank: int
    size: int
    may_use_threads: bool  # two of them in turn, while the program may use MPI in another
    room: Room  # for what arrives

    @property
    def leaving(self) -> int:
        """Length of what was sent and has not left. [B]."""

    def send(self, target: int, content: tuple[Any, ...], value: Any = EMPTY) -> int:
        """Send a message, and possibly a value; give its length [B]."""

    def poll(self) -> list[Message]:
        """Give the messages that have arrived."""

    def drain(self) -> bool:
        """Move transfers on; tell whether everything that was sent has left."""


class LoneChannel:
    """The channel of a run with one rank, which sends to itself."""

    rank = 0
    size = 1
    leaving = 0
    may_use_threads = True

    def __init__(self) -> None:
        self.room: Room = anywhere
        self._own: list[Message] = []

    def send(self, target: int, content: tuple[Any, ...], value: Any = EMPTY) -> int:
        """Put a message into the line; a value stays where it is."""
        self._own.append(Message(target, content, value))
        return 0

    def poll(self) -> list[Message]:
        """Give the messages in their order."""
        arrived, self._own = self._own, []
        return arrived

    def drain(self) -> bool:
        """Nothing is on its way."""
        return True


@dataclass(slots=True)
class Arriving:
    """A message whose head is here, or on its way."""

    source: int
    request: "MPI.Request | None"
    head: bytearray
    content: tuple[Any, ...] = ()
    pickled: bytes | None = None  # the value, without its buffers
    buffers: list[memoryview] = field(default_factory=list)
    bodies: "list[MPI.Request]" = field(default_factory=list)

    def has_head(self) -> bool:
        """Tell whether the head has arrived."""
        if self.request is not None and self.request.Test():
            self.request = None
        return self.request is None

    def has_bodies(self) -> bool:
        """Tell whether all buffers have arrived."""
        self.bodies = [body for body in self.bodies if not body.Test()]
        return not self.bodies


class MpiChannel:
    """Messages over a communicator of MPI, which nothing else may use meanwhile."""

    def __init__(self, comm: "MPI.Comm", named: Named = unnamed) -> None:
        """Use a communicator; messages name a value that is of no use by what it came with."""
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = comm
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.room: Room = anywhere
        self._named = named
        self._own: list[Message] = []
        self._leaving: list[tuple[MPI.Request, Any]] = []  # and what must stay until it has left
        self._heads: dict[int, deque[Arriving]] = {}  # of each rank, in the order they were sent
        self._bodies: list[Arriving] = []
        self._status = MPI.Status()
        self.may_use_threads = bool(MPI.Query_thread() >= MPI.THREAD_MULTIPLE)

    @property
    def leaving(self) -> int:
        """Length of what was sent and has not left. [B]."""
        return sum(len(kept) for _, kept in self._leaving)

    def send(self, target: int, content: tuple[Any, ...], value: Any = EMPTY) -> int:
        """Send a message, and possibly a value; give its length [B]."""
        if target == self.rank:
            self._own.append(Message(target, content, value))
            return 0
        return self._start(target, *as_sent(content, value))

    def _start(self, target: int, head: bytes, buffers: tuple[memoryview, ...]) -> int:
        """Start the messages of MPI for a head and its buffers."""
        self._leaving.append((self._comm.Isend([head, self._mpi.BYTE], target, HEAD), head))
        for buffer in buffers:
            for begin in range(0, buffer.nbytes, LARGEST):
                part = buffer[begin : begin + LARGEST]
                request = self._comm.Isend([part, self._mpi.BYTE], target, BODY)
                self._leaving.append((request, part))
        return len(head) + sum(buffer.nbytes for buffer in buffers)

    def poll(self) -> list[Message]:
        """Give the messages that have arrived."""
        arrived, self._own = self._own, []
        self.drain()
        self._match()
        for heads in self._heads.values():
            while heads and heads[0].has_head():
                self._open(heads.popleft())
        still: list[Arriving] = []
        for arriving in self._bodies:
            if arriving.has_bodies():
                arrived.append(self._complete(arriving))
            else:
                still.append(arriving)
        self._bodies = still
        return arrived

    def drain(self) -> bool:
        """Move transfers on; tell whether everything that was sent has left."""
        if self._leaving:
            self._leaving = [pair for pair in self._leaving if not pair[0].Test()]
        return not self._leaving

    def _match(self) -> None:
        """Receive the heads that wait."""
        misses = 0
        while misses < MISSES:
            message = self._comm.Improbe(self._mpi.ANY_SOURCE, HEAD, self._status)
            if message is None:
                misses += 1
                continue
            misses = 0
            source = self._status.Get_source()
            head = bytearray(self._status.Get_count(self._mpi.BYTE))
            request = message.Irecv([head, self._mpi.BYTE])
            self._heads.setdefault(source, deque()).append(Arriving(source, request, head))

    def _open(self, arriving: Arriving) -> None:
        """Read a head, and receive the buffers it tells of."""
        arriving.content, arriving.pickled, sizes = as_received(arriving.head)
        room = self.room(arriving.source, arriving.content, *sizes) if len(sizes) == 1 else None
        for size in sizes:
            view = room if room is not None else _unset(size)
            arriving.buffers.append(view)
            for begin in range(0, size, LARGEST):
                part = view[begin : begin + LARGEST]
                request = self._comm.Irecv([part, self._mpi.BYTE], arriving.source, BODY)
                arriving.bodies.append(request)
        self._bodies.append(arriving)

    def _complete(self, arriving: Arriving) -> Message:
        """Make the message of what has arrived."""
        size = len(arriving.head) + sum(map(len, arriving.buffers))
        value: Any = EMPTY
        if arriving.pickled is not None:
            try:
                value = unpacked(arriving.pickled, arriving.buffers)
            except FAILURES as error:
                what = f"{self._named(arriving.content)} by rank {arriving.source}"
                raise RunFailed(
                    f"{what} cannot be unpickled on rank {self.rank}: "
                    f"{cause_of(error).rstrip('.')}. Define the classes of items and results in a "
                    "module that every rank can import."
                ) from error
        return Message(arriving.source, arriving.content, value, size)
