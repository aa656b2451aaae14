"""Signals that end a program, taken as Ctrl-C is, so that what it started is ended and removed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

# What a batch system, `kill` and a terminal that is closed send.
NAMES: Final = ("SIGTERM", "SIGHUP")


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Let signals that would end this process at once raise KeyboardInterrupt in the block.

    Those that somebody else handles, or that are ignored as under `nohup`, are left as they are.
    """
    taken = []
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
        taken = [x for x in numbers if signal.getsignal(x) == signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt
