"""The network: one message there and back, streams one way and both ways, and all to all.

- ping-pong (COMMS1 [1]_): rank 0 sends m bytes, rank 1 returns as many; half the round trip. Each
  sends from one buffer and receives into another, as the OSU benchmarks do;
- stream: rank 0 sends a window of messages, rank 1 answers the whole window; time of one message;
- bidirectional (COMMS2 [1]_): both send m bytes at the same time; time until both have all;
- saturation (COMMS3 [1]_): each of p ranks sends m bytes to all others and waits for theirs; time
  until all have all. m grows until the rate of all together does not;
- where there are two hosts with two ranks or more each: a ping-pong of two ranks of a host, one of
  two ranks of different hosts, and exchanges of all ranks of a host with those of another at once.

Persistent requests keep Python's part of a message small. Of a ping-pong the time of one start
and one wait for a message to nobody is subtracted besides: what Python does between two messages
[D]. That misses what Python costs by displacing the code of the MPI from the nearest cache, a
twentieth of a short message or more; and some MPI have a faster way for short messages that are
not persistent. `compiled` measures without either.

References
----------
.. [1] PARKBENCH Committee, "Public international benchmarks for parallel computers," Scientific
   Programming, vol. 3, no. 2, 1994: COMMS1, COMMS2 and COMMS3.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from parcast.benchmarking.records import (
    BenchmarkPlan,
    BenchmarkRecorder,
    lone,
    repeated,
    started,
)

Turns = Callable[[Iterator[None]], None]

PAGE: Final = 4096  # [B]
WINDOW: Final = 64  # messages of a stream that are under way
NEVER_ENOUGH: Final = 1 << 16  # up to which the rates of slow hosts rise and fall by chance [B]
LONG: Final = 0.3  # of a turn, from which longer messages bring no higher rate [s]
MOST_UNDER_WAY: Final = 1 << 25  # bytes of a window, and of all messages of an all-to-all [B]
FEWEST_UNDER_WAY: Final = 4
FEWEST_NEAR: Final = 2  # ranks of a host
GROWS: Final = 1.02  # of a rate from one size to the next, where it is not saturated
AS_BEFORE: Final = 2  # sizes without growth, after which it is saturated


def pingpong(comm: Any, size: int) -> Turns:
    """Rounds of one message between two ranks, there and back."""
    there = comm.Send_init(_message(size), 1 - comm.rank)
    back = comm.Recv_init(_message(size), 1 - comm.rank)
    first, second = (there, back) if comm.rank == 0 else (back, there)
    start_first, wait_first = first.Start, first.Wait
    start_second, wait_second = second.Start, second.Wait

    def turns(times: Iterator[None]) -> None:
        for _ in times:
            start_first()
            wait_first()
            start_second()
            wait_second()

    return turns


def stream(comm: Any, size: int, window: int) -> Turns:
    """Windows of messages from rank 0 to rank 1, each answered by an empty one."""
    from mpi4py import MPI

    message, answer = _message(size), _message(0)
    if comm.rank == 0:
        sent = [comm.Send_init(message, 1) for _ in range(window)]
        last = comm.Recv_init(answer, 1, tag=1)
    else:
        sent = [comm.Recv_init(message, 0) for _ in range(window)]
        last = comm.Send_init(answer, 0, tag=1)

    def turns(times: Iterator[None]) -> None:
        for _ in times:
            MPI.Prequest.Startall(sent)
            MPI.Prequest.Waitall(sent)
            last.Start()
            last.Wait()

    return turns


def exchange(comm: Any, size: int) -> Turns:
    """A message from each rank to every other at the same time."""
    from mpi4py import MPI

    out, others = np.ones(max(size, 1), np.uint8), [x for x in range(comm.size) if x != comm.rank]
    into = [np.ones(max(size, 1), np.uint8) for _ in others]
    both = [
        comm.Recv_init([space, size, MPI.BYTE], other)
        for space, other in zip(into, others, strict=True)
    ]
    # Each begins with its neighbour, so that they do not all send to the same rank first.
    ahead = sorted(others, key=lambda other: (other - comm.rank) % comm.size)
    both += [comm.Send_init([out, size, MPI.BYTE], other) for other in ahead]

    def turns(times: Iterator[None]) -> None:
        for _ in times:
            MPI.Prequest.Startall(both)
            MPI.Prequest.Waitall(both)

    return turns


class HostPairs(NamedTuple):
    """Communicators of two ranks that this one is in; None where it is not."""

    hosts: tuple[int, ...]  # ranks of each host [1]
    ranks: int  # of each of the two with the most [1]
    near: Any  # of one host
    far: Any  # of two hosts
    linked: Any  # of two hosts, as all others of these are at the same time


def host_pairs(comm: Any) -> HostPairs | None:
    """Pairs of ranks within a host and between two; None where hosts have one rank each."""
    from mpi4py import MPI

    ranks: dict[str, list[int]] = {}
    for rank, host in enumerate(comm.allgather(MPI.Get_processor_name())):
        ranks.setdefault(host, []).append(rank)
    first, second = sorted(ranks.values(), key=len)[-2:] if len(ranks) > 1 else ([], [])
    if min(len(first), len(second)) < FEWEST_NEAR:
        return None

    def among(pairs: Sequence[tuple[int, ...]]) -> Any:
        own = next((pair for pair in pairs if comm.rank in pair), None)
        if own is None:
            comm.Split(MPI.UNDEFINED)
            return None
        return comm.Split(pairs.index(own), key=own.index(comm.rank))

    pairs = [*zip(first, second, strict=False)]
    near, far = among([(first[0], first[1])]), among(pairs[:1])
    return HostPairs(tuple(map(len, ranks.values())), len(pairs), near, far, among(pairs))


def measure_hosts(comm: Any, record: BenchmarkRecorder, plan: BenchmarkPlan) -> None:
    """Record messages within a host, between two, and over the link that ranks of a host share."""
    pairs = host_pairs(comm)
    if pairs is None:
        return
    record.fact("ranks_of_hosts", pairs.hosts)
    cost = cost_of_python(comm)
    is_short = True  # whether longer ones are worth their time
    for size in plan.sizes:
        for bench, pair in (("near_pingpong", pairs.near), ("far_pingpong", pairs.far)):
            turns = idle if pair is None else pingpong(pair, size)
            measured = repeated(comm, turns, plan, in_a_row=True).over(2, less=cost)
            record.times(bench, size, measured.times, measured.disturbed)
        if size > 0 and is_short:
            turns = idle if pairs.linked is None else exchange(pairs.linked, size)
            measured = repeated(comm, turns, plan, in_a_row=True)
            is_short = float(np.median(measured.times)) < LONG
            record.times("link", pairs.ranks * size, measured.times, measured.disturbed)


def idle(times: Iterator[None]) -> None:
    """Do nothing in a turn, while other ranks do."""
    for _ in times:
        pass


def cost_of_python(comm: Any) -> float:
    """Time of one start and one wait for a message to nobody. [s]."""
    from mpi4py import MPI

    nobody = comm.Send_init(_message(0), MPI.PROC_NULL)
    start, wait = nobody.Start, nobody.Wait

    def turns(times: Iterator[None]) -> None:
        for _ in times:
            start()
            wait()

    return lone(turns)


def cost_of_a_call(comm: Any) -> float:
    """Time of one ``Send`` of an array to nobody: what a call from Python costs. [s]."""
    from mpi4py import MPI

    message, send = _message(8), comm.Send

    def turns(times: Iterator[None]) -> None:
        for _ in times:
            send(message, MPI.PROC_NULL)

    return lone(turns)


def window_of(size: int) -> int:
    """Messages of a stream that are under way at once.

    >>> window_of(8), window_of(2**20), window_of(2**24)
    (64, 32, 4)
    """
    return int(min(WINDOW, max(FEWEST_UNDER_WAY, MOST_UNDER_WAY // max(size, 1))))


def is_saturated(rates: Sequence[float]) -> bool:
    """Whether the last sizes brought no higher rate.

    >>> is_saturated([1.0, 2.0, 2.01, 1.9]), is_saturated([1.0, 2.0, 2.5]), is_saturated([1.0])
    (True, False, False)
    """
    if len(rates) <= AS_BEFORE:
        return False
    return max(rates[-AS_BEFORE:]) < GROWS * max(rates[:-AS_BEFORE])


def main(arguments: Sequence[str]) -> None:
    """Measure; the arguments are a file for the records, a plan, and optionally "compiled".

    The last leaves out what the compiled program measures.
    """
    comm, record, plan = started(arguments[:2])
    is_compiled = "compiled" in arguments[2:]
    if comm.size == 2:
        record.fact("call", cost_of_a_call(comm))
        cost = cost_of_python(comm)
        record.fact("start_and_wait", cost)
        streams = exchanges = True  # whether longer ones may bring a higher rate
        for size in plan.sizes:
            if not is_compiled:
                measured = repeated(comm, pingpong(comm, size), plan, in_a_row=True).over(
                    2, less=cost
                )
                record.times("pingpong", size, measured.times, measured.disturbed)
            if size > 0 and not is_compiled and streams:
                window = window_of(size)
                measured = repeated(comm, stream(comm, size, window), plan, in_a_row=True)
                streams = float(np.median(measured.times)) < LONG
                measured = measured.over(window)
                record.times("stream", size, measured.times, measured.disturbed)
            if size > 0 and exchanges:
                measured = repeated(comm, exchange(comm, size), plan, in_a_row=True)
                exchanges = float(np.median(measured.times)) < LONG
                record.times("bidirectional", size, measured.times, measured.disturbed)
    else:
        measure_hosts(comm, record, plan)
    rates: list[float] = []
    for size in (x for x in plan.sizes if x > 0):
        messages = comm.size * (comm.size - 1)
        is_too_much = bool(rates) and size * messages > comm.size * MOST_UNDER_WAY
        if is_too_much or (size > NEVER_ENOUGH and is_saturated(rates)):
            break
        measured = repeated(comm, exchange(comm, size), plan, in_a_row=False)
        record.times("saturation", size, measured.times, measured.disturbed)
        middle = float(np.median(measured.times))
        rates.append(messages * size / middle if middle > 0 else 0.0)  # 0: the clock stepped


def _message(size: int) -> list[Any]:
    """Give a buffer that starts on a page, as MPI takes it without asking."""
    from mpi4py import MPI

    space = np.ones(size + PAGE, np.uint8)
    return [space[-space.ctypes.data % PAGE :][: max(size, 1)], size, MPI.BYTE]


if __name__ == "__main__":
    main(sys.argv[1:])
