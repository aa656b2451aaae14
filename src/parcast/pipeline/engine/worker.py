"""What the ranks of a run execute that were started for it.

The only argument is the folder of the run, which rank 0 reads the job from; it sends the job to
the others, and takes items from the process that has started them all.
"""

import faulthandler
import pickle
import socket
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from io import TextIOWrapper
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from parcast.errors import FAILURES, ParameterError, ParcastError, RunFailed, cause_of
from parcast.mpi.launched import one_world
from parcast.mpi.payload import portable
from parcast.pipeline.engine.desk import RANK, WorkPlace, finish, watched
from parcast.pipeline.engine.failures import portable_failure
from parcast.pipeline.engine.items import Stopped, Supply
from parcast.pipeline.engine.job import Job, Reduction
from parcast.pipeline.engine.root import Root
from parcast.pipeline.engine.session import Outcome, run_here
from parcast.pipeline.engine.starting import JOB, address

if TYPE_CHECKING:
    from mpi4py import MPI

MOST: Final = 1024  # items that are asked for together [1]


class ItemHost:
    """The process that has the items, as rank 0 sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._is_asked = False  # something other than items
        self._answer: Any = None  # to the request for items
        self.requested: float | None = None  # when items were that have not been given [s]

    def say(self, *message: Any) -> None:
        """Send a message that has no answer, from any thread."""
        with self._sending:
            self._connection.send_bytes(portable(message))

    def ask(self, *message: Any) -> Any:
        """Send a message and wait for its answer, in the main thread."""
        with self._receiving:
            self._is_asked = True
            try:
                if self._is_awaited:  # what it sends first, and may wait for somebody to read
                    self._answer = self._received()
                self.say(*message)
                return self._received()
            finally:
                self._is_asked = False

    def items(self, most: int) -> Any:
        """Ask for items, unless that is done, and wait for the answer."""
        with self._receiving:
            return self._items(most)

    def items_here(self, most: int) -> Any:
        """Ask for items, unless that is done; give the answer if it is here, else None."""
        if not self._receiving.acquire(blocking=False):
            return None
        try:
            if self.requested is None:
                self._request(most)
            return None if self._is_awaited and not self._connection.poll() else self._items(most)
        finally:
            self._receiving.release()

    @property
    def _is_awaited(self) -> bool:
        """Whether items were asked for that are not here."""
        return self.requested is not None and self._answer is None

    def _request(self, most: int) -> None:
        self.requested = perf_counter()
        self.say("items", most)

    def _items(self, most: int) -> Any:
        if self.requested is None:
            self._request(most)
        answer = self._received() if self._answer is None else self._answer
        self.requested = self._answer = None
        return answer

    def _received(self) -> Any:
        return pickle.loads(self._connection.recv_bytes())

    def progress(self, root: Root) -> None:
        """Tell how far the run is."""
        if not self._is_asked and not self._is_awaited:  # else it reads nothing meanwhile
            self.say("progress", root.done, root.total, root.remaining)

    def report(self, refusal: ParcastError) -> None:
        """Tell of a failure."""
        self.say("failed", portable_failure(refusal))

    def end(self, outcome: Outcome) -> None:
        """Tell the outcome."""
        try:
            value = portable(outcome.value)
        except FAILURES as error:
            self.report(
                RunFailed(
                    "The result of all items cannot be pickled for the process that started the "
                    f"ranks: {cause_of(error).rstrip('.')}. Return from finish= what can be."
                )
            )
        else:
            self.say("ended", replace(outcome, value=None), value)

    def resume(self, delivered: int) -> None:
        """Prepare the server stage, which is in that process."""
        self.ask("resume", delivered)

    def __call__(self, reduction: Reduction) -> None:
        """Give a reduction to the server stage."""
        self.ask("reduction", reduction.first, reduction.stop, portable(reduction.value))


class HostItems(Supply):
    """The items of that process; more are asked for together where they come fast."""

    def __init__(self, host: ItemHost, total: int | None) -> None:
        self.total = total
        self._host = host
        self._here: deque[Any] = deque()
        self._most = 1  # that are asked for together
        self._end: type[BaseException] | None = None  # that is raised after the last item

    @property
    def asked(self) -> float | None:
        """When items were asked for that are not here. [s]."""
        return self._host.requested

    def is_ready(self) -> bool:
        """Ask for items if none are here; tell whether the next one, or the end, is here."""
        if not self._here and self._end is None:
            answer = self._host.items_here(self._most)
            if answer is not None:
                self._take(*answer)
        return bool(self._here) or self._end is not None

    def __next__(self) -> Any:
        while not self._here:
            if self._end is not None:
                raise self._end
            self._take(*self._host.items(self._most))
        return self._here.popleft()

    def _take(self, items: Sequence[Any], has_ended: bool, was_stopped: bool) -> None:
        self._here += items
        if was_stopped or has_ended:
            self._end = Stopped if was_stopped else StopIteration
        self._most = min(2 * self._most, MOST) if len(items) == self._most else max(len(items), 1)


def main(arguments: Sequence[str]) -> None:
    """Run the job of a folder."""
    desk = Path(arguments[0])
    place = watched(desk)
    faulthandler.enable(all_threads=False)  # says in which line of a task a library has crashed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # so that lines of several ranks do not mix
            stream.reconfigure(line_buffering=True, write_through=False)
    comm = one_world()
    place.numbers[RANK] = comm.Get_rank()
    is_root = comm.Get_rank() == 0
    pickled = comm.bcast((desk / JOB).read_bytes() if is_root else None)
    path, total, has_server, functions = pickle.loads(pickled)
    # In the order of the process that has started all, so that names mean the same modules.
    sys.path[:] = [*path, *(folder for folder in sys.path if folder not in path)]
    job: Job = _unpickled(functions)
    if is_root:
        _run_root(job, desk, place, comm, total, has_server=has_server)
    else:
        run_here(job, (), comm=comm, place=place)
    finish(place)


def _unpickled(functions: bytes) -> Any:
    try:
        return pickle.loads(functions)
    except FAILURES as error:
        raise ParameterError(
            "task",
            must="be possible to unpickle on ranks, with merge, zero, setup, finish and split",
            got=cause_of(error),
            hint="Define them in a module that every rank can import.",
        ) from error


def _run_root(
    job: Job,
    desk: Path,
    place: WorkPlace,
    comm: "MPI.Intracomm",
    total: int | None,
    *,
    has_server: bool,
) -> None:
    """Run on rank 0, which speaks with the process that has started all."""
    channel = socket.socket(socket.AF_UNIX)
    with address(desk) as name:
        channel.connect(name)
    with Connection(channel.detach()) as connection:
        host = ItemHost(connection)
        try:
            outcome = run_here(
                job,
                HostItems(host, total),
                comm=comm,
                progress=host.progress,
                report=host.report,
                server=host if has_server else None,
                place=place,
            )
        except ParcastError as refusal:  # also one from before the run began
            with suppress(OSError):
                host.report(refusal)
            raise
        host.end(outcome)


if __name__ == "__main__":
    main(sys.argv[1:])
