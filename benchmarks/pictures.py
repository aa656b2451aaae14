"""What a picture and a page take: written as SVG beside matplotlib, and a page of 300 call paths.

    python benchmarks/pictures.py

Both draw the same picture from the same result, in turn; the first of each loads modules, and
is left out. Times are processor times of this process, medians of the rounds.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import parcast
from parcast.show.pictures.canvas import save_figure, save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def drawn() -> dict[str, Callable[[], "Figure"]]:
    """What draws each kind of picture."""
    program = parcast.read_program("examples/btio/program.toml")
    machine = parcast.read_machine("examples/btio/sp2.toml")
    surface = parcast.predict(program, machine, p=range(1, 257), d=range(1, 17), interval=False)
    results = {
        "forecast": parcast.forecast(RUNS, [32, 64]),
        "explain": parcast.explain(RUNS),
        "plan": parcast.plan(RUNS),
    }
    kinds = {f"{kind} of 4,096": kind for kind in ("contours", "map", "surface")}
    return {name: result._drawn for name, result in results.items()} | {
        name: partial(surface._drawn, picture=kind) for name, kind in kinds.items()
    }


def main() -> None:
    """Print both times of each picture and their ratio, and those of the page."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, draw in drawn().items():
            pairs = []
            for _ in range(ROUNDS + 1):
                ours = seconds(lambda d=draw: save_picture(d, place / "a.svg"))
                theirs = seconds(lambda d=draw: save_figure(d(), place / "b.svg"))
                pairs.append((ours, theirs))
            ours, theirs = (statistics.median(x) for x in zip(*pairs[1:], strict=True))
            size = (place / "a.svg").stat().st_size / 1e3
            print(
                f"{name:18} SVG {1e3 * ours:5.1f} ms, {size:4.0f} kB; "
                f"matplotlib {1e3 * theirs:6.1f} ms: {theirs / ours:.0f} times as long"
            )
        told = parcast.forecast(of_paths(300), [32])
        spent = [seconds(lambda: told.save(place / "c.html")) for _ in range(5)]
        size = (place / "c.html").stat().st_size
        print(f"page of 300 call paths: {statistics.median(spent):.2f} s, {size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
