"""Cost of runs that are chosen one by one, beside that of all runs of all counts.

Programs whose times follow a law, with noise, are measured on up to 32 processors until the 90%
interval at 64 ends within a share of the time. Printed is the part of the processor-seconds of the
full product (five runs of each count) that was needed, how often the interval was reached, and how
often it held the true time:

    .venv/bin/python benchmarks/adaptive.py [--seeds 10]

Tables of runs that were made are replayed: of each count, runs are taken in an order that the seed
chooses, and the interval asked for at twice the largest count is what all of them give, and half
as much more. On a cluster in a box, for example (2 minutes each):

    parcast testbed --hosts 8 --cpu 5% -- parcast run stencil -n 800 -np 1,2,3,4,6,8 --no-check
        --repetitions 8 --patience 0s -o stencil.csv
    .venv/bin/python benchmarks/adaptive.py stencil.csv
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from parcast.forecasting.forecast import forecast
from parcast.measurement.adaptive import Adaptive, Goal, measurements_of
from parcast.measurement.point import points_of
from parcast.timings.tables.files import read_measurements

POOL, AT, RUNS = [1, 2, 4, 8, 16, 32], 64, 5
WIDER = 1.5  # times the interval of all runs, that is asked for
LAWS = {
    "amdahl": lambda p: 0.02 + 10 / p,
    "messages": lambda p: 0.05 + 10 / p + 0.02 * np.log2(p),
    "overhead": lambda p: 0.1 + 10 / p + 0.004 * p,
    "power": lambda p: 10 / p**0.85,
}


def adapted(pool, at: int, until: float, timed_at) -> tuple[list, bool]:
    """Runs that are chosen, by a function that gives the time of the next run at a count."""
    choice = Adaptive(
        goal=Goal(until=until, at=(at,)), points=points_of({"p": pool}, {}), most=RUNS
    )
    timed = []
    while True:
        made = Counter(point for point, _ in timed)
        point = choice.following(timed, made, ())
        if point is None:
            return timed, choice.is_narrow
        timed.append((point, timed_at(point.columns["p"])))


def simulated(law, *, noise: float, seed: int, until: float) -> tuple[float, bool, bool]:
    """Part of the cost of all runs, whether the interval was reached, and whether it holds."""
    random = np.random.default_rng(seed)
    timed, is_narrow = adapted(
        POOL, AT, until, lambda p: float(law(p) * np.exp(random.normal(0, noise)))
    )
    full = sum(RUNS * p * law(p) for p in POOL)
    found = forecast(measurements_of(timed), AT)
    return cost_of(timed) / full, is_narrow, bool(found.lower <= law(AT) <= found.upper)


def cost_of(timed) -> float:
    """Processor-seconds of runs."""
    return sum(x.columns["p"] * seconds for x, seconds in timed)


def replayed(path: Path, seeds: int) -> list[tuple[float, ...]]:
    """For each seed the interval of all runs and, for it and a wider one, what runs cost."""
    table = read_measurements(path)
    pool = sorted({*map(int, table.p)})
    of_count = {p: table.time[table.p == p] for p in pool}
    found = []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        runs = {
            p: random.choice(own, RUNS, replace=len(own) < RUNS).tolist()
            for p, own in of_count.items()
        }
        every = [(x, t) for x in points_of({"p": pool}, {}) for t in runs[x.columns["p"]]]
        at = 2 * pool[-1]
        told = forecast(measurements_of(every), at)
        all_give = max(float(told.upper / told.time), float(told.time / told.lower)) - 1
        row = [all_give]
        for until in (all_give, WIDER * all_give):
            left = {p: iter(own) for p, own in runs.items()}
            timed, is_narrow = adapted(pool, at, until, lambda p, left=left: next(left[p]))
            row += [cost_of(timed) / cost_of(every), is_narrow, len(timed)]
        found.append(tuple(row))
    return found


def print_replayed(tables: list[Path], seeds: int) -> None:
    """Print a line for each table and interval."""
    print("table         interval of all runs  asked for   cost: median, most   reached   runs")
    for path in tables:
        found = [*zip(*replayed(path, seeds), strict=True)]
        width = np.median(found[0])
        for wider, (cost, reached, runs) in zip((1, WIDER), (found[1:4], found[4:]), strict=True):
            print(
                f"{path.stem:14} {width:18.0%} {wider * width:10.0%} {np.median(cost):12.0%} "
                f"{max(cost):6.0%} {np.mean(reached):10.0%} {np.median(runs):6.0f}"
            )


def main() -> None:
    """Print a line for each law, noise and share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("tables", nargs="*", type=Path)
    asked = parser.parse_args()
    if asked.tables:
        print_replayed(asked.tables, asked.seeds)
        return
    print("law       noise  until   cost: median, most   reached   inside")
    every = []
    for name, law in LAWS.items():
        for noise in (0.01, 0.04):
            for until in (0.3, 0.5):
                found = [
                    simulated(law, noise=noise, seed=seed, until=until)
                    for seed in range(asked.seeds)
                ]
                cost, reached, inside = zip(*found, strict=True)
                every += found
                print(
                    f"{name:9} {noise:5.0%}  {until:5.0%}   {np.median(cost):5.0%} "
                    f"{max(cost):9.0%} {np.mean(reached):13.0%} {np.mean(inside):8.0%}"
                )
    cost, reached, inside = zip(*every, strict=True)
    narrow = [x for x, is_narrow in zip(cost, reached, strict=True) if is_narrow]
    print(
        f"all: median {np.median(cost):.0%}, where reached {np.median(narrow):.0%}, at most "
        f"{max(narrow):.0%}; reached {np.mean(reached):.0%}, inside {np.mean(inside):.0%}"
    )


if __name__ == "__main__":
    main()
