"""How far POP efficiencies that were forecast one doubling on are from measured ones.

    .venv/bin/python benchmarks/pop_forecasts.py FILE.csv [FILE.csv ...]

A file has a line for each run: `program`, `p`, `time`, and the seconds `useful` of the mean rank
and `busiest` of the rank that computes most, all outside communication. Each count of a program
that is at most 2.1 times the one before is forecast from all counts below it, of which there must
be two. Figures are of parallel efficiency, in points (percent of the processor time); beside it
the rule that the efficiency stays as it is. Means of the files, and of all points together.
"""

import argparse
import csv
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from parcast.deciding.explain.profiles.efficiencies import RegionUse, efficiencies_of
from parcast.deciding.explain.profiles.explain import forecast_efficiencies

KNOWN, DOUBLING = 2, 2.1
CLOSE = 0.05
NAME = "parallel_efficiency"


def programs_of(path: Path) -> dict[str, list[RegionUse]]:
    """Runs of each program of a table."""
    found = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            elapsed, useful, busiest = (float(row[x]) for x in ("time", "useful", "busiest"))
            run = RegionUse(
                region="", p=int(float(row["p"])), elapsed=elapsed, useful=useful, busiest=busiest
            )
            found[row["program"]].append(run)
    return found


def tested(runs: list[RegionUse]) -> Iterator[tuple[int, float, float, bool]]:
    """Known counts, error, error if nothing changed, and whether the interval holds."""
    measured = efficiencies_of(runs, is_weak=False)
    counts, true = measured.p, measured.values[NAME]
    for known in range(KNOWN, len(counts)):
        if counts[known] > DOUBLING * counts[known - 1]:
            continue
        before = efficiencies_of([x for x in runs if x.p < counts[known]], is_weak=False)
        [said], [low], [high] = forecast_efficiencies(before, counts[known : known + 1])[NAME]
        held = bool(low <= true[known] <= high)
        yield known, abs(said - true[known]), abs(true[known - 1] - true[known]), held


def line(name: str, points: list[tuple[int, float, float, bool]]) -> list[float]:
    """Print the figures of some points."""
    _, error, unchanged, held = np.array(points, dtype=float).T
    figures = [(error <= CLOSE).mean(), np.median(error), (unchanged <= CLOSE).mean()]
    figures += [np.median(unchanged), held.mean()]
    print(f"{name:24}{len(points):6}" + "".join(f"{x:11.1%}" for x in figures))
    return figures


def main() -> None:
    """Print a line for each file, for all, and by how many counts are known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    warnings.simplefilter("ignore")
    print(f"{'':24}counts   within 5     median  unchanged:     median   interval")
    every, of_files = [], []
    for path in parser.parse_args().files:
        points = [x for runs in programs_of(path).values() for x in tested(runs)]
        if points:
            of_files.append(line(path.stem, points))
            every += points
    if not every:
        parser.error("no program has three counts of which one is a doubling on")
    print(f"{'mean of files':30}" + "".join(f"{x:11.1%}" for x in np.mean(of_files, axis=0)))
    line("all", every)
    for known in sorted({x[0] for x in every}):
        line(f"from {known} counts", [x for x in every if x[0] == known])


if __name__ == "__main__":
    main()
