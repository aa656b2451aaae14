"""What a program is, and what one run of it gives.

A program is some functions and what is to be said of them. `prepare` makes the input, untimed;
`work` is what is timed, from a barrier to the end of the last rank; `is_correct` compares the
result with the serial reference, untimed. All ranks call each of them. The input follows from
`n` and `seed` alone, whatever the ranks.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parcast.errors import require
from parcast.kernels.course import Course, settled
from parcast.kernels.io_servers import IoServers
from parcast.kernels.ledger import Communicator, Ledger
from parcast.kernels.quanta import Quanta, Watched
from parcast.mpi.folders import failing_for
from parcast.saved.fields import written
from parcast.timings.disturbed import slowdown


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelRun:
    """One run of a program, as all its ranks saw it."""

    kernel: str
    n: int  # problem size [1]
    p: int  # ranks [1]
    repetition: int  # from 1 [1]
    time: float  # wall, from a barrier to the end of the last rank [s]
    compute: tuple[float, ...]  # processor seconds of the computing parts, of each rank [s]
    disk: float  # wall seconds of reading and writing files, of the rank that spent most [s]
    steps: tuple[int, ...]  # operations of each rank, in the unit of the program's law [1]
    messages: tuple[int, ...]  # sent by each rank [1]
    sent: tuple[int, ...]  # bytes sent by each rank [B]
    disk_bytes: int  # read from and written to files, by all ranks [B]
    is_correct: bool | None  # as the serial reference has it; None: not checked
    cores: int  # that the ranks may use, together [1]
    quanta: tuple[float, ...] = ()  # of work: before, during, after; none if not timed [s]
    waited: float = 0.0  # for its core, by the rank that waited most; 0 with no quanta [s]
    checkpoint: float = 0.0  # of `time`, writing checkpoints, by the rank that spent most [s]
    restart: float = 0.0  # reading a checkpoint before it began, likewise [s]
    servers: int = 0  # ranks beside these p that only write [1]

    @property
    def rate(self) -> float | None:
        """Steps in a processor second, all ranks together; None where nothing was computed."""
        seconds = sum(self.compute)
        return sum(self.steps) / seconds if seconds > 0 and any(self.steps) else None

    @property
    def waiting(self) -> float:
        """Share of the time that a rank waited for its core. [1]."""
        return min(self.waited / self.time, 1.0) if self.time > 0 else 0.0

    def to_document(self) -> dict[str, Any]:
        """Everything as it stands in a JSON document."""
        document: dict[str, Any] = written(self)
        return document


class Functions(NamedTuple):
    """What a program does."""

    prepare: Callable[[Ledger, int, int], Any]  # of n and seed: the state of this rank
    work: Callable[[Ledger, Any], Any]  # of the state: the result of this rank; counts
    is_correct: Callable[[Ledger, Any, Any], bool]  # of state and result; the same on all ranks
    serial: Callable[[int, int], Any]  # of n and seed: the result of the serial reference
    memory: Callable[[int, int], int]  # of n and p: bytes that all ranks need together [B]
    finish: Callable[[Any], None] = lambda _: None  # of the state: removes its files


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """A program: what it does, and what is to be said of it."""

    name: str  # in the registry
    title: str  # what it does, in a line
    size: str  # what n counts: "keys"
    step: str  # what a step is: "comparisons"
    phase: Mapping[str, Any]  # how its law describes it, without capacities
    functions: Functions
    checked_up_to: int  # the largest n that is checked unless asked otherwise [1]
    example: int  # an n that takes about a second on one processor [1]
    uses_files: bool = False  # whether it reads and writes files in a directory
    tiny: int = 64  # an n for the untimed run that comes before all others [1]
    block: int = 1  # of n, that no two ranks share: what is dealt out [1]
    time_steps: int = 0  # that it computes unless asked otherwise; 0: it has none [1]
    takes: frozenset[str] = frozenset()  # what may be asked of its course, by Python's names

    def settled(self, course: Course, sizes: Sequence[int], *, seed: int, ranks: int) -> Course:
        """Give a course with its number of steps, or say what does not fit."""
        return settled(
            course,
            program=self.name,
            time_steps=self.time_steps,
            takes=self.takes,
            sizes=sizes,
            seed=seed,
            ranks=ranks,
        )

    def run(
        self,
        comm: Communicator,
        n: int,
        seed: int = 0,
        repetition: int = 1,
        *,
        check: bool | None = None,
        directory: Path | None = None,
        cores: int = 1,
        quanta: Quanta | None = None,
        course: Course | None = None,
        io_servers: IoServers | None = None,
    ) -> KernelRun:
        """Run it once, on all ranks of a communicator, which all get the same.

        It is checked up to `checked_up_to` unless `check` says otherwise; files stand in
        `directory`. `repetition`, from 1, and `cores`, that the ranks may use, are noted in the
        run; `quanta` times work around and in it; `course` is for programs in time steps.
        RunFailed says that the input cannot be computed with, such as a singular matrix, or that
        a file cannot be written.
        """
        require("n", n, n >= 0, must="be at least 0", hint=f"It counts {self.size}.")
        require("seed", seed, seed >= 0, must="be at least 0", hint="Use any whole number.")
        ledger = Ledger(comm, directory, course, io_servers)
        folder = directory or tempfile.gettempdir()
        with failing_for(folder, self.name):
            state = self.functions.prepare(ledger, n, seed)
        try:
            with failing_for(folder, self.name):
                with quanta.around() if quanta else nullcontext(Watched()) as watched:
                    comm.Barrier()
                    begun = time.perf_counter()
                    result = self.functions.work(ledger, state)
                    took = time.perf_counter() - begun
                wanted = n <= self.checked_up_to if check is None else check
                verdict = self.functions.is_correct(ledger, state, result) if wanted else None
        finally:
            self.functions.finish(state)
        return KernelRun(
            kernel=self.name,
            n=n,
            p=ledger.size,
            repetition=repetition,
            is_correct=verdict,
            cores=cores,
            servers=0 if io_servers is None else io_servers.count,
            **_of_all_ranks(ledger, took, watched),
        )


def _of_all_ranks(ledger: Ledger, took: float, watched: Watched) -> dict[str, Any]:
    """Give the figures of a run that ranks have measured; all ranks call it."""
    of_ranks = ledger.comm.allgather(
        (
            took,
            ledger.computing.seconds,
            ledger.accessing.seconds,
            ledger.steps,
            ledger.messages,
            ledger.sent,
            ledger.disk_bytes,
            watched.waited,
            tuple(watched.quanta),
            ledger.checkpointing.seconds,
            ledger.restarting.seconds,
        )
    )
    times, compute, disk, steps, messages, sent, disk_bytes, waits, all_quanta, *kept = zip(
        *of_ranks, strict=True
    )
    return {
        "time": max(times),
        "compute": compute,
        "disk": max(disk),
        "steps": steps,
        "messages": messages,
        "sent": sent,
        "disk_bytes": sum(disk_bytes),
        "quanta": max(all_quanta, key=lambda own: slowdown(own, 1.0)),
        "waited": max(waits),
        "checkpoint": max(kept[0]),
        "restart": max(kept[1]),
    }


def random_numbers(seed: int, *numbers: int) -> np.random.Generator:
    """Random numbers that belong to a row, or a slice and a block, whatever the ranks."""
    key = np.array([seed % 2**64, seed // 2**64 % 2**64], dtype=np.uint64)
    counter = np.array([0] * (4 - len(numbers)) + [*numbers], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=key))
