"""Does `node.memory_bandwidth` predict a program that is limited by memory? Measured here.

A stencil over vectors larger than the caches runs on one core and on all, timed by its slowest
rank. Its time is predicted from its bytes, as STREAM counts them, and from what
`parcast calibrate --only processor` measured on the same machine:

    .venv/bin/python benchmarks/node_memory.py [--rounds 5]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import parcast

BYTES = 32  # that a step moves for each point: two passes, each reads and writes one word
POINTS, STEPS = 48_000_000, 10
PROGRAM = f"""
import sys, time
import numpy as np
from mpi4py import MPI
from parcast.mpi.rank import pin
pin()
comm = MPI.COMM_WORLD
a, b = (np.ones({POINTS} // comm.size + 2) for _ in range(2))
def step():
    np.add(a[:-2], a[2:], out=b[1:-1])
    np.multiply(b, 0.5, out=b)
step()
comm.Barrier()
begun = time.perf_counter()
for _ in range({STEPS}):
    step()
    a, b = b, a
took = comm.allreduce(time.perf_counter() - begun, op=MPI.MAX)
if comm.rank == 0:
    print(took)
"""


def run(p: int, rounds: int) -> float:
    """Median time of the loop on p cores [s]."""
    times = []
    command = [str(Path(sys.executable).parent / "mpiexec"), "-n", str(p)]
    environment = os.environ | {"PARCAST_PLACEMENT": "own", "OMP_NUM_THREADS": "1"}
    for _ in range(rounds):
        said = subprocess.run(
            [*command, sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        times.append(float(said.stdout))
    return statistics.median(times)


def main() -> None:
    """Print a line for each number of cores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/machine.toml"
        words = [sys.executable, "-m", "parcast", "calibrate", "--only", "processor", "-o", file]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        machine = parcast.read_machine(file)
    traffic = f"{BYTES * POINTS * STEPS} B"
    program = parcast.Program(phase=[{"law": "spmd", "compute": {"traffic": traffic}}])
    print(f"load average {os.getloadavg()[0]:.1f}")
    print("cores  measured  predicted  error")
    for p in (1, len(os.sched_getaffinity(0))):
        measured = run(p, rounds)
        predicted = float(parcast.predict(program, machine, p=p, interval=False).time[0])
        error = predicted / measured - 1
        print(f"{p:5}  {measured:6.3f} s  {predicted:7.3f} s  {error:+.0%}")


if __name__ == "__main__":
    main()
