"""Items as they are taken: one by one from an iterable, not before they are needed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, Final

from parcast.errors import FAILURES, ParameterError, RunFailed, cause_of, text_of
from parcast.mpi.payload import size_of
from parcast.pipeline.engine.failures import Forks, end_forked, shortened
from parcast.pipeline.engine.limits import Interruption
from parcast.units import shown

KNOWN: Final = {list, tuple, range}  # of which each item is there, without code of a user
TOGETHER: Final = 4096  # items of a sequence that are taken before messages are looked after
SLOW: Final = 0.002  # an item that takes longer to get is passed on at once [s]
NOTICED: Final = 0.1  # a pause in which items that are here should not wait for the next one [s]
REMEMBERED: Final = 100  # times its length that a pause of the items is remembered [1]


class Stopped(Interruption):
    """The wait for the next item was interrupted; the items that were taken are all."""


class Supply(ABC, Iterator[Any]):
    """Items that another process sends; any thread may take those that are here."""

    total: int | None  # [1]

    @property
    @abstractmethod
    def asked(self) -> float | None:
        """When items were asked for that are not here. [s]."""

    @abstractmethod
    def is_ready(self) -> bool:
        """Ask for items if none are here; tell whether the next one, or the end, is here."""


class Items:
    """The items of a run on rank 0: those that were fetched and not yet granted."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._forks = Forks.count
        try:
            self._iterator: Iterator[Any] = iter(items)
        except FAILURES as error:
            hint = "Give a list, a generator or another iterable."
            got = shown(text_of(items))
            if not isinstance(error, TypeError):
                got += f", whose __iter__ failed: {cause_of(error)}"
            raise ParameterError("items", must="be iterable", got=got, hint=hint) from error
        self.total = items.total if isinstance(items, Supply) else _length(items)
        self._items = items
        self._is_known = type(items) in KNOWN
        self.fetched = 0
        self.size = 1.0  # of the item that was given away last, at least 1 [B]
        self.has_ended = False
        self.was_stopped = False
        self._waiting: dict[int, Any] = {}
        self._is_fetching = False
        self._asked = 0.0  # when the last item was asked for [s]
        self._was_slow = False
        self._pause = self._paused = 0.0  # length and end of the wait for the last slow item [s]

    @property
    def is_waited_for(self) -> bool:
        """Whether the main thread waits for an item, and does nothing else."""
        waits = perf_counter() - self._asked
        return self._is_fetching and (waits > SLOW or self.may_pause(NOTICED))

    @property
    def is_slow(self) -> bool:
        """Whether the last item took long, or the next one does or may."""
        return self._was_slow or self.is_waited_for or self.may_pause(NOTICED)

    def may_pause(self, seconds: float) -> bool:
        """Tell whether the next item may take longer than so long [s], as one before it did."""
        is_recent = perf_counter() - self._paused < REMEMBERED * self._pause
        return is_recent and self._pause > seconds

    def fetch(
        self,
        wanted: int,
        *,
        patience: float,
        is_needed: Callable[[int], bool] = lambda _: True,
        is_alone: bool = False,
    ) -> None:
        """Take items up to a number since the beginning, for a while [s] or until one is slow.

        `is_alone`: nobody works on what is here while the next item is waited for.
        """
        if self._is_known and not self.was_stopped:
            self._fetch_known(min(wanted, self.fetched + TOGETHER), is_needed)
            return
        begun = perf_counter()
        if is_alone and self.may_pause(NOTICED):
            patience = 0.0
        while not self.has_ended and self.fetched < wanted:
            self._asked = perf_counter()
            self._fetch_one(self._awaited, is_needed)
            now = perf_counter()
            self._was_slow = now - self._asked > SLOW
            if self._was_slow:
                self._pause, self._paused = now - self._asked, now
            if self._was_slow or now - begun > patience:
                return

    def fetch_ready(self, wanted: int, *, is_needed: Callable[[int], bool]) -> None:
        """Take items up to a number, from any thread, if no code of the user gives them."""
        items = self._items
        if self._is_known:
            self.fetch(wanted, patience=0.0, is_needed=is_needed)
        elif isinstance(items, Supply):
            while not self.has_ended and self.fetched < wanted and items.is_ready():
                self._fetch_one(partial(next, items), is_needed)
            self._was_slow = perf_counter() - (items.asked or inf) > SLOW

    def _fetch_known(self, wanted: int, is_needed: Callable[[int], bool]) -> None:
        """Take items that are all there."""
        items: Any = self._items
        stop = min(wanted, len(items))
        known = range(self.fetched, stop)
        self._waiting.update((i, items[i]) for i in known if is_needed(i))
        self.fetched = max(self.fetched, stop)
        self.has_ended = self.fetched >= len(items)

    def _fetch_one(self, take: Callable[[], Any], is_needed: Callable[[int], bool]) -> None:
        """Take one item, or note that there are no more."""
        try:
            item = take()
        except StopIteration:
            pass
        except Stopped:
            self.was_stopped = True
        except Exception as error:
            end_forked(self._forks, f"What provides item {self.fetched}")
            why = cause_of(error).rstrip(".")
            raise RunFailed(
                f"The items ended with an error after {self.fetched}: {why}. Correct what "
                "provides them."
            ) from error
        else:
            if Forks.count != self._forks:
                end_forked(self._forks, f"What provides item {self.fetched}")
            if is_needed(self.fetched):
                self._waiting[self.fetched] = item
            self.fetched += 1
            return
        self.has_ended = True

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

    def shown(self, index: int) -> str:
        """Write an item for a message, where it is still there and its number does not say it."""
        items: Any = self._items
        is_there = type(items) in (list, tuple) and 0 <= index < len(items)
        return shortened(items[index]) if is_there else ""

    def interrupt(self) -> None:
        """End the items, also while the next one is waited for; for a signal handler."""
        self.was_stopped = True
        if self._is_fetching:
            raise Stopped


def _length(items: Iterable[Any]) -> int | None:
    """Number of items, if they tell it."""
    try:
        return len(items) if isinstance(items, Sized) else None
    except FAILURES:
        return None
