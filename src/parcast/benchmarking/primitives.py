"""Communication primitives among all ranks of a launch, for messages of every size.

The size m is that of the message a rank gives: of a broadcast the message, of a reduction the
vector of each rank, of gather, scatter, allgather and alltoall the part for or from one rank.
Before each repetition stands a barrier; the time is that of the slowest rank [1]_. What the same
call takes on a single rank, which is the way through Python, is subtracted, up to half [D].

Send and receive: the lower half of the ranks sends to the upper half, each to one other. The time
of a send ends when the buffer may be used again, that of a receive when the message is there.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on modelling communication: micro-benchmarks of each
   primitive at P = 2, 4, 8, ...
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from parcast.benchmarking.records import lone, repeated, started

PRIMITIVES: Final = (
    *("send", "receive", "broadcast", "reduce", "allreduce", "gather", "scatter"),
    *("allgather", "alltoall", "barrier"),
)
WORD: Final = 8  # bytes of an element of a reduction [B]
MOST_AT_ONCE: Final = 1 << 28  # bytes of the buffers of a rank [B]


def call_of(comm: Any, name: str, size: int) -> Callable[[], object]:
    """One call of a primitive, but for send and receive, with m = `size` [B], of every rank."""
    from mpi4py import MPI

    if name == "barrier":
        return partial(comm.Barrier)
    if name in {"reduce", "allreduce"}:
        elements = -(-size // WORD)
        mine, total = np.ones(max(elements, 1)), np.ones(max(elements, 1))
        pair = [mine, elements, MPI.DOUBLE], [total, elements, MPI.DOUBLE]
        return partial(comm.Reduce if name == "reduce" else comm.Allreduce, *pair)
    one = [np.ones(max(size, 1), np.uint8), size, MPI.BYTE]
    if name == "broadcast":
        return partial(comm.Bcast, one)
    all_ = [np.ones(max(size * comm.size, 1), np.uint8), size, MPI.BYTE]
    pairs = {
        "gather": (comm.Gather, one, all_ if comm.rank == 0 else None),
        "scatter": (comm.Scatter, all_ if comm.rank == 0 else None, one),
        "allgather": (comm.Allgather, one, all_),
        "alltoall": (comm.Alltoall, all_, [np.ones_like(all_[0]), size, MPI.BYTE]),
    }
    act, given, taken = pairs[name]
    return partial(act, given, taken)


def half_of(comm: Any, size: int) -> Callable[[], object]:
    """Give a rank's part of messages from the lower half to the upper half of the ranks."""
    from mpi4py import MPI

    half = comm.size // 2
    message = [np.ones(max(size, 1), np.uint8), size, MPI.BYTE]
    if comm.rank < half:
        return partial(comm.Send, message, comm.rank + half)
    if comm.rank < 2 * half:
        return partial(comm.Recv, message, comm.rank - half)
    return partial(comm.Send, message, MPI.PROC_NULL)


def many(call: Callable[[], object]) -> Callable[[Iterator[None]], None]:
    """Give a call that is made once for each element of an iterator."""

    def turns(times: Iterator[None]) -> None:
        for _ in times:
            call()

    return turns


def main(arguments: Sequence[str]) -> None:
    """Measure; the arguments are a file for the records and a plan."""
    comm, record, plan = started(arguments)
    from mpi4py import MPI

    is_sender = comm.rank < comm.size // 2
    halves = {"send": is_sender, "receive": not is_sender}
    nobody = [np.ones(WORD, np.uint8), WORD, MPI.BYTE]
    for name in PRIMITIVES:
        if name in halves:
            cost = lone(many(partial(comm.Send, nobody, MPI.PROC_NULL)))
        else:
            cost = lone(many(call_of(MPI.COMM_SELF, name, WORD)))
        for size in (0,) if name == "barrier" else plan.sizes:
            if 2 * size * comm.size > MOST_AT_ONCE:
                break
            call = half_of(comm, size) if name in halves else call_of(comm, name, size)
            counts = halves.get(name, True)
            measured = repeated(comm, many(call), plan, in_a_row=False, counts=counts)
            measured = measured.over(1, less=cost)
            record.times(name, size, measured.times, measured.disturbed)


if __name__ == "__main__":
    main(sys.argv[1:])
