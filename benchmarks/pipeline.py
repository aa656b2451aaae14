"""The pipeline beside what a user would take instead, on the same tasks, two workers, one run.

    python benchmarks/pipeline.py [--tasks 50us,5ms,100ms] [--rounds 3] [--dask PYTHON]

Every system runs the same tasks of a given processor time, each of which returns an array of 1,000
numbers, and adds the arrays up. Throughput is that of a pool that is warm: the start of processes
is not in it. What is printed is the share of the ideal, N T_comp / (2 wall time), the median of
the rounds, which go through the systems in turn, as other programs use this machine too.

- parcast: `run_pipeline(ranks=2)`, its own time
- mpi4py.futures: `MPIPoolExecutor.map` on two workers, added in the master
- multiprocessing: `Pool(2).imap_unordered`, added in the master
- Dask: `bag.fold` with processes

Those that take a chunk size are given one that makes 64 chunks, or one task each if there are
fewer.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from functools import partial, reduce
from operator import add
from pathlib import Path

import numpy as np

from parcast.units import quantity

WORKERS = 2
WORK = 8.0  # of all tasks together [s]
CHUNKS = 64


def spin(index, seconds):
    """Use a processor for a time, and give an array."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return np.full(1000, 0.1 * index)


def count_of(seconds):
    """Tasks of a round."""
    return max(int(WORK / seconds), 16)


def chunk_of(count):
    """Tasks that go together."""
    return max(count // CHUNKS, 1)


def parcast_time(seconds, count):
    """Wall time of parcast."""
    import parcast

    return parcast.run_pipeline(
        range(count), partial(spin, seconds=seconds), ranks=WORKERS
    ).seconds


def multiprocessing_time(seconds, count):
    """Wall time of a pool of processes."""
    from multiprocessing import Pool

    with Pool(WORKERS) as pool:
        pool.map(abs, range(4 * WORKERS))
        begun = time.perf_counter()
        task = partial(spin, seconds=seconds)
        reduce(add, pool.imap_unordered(task, range(count), chunksize=chunk_of(count)))
        return time.perf_counter() - begun


def futures_time(seconds, count):
    """Wall time of mpi4py.futures, in this process started by mpiexec."""
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor(WORKERS) as pool:
        pool.bootup()
        list(pool.map(abs, range(4 * WORKERS)))
        begun = time.perf_counter()
        task = partial(spin, seconds=seconds)
        reduce(add, pool.map(task, range(count), chunksize=chunk_of(count), unordered=True))
        return time.perf_counter() - begun


def dask_time(seconds, count):
    """Wall time of a Dask bag."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    import dask.bag

    with ProcessPoolExecutor(WORKERS, mp_context=get_context("fork")) as pool:
        list(pool.map(abs, range(4 * WORKERS)))
        begun = time.perf_counter()
        bag = dask.bag.from_sequence(range(count), npartitions=min(count, CHUNKS))
        bag.map(partial(spin, seconds=seconds)).fold(add).compute(scheduler="processes", pool=pool)
        return time.perf_counter() - begun


SYSTEMS = {
    "parcast": parcast_time,
    "mpi4py.futures": futures_time,
    "multiprocessing": multiprocessing_time,
    "Dask": dask_time,
}


def timed(system, seconds, python):
    """Run one system in a process of its own and give its wall time, None if it is not there."""
    count = count_of(seconds)
    command = [python if system == "Dask" else sys.executable]
    if system == "mpi4py.futures":
        mpiexec = str(Path(sys.executable).parent / "mpiexec")
        command = [mpiexec, "-n", str(WORKERS + 1), *command, "-m", "mpi4py.futures"]
    command += [__file__, "--one", system, str(seconds), str(count)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    except (OSError, subprocess.CalledProcessError) as failure:
        print(f"{system}: {getattr(failure, 'stderr', failure)}"[-400:], file=sys.stderr)
        return None
    return json.loads(said.stdout.splitlines()[-1])


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", default="50us,5ms,100ms")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dask", default=sys.executable, help="a Python that has Dask")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        system, seconds, count = given.one
        print(json.dumps(SYSTEMS[system](float(seconds), int(count))))
        return
    print(f"{'task':>8}" + "".join(f"{system:>17}" for system in SYSTEMS))
    for text in given.tasks.split(","):
        seconds = quantity(text, "time", name="--tasks")
        ideal = count_of(seconds) * seconds / WORKERS
        shares = {system: [] for system in SYSTEMS}
        for _ in range(given.rounds):
            for system in SYSTEMS:
                wall = timed(system, seconds, given.dask)
                if wall is not None:
                    shares[system].append(ideal / wall)
        cells = (f"{statistics.median(x):17.1%}" if x else f"{'-':>17}" for x in shares.values())
        print(f"{text:>8}" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
