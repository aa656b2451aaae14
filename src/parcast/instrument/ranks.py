"""Which rank of which program this process is."""

import os
import sys
from typing import Final

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
