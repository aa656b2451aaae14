"""How often the interval of a total holds, with the largest count of profiles held out.

    .venv/bin/python benchmarks/totals.py FOLDER

FOLDER holds tables of timings, `NAME.csv`, a set each. A profile is all rows that agree in what is
not the call path or the count; of nested names the innermost are taken, which are exclusive, and
none that names the whole. Profiles of three call paths or more at four counts or more are tested:
what was measured at their largest count against the total that `parcast forecast` gives without
that count.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import parcast
from parcast.forecasting.series.totals import NAMES

FEWEST_PATHS, FEWEST_COUNTS = 3, 4


class TestedTotal(NamedTuple):
    """The total of one profile at a count that was held out."""

    set: str
    error: float  # of log time
    is_inside: bool


def profiles(runs):
    """Give medians of each profile by call path and count."""
    columns = runs.columns
    others = [x for x in columns if x not in {"callpath", "p", "time", "repetition"}]
    keys = list(zip(*(columns[x].tolist() for x in others), strict=True)) or [()] * len(runs)
    found = {}
    for key, path, p, time in zip(
        keys, columns["callpath"].tolist(), runs.p.tolist(), runs.time.tolist(), strict=True
    ):
        found.setdefault(key, {}).setdefault((path, p), []).append(time)
    for times in found.values():
        medians = {at: float(np.median(x)) for at, x in times.items()}
        paths = dict.fromkeys(path for path, _ in medians)
        inner = [x for x in paths if not any(y.startswith(f"{x}->") for y in paths)]
        inner = [x for x in inner if x.strip().lower() not in NAMES]
        counts = sorted({p for _, p in medians})
        counts = [p for p in counts if all((x, p) in medians for x in inner)]
        if len(inner) >= FEWEST_PATHS and len(counts) >= FEWEST_COUNTS:
            yield inner, counts, medians


def tested(name, inner, counts, medians):
    """Forecast the total at the largest count from the others."""
    rows = [(f"path {i}", p, medians[x, p]) for i, x in enumerate(inner) for p in counts]
    path, p, time = zip(*rows, strict=True)
    runs, last = parcast.Measurements(callpath=path, p=p, time=time), counts[-1]
    totals = parcast.forecast(runs, last, hold_out=last).totals
    observed = float(totals.observed[0, 0])
    ends = float(totals.lower[0, 0]), float(totals.upper[0, 0])
    error = abs(float(np.log(totals.time[0, 0] / observed)))
    return TestedTotal(name, error, ends[0] <= observed <= ends[1])


def main():
    """Test all sets of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    found = []
    for file in sorted(parser.parse_args().folder.glob("*.csv")):
        runs = parcast.read_measurements(file)
        if "callpath" in runs.columns:
            found += [tested(file.stem, *profile) for profile in profiles(runs)]
    sets = sorted({x.set for x in found})
    inside = [np.mean([x.is_inside for x in found if x.set == name]) for name in sets]
    print(
        f"{len(found)} profiles of {len(sets)} sets: {np.mean([x.is_inside for x in found]):.0%}"
    )
    print(f"inside, mean of sets {np.mean(inside):.0%}")
    print(f"median error of log time {np.median([x.error for x in found]):.3f}")


if __name__ == "__main__":
    main()
