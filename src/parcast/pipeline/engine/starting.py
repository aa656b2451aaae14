"""A run on ranks that are started for it: this process has the items, the ranks the work.

Rank 0 asks this process for items as it needs them and gives it every completed reduction, over a
socket in a folder of the run; so a generator, a callback and Ctrl-C are here, in the main thread
of the program that called.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final

from parcast.errors import FAILURES, ParameterError, ParcastError, RunFailed, cause_of
from parcast.mpi.find import INSTALL, available_cores
from parcast.mpi.folders import failing_for, folder_for
from parcast.mpi.launched import inside_run
from parcast.mpi.launcher import Placement, Started, is_banner, reason_of, started_ranks
from parcast.mpi.payload import PackedValue, by_value, pickler_by_value, portable
from parcast.mpi.rank import PLACEMENT
from parcast.pipeline.engine.desk import ITEM, EndedRank, are_gone, first_ended, places, span
from parcast.pipeline.engine.failures import calling, unreadable
from parcast.pipeline.engine.items import Items
from parcast.pipeline.engine.job import Job, Reduction, ServerStage
from parcast.pipeline.engine.limits import (
    Alarm,
    Interruption,
    Limit,
    TimeUp,
    Turn,
    stopped_by_interrupt,
)
from parcast.pipeline.engine.session import PREFIX, Outcome, folder_of
from parcast.pipeline.engine.working import parcel

WORKER: Final = "parcast.pipeline.engine.worker"
JOB: Final = "job.pickle"
SOCKET: Final = "items"
LONGEST_ADDRESS: Final = 100  # of a Unix socket [B]
OPEN_FILES: Final = Path("/proc/self/fd")
TICK: Final = 0.1  # between looks at whether the ranks still run [s]
PATIENCE: Final = 0.005  # to collect items that are sent together [s]
LARGEST: Final = 1e6  # items that are sent together [B]
KEPT: Final = 400  # lines of what ranks said, for a message
LAST: Final = 5.0  # that ranks have to end after the run [s]
SETTLED: Final = 1.0  # that mpiexec has to end after them [s]


def run_started(
    job: Job,
    items: Iterable[Any],
    *,
    ranks: int,
    progress: Callable[[int, int | None, float | None], object] | None = None,
) -> Outcome:
    """Start ranks, run a job on them, and end them.

    The items are taken here and, unless the job has a rank for it, the server stage is called
    here. ParcastErrors of a rank are raised.
    """
    # Hosts of a testbed say that ranks are not to be pinned: each has one, and all the same cores.
    is_crowded = ranks > len(available_cores()) and PLACEMENT not in os.environ
    placement: Placement = "spread" if is_crowded else "auto"
    server = job.server if job.server_rank is None else None
    source, limit = Items(items), Limit(job.time_limit, job.name)
    sent = replace(job, server=None if server is not None else job.server, time_limit=None)
    with ExitStack() as stack:
        stack.enter_context(inside_run(on_ranks=False))
        if job.memory is not None:  # removed here, as mpiexec may kill ranks while they do it
            sent = replace(sent, directory=stack.enter_context(folder_of(job)))
        with failing_for(tempfile.gettempdir(), "the run"):
            desk = stack.enter_context(folder_for(PREFIX))
            (desk / JOB).write_bytes(_pickled(sent, source.total, server is not None))
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            with address(desk) as name:
                listener.bind(name)
            listener.listen()
        started = stack.enter_context(
            started_ranks(WORKER, [str(desk)], ranks=ranks, placement=placement, called=job.name)
        )
        host = _Host(started, source, server=server, progress=progress, limit=limit, desk=desk)
        stack.enter_context(stopped_by_interrupt(source.interrupt))
        try:
            with host.noticing_ends(), Alarm(limit, Turn(may_be_interrupted=True)):
                return host.serve(listener)
        except TimeUp:
            here = (
                f"{place} on rank {rank}" for rank, place in places(desk).items() if str(place)
            )
            raise limit.failure(list(here)) from None


@contextmanager
def address(desk: Path) -> Iterator[str]:
    """Give the name of the socket in the folder of a run, short enough for every system.

    That of a socket may have some 100 characters; on Linux an open folder has a short name.
    """
    name = str(desk / SOCKET)
    if len(os.fsencode(name)) <= LONGEST_ADDRESS or not OPEN_FILES.is_dir():
        yield name
        return
    descriptor = os.open(desk, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield str(OPEN_FILES / str(descriptor) / SOCKET)
    finally:
        os.close(descriptor)


def _pickled(job: Job, total: int | None, has_server: bool) -> bytes:
    """Pickle a job with what the ranks need to read it; functions of a script or notebook too."""
    try:
        pickler_by_value()
    except ImportError as missing:
        raise RunFailed(f"Starting ranks needs cloudpickle. {INSTALL}") from missing
    try:
        return pickle.dumps((sys.path, total, has_server, by_value(job)))
    except FAILURES as error:
        raise ParameterError(
            "task",
            must="be possible to pickle, with merge, setup, finish and split",
            got=cause_of(error),
            hint="Open files and connections in setup=.",
        ) from error


def _print(*lines: str) -> None:
    with suppress(ValueError, OSError):  # it is closed
        print(*lines, sep="", end="", file=sys.stderr)  # noqa: T201 - it is what they print


class _Said:
    """Passes on to standard error what ranks print, and keeps its last lines.

    The banners of mpiexec are held back, with the empty lines and rules around them.
    """

    def __init__(self, started: Started) -> None:
        process = started.process
        assert process.stdout is not None
        assert process.stderr is not None
        self.out: deque[str] = deque(maxlen=KEPT)
        self.err: deque[str] = deque(maxlen=KEPT)
        self._held: tuple[list[str], list[str]] = [], []
        streams = (process.stdout, self.out), (process.stderr, self.err)
        self._threads = [
            threading.Thread(target=self._pass_on, args=(*pair, held), daemon=True)
            for pair, held in zip(streams, self._held, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _pass_on(stream: IO[str], lines: deque[str], held: list[str]) -> None:
        with suppress(ValueError, OSError):  # it was closed
            for line in stream:
                lines.append(line)
                if is_banner(line) or not line.strip("=\n"):
                    held.append(line)
                else:
                    rules = [] if any(map(is_banner, held)) else held
                    _print(*rules, line)
                    rules.clear()
            if not any(map(is_banner, held)):
                _print(*held)
                held.clear()

    def show_banners(self) -> None:
        """Pass on what was held back."""
        _print(*self._held[0], *self._held[1])

    def await_end(self, end: float) -> bool:
        """Wait until all was said, at the end of mpiexec, or until a time; tell whether it was."""
        for thread in self._threads:
            thread.join(max(end - time.monotonic(), 0.0))
        return not any(thread.is_alive() for thread in self._threads)

    def all(self) -> tuple[str, str]:
        """Give what was said on standard output and on standard error."""
        for thread in self._threads:
            thread.join(LAST)
        return "".join(self.out), "".join(self.err)


class _RanksEnded(Interruption):
    """The ranks have ended while a function of the user ran, which should not hide it."""


class _Host:
    """What answers rank 0."""

    def __init__(
        self,
        started: Started,
        items: Items,
        *,
        server: ServerStage | None,
        progress: Callable[[int, int | None, float | None], object] | None,
        limit: Limit,
        desk: Path,
    ) -> None:
        self._started, self._items, self._limit, self._desk = started, items, limit, desk
        self._said = _Said(started)
        self._server, self._progress = server, progress
        self._most = 1  # items that are sent together, by the size of the last one
        self._is_awaited = False  # by rank 0, while a function of the user runs

    @contextmanager
    def noticing_ends(self) -> Iterator[None]:
        """Interrupt what rank 0 waits for where the ranks have ended, in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGCHLD)

        def ended(number: int, frame: FrameType | None) -> None:
            if callable(before):
                before(number, frame)
            self._require_ranks()

        signal.signal(signal.SIGCHLD, ended)
        try:
            yield
        finally:
            signal.signal(signal.SIGCHLD, before or signal.SIG_DFL)

    @contextmanager
    def _awaited(self) -> Iterator[None]:
        """Run a function of the user that rank 0 waits for, unless the ranks end."""
        self._is_awaited = True
        try:
            self._require_ranks()
            yield
        finally:
            self._is_awaited = False

    def _require_ranks(self) -> None:
        """Interrupt a function that rank 0 waits for where there are no ranks any more."""
        if self._is_awaited and self._started.process.poll() is not None:
            self._is_awaited = False
            raise _RanksEnded

    def serve(self, listener: socket.socket) -> Outcome:
        """Answer rank 0 until the run has ended."""
        connection: Connection | None = None
        while True:
            if self._limit.is_over:
                raise TimeUp
            ready = wait([connection or listener], TICK)
            if ready and connection is None:
                connection = Connection(listener.accept()[0].detach())
            elif ready and connection is not None:
                try:
                    outcome = self._answer(connection, connection.recv())
                except (EOFError, ConnectionError, _RanksEnded):
                    raise _last_said(connection) or self._failure() from None
                if outcome is not None:
                    self._await_end()
                    self._said.show_banners()  # lines of tasks that look so
                    return outcome
            elif self._started.process.poll() is not None:
                raise self._failure()

    def _answer(self, connection: Connection, message: tuple[Any, ...]) -> Outcome | None:
        """Answer a message of rank 0; give the outcome if it is that."""
        kind, *facts = message
        if kind == "items":
            with self._awaited():
                items = self._pickled(facts[0])
            connection.send_bytes(items)
        elif kind == "resume":
            assert self._server is not None
            self._server.resume(facts[0])
            connection.send(None)
        elif kind == "reduction":
            assert self._server is not None
            first, stop, pickled = facts
            reduction = Reduction(first, stop, _value_of(pickled, first, stop))
            with calling(f"server() of {span(first, stop)}", ""), self._awaited():
                self._server(reduction)
            connection.send(None)
        elif kind == "progress":
            if self._progress is not None:
                self._progress(*facts)
        elif kind == "failed":
            self._await_end()  # they end by themselves, and remove their files
            refusal: ParcastError = facts[0]
            raise refusal
        else:
            outcome: Outcome = facts[0]
            return replace(outcome, value=_value_of(facts[1], 0, outcome.items))
        return None

    def _pickled(self, most: int) -> bytes:
        """Pickle the next items; those that cannot be are replaced by why."""
        items, *facts = self._next(most)
        first = self._items.fetched - len(items)
        sent = [parcel(i, item, _packed) for i, item in enumerate(items, start=first)]
        return pickle.dumps((sent, *facts), protocol=5)

    def _next(self, most: int) -> tuple[list[Any], bool, bool]:
        """Take items that are sent together, and tell whether they have ended, and by Ctrl-C."""
        items, begin = self._items, self._items.fetched
        items.fetch(begin + min(most, self._most), patience=PATIENCE, is_alone=True)
        taken = items.take(begin, items.fetched)
        if taken:
            self._most = max(int(LARGEST / items.size), 1)
        return taken, items.has_ended, items.was_stopped

    def _await_end(self) -> None:
        """Give the ranks some time to end, and pass on all that they said.

        What a task has left running may keep the output of its rank open: it is not waited for.
        """
        end, are_left = time.monotonic() + LAST, True
        # First: Popen.wait sleeps between its looks.
        while not self._said.await_end(min(end, time.monotonic() + TICK)):
            if time.monotonic() > end:
                if not are_left:
                    self._started.process.kill()
                break
            if are_left and are_gone(self._desk, self._started.ranks):
                end, are_left = min(end, time.monotonic() + SETTLED), False
        with suppress(subprocess.TimeoutExpired):
            self._started.process.wait(max(end - time.monotonic(), 0.0))

    def _failure(self) -> ParcastError:
        with suppress(subprocess.TimeoutExpired):
            self._started.process.wait(LAST)
        if self._started.process.poll() is None:
            self._started.stop()
        out, err = self._said.all()
        status = self._started.process.returncode
        if (refusal := self._started.refusal()) is not None:
            return refusal
        ended = first_ended(self._desk)
        if ended is not None and (ended.status < 0 or str(ended.place)):
            return self._ended(ended)
        if not reason_of(status, out, err):
            self._said.show_banners()
        return self._started.failure(out, err)

    def _ended(self, ended: EndedRank) -> RunFailed:
        place = str(ended.place)
        item = self._items.shown(ended.place.numbers[ITEM]) if place.startswith("item ") else ""
        at = f"while it worked on {place}" if place else "while it ran no task"
        at += f" ({item})" if item else ""
        how, advice = _how_ended(ended.status)
        return RunFailed(
            f"Rank {ended.rank} of {self._started.called} {how} {at}. All other ranks were "
            f"stopped. {advice}"
        )


