"""What ends functions of a user that have not failed: Ctrl-C, and limits of time.

The first Ctrl-C ends the items of a run, a second one the run. A task may raise KeyboardInterrupt
by itself, as it may raise anything, and has failed then. Where signals that end a program raise
Terminated, as on the command line, they end the run.

One alarm of the process serves the limit of a run and that of the task of an item.
An alarm interrupts the main thread of a process, whatever function of the user it is in. Where a
run is in another thread, its limit holds between items. The limit of a run must not interrupt MPI,
or what was sent would be lost: it waits until the main thread has given its turn back.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from types import FrameType
from typing import Any, Final, Self

from parcast.errors import Argument, ParameterError, RunFailed
from parcast.signals import Terminated

STOPPING: Final = (
    "parcast: interrupted: no further items are taken, and those taken are finished. "
    "Press Ctrl-C again to end the run at once.\n"
)


class Interruption(BaseException):
    """What the engine ends a function of the user with; no task should take it for its own."""


class _Interrupts:
    """What was received in this process."""

    is_interrupted = False  # by the Ctrl-C that ends the run


def is_interruption(error: BaseException) -> bool:
    """Tell whether a function was ended by the engine or Ctrl-C, and has not failed by itself."""
    is_ctrl_c = isinstance(error, KeyboardInterrupt) and _Interrupts.is_interrupted
    return is_ctrl_c or isinstance(error, Interruption | Terminated)


@contextmanager
def stopped_by_interrupt(stop: Callable[[], object] | None) -> Iterator[None]:
    """Let the first Ctrl-C in the block stop the items by a function, and a second one the run.

    The first is acknowledged at once, as tasks may run for long after it. On ranks without items
    it is ignored, as rank 0 tells them of the end. Where another thread than the main one runs the
    block, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def twice(number: int, frame: FrameType | None) -> None:
        _Interrupts.is_interrupted = True
        signal.default_int_handler(number, frame)

    def once(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, twice)
        if stop is not None:
            _acknowledge()
            stop()

    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        _Interrupts.is_interrupted = False


def _acknowledge() -> None:
    """Say on standard error that the run is being stopped, on a line of its own."""
    stream: Any = sys.stderr
    original: Any = sys.__stderr__
    with suppress(OSError, ValueError, AttributeError):  # there is none, or it is closed
        text = f"\r\n{STOPPING}" if stream.isatty() else STOPPING
        if stream is original:  # past the stream, which the main thread may be writing to
            os.write(stream.fileno(), text.encode())
        else:
            stream.write(text)
            stream.flush()


AGAIN: Final = 0.5  # until a function that has caught the end of a run is interrupted again [s]
SOON: Final = 0.001  # until a main thread that sends messages is interrupted [s]
MOST_NAMED: Final = 4  # ranks in a message


class TimeUp(Interruption):
    """The limit of a run is reached."""


class Turn:
    """The right to send and receive messages, of one thread at a time."""

    def __init__(self, *, may_be_interrupted: bool = False) -> None:
        """Begin in the main thread, which may be interrupted while it does not have the turn."""
        self._lock = threading.RLock()
        self._thread = threading.get_ident()
        self._depth = 0  # how often the main thread has it, or waits for it
        self.may_be_interrupted = may_be_interrupted

    @property
    def is_open(self) -> bool:
        """Whether the main thread may be interrupted now."""
        return self.may_be_interrupted and not self._depth

    def __enter__(self) -> None:
        if threading.get_ident() == self._thread:
            self._depth += 1  # first: nothing interrupts in between
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        if threading.get_ident() == self._thread:
            self._depth -= 1


class Limit:
    """Limit for the time of a run."""

    def __init__(self, seconds: float | None, called: str) -> None:
        """Begin now; None is no limit."""
        self._seconds, self._called = seconds, called
        self.end = inf if seconds is None else time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end

    def failure(self, places: Sequence[str] = ()) -> RunFailed:
        """Say so, and what was worked on, such as "item 5 on rank 1"."""
        named = list(places[:MOST_NAMED])
        if len(places) > MOST_NAMED:
            named.append(f"{len(places) - MOST_NAMED} more")
        listed = " and ".join([", ".join(named[:-1]), *named[-1:]] if named[1:] else named)
        return RunFailed(
            (
                f"{self._called} did not end within {self._seconds:g} s and was stopped. ",
                f"It was working on {listed}. " if listed else "",
                "Allow more with ",
                Argument("time_limit"),
                ", or give it less work.",
            )
        )


class Alarm:
    """Interrupts the main thread at the limit of a run, and at that of an item."""

    def __init__(self, limit: Limit, turn: Turn, *, timeout: float | None = None) -> None:
        """Wait for the block that it is used in; `timeout` is that of an item [s]."""
        self._limit, self._turn, self._timeout = limit, turn, timeout
        is_wanted = timeout is not None or limit.end < inf
        self._is_used = is_wanted and threading.current_thread() is threading.main_thread()
        self._item_end = inf
        self._is_stopped = False

    def __enter__(self) -> Self:
        if self._is_used:
            self._begun = time.monotonic()
            self._timer = signal.setitimer(signal.ITIMER_REAL, 0)
            self._handler = signal.signal(signal.SIGALRM, self._ring)
            self._set()
        return self

    def __exit__(self, *_: object) -> None:
        """Give the timer back, with what it had left."""
        if self._is_used:
            self.stop()
            signal.signal(signal.SIGALRM, self._handler)
            left, interval = self._timer
            if left:
                passed = time.monotonic() - self._begun
                signal.setitimer(signal.ITIMER_REAL, max(left - passed, SOON), interval)

    def stop(self) -> None:
        """Interrupt nothing any more."""
        self._is_stopped = True
        if self._is_used:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def of_item(self) -> Iterator[None]:
        """Raise TimeoutError in the block after the limit of an item."""
        if self._timeout is None:
            yield
            return
        self._item_end = time.monotonic() + self._timeout
        signal.signal(signal.SIGALRM, self._ring)  # again: a task may have taken it
        self._set()
        try:
            yield
        finally:
            self._item_end = inf
            self._set()

    def _set(self) -> None:
        end = min(self._item_end, self._limit.end)
        if self._is_stopped or end == inf:
            signal.setitimer(signal.ITIMER_REAL, 0)
        else:
            signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), SOON))

    def _ring(self, _: int, frame: FrameType | None) -> None:
        if self._is_stopped:
            return
        if self._limit.is_over:
            # Not in functions of this file: the timer would not be given back.
            is_here = frame is not None and frame.f_globals is globals()
            is_open = self._turn.is_open and not is_here
            signal.setitimer(signal.ITIMER_REAL, AGAIN if is_open else SOON)
            if is_open:
                raise TimeUp
        elif time.monotonic() >= self._item_end:
            self._item_end = inf
            self._set()  # a task may go on: the limit of the run holds still
            raise TimeoutError(f"the task took longer than {self._timeout:g} s")
        else:
            self._set()


def require_main_thread(timeout: float | None) -> None:
    """Refuse a limit for items where it cannot be kept."""
    if timeout is not None and threading.current_thread() is not threading.main_thread():
        raise ParameterError(
            "timeout",
            must="be None outside the main thread",
            got=f"{timeout:g}",
            hint="Call run_pipeline from the main thread, or leave it out.",
        )
