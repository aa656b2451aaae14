"""What the ranks of a run execute that were started for it.

The only argument is the folder of the run, which rank 0 reads the job from; it sends the job to
the others, and takes items from the process that has started them all.
"""

import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from multiprocessing.connection import Connection
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any, Final

from parcast.errors import ParcastError, RunFailed
from parcast.pipeline.engine.items import Stopped
from parcast.pipeline.engine.job import Job, Reduction
from parcast.pipeline.engine.payload import portable
from parcast.pipeline.engine.root import Root
from parcast.pipeline.engine.session import Outcome, run_here
from parcast.pipeline.engine.starting import JOB, address

MOST: Final = 1024  # items that are asked for together [1]


class Host:
    """The process that has the items, as rank 0 sees it."""

    def __init__(self, connection: Connection, total: int | None) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._is_asked = False  # it is in a function of the user, and reads nothing meanwhile
        self.total = total

    def say(self, *message: Any) -> None:
        """Send a message that has no answer, from any thread."""
        with self._sending:
            self._connection.send_bytes(portable(message))

    def ask(self, *message: Any) -> Any:
        """Send a message and wait for its answer, in the main thread."""
        self._is_asked = True
        try:
            self.say(*message)
            return pickle.loads(self._connection.recv_bytes())
        finally:
            self._is_asked = False

    def items(self) -> Iterator[Any]:
        """Give the items one by one; more are asked for together where they come fast."""
        most = 1
        while True:
            items, has_ended, was_stopped = self.ask("items", most)
            yield from items
            if was_stopped:
                raise Stopped
            if has_ended:
                return
            most = min(2 * most, MOST) if len(items) == most else max(len(items), 1)

    def progress(self, root: Root) -> None:
        """Tell how far the run is."""
        if not self._is_asked:
            self.say("progress", root.done, root.total, root.remaining)

    def report(self, refusal: ParcastError) -> None:
        """Tell of a failure."""
        self.say("failed", refusal)

    def end(self, outcome: Outcome) -> None:
        """Tell the outcome."""
        try:
            self.say("ended", outcome)
        except (TypeError, AttributeError, ValueError, pickle.PicklingError) as error:
            self.report(
                RunFailed(
                    "The result of all items cannot be pickled for the process that started the "
                    f"ranks: {type(error).__name__}: {error}. Return from finish= what can be."
                )
            )

    def resume(self, delivered: int) -> None:
        """Prepare the server stage, which is in that process."""
        self.ask("resume", delivered)

    def __call__(self, reduction: Reduction) -> None:
        """Give a reduction to the server stage."""
        self.ask("reduction", reduction)


class Counted:
    """Items of a known number."""

    def __init__(self, items: Iterator[Any], total: int) -> None:
        self._items, self._total = items, total

    def __iter__(self) -> Iterator[Any]:
        """Give the items."""
        return self._items

    def __len__(self) -> int:
        """Give their number."""
        return self._total


def main(arguments: Sequence[str]) -> None:
    """Run the job of a folder."""
    from mpi4py import MPI

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # so that lines of several ranks do not mix
            stream.reconfigure(line_buffering=True, write_through=False)
    comm = MPI.COMM_WORLD
    is_root = comm.Get_rank() == 0
    desk = Path(arguments[0])
    pickled = comm.bcast((desk / JOB).read_bytes() if is_root else None)
    path, total, has_server, functions = pickle.loads(pickled)
    sys.path += [place for place in path if place not in sys.path]
    job: Job = pickle.loads(functions)
    if not is_root:
        run_here(job, (), comm=comm)
        return
    channel = socket(AF_UNIX)
    with address(desk) as name:
        channel.connect(name)
    with Connection(channel.detach()) as connection:
        host = Host(connection, total)
        items = host.items()
        outcome = run_here(
            job,
            items if total is None else Counted(items, total),
            comm=comm,
            progress=host.progress,
            report=host.report,
            server=host if has_server else None,
        )
        host.end(outcome)


if __name__ == "__main__":
    main(sys.argv[1:])