def _packed(item: Any) -> PackedValue:
    """Pickle an item with what it needs of the main program."""
    return PackedValue(portable(item), ())


def _value_of(pickled: bytes, first: int, stop: int) -> Any:
    try:
        return pickle.loads(pickled)
    except FAILURES as error:
        raise unreadable(first, stop, " in the process that started the ranks", error) from error


def _last_said(connection: Connection) -> ParcastError | None:
    """Give the failure that rank 0 has told of while something was sent to it."""
    with suppress(EOFError, OSError):
        while connection.poll():
            kind, *facts = connection.recv()
            if kind == "failed":
                refusal: ParcastError = facts[0]
                return refusal
    return None


def _how_ended(status: int) -> tuple[str, str]:
    if status >= 0:
        return (
            f"ended its process with status {status}",
            "Let tasks return or raise instead of ending the process, as os._exit and some "
            "libraries do.",
        )
    name = signal.strsignal(-status) or "unknown"
    if -status == signal.SIGKILL:
        return (
            f"was ended by signal {-status} ({name}), as happens when memory runs out,",
            "Use fewer ranks, limit the memory of results, or make the items smaller.",
        )
    return (
        f"was ended by signal {-status} ({name})",
        "A library that is used there has crashed, or something has sent the signal. Run it on "
        "that item alone to see why.",
    )
