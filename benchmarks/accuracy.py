"""How wrong forecasts are on measured series, beside simple laws: the largest counts held out.

    .venv/bin/python benchmarks/accuracy.py FILE.csv [FILE.csv ...] [--reach 8]

Protocol: a file is a set. Of every series the largest count, and then the largest two, are held
out; with `--reach K` all counts above 1/K of the largest are, and the largest is asked for. A
series takes part if three counts are left. The error is |forecast - median| / median. The
score of a method is the median of each set, averaged over the sets (each capped at 300 %), so
that a set with a thousand series does not drown one with ten. Coverage is the share of held-out
points inside the 90 % interval, averaged over the sets; width the median of upper / lower.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import parcast
from parcast.cli.failures import meaning
from parcast.laws.curves import AMDAHL, LINEAR, LOGARITHMIC, POWER
from parcast.timings.series import Series

LEFT = 3  # counts a series must keep
NOTHING = f"Nothing to score: no series has {LEFT + 1} counts. Measure more counts."
CAP = 3.0  # an error of more than 300 % counts as that
LAWS = [AMDAHL, LOGARITHMIC, LINEAR, POWER]


def laws_alone(p: np.ndarray, time: np.ndarray, asked: np.ndarray) -> dict[str, np.ndarray]:
    """What each law fitted to all counts says, and the median of them."""
    p, time, asked = p[None], time[None], asked[None]
    said = {law.formula: law.time(asked, law.fit(p, time, np.ones_like(p)))[0] for law in LAWS}
    return said | {"median of the four": np.median(list(said.values()), axis=0)}


def held_out(series: Series, row: int, reach: float | None):
    """Numbers of counts to learn from, and numbers asked for, where enough are left."""
    count = series.count[row]
    known = [count - 1, count - 2]
    if reach is not None:
        known = [int(np.sum(series.p[row, :count] <= series.p[row, count - 1] / reach))]
    for left in known:
        if left >= LEFT:
            yield left, slice(left, count) if reach is None else slice(count - 1, count)


def score_file(path: Path, reach: float | None, errors: dict, hits: dict, widths: list) -> None:
    """Add the errors, interval hits and interval widths of one file."""
    runs = parcast.read_measurements(path)
    series = runs.series()
    for row, key in enumerate(series.keys):
        own = runs.select(**key) if key else runs
        p, time = series.p[row], series.time[row]
        for left, at in held_out(series, row, reach):
            asked, seen = p[at], time[at]
            known = parcast.Measurements(
                **{name: column[own.p < p[left]] for name, column in own.columns.items()}
            )
            told = parcast.forecast(known, asked, by=[])
            alone = laws_alone(p[:left], time[:left], asked)
            for name, said in {"parcast": told.time, **alone}.items():
                errors[name][path.name] += (np.abs(said - seen) / seen).tolist()
            hits[path.name] += ((told.lower <= seen) & (seen <= told.upper)).tolist()
            widths += (told.upper / told.lower).tolist()


def main() -> int:
    """Score every file and print the table, or say what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--reach", type=float, metavar="K", help="from counts up to 1/K of it")
    errors: dict = defaultdict(lambda: defaultdict(list))
    hits: dict = defaultdict(list)
    widths: list = []
    try:
        asked = parser.parse_args()
        for path in asked.files:
            score_file(path, asked.reach, errors, hits, widths)
        if not errors:
            raise parcast.FitFailed(NOTHING)
    except parcast.ParcastError as failure:
        lines, status = meaning(failure)
        print(*lines, sep="\n", file=sys.stderr)
        return status
    heads = ("macro mean", "within 10%", "within 25%")
    print(f"{'method':28}", *(f"{head:>11}" for head in heads), "  cover  width", sep="")
    for name, by_set in errors.items():
        macro = np.mean([min(np.median(e), CAP) for e in by_set.values()])
        near = [np.mean([np.mean(np.array(e) <= x) for e in by_set.values()]) for x in (0.1, 0.25)]
        ends = ""
        if name == "parcast":
            cover = np.mean([np.mean(hit) for hit in hits.values()])
            ends = f"{cover:7.0%}{np.median(widths):7.2f}"
        print(f"{name:28}{macro:11.1%}{near[0]:11.0%}{near[1]:11.0%}{ends}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
