"""Interrupts: Ctrl-C, and what else ends a function of the user that has not failed.

The first Ctrl-C ends the items of a run, a second one the run. A task may raise KeyboardInterrupt
by itself, as it may raise anything, and has failed then. Where signals that end a program raise
Terminated, as on the command line, they end the run.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

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
