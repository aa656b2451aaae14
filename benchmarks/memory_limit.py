"""Whether the fewest nodes that fit, as forecast, run out of memory.

    .venv/bin/python benchmarks/memory_limit.py FOLDER

FOLDER has the tables of ``memory.py``; of stencil, sort, fft and lammps at two large sizes each,
the runs on 1 to 8 ranks are known. The memory of a node of two ranks is drawn between what is
forecast to be needed on three and on eight nodes. What is then recommended is run with the ranks
of every node in a control group of that memory, and so is one node fewer, but for counts that an
FFT cannot have. It is counted how many runs the kernel ended: none of the recommended ones should
be. Control groups are needed, as root for example; all ranks are on this machine.
"""

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from memory import Program, programs

import parcast
from parcast.forecasting.memory.nodes import NodesNeeded
from parcast.trials.control_group import Place, place_of, places
from parcast.units import format_quantity

SIZES = {"stencil": (4e3, 6e3), "sort": (4e6, 8e6), "fft": (192, 320), "lammps": (40, 60)}
KNOWN = [1, 2, 4, 8]  # counts
RANKS = 2  # of a node, that are asked for
NODES = (3, 8)  # between whose needs the memory of a node is drawn
MOST = 24  # ranks that are looked at
TIME_LIMIT = 300.0  # of a run [s]
RANK = "PMI_RANK OMPI_COMM_WORLD_RANK"  # variables of MPICH and of Open MPI
LIMITS = {  # files of each version, in the order in which they are written
    1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    2: ("memory.max",),
}
KILLS = {1: "memory.oom_control", 2: "memory.events"}
INSIDE = """
import os, sys
rank = next(int(os.environ[x]) for x in sys.argv[3].split() if x in os.environ)
with open(f"{sys.argv[1]}-{rank // int(sys.argv[2])}/cgroup.procs", "w") as file:
    file.write("0")
os.execvp(sys.argv[4], sys.argv[4:])
"""


@contextlib.contextmanager
def nodes_of(place: Place, count: int, memory: float) -> Iterator[str]:
    """Make a control group for each node, and give what their names begin with."""
    start = f"{place.folder}/parcast-node-{os.getpid()}"
    try:
        for i in range(count):
            os.mkdir(f"{start}-{i}")
            for name in LIMITS[place.version]:
                Path(f"{start}-{i}", name).write_text(f"{int(memory)}")
            with contextlib.suppress(OSError):
                Path(f"{start}-{i}", "memory.swap.max").write_text("0")
        yield start
    finally:
        for i in range(count):
            os.rmdir(f"{start}-{i}")


def runs_out(
    place: Place, program: Program, n: float, layout: tuple[int, int], memory: float
) -> bool:
    """Run a program on nodes with so much memory each; whether the kernel ended ranks of it."""
    nodes, ranks = layout
    at = program.command.index("{p}") + 1
    with nodes_of(place, nodes, memory) as start:
        inside = [sys.executable, "-S", "-c", INSIDE, start, str(ranks), RANK]
        words = [*program.command[:at], *inside, *program.command[at:]]
        filled = [x.replace("{p}", str(nodes * ranks)).replace("{n}", f"{n:.0f}") for x in words]
        done = subprocess.run(filled, capture_output=True, timeout=TIME_LIMIT, check=False)
        killed = 0
        for i in range(nodes):
            lines = Path(f"{start}-{i}", KILLS[place.version]).read_text().splitlines()
            killed += sum(int(x.split()[1]) for x in lines if x.startswith("oom_kill "))
    if done.returncode and not killed:
        raise SystemExit(f"{filled} failed: {done.stderr.decode()[-500:]}")
    return bool(killed)


def drawn(runs: parcast.Measurements, random: np.random.Generator) -> float:
    """Memory of a node, between what is needed on a few and on many [B]."""
    counts = [RANKS * x for x in NODES]
    told = parcast.forecast_memory(runs, counts, node_memory="1 GB", ranks_per_node=RANKS)
    low, high = sorted(np.ravel(told.node_need).tolist())
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def recommended(runs: parcast.Measurements, memory: float) -> NodesNeeded:
    """Fewest nodes that fit."""
    told = parcast.forecast_memory(runs, [MOST], node_memory=memory, ranks_per_node=RANKS)
    return told.nodes[0]


def has_count(name: str, n: float, nodes: int, ranks: int) -> bool:
    """Whether a program can be run on so many ranks."""
    return name != "fft" or n % (nodes * ranks) == 0


def can_be(name: str, n: float, runs: parcast.Measurements, memory: float) -> bool:
    """Whether something fits, and can be run."""
    found = recommended(runs, memory)
    return found.nodes is not None and has_count(name, n, found.nodes, found.ranks)


def main() -> None:
    """Count what runs out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=4, help="memories of nodes, of each size")
    parser.add_argument("--runs", type=int, default=4, help="of each recommended count")
    asked = parser.parse_args()
    own = place_of(*(Path(f"/proc/self/{x}").read_text() for x in ("mountinfo", "cgroup")))
    place = next((x for x in (places(own) if own else ()) if os.access(x.folder, os.W_OK)), None)
    if place is None:
        raise SystemExit("No control groups may be made here. Run it as root.")
    random = np.random.default_rng(1)
    total = np.zeros(4, dtype=int)
    print("program        n  node memory  nodes x ranks  ran out  one node fewer")
    for name, program in programs(asked.folder).items():
        path = asked.folder / f"{name}.csv"
        if name not in SIZES or not path.exists():
            continue
        for n in SIZES[name]:
            every = parcast.read_measurements(path)
            runs = every.select(n=n, p=KNOWN).without("n")
            drawing = (drawn(runs, random) for _ in range(8 * asked.draws))
            for memory in islice((x for x in drawing if can_be(name, n, runs, x)), asked.draws):
                found = recommended(runs, memory)
                layout = found.nodes, found.ranks
                out = [runs_out(place, program, n, layout, memory) for _ in range(asked.runs)]
                less = found.nodes - 1, found.ranks
                is_run = less[0] and has_count(name, n, *less)
                fewer = [runs_out(place, program, n, less, memory)] if is_run else []
                total += [sum(out), len(out), sum(fewer), len(fewer)]
                nodes = f"{found.nodes} x {found.ranks}"
                print(
                    f"{name:10}{n:6g}{format_quantity(memory, 'size'):>13}{nodes:>15}"
                    f"{sum(out):7}/{len(out)}{sum(fewer):14}/{len(fewer)}",
                    flush=True,
                )
    print(f"{'all':44}{total[0]:7}/{total[1]}{total[2]:14}/{total[3]}")


if __name__ == "__main__":
    main()
