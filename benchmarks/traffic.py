"""How often does the check of traffic err? Its answers for simulated traffic of known kinds.

Some hundred runs of each kind are simulated and checked.
Poisson arrivals with exponential lengths must pass but in about 5% of them; the others must fail,
by the condition that they violate. Also how many 90% intervals of the squared coefficients of
variation contain the true one:

    taskset -c 0 .venv/bin/python benchmarks/traffic.py [--runs 200] [--messages 60 1000]
"""

import argparse
import time
from collections import Counter

import numpy as np

from parcast.pipeline.traces.traffic.check import check_traffic
from parcast.pipeline.traces.traffic.conditions import NAMES
from tests.pipeline.traces.traffic.simulated import KINDS, simulated_trace

CAPACITY = 50e6  # [B/s]
TRUE_CV2 = {  # of gaps and of lengths
    "poisson": (1.0, 1.0),
    "equal": (1.0, 0.0),
    "discrete": (1.0, 0.375),
    "lognormal": (1.0, np.exp(1.2**2) - 1),
    "bursts": (2 * (0.1 * 100 + 0.9) / 1.9**2 - 1, 1.0),
    "periodic": (0.05**2 / 3, 1.0),
    "sequence": (1.0, 1.0),
    "saved up": (1.0, 1.0),
}


def checked(kind: str, messages: int, runs: int) -> None:
    """Check so many runs of one kind, and print what was found."""
    formulas: Counter[str] = Counter()
    violated: Counter[str] = Counter()
    contained = [0, 0]
    begun = time.perf_counter()
    for seed in range(runs):
        gaps, lengths = KINDS[kind](np.random.default_rng(seed), messages)
        check = check_traffic(simulated_trace(gaps, lengths, capacity=CAPACITY), seed=seed)
        formulas[check.formula] += 1
        violated.update(check.violated)
        for i, name in enumerate(("gap", "length") if kind in TRUE_CV2 else ()):
            x = check.quantity(name)
            contained[i] += x.cv2_lower - 1e-9 <= TRUE_CV2[kind][i] <= x.cv2_upper + 1e-9
    each = (time.perf_counter() - begun) / runs
    answers = ", ".join(f"{name} {100 * n / runs:.0f}%" for name, n in formulas.most_common())
    print(f"{kind:10} {messages:7,} {1e3 * each:5.0f} ms  {answers}")
    for name, n in violated.most_common():
        print(f"{'':27} {100 * n / runs:4.0f}%  not: {NAMES[name]}")
    if kind in TRUE_CV2:
        shares = " and ".join(f"{100 * x / runs:.0f}%" for x in contained)
        print(f"{'':27} {shares} of the intervals contain cv^2 of gaps and lengths")


def main() -> None:
    """Check all kinds of traffic."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--messages", type=int, nargs="+", default=[60, 1000])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    options = parser.parse_args()
    for messages in options.messages:
        for kind in options.kinds:
            checked(kind, messages, options.runs)


if __name__ == "__main__":
    main()
