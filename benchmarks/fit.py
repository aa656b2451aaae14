"""A fit of seven constants to 42 points from ten starts, beside SciPy on the same law.

The points are those of a made-up program with striped I/O on p = 1..64 and d = 1..16, exact.
SciPy's `least_squares` gets as many starts, the logarithms of the constants and two-point
differences, as somebody would write it who has the law as a function. On one core:

    taskset -c 0 .venv/bin/python benchmarks/fit.py
"""

import time

import numpy as np
from scipy.optimize import least_squares

import parcast

P, D = (x.ravel() for x in np.meshgrid([1.0, 2, 4, 8, 16, 32, 64], [1.0, 2, 3, 4, 8, 16]))
NAMES = [
    *("compute.parallel", "compute.serial"),
    *("communication.startup", "communication.transfer", "communication.contention"),
    *("io.startup", "io.transfer"),
]
TRUE = np.array([7.6, 0.4, 0.01, 0.5, 0.3, 0.05, 8.0])
STARTS = 10


def program(parallel: str, transfer: str, contention: float) -> parcast.Program:
    """The program with three of its constants as given, the others as they are."""
    phase = {
        "law": "spmd",
        "bursts_per_io": 5,
        "compute": {"parallel": parallel, "serial": "0.4 s", "variability": "exponential"},
        "communication": {"startup": "0.01 s", "transfer": transfer, "contention": contention},
        "io": {"kind": "striped", "startup": "0.05 s", "transfer": "8 s"},
    }
    return parcast.Program(phase=[phase])


def best_of_scipy(measured: np.ndarray, described: parcast.Program) -> tuple[float, float]:
    """CPU time and largest relative error of the constants, of the best of ten starts."""
    phase, machine = described.phase[0], parcast.Machine()
    initial = {
        "compute.parallel": 5.0,
        "communication.transfer": 1.0,
        "communication.contention": 0.5,
    }
    first = np.array([initial.get(name, x) for name, x in zip(NAMES, TRUE, strict=True)])
    random = np.random.default_rng(1)

    def residual(logs: np.ndarray) -> np.ndarray:
        at = dict(zip(NAMES, np.exp(logs), strict=True))
        at["communication.transfer"] *= P**-0.5
        time = phase.times(machine, {"p": P, "d": D, **at}).time
        return np.asarray(np.log(time / measured))

    start = time.process_time()
    upper = np.where(np.array(NAMES) == "communication.contention", 0.0, np.inf)
    ends = []
    for i in range(STARTS):
        logs = np.log(first) + (i > 0) * random.uniform(-1.7, 1.7, first.size)
        logs = np.minimum(logs, upper - 1e-3)
        ends.append(least_squares(residual, logs, bounds=(-np.inf, upper)))
    best = min(ends, key=lambda end: end.cost)
    spent = time.process_time() - start
    return spent, float(np.max(np.abs(np.exp(best.x) / TRUE - 1)))


def main() -> None:
    """Print both, with how well they find the constants."""
    true = program("7.6 s", "0.5 s * p^(-1/2)", 0.3)
    machine = parcast.Machine()
    measured = true.times(machine, {"p": P, "d": D}).time
    runs = parcast.Measurements(p=P, d=D, time=measured)
    described = program("5 s", "1 s * p^(-1/2)", 0.5)
    parcast.fit(described, runs, machine)  # loads what it needs
    start = time.process_time()
    fitted = parcast.fit(described, runs, machine, starts=STARTS)
    ours = time.process_time() - start
    again = fitted.program.parameters()
    found = [float(again[name]({"p": 1.0})) for name in NAMES]
    off = float(np.max(np.abs(np.array(found) / TRUE - 1)))
    theirs, theirs_off = best_of_scipy(measured, described)
    print(
        f"{len(P)} points, {len(NAMES)} constants, {STARTS} starts: CPU time, worst constant off"
    )
    print(f"parcast.fit with intervals             {ours:6.2f} s   {off:.1e}")
    print(f"SciPy's least_squares, no intervals    {theirs:6.2f} s   {theirs_off:.1e}")
    print(f"ratio                                  {theirs / ours:6.1f}")


if __name__ == "__main__":
    main()
