"""How often a wall-time limit holds, with the largest runs held out.

    .venv/bin/python benchmarks/deadlines.py FOLDER

FOLDER holds tables of timings, `NAME.csv`, a set each. Of every series with four counts the
largest count, the largest two, and all above half of the largest are held out in turn; three
counts have to be left. The limit is that of `parcast plan`, before it is rounded up to minutes:
the time that one run does not exceed with a probability of 95%, or `--certainty`. It is tested
on every held-out run by itself, and not on medians; all runs of a count weigh as one. Figures are
means of the sets, so that one with many series does not drown the others; beside them those of
all points together.
Excess is the median of limit over run, less one. Doublings say how far the held-out count is from
the largest known one. Counts at which there is no forecast are left out, as in a plan.

Inside is the share of held-out counts at which the node-hours of all their runs together lie in
the 90% interval, as `parcast plan proposal` gives it.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np

import parcast
from parcast.cli.failures import meaning
from parcast.forecasting.request import time_kept
from parcast.forecasting.series.verdict import WIDEST_USEFUL

LEFT = 3  # counts a series must keep
FAR = ((0.0, 0.75), (0.75, 1.25), (1.25, 2.25), (2.25, np.inf))  # doublings


class Tested(NamedTuple):
    """One held-out count of one series."""

    set: str
    doublings: float  # from the largest known count
    held: float  # share of its runs within the limit [1]
    held_median: bool
    inside: bool  # whether all of them together take hours within the interval
    excess: float  # of the limit over the median run [1]


def known_counts(p: np.ndarray) -> set[int]:
    """How many of the smallest counts are known: all but one, but two, and those up to half."""
    numbers = {len(p) - 1, len(p) - 2, int(np.sum(p <= p[-1] / 2))}
    return {left for left in numbers if left >= LEFT}


def tested(path: Path, certainty: float) -> list[Tested]:
    """Test all series of a table."""
    runs = parcast.read_measurements(path)
    series = runs.series()
    found = []
    for row, key in enumerate(series.keys):
        own = runs.select(**key) if key else runs
        p = series.p[row, : series.count[row]]
        for left in known_counts(p):
            known = parcast.Measurements(p=own.p[own.p < p[left]], time=own.time[own.p < p[left]])
            told = parcast.forecast(known, p[left:], by=[])
            missing = told.notes[0].no_forecast
            for count, time, lower, upper in zip(
                p[left:], told.time, told.lower, told.upper, strict=True
            ):
                if count in missing or upper / lower > WIDEST_USEFUL:
                    continue
                seen = own.time[own.p == count]
                limit = time_kept(time, upper, certainty)
                found.append(
                    Tested(
                        set=path.stem,
                        doublings=float(np.log2(count / p[left - 1])),
                        held=float(np.mean(seen <= limit)),
                        held_median=bool(np.median(seen) <= limit),
                        inside=bool(lower <= np.mean(seen) <= upper),
                        excess=float(limit / np.median(seen) - 1),
                    )
                )
    return found


def means(points: list[Tested]) -> str:
    """Give the figures of some points."""
    by_set = defaultdict(list)
    for x in points:
        by_set[x.set].append(x)
    macro = [
        np.mean([np.mean([getattr(x, name) for x in each]) for each in by_set.values()])
        for name in ("held", "held_median", "inside")
    ]
    excess = np.mean([np.median([x.excess for x in each]) for each in by_set.values()])
    pooled = [np.mean([getattr(x, name) for x in points]) for name in ("held", "inside")]
    far = np.median([x.excess for x in points])
    return (
        f"{len(by_set):5}{len(points):7}"
        + "".join(f"{x:9.1%}" for x in macro)
        + f"{excess:9.0%}{pooled[0]:10.1%}{pooled[1]:10.1%}{far:10.0%}"
    )


def main() -> int:
    """Test every table and print the figures, or say what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--certainty", type=float, default=0.95)
    try:
        asked = parser.parse_args()
        files = sorted(asked.folder.glob("*.csv"))
        points = [x for path in files for x in tested(path, asked.certainty)]
        if not points:
            raise parcast.FitFailed("Nothing to test: no series has four counts.")
    except parcast.ParcastError as failure:
        lines, status = meaning(failure)
        print(*lines, sep="\n", file=sys.stderr)
        return status
    heads = ("holds", "medians", "inside", "excess")
    print(
        f"{'':22} sets points", *(f"{x:>9}" for x in heads), " all:holds   inside   excess", sep=""
    )
    print(f"{'all':22}{means(points)}")
    for low, high in FAR:
        some = [x for x in points if low <= x.doublings < high]
        if some:
            print(f"{f'{low:g} to {high:g} doublings':22}{means(some)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
