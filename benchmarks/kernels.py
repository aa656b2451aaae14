"""Steps in a processor second of every program, by size: one rate should hold for all sizes.

Each program runs on one rank at a size, and at 2, 4 and 10 times (a matrix: 2 and 4 times) that
size; the fastest of `RUNS` repetitions counts. Processor seconds, so that others on the machine
disturb it little; caches and memory they still share.

    OPENBLAS_NUM_THREADS=1 .venv/bin/python benchmarks/kernels.py [PROGRAM...]
"""

import os
import sys

SIZES = {
    "sort": (200_000, 400_000, 800_000, 2_000_000),
    "square_sort": (4000, 8000, 16_000, 40_000),
    "sample_sort": (200_000, 400_000, 800_000, 2_000_000),
    "fractal": (40_000, 80_000, 160_000, 400_000),
    "monte_carlo": (40_000, 80_000, 160_000, 400_000),
    "matmul": (500, 1000, 2000),
    "gauss": (400, 800, 1600),
}
RUNS = 5
LONG = 1.0  # after which a repetition is not made again [s]


def main() -> None:
    """Measure and print the table."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from parcast.kernels.ledger import Alone
    from parcast.kernels.registry import kernel_named

    print(f"{'program':12} {'n':>9}  10^6 steps/s  to the first")
    for name in sys.argv[1:] or SIZES:
        first = 0.0
        for n in SIZES[name]:
            rates: list[float] = []
            while len(rates) < RUNS:
                run = kernel_named(name).run(Alone(), n, check=False)
                rates.append((run.rate or 0.0) / 1e6)
                if sum(run.compute) > LONG:
                    break
            first = first or max(rates)
            print(f"{name:12} {n:9}  {max(rates):12.4g}  {max(rates) / first - 1:+12.1%}")


if __name__ == "__main__":
    main()
