"""What a picture and a page take: written as SVG beside matplotlib, and a page of 300 call paths.

    python benchmarks/pictures.py

Both draw the same picture from the same result, in turn; the first of each loads modules, and
is left out. Times are processor times of this process, medians of the rounds.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import parcast
from parcast.show.pictures.canvas import save_figure

ROUNDS = 15
RUNS = {"p": [1, 2, 4, 8, 16], "time": [100.0, 52.1, 28.4, 16.2, 10.3]}


def seconds(action: Callable[[], object]) -> float:
    """Processor time of an action [s]."""
    begun = time.process_time()
    action()
    return time.process_time() - begun


def of_paths(many: int) -> parcast.Measurements:
    """Runs of a program of several call paths."""
    rng = np.random.default_rng(1)
    p = np.array([1.0, 2, 4, 8, 16])
    work, serial = rng.uniform(1, 9, many), rng.uniform(0, 0.2, many)
    names = [f"main->solve->kernel_{i}" for i in range(many) for _ in p]
    times = (work[:, None] * (1 / p + serial[:, None])).ravel()
    return parcast.Measurements(callpath=names, p=np.tile(p, many), time=times)


def main() -> None:
    """Print both times of each picture, and those of the page."""
    results = {
        "forecast": parcast.forecast(RUNS, [32, 64]),
        "explain": parcast.explain(RUNS),
        "plan": parcast.plan(RUNS),
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, result in results.items():
            pairs = []
            for _ in range(ROUNDS + 1):
                ours = seconds(lambda r=result: r.save(place / "a.svg"))
                theirs = seconds(lambda r=result: save_figure(r._drawn(), place / "b.svg"))
                pairs.append((ours, theirs))
            ours, theirs = (statistics.median(x) for x in zip(*pairs[1:], strict=True))
            print(
                f"{name:9} SVG {1e3 * ours:5.1f} ms, matplotlib {1e3 * theirs:6.1f} ms: ", end=""
            )
            print(f"{theirs / ours:.0f} times as long")
        told = parcast.forecast(of_paths(300), [32])
        spent = [seconds(lambda: told.save(place / "c.html")) for _ in range(5)]
        size = (place / "c.html").stat().st_size
        print(f"page of 300 call paths: {statistics.median(spent):.2f} s, {size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
