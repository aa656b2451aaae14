"""What the system says of the processors at a moment: what was computed, and for whom.

A fixed quantum of work in plain Python tells whether the processor is as fast as at other times.
Before the first region and when the profile is written it is timed, by processor time. The run
delay of the scheduler tells how long the system had given the core to another program meanwhile.
Whoever reads several runs can see which of them others disturbed. `parcast.timings.disturbed`
says more; that needs NumPy, which a program that is timed may not have loaded.
"""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, thread_time_ns
from typing import Final, Self

STEPS: Final = 2000  # of a loop
TIMED: Final = 9  # quanta, of which the median counts
NANO: Final = 1e-9  # [s]
RUN_DELAY: Final = Path("/proc/thread-self/schedstat")  # of Linux: ran, waited, slices [ns]
STAT: Final = Path("/proc/stat")
TICKS: Final = 100.0  # of the kernel's accounts a second; the same on all of Linux [1/s]
BUSY: Final = (0, 1, 2, 5, 6, 7)  # user, nice, system, interrupts and what the host has stolen
PROGRAMS: Final = (0, 1, 7)  # of them what is never done by the kernel for a file or a message
OWN_USER: Final = 11  # place of the user time in the accounts of a process, behind its name
SHORTEST: Final = 0.25  # time that ticks can tell something of [s]


def work_quantum() -> float:
    """Processor time of a fixed piece of work, some 0.05 ms; the median of nine. [s]."""
    times = []
    for _ in range(TIMED):
        began = thread_time_ns()
        total = 0.0
        for step in range(STEPS):
            total += step * 0.5
        times.append(thread_time_ns() - began)
    return sorted(times)[TIMED // 2] * NANO


def waited_for_core() -> float | None:
    """Time that this thread was ready and its core another's; None where nobody tells. [s]."""
    try:
        return int(RUN_DELAY.read_text(encoding="ascii").split()[1]) * NANO
    except (OSError, ValueError, IndexError):
        return None


RANK_AND_SIZE: Final = (  # what launchers call them in the environment
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def rank_of_mpi() -> tuple[int, int] | None:
    """Rank and size, where the program has loaded MPI and it runs."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized():
        return None
    return mpi.COMM_WORLD.Get_rank(), mpi.COMM_WORLD.Get_size()


def rank_of_environment() -> tuple[int, int]:
    """Rank and size as a launcher left them; (0, 1) where there was none."""
    for rank, size in RANK_AND_SIZE:
        known = os.environ.get(rank, ""), os.environ.get(size, "")
        if all(text.isdigit() for text in known):
            return int(known[0]), int(known[1])
    return 0, 1


def name_of_program() -> str:
    """Name of the file that was started, without its ending."""
    stem = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    return stem if stem not in ("", "-c", "-m") else "a program"


def core_seconds(kinds: Sequence[int] = BUSY) -> float | None:
    """Time that all cores of this machine computed, for whomever; None where nobody tells. [s]."""
    try:
        first = STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
        return sum(int(first[i]) for i in kinds) / TICKS
    except (OSError, ValueError, IndexError):
        return None


def user_seconds(process: int) -> float | None:
    """Time that a process of this machine computed, without the kernel for it. [s]."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[OWN_USER]) / TICKS
    except (OSError, ValueError, IndexError):
        return None


@dataclass(frozen=True, slots=True)
class Users:
    """How much all programs of this machine, and some processes, have computed."""

    processes: Sequence[int]
    every: float | None  # [s]
    own: float | None  # [s]
    at: float  # [s]

    @classmethod
    def now(cls, processes: Sequence[int]) -> Self:
        """Read the accounts."""
        own = [user_seconds(process) for process in processes]
        known = [x for x in own if x is not None]
        total = sum(known) if len(known) == len(own) else None
        return cls(processes, core_seconds(PROGRAMS), total, perf_counter())

    def others(self) -> float | None:
        """Cores that other programs have used since then; None where nobody tells. [1].

        What the kernel does for files and messages counts for nobody.
        """
        later = type(self).now(self.processes)
        elapsed = later.at - self.at
        if (
            elapsed < SHORTEST
            or self.every is None
            or later.every is None
            or self.own is None
            or later.own is None
        ):
            return None
        return max(later.every - self.every - (later.own - self.own), 0.0) / elapsed
