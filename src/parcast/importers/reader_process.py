"""A process of its own for a library that reads files, as it may crash, hang or take all memory.

`ReaderProcess` starts a module that calls `serve`, and gives it requests: lines of JSON, as its
answers are. It needs no main module that can be imported, so that it works in notebooks and
threads, and it ends with the process that started it, however that ends.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

from parcast.importers.content import raised, why_missing
from parcast.mpi.find import ONE_THREAD
from parcast.mpi.tied import end_with

START: Final = 120.0  # for the process to load the library, from a slow file system too [s]
LONGEST_ANSWER: Final = 2**24  # [B]
STATUS: Final = Path("/proc/self/status")  # of Linux
DATA: Final = "VmData:"  # what a limit of data counts, there [KiB]

Answer = list[Any]  # of JSON, the first is a word that says what it is


class ReaderEnded(Exception):  # noqa: N818 - says what happened
    """The process did not answer to the end; the text says why, to be read after its name."""


class ReaderProcess:
    """The process that reads, which is started for the first request and again after it ended."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._is_late = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                with suppress(OSError):  # what it did not read
                    stream.close()

    def answers(
        self, request: Mapping[str, Any], *, seconds: float, memory: int
    ) -> Generator[Answer, None, None]:
        """Give the answers to a request, which takes so long and so much memory at most [s, B].

        The last one is "end", or "failed" and what the library raised. "missing", and why, is the
        only one where the library does not load. ReaderEnded is raised where the process ends, or
        says what is no answer.
        """
        is_whole = False
        try:
            process, greeting = self._started()
            if greeting is not None:
                yield greeting
                return
            assert process.stdin is not None
            with self._limited(process, seconds):
                with suppress(BrokenPipeError):  # it has ended, which is noticed below
                    asked = {**request, "memory": memory}
                    process.stdin.write(json.dumps(asked).encode() + b"\n")
                    process.stdin.flush()
                for answer in self._said(process, seconds):
                    is_whole = answer[0] in {"end", "failed"}
                    yield answer
                    if is_whole:
                        return
        finally:
            if not is_whole:
                self.__exit__()

    def _started(self) -> "tuple[subprocess.Popen[bytes], Answer | None]":
        """Start the process unless it runs; give what it says instead of being ready."""
        if self._process is not None:
            return self._process, None
        try:
            self._process = process = subprocess.Popen(
                [sys.executable or "python", "-P", "-m", self._module, str(os.getpid())],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": _path()},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is ours to hand on
            )
        except OSError as failure:
            why = (failure.strerror or str(failure)).lower()
            raise ReaderEnded(f"did not start: {why}") from failure
        with self._limited(process, START):
            greeting = next(self._said(process, START))
        return process, None if greeting[0] == "ready" else greeting

    def _said(self, process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[Answer]:
        """Give what the process says, one answer after the other; it never ends by itself."""
        assert process.stdout is not None
        while line := process.stdout.readline(LONGEST_ANSWER):
            try:
                answer = json.loads(line)
            except (ValueError, RecursionError):
                answer = None
            if not isinstance(answer, list) or not answer or not isinstance(answer[0], str):
                raise ReaderEnded("said what is no answer")
            yield answer
        status = process.wait()
        if self._is_late:
            raise ReaderEnded(f"did not end within {seconds:.3g} s")
        if status < 0:
            raise ReaderEnded(f"was ended by a signal: {signal.strsignal(-status)}")
        raise ReaderEnded(f"ended with status {status}")

    @contextmanager
    def _limited(self, process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[None]:
        """Kill the process where the block takes longer."""

        def kill() -> None:
            self._is_late = True
            process.kill()

        self._is_late = False
        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _path() -> str:
    """Where this process finds modules, for another one."""
    return os.pathsep.join(x or os.getcwd() for x in sys.path)


def serve(
    library: str,
    answers: Callable[[Any, Mapping[str, Any]], Iterable[Answer]],
    arguments: Sequence[str],
) -> None:
    """Answer requests with a library, until there are no more or the process that asks is gone.

    Standard output is for answers alone: what the library prints goes where its errors go.
    """
    end_with(int(arguments[0]), int(signal.SIGKILL))
    _leave_no_core()
    with os.fdopen(os.dup(1), "w", encoding="ascii") as stream:
        os.dup2(2, 1)

        def say(answer: Answer) -> None:
            stream.write(f"{json.dumps(answer)}\n")

        try:
            loaded = import_module(library)
        except (ImportError, OSError, RuntimeError) as error:  # darshan: no libdarshan-util
            say(["missing", why_missing(library, error)])
            return
        say(["ready"])
        stream.flush()
        for line in sys.stdin:
            request = json.loads(line)
            _limit_memory(request["memory"])
            try:
                for answer in answers(loaded, request):
                    say(answer)
                say(["end"])
            except Exception as error:  # whatever it raises
                say(["failed", raised(error)])
            stream.flush()


def _leave_no_core() -> None:
    """Leave no image of the memory in the folder of the user."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_memory(more: int) -> None:
    """Let this process take so many bytes more at most, on Linux."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        lines = STATUS.read_text(encoding="utf-8", errors="replace").splitlines()
        (used,) = (int(line.split()[1]) << 10 for line in lines if line.startswith(DATA))
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (used + more, hard))
