"""Makespan of jobs that circulate and never join: a formula against a simulation.

Networks are drawn at random (K = 2..384 jobs on d = 1..8 disks, n = 1..10 bursts, delays of cv
0..1, each queue asked for up to 2.2 times what it can serve). Runs of N = 2, 5, 10, 20 and 50
cycles are simulated by `parcast.queueing.simulation.simulate` until the mean is known to half a
per cent. Beside them: N cycles of the long run, and with the start and end that
`parcast.queueing.makespan` adds. Run on one core:

    taskset -c 0 .venv/bin/python benchmarks/makespan.py [--configurations 100] [--seed 5]
"""

import argparse
from typing import NamedTuple

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.laws.spmd.law import SpmdPhase
from parcast.queueing.simulation.cycle import Cycle
from parcast.queueing.simulation.simulate import simulate_runs

PRECISION = 0.01  # half width of the interval of a simulated mean
RUNS = [2, 5, 10, 20, 50]
LOADS = [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.3, 2.0]
AT = {"p": [1.0]}


class Network(NamedTuple):
    """Jobs on disks; a burst is a delay of mean 1, and a visit to the shared queue."""

    jobs: int
    disks: int
    bursts: int
    geometric: bool
    steady: float  # part of the delay that does not vary
    delay_cv: float
    first_cv: float
    second_cv: float
    first: float  # mean service of a visit to the shared queue
    second: float  # at the disk


def drawn(random: np.random.Generator, services: list[float]) -> Network:
    """One network."""
    disks, bursts = int(random.choice([1, 1, 1, 2, 3, 4, 8])), round(10 ** random.random())
    each = round(2 * (24 if disks > 1 else 64) ** random.random())
    loads = random.choice(LOADS, 2) * random.uniform(0.9, 1.1, 2)
    return Network(
        jobs=each * disks,
        disks=disks,
        bursts=bursts,
        geometric=bool(random.random() < 0.15),
        steady=float(random.choice([0, 0, 0.5])),
        delay_cv=float(random.choice([0, 0.1, 0.3, 0.5, 1])),
        first_cv=float(random.choice(services)),
        second_cv=float(random.choice(services)),
        first=float(loads[0] / (each * disks)),
        second=float(loads[1] * bursts / each),
    )


def law(cv: float) -> str | float:
    """What the simulation calls a gamma law of that cv."""
    return {0.0: "none", 1.0: "exponential"}.get(cv, cv)


def simulated(of: Network, cycles: int, seed: int) -> float:
    """Mean makespan."""
    cycle = Cycle(
        jobs=of.jobs,
        io_kind="clustered" if of.disks > 1 else "striped",
        disks=of.disks,
        bursts=of.bursts,
        burst_count="geometric" if of.geometric else "fixed",
        cpu=1.0 - of.steady,
        startup=of.steady,
        service=of.first,
        io=of.second,
        cpu_law=law(of.delay_cv),
        service_law=law(of.first_cv),
        io_law=law(of.second_cv),
    )
    runs = simulate_runs(cycle, cycles=cycles, replications=32, precision=PRECISION, seed=seed)
    return runs.makespan.value


def computed(of: Network, cycles: int) -> tuple[float, float]:
    """Cycles of the long run, and the whole run, of p = K processors."""
    phase = SpmdPhase(
        law="spmd",
        cycles=cycles,
        bursts_per_io=of.bursts,
        bursts="geometric" if of.geometric else "fixed",
        compute={"serial": f"{1 - of.steady} s", "variability": law(of.delay_cv)},
        communication={
            "startup": f"{of.steady} s",
            "transfer": f"{of.first} s",
            "contention": 1,
            "variability": law(of.first_cv),
        },
        io={
            "kind": "clustered" if of.disks > 1 else "striped",
            "transfer": f"{of.second * of.jobs} s",
            "variability": law(of.second_cv),
        },
    )
    at = {"p": np.array([float(of.jobs)]), "d": np.array([float(of.disks)])}
    long_run = phase.cycle(Machine(), at).time * cycles
    return float(long_run[0]), float(phase.times(Machine(), at).time[0])


def main() -> None:
    """Simulate, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--configurations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--services", type=float, nargs="+", default=[1.0], help="cv to draw from")
    parser.add_argument("--rows", action="store_true", help="print every run as CSV")
    asked = parser.parse_args()
    random = np.random.default_rng(asked.seed)
    networks = [drawn(random, asked.services) for _ in range(asked.configurations)]
    if asked.rows:
        print(",".join((*Network._fields, "cycles", "time")))
    table = []
    for cycles in RUNS:
        errors = []
        for i, network in enumerate(networks):
            time = simulated(network, cycles, i)
            errors.append(np.array(computed(network, cycles)) / time - 1.0)
            if asked.rows:
                print(",".join(f"{float(x):.6g}" for x in (*network, cycles, time)), flush=True)
        long_run, run = np.abs(np.array(errors)).T
        figures = (np.mean(long_run), np.mean(run), np.quantile(run, 0.95), run.max())
        within = float(np.mean(run <= 0.015))
        table.append(
            f"| {cycles} | " + " | ".join(f"{x:.1%}" for x in figures) + f" | {within:.0%} |"
        )
    columns = "long run, mean error | this one, mean | one in twenty above | worst | within 1.5%"
    print(f"| cycles | {columns} |")
    print("|---|---|---|---|---|---|")
    print("\n".join(table))


if __name__ == "__main__":
    main()
