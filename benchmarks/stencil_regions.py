"""How well do regions timed at small sizes forecast a larger one? The stencil, on this machine.

Runs the stencil at small sizes on one and two ranks, characterises it, predicts sizes of 4 and 10
times the smallest, runs them, and prints what was predicted and measured: the time of a run, and
that of the sweep by processor time, which others on the machine disturb less.

    .venv/bin/python benchmarks/stencil_regions.py [MACHINE.toml]

MACHINE is what `parcast calibrate` wrote; without it a quick calibration is made first.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from parcast.characterisation.characterise import characterise
from parcast.descriptions.toml_files import read_machine
from parcast.mpi.launcher import run_ranks
from parcast.prediction.predict import predict
from parcast.prediction.result import Prediction
from parcast.timings.profile import RunProfile
from parcast.timings.read_profiles import read_profiles

SMALL, LARGE = (400, 600, 800), (1600, 2400, 4000)
RANKS = (1, 2)
REPETITIONS = 3
LIMIT = 600.0  # of a run [s]


def main(arguments: list[str]) -> None:
    """Measure, predict, compare."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Path(folder)
        machine = read_machine(arguments[0] if arguments else calibrated(desk))
        print(f"load average {os.getloadavg()[0]:.1f} at {time.strftime('%Y-%m-%d %H:%M')}")
        program = characterise(runs(SMALL, desk / "small.jsonl"))
        print(program.toml)
        for text in program.warnings:
            print(f"warning: {text}")
        told = predict(program.program, machine, p=list(RANKS), n=list(LARGE))
        report(runs(LARGE, desk / "large.jsonl"), told)


def calibrated(desk: Path) -> Path:
    """Describe this machine in a hurry."""
    place = desk / "here.toml"
    command = "from parcast.cli import main; main()"
    asked = ["calibrate", "-np", "2", "--quick", "-o", str(place)]
    subprocess.run([sys.executable, "-c", command, *asked], check=True, stdout=subprocess.DEVNULL)
    return place


def runs(sizes: tuple[int, ...], place: Path) -> tuple[RunProfile, ...]:
    """Run the stencil at all sizes on all ranks, in an order that spreads disturbances."""
    for _ in range(REPETITIONS):
        for n in sizes:
            for p in RANKS:
                run_ranks(
                    "parcast.kernels.stencil",
                    [str(n)],
                    ranks=p,
                    time_limit=LIMIT,
                    environment={"PARCAST_PROFILE": str(place)},
                )
    return read_profiles([place]).runs


def report(measured: tuple[RunProfile, ...], told: Prediction) -> None:
    """Print predicted and measured times beside each other."""
    print("   n  p   predicted    measured   error    sweep, processor time   error")
    errors, of_sweep = [], []
    for j, n in enumerate(LARGE):
        for i, p in enumerate(RANKS):
            same = [x for x in measured if x.p == p and x.parameters["n"] == n]
            wall = median(x.time for x in same)
            sweep = median(max(t.processor for t in x.of_region("sweep") if t) for x in same)
            predicted = float(told.time[i, j])
            computed = float(told.breakdown.compute[i, j])
            errors.append(predicted / wall - 1)
            of_sweep.append(computed / sweep - 1)
            print(
                f"{n:4} {p:2} {predicted:9.3f} s {wall:9.3f} s {errors[-1]:+7.1%}"
                f" {computed:9.3f} {sweep:9.3f} s {of_sweep[-1]:+7.1%}"
            )
    for name, found in (("time", errors), ("sweep", of_sweep)):
        sizes = [abs(x) for x in found]
        print(f"{name}: median error {median(sizes):.1%}, worst {max(sizes):.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
