"""What runs that were stopped tell: forecasts with their bounds and without, on known curves.

    .venv/bin/python benchmarks/cut_off.py [--tables 200] [--seed 0]

A table has three to six counts, doubled each time, of a program whose curve is drawn: a part that
is shared and one that is not, with a cost that grows as log p, as a power of p, or not; under weak
scaling only the cost. Noise is 2 %. A run at the next count is given between half and twice of
what is forecast for it, whatever it needs; a table is used if it is then stopped. Asked for are
this count and twice as many. Error is |log(forecast / time)|, coverage the share of times within
the 90 % interval, width the median of upper / lower, and the score of an interval its log width
plus 20 times what lies outside; lower is better.
"""

import argparse
from collections.abc import Callable

import numpy as np

import parcast

NOISE = 0.02


def curve(random: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Draw the time of a program as a function of p."""
    work, rest = 100.0, 100.0 * 10 ** random.uniform(-3, -0.7)
    logarithm = 100.0 * 10 ** random.uniform(-3.5, -1.5) * random.integers(2)
    power, exponent = 100.0 * 10 ** random.uniform(-5, -2), random.uniform(0.5, 1.3)
    power *= random.integers(2)
    is_weak = random.random() < 0.3
    return lambda p: (
        (work if is_weak else work / p) + rest + logarithm * np.log2(p) + power * p**exponent
    )


def main() -> None:
    """Draw tables until enough have a run that was stopped, and print what the bounds change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    random = np.random.default_rng(asked.seed)
    found: list[list[np.ndarray]] = [[], []]
    drawn = 0
    while len(found[0]) < asked.tables:
        drawn += 1
        time_of, counts = curve(random), int(random.integers(3, 7))
        p = 2.0 ** np.arange(counts + 2)
        time = time_of(p) * np.exp(random.normal(0, NOISE, len(p)))
        runs = parcast.Measurements(p=p[:counts], time=time[:counts])
        without = parcast.forecast(runs, p[counts:])
        limit = without.time[0] * 2 ** random.uniform(-1, 1)
        if time[counts] <= limit:
            continue
        given = parcast.forecast(runs.with_cut_off(p=p[counts], time=limit), p[counts:])
        for answers, told in zip(found, (without, given), strict=True):
            answers.append(np.stack([told.time, told.lower, told.upper, time[counts:]]))
    print(f"{asked.tables} of {drawn} tables have a run that was stopped")
    print(f"{'':14}{'at':>10}  median error  mean error  covered  width  score")
    for name, answers in zip(("without bound", "with bound"), found, strict=True):
        logs = np.log(np.array(answers))
        for i, place in enumerate(("its count", "twice it")):
            middle, low, high, true = logs[..., i].T
            error, outside = (
                np.abs(middle - true),
                np.maximum(np.maximum(low - true, true - high), 0),
            )
            print(
                f"{name:14}{place:>10}{np.median(error):14.1%}{error.mean():12.1%}"
                f"{np.mean(outside == 0):9.0%}{np.exp(np.median(high - low)):7.2f}"
                f"{np.mean(high - low + 20 * outside):7.2f}"
            )


if __name__ == "__main__":
    main()
