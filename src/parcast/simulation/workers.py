"""Processes among which a simulation is divided."""

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children
from multiprocessing.context import SpawnContext, SpawnProcess

import click

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
        raise click.ClickException("a process of --jobs ended early. Use fewer.") from None
    except BaseException:
        for child in set(active_children()) - others:
            child.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


class _Worker(SpawnProcess):
    """A process that has all it needs when a signal ends it: before, it would complain."""

    def start(self) -> None:
        """Start it; signals wait until it is started, and in it until `begin_worker`."""
        if threading.current_thread() is not threading.main_thread() or os.name != "posix":
            super().start()
            return
        waiting = list[int]()
        former = {each: signal.signal(each, lambda n, _: waiting.append(n)) for each in ENDING}
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            for number, handler in former.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in waiting:
            signal.raise_signal(number)


class _Context(SpawnContext):
    """Starts such processes."""

    Process = _Worker
