"""What the ranks of a run execute that were started for it.

The only argument is the folder of the run, which rank 0 reads the job from; it sends the job to
the others, and takes items from the process that has started them all.
"""

import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any, Final

from parcast.errors import ParcastError
from parcast.pipeline.engine.job import Job, Reduction
from parcast.pipeline.engine.root import Root
from parcast.pipeline.engine.session import Outcome, run_here
from parcast.pipeline.engine.starting import JOB, SOCKET

MOST: Final = 1024  # items that are asked for together [1]


class Host:
    """The process that has the items, as rank 0 sees it."""

    def __init__(self, connection: Connection, total: int | None) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self.total = total
        self.was_stopped = False

    def say(self, *message: Any) -> None:
        """Send a message that has no answer, from any thread."""
        with self._sending:
            self._connection.send(message)

    def ask(self, *message: Any) -> Any:
        """Send a message and wait for its answer, in the main thread."""
        self.say(*message)
        return self._connection.recv()

    def items(self) -> Iterator[Any]:
        """Give the items one by one; more are asked for together where they come fast."""
        most = 1
        while True:
            items, has_ended, self.was_stopped = self.ask("items", most)
            yield from items
            if has_ended:
                return
            most = min(2 * most, MOST) if len(items) == most else max(len(items), 1)

    def progress(self, root: Root) -> None:
        """Tell how far the run is."""
        self.say("progress", root.done, root.total, root.remaining)

    def report(self, refusal: ParcastError) -> None:
        """Tell of a failure."""
        self.say("failed", refusal)

    def end(self, outcome: Outcome) -> None:
        """Tell the outcome."""
        self.say("ended", outcome)


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
    channel.connect(str(desk / SOCKET))
    with Connection(channel.detach()) as connection:
        host = Host(connection, total)

        def serve(reduction: Reduction) -> None:
            host.ask("reduction", reduction)

        items = host.items()
        outcome = run_here(
            job,
            items if total is None else Counted(items, total),
            comm=comm,
            progress=host.progress,
            report=host.report,
            server=serve if has_server else None,
        )
        host.end(replace(outcome, was_stopped=host.was_stopped))


if __name__ == "__main__":
    main(sys.argv[1:])
