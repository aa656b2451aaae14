"""What ranks work on, for the process that has started them: a small file of each in a folder.

The file is mapped into memory: a rank notes each item at no cost, and the note is there after the
rank has ended, however it ended. A second process waits for each rank and notes how it ended, as
mpiexec ends all others at once and does not say which rank was the first.
"""

import mmap
import os
import signal
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from parcast.mpi.tied import end_with

ENDING: Final = ".place"
# Numbers of a file: the rank, the item whose task it runs, or the function that it runs and items
# of that; and of its end the time [ns] and the status, negative if a signal ended it, which is
# noted when its process is gone.
RANK, ITEM, FUNCTION, FIRST, STOP, ENDED, STATUS = range(7)
NUMBERS: Final = 7
NONE: Final = -1
FINISHED: Final = 0  # time of the end of a rank that has done its work
FUNCTIONS: Final = ("setup()", "the merge of", "finish() of", "server() of")


class WorkPlace:
    """What a rank works on."""

    def __init__(self, numbers: list[int] | memoryview | None = None) -> None:
        self.numbers = [NONE] * NUMBERS if numbers is None else numbers

    def __str__(self) -> str:
        """Name it; nothing where the rank runs no function of the user."""
        _, item, function, first, stop, *_ = self.numbers
        if function != NONE:
            items = "" if first == NONE else f" {span(first, stop)}"
            return f"{FUNCTIONS[function]}{items}"
        return "" if item == NONE else span(item, item + 1)

    @contextmanager
    def at(self, function: str, first: int = NONE, stop: int = NONE) -> Iterator[None]:
        """Note that a function of the user runs in the block; one that fails ends the run."""
        numbers = self.numbers
        numbers[FIRST], numbers[STOP] = first, stop
        numbers[FUNCTION] = FUNCTIONS.index(function)
        yield
        numbers[FUNCTION] = NONE


class EndedRank(NamedTuple):
    """The end of a rank that had not done its work."""

    rank: int
    place: WorkPlace
    status: int  # negative: the signal that ended it


def span(first: int, stop: int) -> str:
    """Name consecutive items.

    >>> span(3, 4), span(3, 9)
    ('item 3', 'items 3 to 8')
    """
    return f"items {first} to {stop - 1}" if stop - first > 1 else f"item {first}"


def watched(desk: Path) -> WorkPlace:
    """Go on in a child of this process, which waits for it, notes how it ended, and ends so too.

    This is to be called before MPI is initialised.
    """
    path = desk / f"{os.getpid()}{ENDING}"
    try:
        path.write_bytes(array("q", [NONE] * NUMBERS))  # at once: it may be read at any time
        with path.open("r+b") as stream:
            numbers = memoryview(mmap.mmap(stream.fileno(), 8 * NUMBERS)).cast("q")
    except OSError:  # a full disk, or another host: the rank works without
        return WorkPlace()
    if not sys.platform.startswith("linux"):  # where a child would survive this process
        return WorkPlace(numbers)
    parent = os.getpid()
    child = os.fork()
    if not child:
        end_with(parent, int(signal.SIGKILL))
        return WorkPlace(numbers)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    has_finished = numbers[ENDED] == FINISHED
    numbers[STATUS] = code
    if not has_finished:
        numbers[ENDED] = time.monotonic_ns()
    # mpiexec of MPICH waits for the other ranks, which wait for this one, if a process ends by
    # itself before MPI is initialised; it ends them if a signal has ended it.
    if code < 0 or numbers[RANK] == NONE:
        _end_by(-code if code < 0 else int(signal.SIGTERM))
    # What ends well without having finished, such as os._exit(0), must end all others as well.
    os._exit(code or int(not has_finished))


def _end_by(number: int) -> None:
    """End this process by a signal, without a core file of its own."""
    import resource  # which not every system has

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # SIGKILL is always as it was
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def finish(place: WorkPlace) -> None:
    """Note that a rank has done its work."""
    place.numbers[ENDED] = FINISHED


def places(desk: Path) -> dict[int, WorkPlace]:
    """Give what each rank of a run works on, or did when it ended."""
    read = (memoryview(path.read_bytes()).cast("q").tolist() for path in desk.glob(f"*{ENDING}"))
    known = {numbers[RANK]: WorkPlace(numbers) for numbers in read if len(numbers) == NUMBERS}
    return dict(sorted(known.items()))


def are_gone(desk: Path, ranks: int) -> bool:
    """Tell whether the processes of all ranks are known to have ended."""
    known = places(desk)
    return len(known) == ranks and all(x.numbers[STATUS] != NONE for x in known.values())


def first_ended(desk: Path) -> EndedRank | None:
    """Give the rank that was the first to end before its work was done, if any was noted."""
    ended = (
        (place.numbers[ENDED], EndedRank(rank, place, place.numbers[STATUS]))
        for rank, place in places(desk).items()
        if place.numbers[ENDED] > FINISHED and rank != NONE
    )
    return min(ended, default=(0, None), key=lambda each: each[0])[1]
