"""Whether this process is a rank that mpiexec or srun has started."""

import os
from typing import TYPE_CHECKING, Final

from parcast.errors import RunFailed

if TYPE_CHECKING:
    from mpi4py import MPI

# What the process managers of MPICH, Intel MPI, Open MPI and Slurm set for every rank.
VARIABLES: Final = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
STEP: Final = "SLURM_STEP_NUM_TASKS"  # of a step of Slurm: how often srun has started it


def is_rank() -> bool:
    """Tell whether a process manager of MPI, or srun, has started this process as a rank."""
    return any(name in os.environ for name in VARIABLES) or _tasks() > 1


def is_first() -> bool:
    """Tell whether this process is the first rank, or no rank at all."""
    numbers = (os.environ.get(name) for name in (*VARIABLES[:3], "SLURM_PROCID"))
    number = next((x for x in numbers if x is not None), "0")
    return not is_rank() or number == "0"


def world() -> "MPI.Intracomm | None":
    """Ranks that this process was started with, None if it was started alone or without MPI."""
    if not is_rank():
        return None
    try:
        from mpi4py import MPI
    except ImportError:
        return None
    return MPI.COMM_WORLD


def require_one_world(size: int) -> None:
    """Refuse ranks that srun has started and that do not know of each other.

    Each would take itself for the only one, and do all the work.
    """
    if _tasks() > 1 and size == 1:
        raise RunFailed(
            f"srun has started {_tasks()} tasks, but MPI connects none of them. Start them with "
            "srun --mpi=pmix or srun --mpi=pmi2 (srun --mpi=list shows what there is), with the "
            "MPI of the cluster."
        )


def _tasks() -> int:
    """Tasks of the step of Slurm that this process belongs to, 0 if it belongs to none."""
    text = os.environ.get(STEP, "")
    return int(text) if text.isdigit() and "SLURM_STEP_ID" in os.environ else 0
