"""The event loop of a rank: messages come in, roles answer them, whoever has the time turns it.

One loop serves all roles of a rank, so that no rank waits for another one in a way that keeps it
from answering a third. The main thread turns it while it waits, and between pieces of its work;
another thread does meanwhile, so a long task of one rank holds nobody up. MPI is used by one
thread at a time.

A rank whose loop has crashed answers nobody any more. The message "quit" ends the loop of a rank:
all is done, or some rank has failed, which is what comes with it.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, Protocol, TypeAlias

from parcast.errors import ParcastError
from parcast.mpi.messages import Channel, Message
from parcast.mpi.payload import EMPTY

SHORTEST_REST: Final = 2e-5  # of a rank that waits [s]
LONGEST_REST: Final = 1e-3  # [s]
SELDOM: Final = 0.002  # the other thread looks so often, unless it is told otherwise [s]

# Memory for the value of a message, by its facts and length [B]; None if it may lie anywhere.
Room: TypeAlias = Callable[[tuple[Any, ...], int], memoryview | None]


class Role(Protocol):
    """What a rank does."""

    @property
    def is_idle(self) -> bool:
        """Whether it waits for nothing and has nothing to do."""

    def hear(self, message: Message) -> bool:
        """Take a message; tell whether it was for this role."""

    def advance(self) -> bool:
        """Do what can be done now; tell whether there was something. Nothing goes on by itself."""
        return False


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


class EventLoop:
    """The loop of a rank."""

    def __init__(
        self,
        channel: Channel,
        *,
        lock: AbstractContextManager[object] | None = None,
        meanwhile: Callable[[], bool] | None = None,
        every: float = SELDOM,
        crashed: Callable[[BaseException], object] = lambda _: None,
    ) -> None:
        """Begin; the other thread calls `meanwhile`, by default `turn`, and rests in between.

        It rests so long as `every`, unless there was something to do; `crashed` hears why it
        could not.
        """
        self.channel = channel
        channel.room = self._room
        self.roles: list[Role] = []
        self.rooms: dict[str, Room] = {}  # for the values of messages, by their kind
        self.lock = threading.RLock() if lock is None else lock
        self.turned = time.perf_counter()  # when it was last [s]
        self.crash: BaseException | None = None  # of the loop: this rank answers nobody any more
        self.has_quit = False
        self.failure: ParcastError | None = None  # why, where that was before the end
        self.failed_at = math.inf  # this rank or another one, on the monotonic clock [s]
        self._rest = SHORTEST_REST
        self._bell = Bell()
        self._meanwhile, self._every, self._crashed = meanwhile or self._turn_on, every, crashed
        self._is_wanted = False  # the other thread
        self._is_over = False
        self._start = Bell()  # of the other thread
        self._thread: threading.Thread | None = None

    def send(self, target: int, kind: str, *facts: Any, value: Any = EMPTY) -> int:
        """Send a message to a role of a rank; give its length [B]."""
        with self.lock:
            return self.channel.send(target, (kind, *facts), value)

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
            self.turned = time.perf_counter()
            try:
                messages = self.channel.poll()
                for message in messages:
                    if message.content[0] == "quit":
                        self.quit(message.content[1])
                    for role in self.roles:
                        if role.hear(message):
                            break
                is_busy = [role.advance() for role in self.roles]
            except BaseException as crash:
                self._note(crash)
                raise
            return bool(messages) or any(is_busy)

    def quit(self, failure: ParcastError | None) -> None:
        """End, as all is done or because of the first failure."""
        self.has_quit = True
        if failure is not None and self.failure is None:
            self.failure, self.failed_at = failure, time.monotonic()

    def _note(self, crash: BaseException) -> None:
        self.crash, self.failed_at = crash, time.monotonic()

    @property
    def is_idle(self) -> bool:
        """Whether no role has anything to do, and everything that was sent has left."""
        with self.lock:
            return all(role.is_idle for role in self.roles) and self.channel.drain()

    def drain(self, limit: float) -> None:
        """Wait until everything that was sent has left, or so long [s]."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            with self.lock:
                if self.channel.drain():
                    return
            time.sleep(SHORTEST_REST)

    def turn_until(self, is_done: Callable[[], bool], limit: float = math.inf) -> bool:
        """Turn the loop until something has happened; False where a limit [s] is reached."""
        end = time.monotonic() + limit
        self.stir()
        while not is_done():
            if self.turn():
                self.stir()
            elif time.monotonic() > end:
                return False
            else:
                self.rest()
        return True

    def rest(self) -> None:
        """Wait a moment, longer than the last time."""
        self._bell.rest(self._rest)
        self._rest = min(1.5 * self._rest, LONGEST_REST)

    def stir(self) -> None:
        """Rest shortly next time, as there was something to do."""
        self._rest = SHORTEST_REST

    def wake(self) -> None:
        """Have the loop turned at once, as there is something that is no message."""
        self._bell.ring()

    def turn_meanwhile(self, is_wanted: bool = True) -> None:
        """Have another thread turn the loop, or no longer."""
        self._is_wanted = is_wanted and self.channel.may_use_threads
        if not self._is_wanted:
            return
        self._start.ring()
        if self._thread is None:
            thread = threading.Thread(target=self._attend, daemon=True, name="parcast-messages")
            thread.start()
            self._thread = thread

    def _turn_on(self) -> bool:
        return self.crash is None and self.turn()

    def _attend(self) -> None:
        while not self._is_over:
            if not self._is_wanted:
                self._start.rest()
                continue
            try:
                is_busy = self._meanwhile()
            except BaseException as crash:  # the next turn of the main thread raises it
                self._note(crash)
                self._crashed(crash)
                is_busy = False
            if not is_busy:
                self._bell.rest(self._every)
        self._start.ring()  # for one that Ctrl-C left behind when it was started

    def end_thread(self) -> None:
        """End the other thread."""
        self._is_over = True
        self._start.ring()
        self._bell.ring()
        if self._thread is not None:
            self._thread.join()
