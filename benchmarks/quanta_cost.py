"""Cost of work quanta to a run, and whether they tell which runs were disturbed.

    .venv/bin/python benchmarks/quanta_cost.py [--pairs 30]

On one processor, runs of some tenths of a second, with quanta within them and without, in turns:
the ratio of the medians of their processor times, and of the wall times, with the quartiles of the
ratios of neighbours. Then, of the runs with quanta: the wall time of those that are told as
disturbed over that of the others, and the spread (standard deviation over mean) of all runs and of
the others.
"""

import argparse
import os
import sys
from statistics import median

import numpy as np

from parcast.kernels.kernel import KernelRun
from parcast.kernels.ledger import Alone
from parcast.kernels.quanta import Quanta
from parcast.kernels.registry import kernel_named
from parcast.timings.disturbed import is_disturbed, least_quantum

SIZES = {"fractal": 200_000, "monte_carlo": 200_000, "matmul": 1200, "gauss": 600}


def ratios(with_quanta: list[float], without: list[float]) -> str:
    """Ratio of the medians, and quartiles of those of neighbours."""
    each = np.array(with_quanta) / np.array(without)
    low, high = np.percentile(each, [25, 75])
    return f"{median(with_quanta) / median(without):7.3f} ({low:.3f} to {high:.3f})"


def told(runs: list[KernelRun]) -> str:
    """How far disturbed runs are from the others, and the spread without them."""
    least = least_quantum(run.quanta for run in runs)
    assert least is not None
    quiet = [x.time for x in runs if not is_disturbed(x.quanta, least, x.waiting)]
    slow = [x.time for x in runs if is_disturbed(x.quanta, least, x.waiting)]
    times = [run.time for run in runs]
    over = f"{median(slow) / median(quiet):.2f}" if slow and quiet else "-"
    spreads = [100 * np.std(x) / np.mean(x) if len(x) > 1 else np.nan for x in (times, quiet)]
    return f"{len(slow):3} of {len(runs)} {over:>8} {spreads[0]:8.1f} {spreads[1]:8.1f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=30)
    asked = parser.parse_args()
    alone = Alone()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # as ranks are
    print(
        f"{'program':12} {'processor time':>24} {'wall time':>24}   disturbed, over others, spread"
    )
    print(f"{'':12} {'with over without':>24} {'with over without':>24}   {'':24} all, others [%]")
    for name, n in SIZES.items():
        kernel, quanta = kernel_named(name), Quanta(alone)
        pairs = []
        for i in range(asked.pairs + 1):
            both = {}
            for is_with in (True, False) if i % 2 else (False, True):
                watch = quanta if is_with else None
                both[is_with] = kernel.run(alone, n, check=False, quanta=watch)
            pairs.append(both)
        del pairs[0]  # loads the code
        watched, plain = ([pair[key] for pair in pairs] for key in (True, False))
        compute = ratios([x.compute[0] for x in watched], [x.compute[0] for x in plain])
        wall = ratios([x.time for x in watched], [x.time for x in plain])
        print(f"{name:12} {compute:>24} {wall:>24}   {told(watched)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
