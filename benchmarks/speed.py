"""Forecasts for 10,000 call paths, beside Extra-P's command and a curve fit for each with SciPy.

Every call path has 5 counts with 5 repetitions. The slower routes get fewer call paths and are
compared by the CPU time of one; what Extra-P needs to start is not counted. Run on one core:

    taskset -c 0 .venv-benchmark/bin/python benchmarks/speed.py --extrap .venv-benchmark/bin/extrap
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import parcast

COUNTS = np.array([4, 8, 16, 32, 64])
REPETITIONS = 5
ASKED = [128, 256]


def call_paths(number: int) -> np.ndarray:
    """Times of that many call paths, shape (paths, counts, repetitions). [s]."""
    random = np.random.default_rng(20)
    fixed, shared, tree = random.exponential(1.0, (3, number, 1, 1))
    p = COUNTS[:, None].astype(float)
    times = fixed + 100 * shared / p + 0.1 * tree * np.log2(p)
    return times * random.lognormal(0.0, 0.02, (number, len(COUNTS), REPETITIONS))


def with_parcast(times: np.ndarray) -> float:
    """CPU time of parcast, from Python lists to the forecasts. [s]."""
    number = len(times)
    p = np.tile(np.repeat(COUNTS, REPETITIONS), number).tolist()
    names = np.repeat([f"main/f{i}" for i in range(number)], COUNTS.size * REPETITIONS).tolist()
    seconds = times.ravel().tolist()
    start = time.process_time()
    runs = parcast.Measurements(p=p, time=seconds, callpath=names)
    told = parcast.forecast(runs, ASKED)
    spent = time.process_time() - start
    assert told.time.shape == (number, len(ASKED))
    return spent


def with_scipy(times: np.ndarray) -> float:
    """CPU time of `scipy.optimize.curve_fit` of one law for every call path. [s]."""
    from scipy.optimize import curve_fit

    def law(p, a, b, c):
        return a + b / p + c * np.log2(p)

    p = np.repeat(COUNTS, REPETITIONS).astype(float)
    start = time.process_time()
    for path in times:
        coefficients, _ = curve_fit(law, p, path.ravel(), bounds=(0, np.inf))
        law(np.array(ASKED), *coefficients)
    return time.process_time() - start


def with_extrap(command: Path, times: np.ndarray) -> float:
    """CPU time of Extra-P's command for a text file of the call paths, without its start. [s]."""

    def run(some: np.ndarray) -> float:
        points = " ".join(f"({p})" for p in COUNTS)
        lines = [f"PARAMETER p\nPOINTS {points}\nMETRIC time"]
        for i, path in enumerate(some):
            lines.append(f"REGION f{i}")
            lines += ["DATA " + " ".join(map(repr, row.tolist())) for row in path]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "times.txt")
            file.write_text("\n".join(lines) + "\n")
            before = os.times()
            subprocess.run(
                [command, "--text", file, "--print", "functions", "--disable-progress"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            after = os.times()
        used = after.children_user - before.children_user
        return used + after.children_system - before.children_system

    return run(times) - run(times[:1])


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extrap", type=Path, help="Extra-P's command, if it is installed")
    parser.add_argument("--paths", type=int, default=10_000)
    parser.add_argument("--slow-paths", type=int, default=500, help="for the slower routes")
    args = parser.parse_args()
    many, few = call_paths(args.paths), call_paths(args.slow_paths)
    with_parcast(few)  # warm
    spent = {"parcast": (with_parcast(many), args.paths)}
    spent["scipy curve_fit, one law"] = (with_scipy(few), args.slow_paths)
    if args.extrap:
        spent["Extra-P"] = (with_extrap(args.extrap, few), args.slow_paths)
    ours = spent["parcast"][0] / args.paths
    print(f"{'route':28}{'call paths':>11}{'CPU [s]':>9}{'ms each':>9}{'ratio':>8}")
    for name, (seconds, paths) in spent.items():
        each = seconds / paths
        print(f"{name:28}{paths:11d}{seconds:9.2f}{1e3 * each:9.3f}{each / ours:8.1f}")


if __name__ == "__main__":
    main()
