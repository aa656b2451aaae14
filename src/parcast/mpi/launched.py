"""Whether this process is a rank that mpiexec or srun has started, and may use the others.

While a rank runs functions of a user, the other ranks do something else: what such a function
calls must not wait for them, and runs by itself in this process.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from parcast.advice import Command
from parcast.errors import RunFailed
from parcast.mpi.leftovers import remove_shared_memory

if TYPE_CHECKING:
    from mpi4py import MPI

# What the process managers of MPICH, Intel MPI, Open MPI and Slurm set for every rank.
VARIABLES: Final = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
HERE: Final = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
SIZES: Final = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS")  # how many they are
STEP: Final = "SLURM_STEP_NUM_TASKS"  # of a step of Slurm: how often srun has started it


def is_rank() -> bool:
    """Tell whether a process manager of MPI, or srun, has started this process as a rank."""
    return any(name in os.environ for name in VARIABLES) or _tasks() > 1


def is_first() -> bool:
    """Tell whether this process is the first rank, or no rank at all."""
    numbers = (os.environ.get(name) for name in (*VARIABLES[:3], "SLURM_PROCID"))
    number = next((x for x in numbers if x is not None), "0")
    return not is_rank() or number == "0"


class _Runs:
    """Runs that this process is in."""

    def __init__(self) -> None:
        self.of_thread = threading.local()
        self.on_ranks = 0


_RUNS: Final = _Runs()


@contextmanager
def inside_run(*, on_ranks: bool) -> Iterator[None]:
    """Note that functions of a user run in the block.

    A run on ranks concerns all threads of the process, as functions may start some; others only
    concern their own thread, as a program may have several runs in threads of its own.
    """
    runs = _RUNS
    before = getattr(runs.of_thread, "depth", 0)
    runs.of_thread.depth = before + 1
    runs.on_ranks += on_ranks
    try:
        yield
    finally:
        runs.of_thread.depth = before
        runs.on_ranks -= on_ranks


def is_inside_run() -> bool:
    """Tell whether a function of a running pipeline has called this."""
    return bool(_RUNS.on_ranks or getattr(_RUNS.of_thread, "depth", 0))


def ranks_for(comm: "MPI.Intracomm | None") -> "MPI.Intracomm | None":
    """Ranks for a run: those that are given, or of `world`; None inside another run."""
    return None if is_inside_run() else comm or world()


def world() -> "MPI.Intracomm | None":
    """Ranks that this process was started with, None if it was started alone or is in a run."""
    if is_inside_run() or not is_rank():
        return None
    try:
        from mpi4py import MPI  # noqa: F401 - whether it is there
    except ImportError as missing:
        from parcast.mpi.find import INSTALL  # which loads more than telling a rank needs

        raise RunFailed(f"Running on ranks needs mpi4py. {INSTALL}") from missing
    return one_world()


def one_world() -> "MPI.Intracomm":
    """All ranks that were started with this process, by whatever MPI started them."""
    from mpi4py import MPI

    vendor, version = MPI.get_vendor()
    library = f"{vendor} {'.'.join(map(str, version))}"
    require_one_world(MPI.COMM_WORLD.Get_size(), library=library)
    if _number_here(MPI.COMM_WORLD.Get_rank()) == 0:
        remove_shared_memory()  # of ranks that were killed
    return MPI.COMM_WORLD


def _number_here(rank: int) -> int:
    """Number of this rank among those on its host; where that is not known, among all."""
    text = next((os.environ[name] for name in HERE if name in os.environ), "")
    return int(text) if text.isdecimal() else rank


def require_one_world(size: int, *, library: str = "") -> None:
    """Refuse ranks that srun or mpiexec has started and that MPI, a `library`, does not connect.

    Each would take itself for the only one, and do all the work.
    """
    if _tasks() > 1 and size == 1:

        def with_(kind: str) -> Command:
            return Command(("srun", f"--mpi={kind}"))

        raise RunFailed(
            f"srun has started {_tasks()} tasks, but MPI connects none of them. Start them with "
            f"{with_('pmix')} or {with_('pmi2')} ({with_('list')} shows what there is), with the "
            "MPI of the cluster."
        )
    started = max((int(x) for x in map(os.environ.get, SIZES) if x and x.isdigit()), default=1)
    if started > 1 and size == 1:
        own = f" ({library})" if library else ""
        raise RunFailed(
            f"mpiexec has started {started} processes, but MPI connects none of them: mpiexec "
            f"belongs to another MPI than mpi4py{own}. Start them with the mpiexec of that MPI, "
            "or install mpi4py for the other one."
        )


def _tasks() -> int:
    """Tasks of the step of Slurm that this process belongs to, 0 if it belongs to none."""
    text = os.environ.get(STEP, "")
    return int(text) if text.isdigit() and "SLURM_STEP_ID" in os.environ else 0
