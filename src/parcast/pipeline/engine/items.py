"""Items as they are taken: one by one from an iterable, not before they are needed."""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any, Final

from parcast.errors import ParameterError, RunFailed
from parcast.pipeline.engine.payload import size_of
from parcast.units import shown

TOGETHER: Final = 4096  # items of a sequence that are taken before messages are looked after
SLOW: Final = 0.002  # an item that takes longer to get is passed on at once [s]


class Stopped(BaseException):
    """The wait for the next item was interrupted; the items that were taken are all."""


class Items:
    """The items of a run on rank 0: those that were fetched and not yet granted."""

    def __init__(self, items: Iterable[Any]) -> None:
        try:
            self._iterator: Iterator[Any] = iter(items)
        except TypeError:
            hint = "Give a list, a generator or another iterable."
            got = shown(repr(items))
            raise ParameterError("items", must="be iterable", got=got, hint=hint) from None
        self.total = len(items) if isinstance(items, Sized) else None
        self._items = items
        self.fetched = 0
        self.size = 1.0  # of the item that was given away last, at least 1 [B]
        self.has_ended = False
        self.was_stopped = False
        self._waiting: dict[int, Any] = {}
        self._is_fetching = False
        self._asked = 0.0  # when the last item was asked for [s]
        self._was_slow = False

    @property
    def is_slow(self) -> bool:
        """Whether the last item took long, or the next one does."""
        waits = self._is_fetching and perf_counter() - self._asked > SLOW
        return self._was_slow or waits

    def fetch(
        self,
        wanted: int,
        *,
        patience: float,
        is_needed: Callable[[int], bool] = lambda _: True,
    ) -> None:
        """Take items up to a number since the beginning, for a while [s] or until one is slow."""
        if isinstance(self._items, list | tuple | range) and not self.was_stopped:
            self._fetch_known(self._items, min(wanted, self.fetched + TOGETHER), is_needed)
            return
        begun = perf_counter()
        while not self.has_ended and self.fetched < wanted:
            self._asked = perf_counter()
            item = self._next()
            if self.has_ended:
                return
            now = perf_counter()
            self._was_slow = now - self._asked > SLOW
            if is_needed(self.fetched):
                self._waiting[self.fetched] = item
            self.fetched += 1
            if self._was_slow or now - begun > patience:
                return

    def _fetch_known(
        self, items: Sequence[Any], wanted: int, is_needed: Callable[[int], bool]
    ) -> None:
        """Take items that are all there."""
        stop = min(wanted, len(items))
        known = range(self.fetched, stop)
        self._waiting.update((i, items[i]) for i in known if is_needed(i))
        self.fetched = max(self.fetched, stop)
        self.has_ended = self.fetched >= len(items)

    def _next(self) -> Any:
        """Take one item, or note that there are no more."""
        try:
            return self._awaited()
        except StopIteration:
            pass
        except Stopped:
            self.was_stopped = True
        except Exception as error:
            why = f"{type(error).__name__}: {error}".rstrip(": ")
            raise RunFailed(
                f"The items ended with an error after {self.fetched}: {why}. Correct what "
                "provides them."
            ) from error
        self.has_ended = True
        return None

    def _awaited(self) -> Any:
        """Wait for the next item, during which an interrupt raises Stopped."""
        if self.was_stopped:
            raise Stopped
        try:
            self._is_fetching = True
            return next(self._iterator)
        finally:
            self._is_fetching = False

    def take(self, first: int, stop: int) -> list[Any]:
        """Give the items [first, stop) away."""
        taken = [self._waiting.pop(index) for index in range(first, stop)]
        if taken:
            self.size = max(size_of(taken[-1]), 1.0)
        return taken

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
