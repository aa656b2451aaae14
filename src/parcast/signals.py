"""Signals that end a program, as exceptions: what it has begun is removed before it ends.

SIGTERM is what a batch system, `timeout` and `kill` send, SIGHUP what a terminal sends that is
closed. Where nobody handles them they end a process at once, without its `finally` clauses.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any, Final

NAMES: Final = ("SIGTERM", "SIGHUP")
TWICE: Final = 1.0  # within which a signal is the one before: `timeout` and shells send two [s]


class Terminated(BaseException):
    """A signal is to end this process; `number` says which."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def as_interrupts() -> AbstractContextManager[None]:
    """Let signals that would end this process raise KeyboardInterrupt in the block.

    Those that somebody else handles, or that are ignored as under `nohup`, are left as they are.
    """
    return _raising(lambda _: KeyboardInterrupt())


def as_terminations() -> AbstractContextManager[None]:
    """Let them raise Terminated in the block, but for blocks within that take them otherwise."""
    return _raising(Terminated)


class _Handler:
    """Raises an exception when a signal comes, once for one that is sent twice."""

    def __init__(self, exception: Callable[[int], BaseException], times: list[float]) -> None:
        self._exception = exception
        self.times = times  # of the last signal, in blocks within each other too [s]

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if now - self.times[0] > TWICE:
            self.times[0] = now
            raise self._exception(number)


@contextmanager
def _raising(exception: Callable[[int], BaseException]) -> Iterator[None]:
    """Raise an exception in the block for each signal that would end the process."""
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        handlers = {number: signal.getsignal(number) for number in numbers}
    ours = [x for x in handlers.values() if isinstance(x, _Handler)]
    handler = _Handler(exception, ours[0].times if ours else [-math.inf])
    taken = {x: before for x, before in handlers.items() if before in (signal.SIG_DFL, *ours)}
    try:
        for number in taken:
            signal.signal(number, handler)
        yield
    finally:
        for number, before in taken.items():
            signal.signal(number, before)
