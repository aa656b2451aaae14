"""Forecasts for 10,000 call paths with ten donors each, from one and from three own counts.

Every call path was run on each machine at 5 counts. On one core:

    taskset -c 0 .venv/bin/python benchmarks/donors.py
"""

import argparse
import time

import numpy as np

import parcast

COUNTS = np.array([4, 8, 16, 32, 64])
ASKED = [128, 256]
MACHINES = 10


def family(paths: int) -> np.ndarray:
    """Times of call paths on a target and ten machines: (machines, paths, counts). [s]."""
    random = np.random.default_rng(4)
    fixed, shared, tree = random.exponential(1.0, (3, 1, paths, 1))
    speed, network = random.lognormal(0.0, 0.3, (2, MACHINES + 1, 1, 1))
    times = (fixed + 100 * shared / COUNTS) * speed + 0.1 * tree * np.log2(COUNTS) * network
    return np.asarray(times * random.lognormal(0.0, 0.02, times.shape))


def table(times: np.ndarray, counts: np.ndarray, names: list[str]) -> parcast.Measurements:
    """Measurements of some machines at some counts."""
    machines, paths, _ = times.shape
    callpaths = [f"main/f{i}" for i in range(paths)]
    return parcast.Measurements(
        p=np.tile(counts, machines * paths),
        time=times[:, :, : len(counts)].ravel(),
        machine=np.repeat(names, paths * len(counts)).tolist(),
        callpath=np.tile(np.repeat(callpaths, len(counts)), machines).tolist(),
    )


def main() -> None:
    """Print the CPU time of both forecasts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", type=int, default=10_000)
    paths = parser.parse_args().paths
    times = family(paths)
    donors = table(times[1:], COUNTS, [f"machine {i}" for i in range(MACHINES)])
    for known in (1, 3):
        here = table(times[:1], COUNTS[:known], ["here"])
        start = time.process_time()
        told = parcast.forecast(here, ASKED, donors=donors)
        spent = time.process_time() - start
        assert told.time.shape == (paths, len(ASKED))
        print(f"{paths} call paths, {MACHINES} donors, {known} own counts: {spent:.1f} s of CPU")


if __name__ == "__main__":
    main()
