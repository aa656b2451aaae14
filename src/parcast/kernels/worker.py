"""What the ranks of `parcast run` execute: a program at some sizes, repeated, after a tiny run.

Its only argument is the path of a JSON file with the task. Each run that has ended is added to the
file that the task names, as a line of JSON, so that it is not lost with those after it. The tiny
run comes first and is not counted: it loads the code and opens the
connections.
"""

import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from time import perf_counter
from typing import Final

from parcast.errors import ParameterError, ParcastError, require
from parcast.kernels.course import Course
from parcast.kernels.io_servers import IoServers, divided, serve
from parcast.kernels.kernel import Kernel, KernelRun
from parcast.kernels.ledger import Communicator
from parcast.kernels.quanta import Quanta
from parcast.kernels.registry import kernel_named
from parcast.mpi.find import available_cores
from parcast.mpi.folders import failing_for
from parcast.mpi.launched import one_world
from parcast.saved.fields import object_of, written
from parcast.testbed.testbed import testbed_here
from parcast.trials.launcher import task_of, tell
from parcast.units import format_quantity, quantity, shown

MOST_REPEATS: Final = 3  # of disturbed runs of one size in a row of repetitions [1]


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelTask:
    """What is to be run."""

    kernel: str
    sizes: tuple[int, ...]  # [1]
    repetitions: int = 1  # of each size [1]
    seed: int = 0
    check: bool | None = None  # None: where the program is checked by itself
    directory: str | None = None  # for files
    patience: float = 0.0  # to wait for processors that nobody disturbs, and to repeat runs [s]
    quantum: float | None = None  # the least of work known of as many ranks [s]
    course: Course | None = None  # of a program in time steps


def runs_of(comm: Communicator, task: KernelTask) -> Iterator[KernelRun]:
    """Run a task on all ranks of a communicator, and give each run when it has ended.

    A run whose processors were disturbed is given, and run again while patience lasts.
    """
    count = task.course.io_servers if task.course is not None else 0
    if not count:
        yield from _computed(comm, task, None)
        return
    own, io_servers = divided(comm, count)
    if io_servers is None:
        folder = task.directory or tempfile.gettempdir()
        with failing_for(folder, "an I/O server"):
            serve(comm, comm.Get_size() - count, Path(folder))
        return
    try:
        yield from _computed(own, task, io_servers)
    finally:
        io_servers.stop()


def _computed(
    comm: Communicator, task: KernelTask, io_servers: IoServers | None
) -> Iterator[KernelRun]:
    """Run a task on the ranks that compute."""
    kernel = kernel_named(task.kernel)
    must, hint = "be at least 1", "Give 1 or more."
    require("repetitions", task.repetitions, task.repetitions >= 1, must=must, hint=hint)
    hosts = comm.allgather((platform.node(), available_cores(), testbed_here() is not None))
    cores = len({(host, core) for host, own, _ in hosts for core in own})
    names = [host for host, _, _ in hosts]
    share = names.count(platform.node()) / len(names)
    for n in task.sizes:
        refusal = memory_refusal(kernel, n, len(hosts), share)
        refusals = [each for each in comm.allgather(refusal) if each]
        if refusals:
            raise refusals[0]
    course = None
    if task.course is not None:
        course = settled_together(comm, task.course, kernel, task.sizes, task.seed)
    directory = Path(task.directory) if task.directory else None
    if task.sizes:
        kernel.run(comm, kernel.tiny, task.seed, check=False, directory=directory)
    quanta = None
    if not _share_cores(hosts):
        is_throttled = any(is_virtual for _, _, is_virtual in hosts)
        quanta = Quanta(comm, patience=task.patience, least=task.quantum, may_wait=is_throttled)
    for n in task.sizes:
        done = repetition = 0
        while done < task.repetitions:
            repetition += 1
            began = perf_counter()
            run = kernel.run(
                comm,
                n,
                task.seed,
                repetition,
                check=task.check,
                directory=directory,
                cores=cores,
                quanta=quanta,
                course=course,
                io_servers=io_servers,
            )
            yield run
            took = perf_counter() - began
            is_last = repetition - done > MOST_REPEATS  # patience is for the other sizes too
            done += (
                quanta is None
                or is_last
                or (course is not None and course.checkpoint is not None)
                or not quanta.may_repeat(run.quanta, run.waiting, took)
            )


def settled_together(
    comm: Communicator, course: Course, kernel: Kernel, sizes: Sequence[int], seed: int
) -> Course:
    """Settle a course on the first rank; what that refuses, all ranks refuse."""
    answer: Course | ParcastError | None = None
    if comm.Get_rank() == 0:
        try:
            answer = kernel.settled(course, sizes, seed=seed, ranks=comm.Get_size())
        except ParcastError as refusal:
            answer = refusal
    answer = comm.bcast(answer, 0)
    if isinstance(answer, ParcastError):
        raise answer
    assert answer is not None
    return answer


def _share_cores(hosts: Sequence[tuple[str, Collection[int], bool]]) -> bool:
    """Whether some host has fewer cores for its ranks than ranks."""
    ranks = Counter(host for host, _, _ in hosts)
    return any(
        len({core for host, own, _ in hosts if host == name for core in own}) < count
        for name, count in ranks.items()
    )


def whole_size(given: object) -> int:
    """Problem size as a whole number of at least 0, of a number or a text such as "1e6"."""
    text = str(given)
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not (isfinite(number) and number >= 0 and number == int(number)):
        raise ParameterError(
            "n",
            must="be a whole number of at least 0",
            got=shown(repr(given)),
            hint="Give a size such as 1000 or 1e6.",
        )
    return int(text) if text.isdigit() else int(number)


def waiting_time(given: str, *, name: str) -> float:
    """Time to wait for quiet processors, of a text such as "10s" that is called `name`. [s]."""
    seconds = quantity(given, "time", name=name)
    must, hint = "be at least 0 s", "Give a time such as 10s."
    require(name, seconds, seconds >= 0, must=must, hint=hint)
    return seconds


def memory_refusal(kernel: Kernel, n: int, p: int, share: float = 1.0) -> ParameterError | None:
    """Say that a size needs more memory than this host, with a share of the ranks, has free."""
    free = free_memory()
    if free is None or kernel.functions.memory(n, p) * share <= free:
        return None
    low, high = 0, n
    while low < high:  # the largest that fits
        middle = (low + high + 1) // 2
        fits = kernel.functions.memory(middle, p) * share <= free
        low, high = (middle, high) if fits else (low, middle - 1)
    needed = format_quantity(float(kernel.functions.memory(n, p) * share), "size")
    there = format_quantity(free, "size")
    return ParameterError(
        "n",
        must="fit into the memory of the host",
        got=f"{n:,}: {kernel.name} needs {needed}, {there} are free",
        hint=f"Use n up to {low:,}.",
    )


def free_memory() -> float | None:
    """Memory of this host that programs may have, or None where the system does not say. [B]."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        amounts = dict(line.split(":", 1) for line in lines)
        return float(amounts["MemAvailable"].split()[0]) * 1024.0
    except (OSError, KeyError, ValueError):
        return None


def main(arguments: Sequence[str]) -> None:
    """Run the task that stands in a file."""
    comm = one_world()
    task = task_of(comm, arguments)
    given = object_of(KernelTask, {key: x for key, x in task.items() if key != "answer"})
    for run in runs_of(comm, given):
        if comm.Get_rank() == 0:
            tell(task, written(run))


if __name__ == "__main__":
    main(sys.argv[1:])
