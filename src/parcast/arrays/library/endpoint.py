"""The event loop of a rank: messages come in, roles answer them, whoever has the time turns it.

A rank is a client, a server, or both, and one loop serves all its roles. So no rank waits for
another one in a way that keeps it from answering a third. The loop is turned by the main thread
while it waits for a request, and by another thread while it does not; MPI is used by one thread
at a time.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Protocol, TypeAlias

from parcast.errors import ParcastError
from parcast.mpi.messages import Channel

SHORTEST_REST: Final = 2e-5  # of a rank that waits [s]
LONGEST_REST: Final = 1e-3  # [s]
SELDOM: Final = 0.002  # the other thread looks so often, while a request is under way [s]


# Memory for the value of a message, by its facts and length [B]; None if it may lie anywhere.
Room: TypeAlias = Callable[[tuple[Any, ...], int], memoryview | None]


class Role(Protocol):
    """What a rank does in requests."""

    @property
    def is_idle(self) -> bool:
        """Whether it waits for nothing and has nothing to do."""

    def hear(self, source: int, kind: str, facts: tuple[Any, ...], value: Any) -> bool:
        """Take a message; tell whether it was for this role."""

    def advance(self) -> bool:
        """Do what can be done now; tell whether there was something."""


class Bell:
    """Wakes a thread that rests.

    A bare lock, as Ctrl-C during `threading.Event.wait` may leave the lock of the event locked:
    who rests or rings after that waits forever.
    """

    def __init__(self) -> None:
        self._silent = threading.Lock()
        self._silent.acquire()

    def ring(self) -> None:
        """Wake one thread, or let the next one not rest."""
        with suppress(RuntimeError):  # it rings already
            self._silent.release()

    def rest(self, longest: float = -1.0) -> None:
        """Wait until it rings, or so long [s]."""
        self._silent.acquire(timeout=longest)


class Endpoint:
    """The loop of a rank."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        channel.room = self._room
        self.roles: list[Role] = []
        self.rooms: dict[str, Room] = {}  # for the values of messages, by their kind
        self.lock = threading.RLock()
        self.crash: BaseException | None = None  # of the loop: this rank answers nobody any more
        self.has_quit = False  # the client master has let all ranks leave
        self.failure: ParcastError | None = None  # why, where that was before their end
        self._bell = Bell()
        self._is_wanted = False  # by a request that nobody waits for, to turn the loop
        self._is_over = False
        self._start = Bell()  # of the other thread
        self._thread: threading.Thread | None = None

    def send(self, target: int, kind: str, *facts: Any, value: Any = None) -> None:
        """Send a message to a role of a rank."""
        with self.lock:
            if value is None:
                self.channel.send(target, (kind, *facts))
            else:
                self.channel.send(target, (kind, *facts), value)

    def _room(self, source: int, content: tuple[Any, ...], size: int) -> memoryview | None:  # noqa: ARG002 - a Room
        """Give the memory where the value of a message belongs."""
        kind, *facts = content
        room = self.rooms.get(kind)
        return None if room is None else room(tuple(facts), size)

    def turn(self) -> bool:
        """Take what has arrived and do what follows; tell whether there was something."""
        with self.lock:
            if self.crash is not None:
                raise self.crash
            try:
                messages = self.channel.poll()
                for message in messages:
                    kind, *facts = message.content
                    if kind == "quit":
                        self.has_quit, self.failure = True, facts[0]
                    for role in self.roles:
                        if role.hear(message.source, kind, tuple(facts), message.value):
                            break
                is_busy = [role.advance() for role in self.roles]
            except BaseException as crash:
                self.crash = crash
                raise
            return bool(messages) or any(is_busy)

    @property
    def is_idle(self) -> bool:
        """Whether no role has anything to do, and everything that was sent has left."""
        with self.lock:
            return all(role.is_idle for role in self.roles) and self.channel.drain()

    def turn_until(self, is_done: Callable[[], bool], limit: float = math.inf) -> bool:
        """Turn the loop until something has happened; False where a limit [s] is reached."""
        rest, end = SHORTEST_REST, time.monotonic() + limit
        while not is_done():
            if self.turn():
                rest = SHORTEST_REST
            elif time.monotonic() > end:
                return False
            else:
                self._bell.rest(rest)
                rest = min(1.5 * rest, LONGEST_REST)
        return True

    def wake(self) -> None:
        """Have the loop turned at once, as there is something that is no message."""
        self._bell.ring()

    def turn_meanwhile(self, is_wanted: bool) -> None:
        """Have another thread turn the loop, or no longer."""
        self._is_wanted = is_wanted and self.channel.may_use_threads
        if not self._is_wanted:
            return
        self._start.ring()
        if self._thread is None:
            thread = threading.Thread(target=self._turn, daemon=True, name="parcast-array-io")
            thread.start()
            self._thread = thread

    def _turn(self) -> None:
        while not self._is_over:
            if not self._is_wanted:
                self._start.rest()
                continue
            try:
                is_busy = self.turn()
            except BaseException:  # the next turn of the main thread raises it
                break
            if not is_busy:
                self._bell.rest(SELDOM)
        self._start.ring()  # for one that Ctrl-C left behind when it was started

    def end_thread(self) -> None:
        """End the other thread."""
        self._is_over = True
        self._start.ring()
        if self._thread is not None:
            self._thread.join()
