"""How accurate the shared, constant and growing work of `explain` and `compare` are.

    .venv/bin/python benchmarks/parts.py [FOLDER] [--tables 200]

Made-up tables: T(p) = b/p + a + c g(p), g = log2 p, sqrt p, p or p^2, and two laws that parcast
does not know, p log2 p and the cube root; 3 to 6 doublings from p = 1, 2, 4 or 16; noise of 0.5, 2
and 5%; one run and three; 200 tables of each. The ratios of the parts at the largest count are
10^-1.5 to 10^1.5, and a fifth of the tables lack the constant, and a fifth the growing part.
Printed for the shares at the largest count and at twice that: the median absolute error of each
part, the share of 90% intervals that hold (of all parts), their mean width, and the time of a
table. Beside them the law that made the table, fitted alone.

Then pairs of versions of which one part takes 20% more time, three runs each: how many intervals
of changes hold, their width, and how many parts are said to have changed, of those that did and of
the others.

FOLDER holds tables of measured times, `NAME.csv`, a set each. The largest count of each series
with four or more is left out: how far the largest share at that count moves, and how much of what
is said with it lies in the intervals from before.
"""

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

import parcast
from parcast.deciding.compare.changes import changes_between
from parcast.forecasting.own_runs.parts import PARTS, parts_of
from parcast.laws.curves import SumOfTerms, constant, shared
from parcast.timings.series import Series

LAWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log2 p": np.log2,
    "sqrt p": np.sqrt,
    "p": lambda p: p,
    "p^2": np.square,
    "p log2 p": lambda p: p * np.log2(p),
    "p^(1/3)": np.cbrt,
}
COUNTS, NOISE, RUNS = (3, 4, 5, 6), (0.005, 0.02, 0.05), (1, 3)
FIRST = (1.0, 2.0, 4.0, 16.0)
LARGEST, LACKING = 1.5, 0.2
SLOWER = 1.2
MOST = 60  # series of a set
ROWS = ("law", "counts", "noise", "runs")


class Table:
    """Times that consist of known parts."""

    def __init__(self, law: str, counts: int, draw: np.random.Generator):
        self.law = law
        self.p = draw.choice(FIRST) * 2.0 ** np.arange(counts)
        ratios = 10 ** draw.uniform(-LARGEST, LARGEST, 2) * (draw.random(2) > LACKING)
        self.amounts = np.array([1.0, *ratios])  # shared, constant, growing at the largest

    def parts(self, p: np.ndarray) -> np.ndarray:
        """Time of each part, (points, parts)."""
        last, growth = self.p[-1], LAWS[self.law]
        shape = [last / p, np.ones_like(p), growth(p) / growth(last)]
        return np.stack(shape, axis=1) * self.amounts

    def runs(self, noise: float, runs: int, draw: np.random.Generator) -> parcast.Measurements:
        """Measure it, with noise."""
        p = np.tile(self.p, runs)
        seen = self.parts(p).sum(axis=1) * draw.lognormal(0, noise, len(p))
        return parcast.Measurements(p=p, time=seen)


def of_right_law(table: Table, series: Series, at: np.ndarray) -> np.ndarray:
    """Shares by the law that made the table, fitted to it, (points, parts)."""
    law = SumOfTerms("right", "", "", (shared, constant, LAWS[table.law]))
    terms = law.fit(series.p, series.time, np.ones_like(series.p)) * law.design(at)
    return terms / terms.sum(axis=1, keepdims=True)


def made_up(tables: int) -> Iterator[tuple[tuple, np.ndarray, np.ndarray, np.ndarray, float]]:
    """Errors of both, held and widths, (points, parts), and seconds, of each table."""
    for seed, (law, counts, noise, runs) in enumerate(product(LAWS, COUNTS, NOISE, RUNS)):
        draw = np.random.default_rng(seed)
        for _ in range(tables):
            table = Table(law, counts, draw)
            series = table.runs(noise, runs, draw).series(by=[])
            at = table.p[-1] * np.array([1.0, 2.0])
            true = table.parts(at)
            true /= true.sum(axis=1, keepdims=True)
            begin = time.perf_counter()
            told = parts_of(series, 0, at, 0)
            taken = time.perf_counter() - begin
            errors = np.abs([told.share - true, of_right_law(table, series, at) - true])
            held = (told.lower <= true + 1e-9) & (true <= told.upper + 1e-9)
            yield (law, counts, noise, runs), errors, held, told.upper - told.lower, taken


