"""How often the ratio of two forecasts lies in its interval, by the correlation of their errors.

    .venv/bin/python benchmarks/compare_forecasts.py [FILE.csv ...]

A file is a set. Two series of it that follow each other, with the same call path and the same
counts, are two versions of one program; the largest count, and then the largest two, are held
out, and the largest is forecast. Without files, programs of five terms in p are drawn, and of the
new version one term and the work differ. A correlation is right that has 90% of the ratios in
their intervals; 0 takes the errors for independent.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

import parcast
from parcast.forecasting.own_runs.measured import NORMAL_90

CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.8)
DRAWN = 600
Pair = tuple[float, float, float, float]  # log error of one, its deviation, and of the other


def error_of(p: np.ndarray, time: np.ndarray, asked: float, true: float) -> tuple[float, float]:
    """Log error of a forecast at `asked`, and the deviation that its interval states."""
    told = parcast.forecast({"p": p, "time": time}, [asked])
    deviation = np.log(told.upper[0] / told.lower[0]) / (2 * NORMAL_90)
    return float(np.log(told.time[0] / true)), float(deviation)


def measured(file: str) -> Iterator[Pair]:
    """Pairs of series of a table."""
    series = parcast.read_measurements(file).series()
    alike = defaultdict(list)
    for row, key in enumerate(series.keys):
        count = series.count[row]
        p, time = series.p[row, :count], series.time[row, :count]
        for held in (1, 2):
            if count - held >= 3:
                known = slice(count - held)
                error = error_of(p[known], time[known], p[-1], time[-1])
                alike[key.get("callpath", ""), tuple(p), held].append(error)
    for errors in alike.values():
        for one, other in pairwise(errors):
            yield *one, *other


def drawn(counts: np.ndarray, noise: float, rng: np.random.Generator) -> Iterator[Pair]:
    """Pairs of programs that are made up."""
    asked = 4.0 * counts[-1]

    def terms(p: np.ndarray | float) -> np.ndarray:
        p = np.asarray(p, dtype=float)
        return np.stack([1 / p, np.ones_like(p), np.log2(p), p, p ** (-2 / 3)])

    for _ in range(DRAWN):
        least, most = np.log([[1e-4, 1e-5, 1e-6, 1e-3], [5e-2, 1e-2, 1e-3, 0.2]])
        size = np.exp(rng.uniform(least, most)) * (rng.random(4) < [0.8, 0.5, 0.3, 0.5])
        base = 100 * np.array([1.0, *size])
        new = base.copy()
        new[rng.integers(5)] *= np.exp(rng.normal(0, 0.5))
        new[0] *= np.exp(rng.normal(0, 0.1))
        errors = []
        for of in (base, new):
            time = of @ terms(counts) * np.exp(rng.normal(0, noise, len(counts)))
            errors.append(error_of(counts, time, asked, float(of @ terms(asked))))
        yield *errors[0], *errors[1]


def main() -> None:
    """Print for each correlation how many ratios are inside, and how far apart the ends are."""
    if files := sys.argv[1:]:
        sets = {Path(file).stem: [*measured(file)] for file in files}
    else:
        rng = np.random.default_rng(1)
        ladders = np.array([1.0, 2, 4, 8]), np.array([4.0, 8, 16, 32, 64])
        sets = {
            f"{len(p)} counts, {noise:.0%} noise": [*drawn(p, noise, rng)]
            for p in ladders
            for noise in (0.02, 0.1)
        }
    sets = {name: np.array(pairs) for name, pairs in sets.items() if pairs}
    print(f"{sum(map(len, sets.values()))} pairs in {len(sets)} sets")
    print("correlation  inside, mean of sets  least of a set  upper/lower, mean of medians")
    for correlation in CORRELATIONS:
        inside, width = [], []
        for one, its, other, others in (pairs.T for pairs in sets.values()):
            error = np.sqrt(its**2 + others**2 - 2 * correlation * its * others)
            inside.append(np.mean(np.abs(other - one) <= NORMAL_90 * error))
            width.append(np.median(np.exp(2 * NORMAL_90 * error)))
        line = f"{correlation:11.1f}  {np.mean(inside):20.1%}  {min(inside):14.1%}"
        print(f"{line}  {np.mean(width):28.2f}")


if __name__ == "__main__":
    main()
