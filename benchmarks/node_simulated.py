"""How accurate is a prediction where ranks share the links of simulated nodes.

A C program computes and exchanges, with all others or with its two neighbours, under SMPI of
SimGrid (Debian: `apt install libsimgrid-dev`), whose network is another model than that of
parcast: 2 to 16 nodes of 1 to 16 cores, up to 256 ranks. A ping-pong between two nodes and within
one gives the machine, as on a real one; nothing is fitted. Messages have 80 kB and more, as the
ping-pong does not show that SimGrid shares a link at lower rates between smaller ones:

    .venv/bin/python benchmarks/node_simulated.py [--cases 40] [--seed 1]
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import parcast

STEPS, RATE = 5, 1e9  # operations a second of a core
LARGE = 2**26  # message of a ping-pong [B]
WITHIN = 8e9  # of each pair within a node [B/s]
SIZES = {  # nodes and their cores; simulating p^2 messages takes minutes beyond 64 ranks
    "ring": [*product((2, 4, 8, 16), (1, 2, 4, 8, 16))],
    "all": [(x, y) for x, y in product((2, 4, 8, 16), (1, 2, 4, 8, 16)) if x * y <= 64],
}
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <smpi/smpi.h>
static void pingpong(int rank, int other, char *buffer, int bytes, const char *name) {
  double begun = MPI_Wtime();
  if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(buffer, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == other) MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == other) MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s %d %.9g\n", name, bytes, (MPI_Wtime() - begun) / 2);
}
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char *buffer = SMPI_SHARED_MALLOC(atoi(argv[2]));
  if (!strcmp(argv[1], "pingpong")) {
    for (int i = 0; i < 2; i++) {
      int bytes = atoi(argv[3 - i]);
      pingpong(rank, 1, buffer, bytes, "within");
      pingpong(rank, 2, buffer, bytes, "between");
    }
  } else {
    int bytes = atoi(argv[2]), steps = atoi(argv[4]), is_ring = !strcmp(argv[1], "ring");
    int others = is_ring ? 2 : size - 1;
    double flops = atof(argv[3]);
    MPI_Request *requests = malloc(2 * others * sizeof *requests);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
      smpi_execute_flops(flops);
      for (int i = 0; i < others; i++) {
        int by = is_ring ? (i ? size - 1 : 1) : i + 1;
        int to = (rank + by) % size, from = (rank + size - by) % size;
        MPI_Irecv(buffer, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(buffer, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[others + i]);
      }
      MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
    }
    double own[] = {begun, MPI_Wtime()}, last[2]; // of one clock for all
    MPI_Reduce(own, last, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.9g\n", last[1] - last[0]);
  }
  MPI_Finalize();
}
"""
PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="nodes" prefix="node" suffix="" radical="0-{last}" speed="1Gf" core="{cores}"
 bw="{link}Bps" lat="20us" loopback_bw="{within}Bps" loopback_lat="1us"/>
</zone></platform>
"""


def simulated(folder: Path, nodes: int, cores: int, link: float, *words: str) -> str:
    """Output of the program on simulated nodes, which ranks fill one after another."""
    text = PLATFORM.format(last=nodes - 1, cores=cores, link=link, within=WITHIN)
    platform, hosts = folder / "platform.xml", folder / "hosts"
    platform.write_text(text)
    hosts.write_text("".join(f"node{i}:{cores}\n" for i in range(nodes)))
    command = ["smpirun", "-np", str(nodes * cores), "-platform", str(platform)]
    command += [
        "-hostfile",
        str(hosts),
        "--log=root.thres:error",
        "--cfg=smpi/simulate-computation:no",
    ]
    ended = subprocess.run(
        [*command, str(folder / "program"), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    if ended.returncode:
        sys.exit(ended.stderr)
    return ended.stdout


def measured_machine(folder: Path, cores: int, link: float, size: int) -> parcast.Machine:
    """What a ping-pong of a message and of a large one says of nodes with so many cores."""
    sizes = size, LARGE
    said = simulated(folder, 2, 2, link, "pingpong", *map(str, sizes[::-1]))
    took = {}
    for line in said.splitlines():
        name, _, time = line.split()
        took.setdefault(name, []).append(float(time))
    rates = {name: (sizes[1] - sizes[0]) / (y - x) for name, (x, y) in took.items()}
    latency = took["between"][0] - sizes[0] / rates["between"]
    network = {"latency": f"{latency} s", "bandwidth": f"{rates['between']} B/s"}
    node = {
        "processors": cores,
        "network_bandwidth": network["bandwidth"],
        "message_bandwidth": f"{rates['within']} B/s",
    }
    return parcast.Machine(
        compute={"rate": f"{RATE} op/s"}, network=network | {"contention": 0}, node=node
    )


def main() -> None:
    """Print a row for each case, then the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    draw, errors = random.Random(asked.seed), {"all": [], "ring": []}
    print(
        "| partners | nodes | cores | link [MB/s] | volume [MB] | computing [s] "
        "| simulated [s] | predicted [s] | error |\n|---|" + "---:|" * 9
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "program.c").write_text(PROGRAM)
        made = ["smpicc", "-O2", str(folder / "program.c"), "-o", str(folder / "program")]
        subprocess.run(made, check=True)
        for number in range(asked.cases):
            partners = ("all", "ring")[number % 2]
            nodes, cores = draw.choice(SIZES[partners])
            link = draw.choice([125e6, 1.25e9, 3e9])
            size, p = round(10 ** draw.uniform(4.9, 6.3)), nodes * cores
            volume = size * (2 if partners == "ring" else p - 1)
            alone = volume * cores / link * 10 ** draw.uniform(-0.7, 0.7)  # of computing [s]
            machine = measured_machine(folder, cores, link, size)
            words = (partners, f"{size}", f"{alone * RATE}", f"{STEPS}")
            time = float(simulated(folder, nodes, cores, link, *words))
            sends = {"volume": f"{volume} B", "messages": 1}  # their latencies overlap
            if partners == "ring":
                sends["off_node"] = 1 / cores
            compute = {"parallel": f"{alone * p * RATE} op"}
            phase = {"law": "spmd", "cycles": STEPS, "compute": compute, "communication": sends}
            program = parcast.Program(phase=[phase])
            law = parcast.predict(program, machine, p=p, interval=False).time.item()
            errors[partners].append(abs(law / time - 1))
            print(
                f"| {partners} | {nodes} | {cores} | {link / 1e6:g} "
                f"| {volume / 1e6:.2g} | {alone:.3g} | {time:.4g} | {law:.4g} "
                f"| {law / time - 1:+.1%} |",
                flush=True,
            )
    for partners, own in errors.items():
        inside = sum(x <= 0.15 for x in own)
        print(
            f"{partners}: median {statistics.median(own):.1%}, worst {max(own):.1%}, "
            f"{inside} of {len(own)} within 15%"
        )


if __name__ == "__main__":
    main()
