"""What a testbed gives against what was asked of it, as ratios: link, bus, processor, disk, start.

Needs what `parcast testbed` needs, and MPICH beside the interpreter. A link is
expected to give 0.96 of its rate, the rest being headers of TCP.

    .venv/bin/python benchmarks/testbed.py [--repetitions 3]
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from parcast.errors import ParcastError
from parcast.testbed.testbed import Testbed

LIMIT = 300.0  # of one run [s]
DISK = 10e6  # [B/s]
CAP = 0.1  # of a core [1]

RANK = """
import json, os, sys, time
import numpy as np
from mpi4py import MPI

task, size, place = sys.argv[1], int(float(sys.argv[2])), sys.argv[3]
world = MPI.COMM_WORLD
rank, p = world.rank, world.size
sent, got = np.zeros((p, size), np.uint8), np.empty((p, size), np.uint8)
rates = []
for _ in range(3):
    world.Barrier()
    start, used = time.perf_counter(), time.process_time()
    if task == "pair":
        if rank == 0:
            world.Send(sent[0], 1), world.Recv(got[0], 1)
        elif rank == 1:
            world.Recv(got[0], 0), world.Send(sent[0], 0)
        moved = 2 * size
    elif task == "all":
        world.Alltoall(sent, got)
        moved = p * (p - 1) * size
    elif task == "disk":
        with open(f"{place}/{rank}", "wb", buffering=0) as file:
            file.write(sent[0])
            os.fsync(file.fileno())
        moved = size
    elif task == "cpu":
        while time.perf_counter() < start + 3:
            pass
        moved = time.process_time() - used
    taken = time.perf_counter() - start
    if task != "cpu":
        taken = world.allreduce(taken, MPI.MAX)
    rates.append(world.allreduce(moved / taken, MPI.SUM) / p)
if rank == 0:
    print(json.dumps(sorted(rates[1:])))
"""


def rate(testbed: Testbed, task: str, size: float, place: Path) -> float:
    """Rate that a launch gives: of all ranks together, or of each on its disk and core."""
    program = place / "rank.py"
    program.write_text(RANK, encoding="utf-8")
    mpiexec = Path(sys.executable).with_name("mpiexec.hydra")
    ranks = [str(mpiexec), "-n", str(testbed.hosts), sys.executable, "-m", "mpi4py"]
    command = [*ranks, str(program), task, str(size), str(place)]
    ended = testbed.run(command, time_limit=LIMIT)
    if ended.status != 0:
        raise SystemExit(ended.stderr)
    return statistics.median(json.loads(ended.stdout))


def started(testbed: Testbed) -> float:
    """Wall time of a testbed that does nothing. [s]."""
    start = time.monotonic()
    testbed.run(["true"], time_limit=LIMIT)
    return time.monotonic() - start


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3, help="launches of each")
    repetitions = parser.parse_args().repetitions
    links = {"10 Mbit/s": 1.25e6, "100 Mbit/s": 12.5e6, "200 Mbit/s": 25e6}
    rows = []
    for name, link in links.items():
        for bus in (False, True):
            kind = "bus" if bus else "switch"
            two, four = (Testbed(hosts=hosts, link=link, bus=bus, cpu=None) for hosts in (2, 4))
            rows.append((f"{kind} {name}, 2 hosts, ping-pong", two, "pair", link * 0.6, link))
            most = link if bus else 4 * link
            rows.append((f"{kind} {name}, 4 hosts, all to all", four, "all", link / 6, most))
    for hosts in (2, 8):
        capped = Testbed(hosts=hosts, cpu=CAP)
        rows.append((f"processor, {hosts} hosts at {CAP:.0%}", capped, "cpu", 1, CAP))
    limited = Testbed(hosts=2, cpu=None, disk=DISK)
    rows.append(("disk, 2 hosts at 10 MB/s", limited, "disk", 2 * DISK, DISK))
    print(f"{'':44}{'asked':>10}{'got/asked':>11}{'lowest':>8}{'highest':>9}")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        for name, testbed, task, size, asked in rows:
            ratios = [rate(testbed, task, size, Path(place)) / asked for _ in range(repetitions)]
            median = statistics.median(ratios)
            print(
                f"{name:44}{asked:10.4g}{median:11.3f}{min(ratios):8.3f}{max(ratios):9.3f}",
                flush=True,
            )
    for hosts in (4, 16):
        times = [started(Testbed(hosts=hosts)) for _ in range(repetitions)]
        print(f"start and end of {hosts} hosts: {statistics.median(times):.2f} s")


if __name__ == "__main__":
    try:
        main()
    except ParcastError as error:
        sys.exit(f"parcast: {error}")
