"""How accurate is the SPMD law beside other jobs: ranks that join after each burst, and hogs.

On each host of a testbed, 10% of a core each, a rank computes bursts of fixed work and joins the
others after each. Beside it a hog, a busy loop, is there for exponential times of mean B and away
as long on average, so that both get half of the processor. The law is told the time of a burst
alone, which is measured on one host without a hog; nothing is fitted. Medians over the passes:

    .venv/bin/python benchmarks/background.py [--passes 3]

A pass takes four minutes.
"""

import argparse
import os
import random
import subprocess
import sys
import time

import numpy as np

import parcast
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program

SHARE, DURATION = 0.5, 0.5  # of the time with a hog [1]; mean time that it is there in a row [s]
WORK, BURSTS = 1_500_000, 30  # additions of a burst, bursts
TESTBED = "testbed --hosts 8 --"


def hog() -> None:
    """Use the processor now and then."""
    draw = random.Random(os.getpid())
    while True:
        time.sleep(draw.expovariate(SHARE / (1.0 - SHARE) / DURATION))
        end = time.monotonic() + draw.expovariate(1.0 / DURATION)
        while time.monotonic() < end:
            pass


def rank(*, is_shared: bool) -> None:
    """Compute and join; the first prints how long a burst takes on average [s]."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    other = None
    if is_shared:
        other = subprocess.Popen([sys.executable, __file__, "--as", "hog"])
    try:
        comm.Barrier()
        time.sleep(4 * DURATION)  # the hog has started
        comm.Barrier()
        begun = time.monotonic()
        for _ in range(BURSTS):
            total = 0
            for i in range(WORK):
                total += i
            comm.Barrier()
        if comm.Get_rank() == 0:
            print((time.monotonic() - begun) / BURSTS)
    finally:
        if other is not None:
            other.kill()
            other.wait()


def measured(p: int, *, is_shared: bool) -> float:
    """Time of a burst on the testbed [s]."""
    role = "shared" if is_shared else "alone"
    ranks = ["mpiexec", "-n", str(p), sys.executable, __file__, "--as", role]
    command = [sys.executable, "-m", "parcast", *TESTBED.split(), *ranks]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return float(ended.stdout)


def predicted(alone: float, p: int) -> float:
    """Time of a burst by the law [s]."""
    machine = Machine(
        compute={"background": SHARE, "background_time": f"{DURATION} s"},
    )
    program = Program(phase=[{"law": "spmd", "compute": {"serial": f"{alone} s"}}])
    return parcast.predict(program, machine, p=p).time.item()


def main() -> None:
    """Measure, predict, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--as", dest="role", choices=["hog", "alone", "shared"])
    asked = parser.parse_args()
    if asked.role == "hog":
        hog()
    if asked.role:
        rank(is_shared=asked.role == "shared")
        return
    found: dict[int, list[float]] = {0: [], 1: [], 2: [], 4: [], 8: []}  # 0: alone
    for number in range(asked.passes):
        for p in random.Random(number).sample(list(found), len(found)):
            found[p].append(measured(max(p, 1), is_shared=p > 0))
            print(f"pass={number} p={p} s={found[p][-1]:.3f} load={os.getloadavg()[0]:.1f}")
    alone = float(np.median(found.pop(0)))
    print(f"alone {alone:.3f} s\n| p | measured [s] | predicted [s] | error |")
    print("|---:|---:|---:|---:|")
    for p, times in found.items():
        law, real = predicted(alone, p), float(np.median(times))
        print(f"| {p} | {real:.3f} | {law:.3f} | {law / real - 1.0:+.1%} |")


if __name__ == "__main__":
    main()
