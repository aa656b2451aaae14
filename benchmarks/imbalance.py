"""How accurate is the SPMD law with load imbalance: a stencil whose first rank has more rows.

`parcast run stencil --imbalance b` on p = 2, 4 and 8 hosts of a testbed, 10 % of a core each. The
law is told the time of one step on one host, which is measured in the same pass, the bytes of the
halos and the nominal network; nothing is fitted. Medians over the passes, in random order:

    .venv/bin/python benchmarks/imbalance.py [--passes 3] [-o runs.csv]

A pass takes three minutes.
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

CASES = [(1, 1.0), (4, 1.0), (2, 1.5), (4, 1.5), (4, 2.5), (8, 1.5), (8, 3.0)]
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


def predicted(alone: float, p: int, imbalance: float) -> float:
    """Time by the law, of what one host took alone [s]."""
    compute = {"parallel": f"{alone / STEPS} s"}
    if imbalance > 1:
        compute["imbalance"] = str(imbalance)
    phase = {
        "law": "spmd",
        "bursts_per_io": STEPS,
        "compute": compute,
        "communication": {"messages": 2, "volume": f"{16 * N} B"},
    }
    return parcast.predict(Program(phase=[phase]), MACHINE, p=p).time.item()


def main() -> None:
    """Measure, predict, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passes", type=int, default=3)
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
    median = {
        case: float(np.median([x["s"] for x in rows if (x["p"], x["imbalance"]) == case]))
        for case in CASES
    }
    print("| p | imbalance | measured [s] | predicted [s] | error |\n|---:|---:|---:|---:|---:|")
    errors = {}
    for p, imbalance in CASES[1:]:
        law, time = predicted(median[1, 1.0], p, imbalance), median[p, imbalance]
        errors[p, imbalance] = law / time - 1.0
        print(f"| {p} | {imbalance:g} | {time:.2f} | {law:.2f} | {law / time - 1.0:+.1%} |")
    for name, chosen in (("imbalanced", True), ("balanced", False)):
        some = [abs(e) for (_, b), e in errors.items() if (b > 1.0) is chosen]
        print(f"{name}: median {np.median(some):.1%}, worst {max(some):.1%}")


if __name__ == "__main__":
    main()
