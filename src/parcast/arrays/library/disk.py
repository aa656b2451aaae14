"""How a server writes what it has gathered: before it gathers on, or while it does."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import Final, Protocol

from parcast.arrays.geometry.choices import AHEAD, Writer


class Disk(Protocol):
    """What carries out accesses to files, one after the other."""

    units: int  # that are in memory at a time: gathered, waiting, or written

    @property
    def seconds(self) -> float:
        """Time spent in accesses. [s]."""

    @property
    def under_way(self) -> int:
        """Number of accesses that have not ended; what has failed is raised."""

    def do(self, access: Callable[[], object]) -> None:
        """Carry out an access, now or soon."""

    def close(self) -> None:
        """End."""


class Direct:
    """Accesses are made at once, by the thread that has the loop."""

    under_way: Final = 0

    def __init__(self) -> None:
        self.units = 1
        self.seconds = 0.0

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


def disk_for(writer: Writer, wake: Callable[[], None], *, others_ask: bool) -> Disk:
    """Give what writes in a mode.

    A client whom other servers ask answers them while its own file is written or flushed.
    """
    if writer == "double-buffer":
        return Background(wake)
    return Background(wake, units=1) if others_ask else Direct()
