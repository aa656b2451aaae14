"""Processes among which a simulation is divided."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from multiprocessing import active_children
from multiprocessing.context import SpawnContext, SpawnProcess

import click

from parcast.errors import Argument
from parcast.mpi.tied import ENDING, begin_worker


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
    """Give so many processes, or None for this one; when interrupted, end them at once.

    Ctrl-C in a terminal reaches them too: they end without a word. They end with this process,
    however that ends.
    """
    if jobs == 1:
        yield None
        return
    others = set(active_children())
    executor = ProcessPoolExecutor(
        jobs, mp_context=_Context(), initializer=begin_worker, initargs=(os.getpid(),)
    )
    try:
        yield executor
    except BrokenProcessPool:
        raise click.ClickException(
            f"a process of {Argument('jobs')} ended early. Use fewer."
        ) from None
    except BaseException:
        for child in set(active_children()) - others:
            child.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


class _Worker(SpawnProcess):
    """A process that has all it needs when a signal ends it: before, it would complain."""

    def start(self) -> None:
        """Start it; signals wait until it is started, and in it until `begin_worker`.

        They are neither lost nor left without their handlers if it cannot be started. Those that
        are ignored, as under `nohup`, stay so: a handler would not let the process inherit that.
        """
        if threading.current_thread() is not threading.main_thread() or os.name != "posix":
            super().start()
            return
        waiting = list[int]()
        with ExitStack() as last:
            last.callback(_raise_again, waiting)
            for number in ENDING:
                handler = signal.getsignal(number)
                if handler not in (signal.SIG_IGN, None):
                    last.callback(signal.signal, number, handler)
                    signal.signal(number, lambda n, _: waiting.append(n))
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
            last.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
            super().start()


def _raise_again(numbers: list[int]) -> None:
    """Have signals handled that have waited."""
    for number in numbers:
        signal.raise_signal(number)


class _Context(SpawnContext):
    """Starts such processes."""

    Process = _Worker
