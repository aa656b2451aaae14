"""How accurate is the SPMD law with load imbalance: a stencil whose first rank has more rows.

`parcast run stencil --imbalance b` on p = 2, 4 and 8 hosts of a testbed, 10% of a core each. The
law gets the time of one step, the bytes of the halos and the nominal network; nothing is fitted.
The step is that of the balanced program, measured in the same pass on as many hosts, or on one:
hosts of a testbed share the caches of two cores, so a point takes longer on eight of them than on
one. The fastest run of each case counts, over passes in random order, as another load can only add
time (a case varies by up to 40% on a rented machine):

    .venv/bin/python benchmarks/imbalance.py [--passes 5] [-o runs.csv]

A pass takes two minutes.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

import parcast
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program

CASES = [(1, 1.0), (2, 1.0), (4, 1.0), (8, 1.0), (2, 1.5), (4, 1.5), (4, 2.5), (8, 1.5), (8, 3.0)]
N, STEPS = 4000, 6  # a step of a rank takes longer than the slices of its processor
TESTBED = "testbed --hosts 8 --link 1Gbit --"
MACHINE = Machine(name="testbed", network={"latency": "100 us", "bandwidth": "119 MB/s"})


def measured(p: int, imbalance: float) -> float:
    """Wall time of a run on the testbed [s]."""
    here = [sys.executable, "-m", "parcast"]
    run = f"run stencil --json --no-check -n {N} -np {p} --steps {STEPS} --imbalance {imbalance}"
    ended = subprocess.run(
        [*here, *TESTBED.split(), *here, *run.split()], capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return float(json.loads(ended.stdout)["rows"][0]["time_s"])


def predicted(step: float, p: int, imbalance: float) -> float:
    """Time by the law [s], of the processor time of a step over all hosts [s]."""
    compute = {"parallel": f"{step} s"}
    if imbalance > 1:
        compute["imbalance"] = str(imbalance)
    phase = {
        "law": "spmd",
        "bursts_per_io": STEPS,
        "compute": compute,
        "communication": {"messages": 2, "volume": f"{16 * N} B"},
    }
    return parcast.predict(Program(phase=[phase]), MACHINE, p=p).time.item()


def step_of_balanced(time: float, p: int) -> float:
    """Processor time of a step over all hosts [s], from the time of a balanced run on p hosts."""
    exchange = predicted(1e-9, p, 1.0)
    return p * (time - exchange) / STEPS


def main() -> None:
    """Measure, predict, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path, help="write all runs as CSV")
    asked = parser.parse_args()
    rows = []
    for number in range(asked.passes):
        for p, imbalance in random.Random(number).sample(CASES, len(CASES)):
            time = measured(p, imbalance)
            load = os.getloadavg()[0]
            rows.append({"pass": number, "p": p, "imbalance": imbalance, "s": time, "load": load})
            print(*(f"{key}={value:.4g}" for key, value in rows[-1].items()), flush=True)
    if asked.output:
        with asked.output.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    fastest = {
        case: min(x["s"] for x in rows if (x["p"], x["imbalance"]) == case) for case in CASES
    }
    print(
        "| p | imbalance | measured [s] | from p hosts [s] | error | from one host [s] | error |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|")
    errors = {}
    for p, imbalance in (case for case in CASES if case[1] > 1.0):
        time, cells = fastest[p, imbalance], []
        for told in (p, 1):
            law = predicted(step_of_balanced(fastest[told, 1.0], told), p, imbalance)
            errors.setdefault(told > 1, []).append(abs(law / time - 1.0))
            cells += [f"{law:.2f}", f"{law / time - 1.0:+.1%}"]
        print(f"| {p} | {imbalance:g} | {time:.2f} | {' | '.join(cells)} |")
    for name, some in (("p hosts", errors[True]), ("one host", errors[False])):
        print(f"step from {name}: median {np.median(some):.1%}, worst {max(some):.1%}")


if __name__ == "__main__":
    main()
