"""Where answers are computed: here, and in other processes once several are asked for at a time.

A thread cannot use the core that another one uses, so that answers would wait for each other and
for the page.
"""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, TypeVar

from parcast.errors import RunFailed
from parcast.mpi.find import available_cores

Given = TypeVar("Given")
MOST: Final = 8  # of them


def count_of_processes() -> int:
    """How many processes to compute in; 1: this one alone."""
    return min(len(available_cores()), MOST)


class AnswerProcesses:
    """Computes answers here until several are asked for at a time, then in other processes."""

    def __init__(self, executor: Executor | None) -> None:
        self._executor = executor
        self._begun: Future[Any] | None = None
        self.here: list[str] = []  # names of what is computed here, each in a thread of its own

    def begin(self) -> None:
        """Begin the processes, from the main thread, if an answer is computed here already."""
        if self._executor is not None and self._begun is None and self.here:
            self._begun = self._executor.submit(os.getpid)

    def run(self, name: str, function: Callable[..., Given], *args: Any) -> Given:
        """Call a function here, or in a process if they have begun.

        Raises
        ------
        RunFailed
            If its process ends, by the kernel if memory runs out.
        """
        executor = self._executor
        if executor is not None and self._begun is not None and self._begun.done():
            try:
                return executor.submit(function, *args).result()
            except BrokenProcessPool:
                self._executor = None
                raise RunFailed("the process of the answer has ended: ask again") from None
        self.here.append(name)
        try:
            return function(*args)
        finally:
            self.here.remove(name)
