"""How a server writes what it has gathered: before it gathers on, or while it does."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter
from typing import Protocol

from parcast.arrays.choices import Writer


class Disk(Protocol):
    """What carries out accesses to files, one after the other."""

    @property
    def seconds(self) -> float:
        """Time spent in accesses. [s]."""

    @property
    def is_free(self) -> bool:
        """Whether it takes another access; what has failed is raised."""

    def do(self, access: Callable[[], object]) -> None:
        """Carry out an access, now or soon."""

    def close(self) -> None:
        """End."""


class Direct:
    """Accesses are made at once, by the thread that has the loop."""

    is_free = True

    def __init__(self) -> None:
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
    """One access at a time is made by another thread."""

    def __init__(self) -> None:
        self._direct = Direct()
        self._pool = ThreadPoolExecutor(1, "parcast-array-writer")
        self._last: Future[None] | None = None

    @property
    def seconds(self) -> float:
        """Time spent in accesses. [s]."""
        return self._direct.seconds

    @property
    def is_free(self) -> bool:
        """Whether the last access has ended; what has failed is raised."""
        if self._last is None:
            return True
        if not self._last.done():
            return False
        last, self._last = self._last, None
        last.result()
        return True

    def do(self, access: Callable[[], object]) -> None:
        """Carry out an access soon; the last one has ended."""
        assert self._last is None
        self._last = self._pool.submit(self._direct.do, access)

    def close(self) -> None:
        """Wait for the last access, and end the thread."""
        self._pool.shutdown(wait=True)


def disk_for(writer: Writer) -> Disk:
    """Give what writes in a mode."""
    return Background() if writer == "double-buffer" else Direct()
