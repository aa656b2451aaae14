"""What ranks of a test execute: every program at some tiny sizes, and two matrices that fail."""

import json
import sys
from pathlib import Path

import numpy as np

from parcast.errors import RunFailed
from parcast.kernels import gauss
from parcast.kernels.ledger import Ledger
from parcast.kernels.registry import kernel_named
from parcast.kernels.worker import KernelTask, runs_of
from parcast.saved.fields import written

SIZES = {
    "sort": (0, 1, 2, 1001),
    "square_sort": (0, 1, 2, 501),
    "sample_sort": (0, 1, 2, 20_001),
    "fractal": (0, 1, 2, 1001),
    "monte_carlo": (0, 1, 2, 3001),
    "matmul": (0, 1, 2, 61),
    "gauss": (0, 1, 2, 61),
}


def solution_of(comm, n):
    """Unknowns by the triangle, as all ranks have them."""
    ledger = Ledger(comm)
    state = gauss.prepare(ledger, n, 1)
    return gauss.solution(ledger, state, gauss.work(ledger, state)).tolist()


def refusal_of(comm, matrix):
    """What this rank says of a matrix that cannot be eliminated."""
    ledger = Ledger(comm)
    n = len(matrix)
    rows = np.column_stack([matrix, np.ones(n)])[ledger.rank :: ledger.size].copy()
    try:
        gauss.work(ledger, (n, 0, rows))
    except RunFailed as refusal:
        return str(refusal)
    return ""


def main(arguments):
    """Run everything, and write what came out to a file."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    runs = []
    for name, sizes in SIZES.items():
        task = KernelTask(kernel=name, sizes=sizes, seed=7, check=True, directory=arguments[1])
        runs += [written(run) for run in runs_of(comm, task)]
    # An exchange that is undone on one rank alone is found on all of them.
    fractal = kernel_named("fractal").functions
    ledger = Ledger(comm)
    state = fractal.prepare(ledger, 100, 0)
    image = fractal.work(ledger, state)
    image += 1
    singular = np.ones((6, 6)) + np.diag([1.0, 2.0, 3.0, 0.0, 0.0, 5.0])
    spoilt = np.eye(6)
    spoilt[2, 4] = np.nan
    told = {
        "runs": runs,
        "wrong": fractal.is_correct(ledger, state, image),
        "solution": solution_of(comm, 30),
        "singular": comm.allgather(refusal_of(comm, singular)),
        "spoilt": comm.allgather(refusal_of(comm, spoilt)),
    }
    if comm.Get_rank() == 0:
        Path(arguments[0]).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
