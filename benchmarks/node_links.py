"""Is the exchange of two ranks a host predicted, who share a link and talk faster to each other.

On the cluster in a box each rank sends its bytes to all others in equal parts. Its time is
predicted from what `parcast calibrate` measured on two hosts:

    .venv/bin/python benchmarks/node_links.py [--link 100Mbit] [--volume 8e6]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import parcast

PROGRAM = """
import sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
part = int(float(sys.argv[1])) // (comm.size - 1)
others = [(comm.rank + i) % comm.size for i in range(1, comm.size)]
own, got = np.ones(part, np.uint8), np.empty((comm.size, part), np.uint8)
times = []
for _ in range(6):
    comm.Barrier()
    begun = time.perf_counter()
    requests = [comm.Irecv(got[i], i) for i in others] + [comm.Isend(own, i) for i in others]
    MPI.Request.Waitall(requests)
    times.append(comm.allreduce(time.perf_counter() - begun, op=MPI.MAX))
if comm.rank == 0:
    print(*times[1:])
"""


def on_testbed(hosts: int, link: str, command: list[str]) -> str:
    """Output of a command on so many hosts."""
    testbed = ["testbed", "--hosts", str(hosts), "--link", link, "--cpu", "none", "--"]
    words = [sys.executable, "-m", "parcast", *testbed, *command]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def calibrated(link: str) -> parcast.Machine:
    """Two hosts with two ranks each."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/machine.toml"
        words = ["calibrate", "-np", "4", "--only", "network", "--quick", "--time-limit", "8min"]
        on_testbed(2, link, [sys.executable, "-m", "parcast", *words, "-o", file])
        return parcast.read_machine(file)


def main() -> None:
    """Print a line for each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--link", default="100Mbit")
    parser.add_argument("--volume", type=float, default=8e6, help="bytes that a rank sends")
    asked = parser.parse_args()
    machine = calibrated(asked.link)
    sends = {"volume": f"{asked.volume:g} B"}
    program = parcast.Program(phase=[{"law": "spmd", "communication": sends}])
    print(f"{machine.node}; load average {os.getloadavg()[0]:.1f}")
    print("ranks  hosts  measured  predicted  error")
    for p in (4, 6, 8):
        command = ["mpiexec", "-n", str(p), sys.executable, "-c", PROGRAM, f"{asked.volume:g}"]
        times = [float(x) for x in on_testbed(p // 2, asked.link, command).split()]
        measured = statistics.median(times)
        predicted = float(parcast.predict(program, machine, p=p, interval=False).time[0])
        error = predicted / measured - 1
        print(f"{p:5}  {p // 2:5}  {measured:6.3f} s  {predicted:7.3f} s  {error:+.0%}")


if __name__ == "__main__":
    main()
