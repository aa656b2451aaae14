"""Tables of what all launches of a job measured, benchmark by benchmark."""

from collections.abc import Iterator
from typing import Final

from parcast.calibration_result import Table
from parcast.verbs.calibrate_jobs import Job, placement_of
from parcast.verbs.calibrate_statistics import sample_of

OF_LAUNCH: Final = frozenset({"timer", "timer_step", "triad"})  # single numbers, not tables
_CALL: Final = "a barrier before it, the slowest rank, less the way through Python; {}"
METHODS: Final = {
    "polynomial": "POLY1: a polynomial of this order over 10 000 elements, by NumPy, thread time",
    "pingpong": "COMMS1: half a round trip; {}",
    "stream": "one message of a window of up to 64, one way, each window answered; {}",
    "bidirectional": "COMMS2: both send at the same time, until both have all",
    "saturation": "COMMS3: each rank sends so much to every other, until all have all",
    "send": _CALL.format("each rank of the lower half sends to one of the upper half"),
    "receive": _CALL.format("each rank of the upper half receives from one of the lower half"),
    "broadcast": _CALL.format("the size is that of the message"),
    "reduce": _CALL.format("the size is that of the vector of each rank"),
    "allreduce": _CALL.format("the size is that of the vector of each rank"),
    "gather": _CALL.format("the size is that of the part of each rank"),
    "scatter": _CALL.format("the size is that of the part of each rank"),
    "allgather": _CALL.format("the size is that of the part of each rank"),
    "alltoall": _CALL.format("the size is that of the part from each rank for each other"),
    "barrier": _CALL.format("a barrier besides it"),
    "write": "a request written behind the last one and fsync, each rank to a file of its own",
    "read": "the same requests past the page cache, with {}",
    "cached_read": "the same requests from the page cache",
}
COMPILED: Final = "C program"
BY_PYTHON: Final = "persistent requests from Python, of a ping-pong less a start and a wait"


def tables_of(job: Job, *, target: float) -> Iterator[Table]:
    """Give one table for each benchmark of a job.

    Parameters
    ----------
    job : Job
        Launched at least once.
    target : float
        Half-width of an interval over its value at which it is settled. [1]

    Yields
    ------
    Table
        In the order in which they were measured.
    """
    benches = dict.fromkeys(bench for launch in job.launches for bench, _, _ in launch.times)
    for bench in benches:
        if bench in OF_LAUNCH:
            continue
        sizes = sorted({size for x in job.launches for size in x.sizes(bench, job.ranks)})
        samples = []
        for size in sizes:
            cell = (bench, job.ranks, size)
            of = [x for x in job.launches if cell in x.times]
            times, disturbed = [x.times[cell] for x in of], [x.disturbed.get(cell, []) for x in of]
            samples.append(sample_of(size, times, disturbed, target=target))
        yield Table(
            bench=bench,
            ranks=job.ranks,
            placement=placement_of(job.ranks),
            method=method_of(job, bench),
            samples=tuple(samples),
        )


def method_of(job: Job, bench: str) -> str:
    """Say what one time of a table is the time of."""
    if bench in {"pingpong", "stream"}:
        return METHODS[bench].format(COMPILED if job.program is not None else BY_PYTHON)
    told = (launch.facts.get("read") for launch in job.launches)
    return METHODS[bench].format(next((x for x in told if x), "what the system offers"))
