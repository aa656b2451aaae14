"""Cost of runs that are chosen one by one, beside that of all runs of all counts.

Programs whose times follow a law, with noise, are measured on up to 32 processors until the 90 %
interval at 64 ends within a share of the time. Printed is the part of the processor-seconds of the
full product (five runs of each count) that was needed, how often the interval was reached, and how
often it held the true time:

    .venv/bin/python benchmarks/adaptive.py [--seeds 10]
"""

import argparse
from collections import Counter

import numpy as np

from parcast.forecasting.forecast import forecast
from parcast.measurement.adaptive import Adaptive, Goal, measurements_of
from parcast.measurement.point import points_of

POOL, AT, RUNS = [1, 2, 4, 8, 16, 32], 64, 5
LAWS = {
    "amdahl": lambda p: 0.02 + 10 / p,
    "messages": lambda p: 0.05 + 10 / p + 0.02 * np.log2(p),
    "overhead": lambda p: 0.1 + 10 / p + 0.004 * p,
    "power": lambda p: 10 / p**0.85,
}


def adapted(law, *, noise: float, seed: int, until: float) -> tuple[float, bool, bool]:
    """Part of the cost of all runs, whether the interval was reached, and whether it holds."""
    random = np.random.default_rng(seed)
    goal = Goal(until=until, at=(AT,))
    choice = Adaptive(goal=goal, points=points_of({"p": POOL}, {}), most=RUNS)
    timed = []
    while True:
        made = Counter(point for point, _ in timed)
        point = choice.following(timed, made, ())
        if point is None:
            break
        timed.append((point, float(law(point.columns["p"]) * np.exp(random.normal(0, noise)))))
    cost = sum(x.columns["p"] * seconds for x, seconds in timed)
    full = sum(RUNS * p * law(p) for p in POOL)
    found = forecast(measurements_of(timed), AT)
    return cost / full, choice.is_narrow, bool(found.lower <= law(AT) <= found.upper)


def main() -> None:
    """Print a line for each law, noise and share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    print("law       noise  until   cost: median, most   reached   inside")
    every = []
    for name, law in LAWS.items():
        for noise in (0.01, 0.04):
            for until in (0.3, 0.5):
                found = [
                    adapted(law, noise=noise, seed=seed, until=until)
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
