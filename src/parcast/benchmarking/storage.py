"""The storage: requests that are written to the disk, read from it, and read from the cache.

- write: a request at the end of the last one, then ``fsync``: the time until it is on the disk;
- read: the same requests again past the page cache: with O_DIRECT where the file system has it,
  else after the system was told to forget the file (POSIX_FADV_DONTNEED);
- cached read: the same requests when they were just written and read.

The largest requests come first, since they tell the rate: a disk or a limit on it may take the
first megabytes at once. Every rank has a file of its own, empty before each size, and all begin
together; the slowest counts. The first repetition is thrown away. A file has no name from the
moment it is opened, so that nothing is left of it however the program ends. Without MPI one
process measures alone.
"""

import mmap
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from parcast.benchmarking.records import FEWEST_LEFT, BenchmarkPlan, BenchmarkRecorder, started
from parcast.mpi.rank import pin

BLOCK: Final = 4096  # what O_DIRECT must be aligned to [B]
SPARE: Final = 2  # times as much space as is written must be free
WARM: Final = 1  # repetitions of each size that do not count
LONGEST: Final = 2.0  # after which a size is left with `FEWEST_LEFT` repetitions [s] [D]: 20 s a
# launch on a disk of 10 MB/s, where all repetitions take 74 s


class LoneCommunicator:
    """A communicator of one rank, where there is no MPI."""

    rank, size = 0, 1

    def Barrier(self) -> None:  # noqa: N802 - as MPI has it
        """Wait for nobody."""

    def allgather(self, mine: Any) -> list[Any]:
        """Give what each rank has."""
        return [mine]


@contextmanager
def nameless(directory: Path, rank: int) -> Iterator[tuple[int, int | None]]:
    """Descriptors of a file without a name, to read and write, and to read past the page cache.

    The second is None where the file system does not read past it.
    """
    path = directory / f".parcast-{os.getpid()}-{rank}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    direct = None
    try:
        try:
            if hasattr(os, "O_DIRECT"):
                direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:
            direct = None
        finally:
            path.unlink()
        yield descriptor, direct
    finally:
        os.close(descriptor)
        if direct is not None:
            os.close(direct)


def space_needed(plan: BenchmarkPlan, ranks: int) -> int:
    """Bytes that are written at most by all ranks together. [B]."""
    return max(size * (plan.fewest + WARM) for size in plan.sizes) * ranks


def measure(comm: Any, record: BenchmarkRecorder, plan: BenchmarkPlan) -> None:
    """Record the times of requests of every size above 0 of a plan, or why there are none."""
    directory = Path(plan.directory)
    refusal = _together(comm, lambda: _check(directory, space_needed(plan, comm.size)))
    if refusal is None:
        refusal = _together(comm, lambda: _measure(comm, record, plan, directory))
    if refusal is not None:
        record.fact("refused", f"{directory}: {refusal}. Choose another folder")


def _measure(comm: Any, record: BenchmarkRecorder, plan: BenchmarkPlan, directory: Path) -> None:
    """Write and read through a file of this rank."""
    with nameless(directory, comm.rank) as (file, direct):
        if comm.rank == 0:
            record.fact("read", "O_DIRECT" if direct is not None else "POSIX_FADV_DONTNEED")
        refusal = None
        for size in sorted(plan.sizes, reverse=True):
            os.ftruncate(file, 0)
            space = mmap.mmap(-1, -(-size // BLOCK) * BLOCK)
            space.write(os.urandom(min(size, BLOCK)) * -(-size // BLOCK))
            with space, memoryview(space)[:size] as request:
                try:
                    turns = _write(comm, record, plan, file, request)
                except OSError as failure:  # of all ranks alike; smaller requests may fit
                    refusal = failure
                    continue
                is_aligned = size % BLOCK == 0
                _read(comm, record, range(turns), file, direct if is_aligned else None, request)
        if refusal is not None:
            raise refusal


def _write(
    comm: Any, record: BenchmarkRecorder, plan: BenchmarkPlan, file: int, request: memoryview
) -> int:
    """Record the times of writing requests one after another, each to the disk; how many."""

    def write(turn: int) -> None:
        done = 0
        while done < len(request):
            done += os.pwrite(file, request[done:], turn * len(request) + done)
        os.fsync(file)

    times: list[float] = []
    while len(times) < plan.fewest + WARM:
        times.append(_timed(comm, lambda: write(len(times))))
        if len(times) >= FEWEST_LEFT + WARM and sum(times) > LONGEST:
            break  # on all ranks alike
    record.times("write", len(request), times[WARM:])
    return len(times)


def _read(  # noqa: PLR0917 - where to read from, and what a measurement is given
    comm: Any,
    record: BenchmarkRecorder,
    turns: range,
    file: int,
    direct: int | None,
    into: memoryview,
) -> None:
    """Record the times of reading the requests again, past the page cache and from it."""
    size = len(into)

    def read(source: int, turn: int) -> float:
        return _timed(comm, lambda: os.preadv(source, [into], turn * size))

    for turn in turns:
        os.preadv(file, [into], turn * size)
    cached = [read(file, turn) for turn in turns]
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    past = [read(file if direct is None else direct, turn) for turn in turns]
    record.times("read", size, past[WARM:])
    record.times("cached_read", size, cached[WARM:])


def _timed(comm: Any, act: Callable[[], object]) -> float:
    """Time of the slowest rank from a barrier on; a rank that fails fails all. [s]."""
    comm.Barrier()
    began = perf_counter()
    refusal = None
    try:
        act()
    except OSError as failure:
        refusal = failure.strerror or str(failure)
    mine = perf_counter() - began
    of_ranks = comm.allgather((mine, refusal))
    for _, other in of_ranks:
        if other is not None:
            raise OSError(None, other)
    return float(max(time for time, _ in of_ranks))


def _together(comm: Any, act: Callable[[], object]) -> str | None:
    """Do something on all ranks; give why it failed on one of them, or None."""
    refusal = None
    try:
        act()
    except OSError as failure:
        refusal = failure.strerror or str(failure)
    return next((text for text in comm.allgather(refusal) if text is not None), None)


def _check(directory: Path, needed: int) -> None:
    free = shutil.disk_usage(directory).free
    if free < SPARE * needed:
        raise OSError(
            None, f"{free / 1e6:.0f} MB are free, but {SPARE * needed / 1e6:.0f} MB are required"
        )


def main(arguments: Sequence[str]) -> None:
    """Measure; the arguments are a file for the records, a plan, and optionally "alone"."""
    if arguments[2:] == ["alone"]:
        pin()
        measure(
            LoneCommunicator(),
            BenchmarkRecorder(Path(arguments[0])),
            BenchmarkPlan.from_text(arguments[1]),
        )
        return
    measure(*started(arguments[:2]))


if __name__ == "__main__":
    main(sys.argv[1:])
