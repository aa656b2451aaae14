"""What one rank does in one run: operations, messages and bytes, counted where they happen.

A program sends and receives through its ledger, so that nothing is sent that is not counted, and
names the parts that compute and those that access files. Processor seconds of the computing parts
are those of the thread: the time that other programs have its core is not in them. What somebody
computes on the second thread of the core makes them longer (`parcast.timings.disturbed`).
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from parcast.errors import RunFailed
from parcast.kernels.course import Course

if TYPE_CHECKING:
    from parcast.kernels.io_servers import IoServers

TAG: Final = 17  # of all messages of a program


class Communicator(Protocol):
    """The part of an mpi4py communicator that the programs use."""

    def Get_rank(self) -> int: ...  # noqa: N802, D102 - the name that mpi4py gives it
    def Get_size(self) -> int: ...  # noqa: N802, D102 - the name that mpi4py gives it
    def Barrier(self) -> None: ...  # noqa: N802, D102 - the name that mpi4py gives it
    def Send(self, buf: Any, dest: int, tag: int) -> None: ...  # noqa: N802, D102 - as above
    def Isend(self, buf: Any, dest: int, tag: int) -> Any: ...  # noqa: N802, D102 - as above
    def Recv(self, buf: Any, source: int, tag: int) -> None: ...  # noqa: N802, D102 - as above
    def Irecv(self, buf: Any, source: int, tag: int) -> Any: ...  # noqa: N802, D102 - as above
    def allgather(self, sendobj: Any) -> list[Any]: ...  # noqa: D102 - as above
    def bcast(self, obj: Any, root: int) -> Any: ...  # noqa: D102 - as above


class Alone:
    """A communicator of one rank, where there is no MPI: it has nobody to send to."""

    def Get_rank(self) -> int:  # noqa: N802 - the name that mpi4py gives it
        """Give the number of the only rank."""
        return 0

    def Get_size(self) -> int:  # noqa: N802 - the name that mpi4py gives it
        """Count the ranks."""
        return 1

    def Barrier(self) -> None:  # noqa: N802 - the name that mpi4py gives it
        """Wait for nobody."""

    def allgather(self, sendobj: Any) -> list[Any]:
        """Collect from all, which is this one."""
        return [sendobj]

    def bcast(self, obj: Any, root: int) -> Any:  # noqa: ARG002 - as mpi4py has it
        """Tell all, which is this one."""
        return obj

    def _nobody(self, *_: Any, **__: Any) -> Any:
        raise RunFailed(
            "A single rank has no other rank to send to. This is a fault of the program."
        )

    Send = Isend = Recv = Irecv = _nobody


class _Seconds:
    """Adds the seconds of its block, by a clock."""

    __slots__ = ("_begun", "_now", "seconds")

    def __init__(self, now: Callable[[], float]) -> None:
        self.seconds = 0.0
        self._now = now
        self._begun = 0.0

    def __enter__(self) -> Self:
        self._begun = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += self._now() - self._begun


class Ledger:
    """The account of one rank of `size`, and its way to the others; rank 0 is the master.

    `steps` [1] and `disk_bytes` [B] are added to by the program; `messages` [1] and their bytes,
    `sent`, by the ledger. ``with ledger.computing:`` adds processor seconds of the block, ``with
    ledger.accessing:`` wall seconds of access to files in `directory`, ``with
    ledger.checkpointing:`` and ``with ledger.restarting:`` those of checkpoints; all add up in
    `.seconds`. `course` is how a program in time steps was asked to compute, `io_servers` are the
    ranks that write for it.
    """

    def __init__(
        self,
        comm: Communicator,
        directory: Path | None = None,
        course: Course | None = None,
        io_servers: "IoServers | None" = None,
    ) -> None:
        self.comm = comm
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self.directory = directory
        self.course = Course() if course is None else course
        self.io_servers = io_servers
        self.steps = 0
        self.messages = 0
        self.sent = 0
        self.disk_bytes = 0
        self.computing = _Seconds(time.thread_time)
        self.accessing = _Seconds(time.perf_counter)
        self.checkpointing = _Seconds(time.perf_counter)
        self.restarting = _Seconds(time.perf_counter)

    @property
    def is_master(self) -> bool:
        """Whether this is rank 0, which holds the input and takes the result."""
        return self.rank == 0

    @property
    def mpi(self) -> Communicator | None:
        """The ranks as array I/O takes them: None without MPI."""
        return None if isinstance(self.comm, Alone) else self.comm

    def send(self, array: NDArray[Any], to: int) -> None:
        """Send a contiguous array to another rank, and wait until it may be changed."""
        self.comm.Send(array, to, TAG)
        self._count(array)

    def begin_send(self, array: NDArray[Any], to: int) -> Any:
        """Begin to send a contiguous array; `Wait()` of what is returned ends it."""
        request = self.comm.Isend(array, to, TAG)
        self._count(array)
        return request

    def receive(self, array: NDArray[Any], source: int) -> None:
        """Receive into a contiguous array of the size that was sent."""
        self.comm.Recv(array, source, TAG)

    def begin_receive(self, array: NDArray[Any], source: int) -> Any:
        """Begin to receive; `Wait()` of what is returned ends it."""
        return self.comm.Irecv(array, source, TAG)

    def send_to_all(self, array: NDArray[Any]) -> None:
        """Send what the master has to every other rank, one message for each.

        Its link carries (p - 1) times the array, as the laws have it. A tree would carry less
        through one link and the same through a bus.
        """
        if self.is_master:
            self.deal([array] * self.size)
        else:
            self.receive(array, 0)

    def deal(self, parts: Sequence[NDArray[Any]]) -> None:
        """Send every other rank its part of these, contiguous each, by the master."""
        wait_for([self.begin_send(parts[rank], rank) for rank in range(1, self.size)])

    def collect(self, parts: Sequence[NDArray[Any]]) -> None:
        """Receive from every other rank into its part of these, on the master."""
        wait_for([self.begin_receive(parts[rank], rank) for rank in range(1, self.size)])

    def exchange(self, sent: Sequence[NDArray[Any]], received: Sequence[NDArray[Any]]) -> None:
        """Send every rank its part of `sent`, and receive from every rank its part of `received`.

        Contiguous each, p - 1 messages from every rank; the own part is copied.
        """
        received[self.rank][:] = sent[self.rank]
        # The next rank first, so that not all send to the same one at once.
        others = [(self.rank + step) % self.size for step in range(1, self.size)]
        requests = [self.begin_receive(received[rank], rank) for rank in reversed(others)]
        wait_for([*requests, *(self.begin_send(sent[rank], rank) for rank in others)])

    def broadcast(self, array: NDArray[Any], root: int) -> None:
        """Send what the root has to all by a binomial tree, ceil(lg p) messages deep."""
        place = (self.rank - root) % self.size
        step = 1
        while step < self.size and not place & step:
            step *= 2
        if place:
            self.receive(array, (self.rank - step) % self.size)
        while step > 1:
            step //= 2
            if place + step < self.size:
                self.send(array, (self.rank + step) % self.size)

    def all_agree(self, statement: bool) -> bool:
        """Tell whether a statement holds on all ranks; all must ask. Not counted as a message."""
        return all(self.comm.allgather(bool(statement)))

    def _count(self, array: NDArray[Any]) -> None:
        self.messages += 1
        self.sent += int(array.nbytes)


def wait_for(requests: Iterable[Any]) -> None:
    """Wait for the ends of messages."""
    for request in requests:
        request.Wait()


def shares(n: int, p: int) -> NDArray[np.int64]:
    """Bounds, shape (p + 1,), of p contiguous shares of n elements, equal but for one at most.

    >>> shares(10, 4)
    array([ 0,  2,  5,  7, 10])
    """
    return np.arange(p + 1, dtype=np.int64) * n // p
