"""Which rank of which program this process is, and whether it has its processor to itself.

A fixed quantum of work in plain Python tells whether the processor is as fast as at other times.
Before the first region and when the profile is written it is timed, by processor time. The run
delay of the scheduler tells how long the system had given the core to another program meanwhile.
Whoever reads several runs can see which of them others disturbed. `parcast.timings.disturbed`
says more; that needs NumPy, which a program that is timed may not have loaded.
"""

import os
import sys
from pathlib import Path
from time import thread_time_ns
from typing import Final

STEPS: Final = 2000  # of a loop
TIMED: Final = 9  # quanta, of which the median counts
NANO: Final = 1e-9  # [s]
RUN_DELAY: Final = Path("/proc/thread-self/schedstat")  # of Linux: ran, waited, slices [ns]


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
