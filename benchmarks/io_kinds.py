"""How accurate is the law of SPMD programs for striped, clustered and synchronous I/O.

`parcast run writer` on a testbed of 16 hosts with disks of 10 MB/s, on p = 1 to 16 ranks with
d = 1 to 8 servers, and through `parcast.arrays`. What the law is told comes from other runs:
`parcast calibrate` on the testbed, and the time of a step on as many ranks without servers. No run
with I/O is fitted. The time to send to the servers is added to the computing. Disks of the testbed
give the first megabyte after a pause at once, so a request has 2 MB for each disk. With 16 ranks
each server shares a host with one of them.

    .venv/bin/python benchmarks/io_kinds.py DIRECTORY [--passes 2]

DIRECTORY gets the tables of runs and the machine; what is there already is not measured again. The
calibration takes 5 minutes, a pass 22.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import parcast
from parcast.descriptions.toml_files import as_machine

KINDS = ("striped", "clustered", "synchronous", "arrays")
RANKS, SERVERS = (1, 2, 4, 8, 16), (1, 2, 4, 8)
POINTS = 250_000  # of 8 bytes: a request of one disk
CYCLES = 10
BURSTS = 16  # steps between two writes where a rank has `POINTS`
SEED = 42
TESTBED = "testbed --hosts 16 --link 1Gbit --disk 10MB/s --"
CALIBRATE = "calibrate -np 2 --only network,storage --time-limit 300s -o"


class Case(NamedTuple):
    """A run: its kind of I/O, its ranks and servers."""

    kind: str
    p: int
    d: int

    @property
    def n(self) -> int:
        """Points, so that a request has `POINTS` at each disk."""
        ranks = {"striped": self.p * self.d, "clustered": self.p}
        return POINTS * ranks.get(self.kind, max(self.p, self.d))

    @property
    def bursts(self) -> int:
        """Steps between two writes, so that computing takes as long everywhere."""
        return BURSTS * POINTS * self.p // self.n


def cases() -> Iterator[Case]:
    """Give all runs: no disk of a cluster is idle, and arrays have servers among the ranks."""
    for kind, p, d in product(KINDS, RANKS, SERVERS):
        wanted = {"clustered": d <= p, "arrays": p in (4, 8) and d <= 4}
        if wanted.get(kind, True):
            yield Case(kind, p, d)


def on_testbed(command: list[str]) -> str:
    """Run parcast on the testbed, and give what it prints."""
    here = [sys.executable, "-m", "parcast"]
    ended = subprocess.run(
        [*here, *TESTBED.split(), *here, *command], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return ended.stdout


def run(arguments: str, folder: str) -> float:
    """Run the program, and give its wall time [s]."""
    command = f"run writer --json --no-check --directory {folder} {arguments}"
    return float(json.loads(on_testbed(command.split()))["rows"][0]["time_s"])


def measured(place: Path, case: Case, number: int) -> None:
    """Make one run, or one without I/O where it has no servers, and add it to its table."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        if not case.d:
            steps = 10 * BURSTS
            arguments = f"--steps {steps} --checkpoint-every {steps + 1}"
        else:
            steps = CYCLES * case.bursts
            arguments = f"--steps {steps} --checkpoint-every {case.bursts} --servers {case.d} "
            arrays = f"--checkpoint {folder}/points.zarr"
            arguments += arrays if case.kind == "arrays" else f"--io {case.kind}"
        time = run(f"-n {case.n} -np {case.p} {arguments}", folder)
    row = {"p": case.p, "d": case.d, "n": case.n, "pass": number, "steps": steps, "time": time}
    row["load"] = os.getloadavg()[0]
    table = place / f"{case.kind}.csv"
    is_new = not table.exists()
    with table.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(row))
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(case.kind, *(f"{key}={value:.4g}" for key, value in row.items()), flush=True)


def runs_of(table: Path) -> list[dict[str, float]]:
    """Read a table of runs, if it is there."""
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as stream:
        return [
            {key: float(value) for key, value in row.items()} for row in csv.DictReader(stream)
        ]


def program(kind: str, step: tuple[float, float], rate: float) -> parcast.Program:
    """Describe the program; `step` is the time of a point [ns] at p = 0, and its growth with p."""
    bursts = {"striped": "16/d", "clustered": "16"}.get(kind, "16*min(p, d)/d")
    # Ranks that write together send at once, so that a server receives all before it writes most.
    ends = "p" if kind in ("striped", "clustered") else "min(p, d)"
    compute = {
        "parallel": f"1 ns * ({step[0]:.5g} + {step[1]:.5g}*p) * n",
        "serial": f"1 s * 8*n / ({ends} * {bursts} * {rate:.6g})",  # sent to the servers
    }
    kind = "synchronous" if kind == "arrays" else kind
    io = {"kind": kind, "volume": "8 B * n", "variability": "none"}
    phase = {
        "law": "spmd",
        "cycles": CYCLES,
        "bursts_per_io": bursts,
        "compute": compute,
        "io": io,
    }
    return parcast.Program(name=f"writer, {kind}", phase=[phase])


def compared(place: Path) -> None:
    """Predict all runs, and print how wrong the law was by kind."""
    machine = as_machine(place / "machine.toml")
    alone = runs_of(place / "computing.csv")
    point = [(row["p"], 1e9 * row["time"] / row["steps"] / POINTS) for row in alone]
    slope, first = np.polyfit(*np.transpose(point), 1)
    rate = float(machine.need("network.bandwidth", {"p": np.array(2.0)}, why="writer"))
    print(f"a step of a point takes {first:.1f} + {slope:.2f} p ns; sent at {rate / 1e6:.3g} MB/s")
    for kind in KINDS:
        runs = runs_of(place / f"{kind}.csv")
        if not runs:
            continue
        table = {key: [row[key] for row in runs] for key in ("p", "d", "n", "time")}
        described = program(kind, (float(first), float(slope)), rate)
        found = [*parcast.validate_program(described, table, machine).rows()]
        for row in found:
            print(kind, *(f"{key}={row[key]:.3g}" for key in ("p", "d", "predicted_s", "error")))
        error = np.array([row["error"] for row in found])
        median, worst = 100 * np.median(abs(error)), 100 * abs(error).max()
        inside = np.mean(abs(np.log1p(error)) <= np.log(1.15))
        print(
            f"{kind}: {len(found)} points, {len(runs)} runs, median {median:.1f}%, worst "
            f"{worst:.1f}%, {100 * error.min():+.0f} to {100 * error.max():+.0f}%, within an "
            f"allowance of 15%: {100 * inside:.0f}%"
        )


def main() -> None:
    """Make the runs that are not there, and compare all."""
    parser = argparse.ArgumentParser(description="The law spmd against real runs with I/O.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--passes", type=int, default=2)
    given = parser.parse_args()
    place = given.directory.absolute()
    place.mkdir(exist_ok=True)
    if not (place / "machine.toml").exists():
        on_testbed([*CALIBRATE.split(), str(place / "machine.toml"), "--directory", str(place)])
    for number in range(given.passes):
        todo = [*cases(), *(Case("computing", p, 0) for p in RANKS)]
        random.Random(SEED + number).shuffle(todo)
        for case in todo:
            key = (case.p, case.d, number)
            there = runs_of(place / f"{case.kind}.csv")
            if key not in [(row["p"], row["d"], row["pass"]) for row in there]:
                measured(place, case, number)
    compared(place)


if __name__ == "__main__":
    main()
