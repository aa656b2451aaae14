"""A program for the tests of the launcher: its ranks do what its first argument says."""

import os
import sys
import time
from pathlib import Path


def main(arguments):
    what, folder = arguments
    if what == "raise early" and os.environ["PMI_RANK"] == "1":
        raise ValueError("the second rank has not begun with MPI")
    if what == "exit early" and os.environ["PMI_RANK"] == "1":
        sys.exit("ValueError: the second rank has not begun with MPI")
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.rank
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    Path(folder, f"{rank}").write_text(f"{os.getpid()} {cores}", encoding="utf-8")
    MPI.COMM_WORLD.Barrier()
    if what == "sum":
        sys.stdout.write(f"{MPI.COMM_WORLD.allreduce(rank)}\n")
    elif what == "hang":
        time.sleep(600)
    elif what == "raise" and rank == 1:
        raise ValueError("the second rank\nhad enough")
    elif what == "refuse" and rank == 0:
        from parcast.errors import ParameterError

        raise ParameterError("n must be at least 1, got 0. Count from 1.")
    elif what == "die" and rank == 1:
        os.kill(os.getpid(), 9)
    MPI.COMM_WORLD.Barrier()


if __name__ == "__main__":
    main(sys.argv[1:])
