"""Items as they are taken: one by one from an iterable, not before they are needed."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any, Final

from parcast.errors import RunFailed

SLOW: Final = 0.002  # an item that takes longer to get is passed on at once [s]


class Stopped(BaseException):
    """The wait for the next item was interrupted."""


class Items:
    """The items of a run on rank 0: those that were fetched and not yet granted."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.total = len(items) if isinstance(items, Sized) else None
        self.fetched = 0
        self.has_ended = False
        self.is_slow = False
        self.was_stopped = False
        self._iterator: Iterator[Any] = iter(items)
        self._waiting: dict[int, Any] = {}
        self._is_fetching = False

    def fetch(
        self,
        wanted: int,
        *,
        patience: float,
        is_needed: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """Take items up to a number since the beginning, for a while [s] or until one is slow."""
        begun = before = perf_counter()
        self.is_slow = False
        while not self.has_ended and self.fetched < wanted:
            item = self._next()
            if self.has_ended:
                return
            if is_needed(self.fetched):
                self._waiting[self.fetched] = item
            self.fetched += 1
            now = perf_counter()
            self.is_slow = now - before > SLOW
            if self.is_slow or now - begun > patience:
                return
            before = now

    def _next(self) -> Any:
        """Take one item, or note that there are no more."""
        try:
            self._is_fetching = True
            if not self.was_stopped:
                return next(self._iterator)
        except (StopIteration, Stopped):
            pass
        except Exception as error:
            raise RunFailed(
                f"The items ended with an error after {self.fetched}: "
                f"{type(error).__name__}: {error}. Correct what provides them."
            ) from error
        finally:
            self._is_fetching = False
        self.has_ended = True
        return None

    def take(self, first: int, stop: int) -> list[Any]:
        """Give the items [first, stop) away."""
        return [self._waiting.pop(index) for index in range(first, stop)]

    def stop(self) -> None:
        """End the items after those that were fetched."""
        self.was_stopped = True

    def interrupt(self) -> None:
        """End the items, also while the next one is waited for; for a signal handler."""
        self.was_stopped = True
        if self._is_fetching:
            raise Stopped


@contextmanager
def stopped_by_interrupt(items: Items | None) -> Iterator[None]:
    """Let the first Ctrl-C in the block end the items, and a second one the run.

    On ranks without items the first is ignored, as rank 0 tells them of the end. Where another
    thread than the main one runs the block, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def once(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if items is not None:
            items.interrupt()

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