def print_made_up(tables: int) -> None:
    """Print the figures of made-up tables, of all and by what they have."""
    cells, errors, held, widths, taken = zip(*made_up(tables), strict=True)
    errors, held, widths = (np.array(x) for x in (errors, held, widths))
    print(f"{len(cells)} made-up tables, {1e3 * np.median(taken):.1f} ms each")
    print(f"{'':16}{'at the largest count':52}at twice the largest")
    print(f"{'':16}" + 2 * "".join(f"{x:>10}" for x in (*PARTS, "held", "width  ")))

    def line(name: str, of: np.ndarray, who: int = 0) -> None:
        print(f"{name:16}", end="")
        for point in (0, 1):
            shown = [*np.median(errors[of, who, point], axis=0)]
            shown += [] if who else [held[of, point].mean(), widths[of, point].mean()]
            print("".join(f"{x:>10.1%}" for x in shown).ljust(52), end="")
        print()

    line("all", np.ones(len(cells), dtype=bool))
    line("  right law", np.ones(len(cells), dtype=bool), who=1)
    for column, name in enumerate(ROWS):
        for value in dict.fromkeys(cell[column] for cell in cells):
            line(f"{name} {value}", np.array([cell[column] == value for cell in cells]))


def print_changes(tables: int) -> None:
    """Print the figures of pairs of versions."""
    held, widths, seen = [], [], defaultdict(list)
    for seed, (law, counts, noise) in enumerate(product(LAWS, COUNTS, NOISE)):
        draw = np.random.default_rng(seed)
        for _ in range(max(tables // 4, 1)):
            table = Table(law, counts, draw)
            base = table.runs(noise, 3, draw)
            before = table.parts(table.p[-1:])[0]
            slower = draw.choice(np.flatnonzero(table.amounts))
            table.amounts[slower] *= SLOWER
            new = table.runs(noise, 3, draw)
            change = (table.parts(table.p[-1:])[0] - before) / before.sum()
            for i, told in enumerate(changes_between(base, new, ())):
                held.append(told.lower <= change[i] <= told.upper)
                widths.append(told.upper - told.lower)
                kind = "none" if not change[i] else "above 5%" if change[i] > 0.05 else "less"
                seen[kind].append(told.is_seen)
    print(f"\n{len(held) // 3} pairs: {np.mean(held):.1%} of intervals of changes hold, ", end="")
    print(f"mean width {np.mean(widths):.1%}; said to have changed, by true change:")
    for kind, said in seen.items():
        print(f"  {kind:12}{np.mean(said):.1%} of {len(said)}")


def _without_last(series: Series, row: int) -> Series:
    """One series without its largest count."""
    left = int(series.count[row]) - 1
    own = series.take(slice(row, row + 1))
    columns = {x: getattr(own, x)[:, :left] for x in ("p", "time", "repetitions", "spread")}
    return replace(own, count=np.array([left]), **columns)


def print_measured(folder: Path) -> None:
    """Print how stable the shares of measured series are."""
    found, series_seen = [], 0
    for path in sorted(folder.glob("*.csv")):
        series = parcast.read_measurements(path).series()
        rows = np.flatnonzero(series.count >= 4)
        own = []
        for row in np.random.default_rng(0).permutation(rows)[:MOST]:
            at = series.p[row, series.count[row] - 1 : series.count[row]]
            told = parts_of(series, row, at, 0)
            then = parts_of(_without_last(series, row), 0, at, 0)
            inside = (then.lower <= told.share + 1e-9) & (told.share <= then.upper + 1e-9)
            moved = np.abs(then.share - told.share).max()
            own.append((moved, inside.mean(), (then.upper - then.lower).mean()))
        if own:
            found.append(np.array(own))
            series_seen += len(own)
    if not found:
        print(f"{folder} has no series of four counts.", file=sys.stderr)
        return
    moved = np.mean([np.median(x[:, 0]) for x in found])
    inside, width = (np.mean([x[:, i].mean() for x in found]) for i in (1, 2))
    print(f"\n{series_seen} measured series of {len(found)} sets, without the largest count:")
    print(f"the largest share moves by {moved:.1%} (median), {inside:.1%} ", end="")
    print(f"of the shares lie in the intervals from before, mean width {width:.1%}")


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--tables", type=int, default=200)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print_made_up(asked.tables)
    print_changes(asked.tables)
    if asked.folder is not None:
        print_measured(asked.folder)


if __name__ == "__main__":
    main()
