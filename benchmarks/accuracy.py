"""How wrong forecasts are on measured series, beside simple laws: the largest counts held out.

    .venv/bin/python benchmarks/accuracy.py FILE.csv [FILE.csv ...] [--reach 8 | --rates]

Protocol: a file is a set. Of every series the largest count, and then the largest two, are held
out; with `--reach K` all counts above 1/K of the largest are, and the largest is asked for. A
series takes part if three counts are left. With `--rates`, for tables of training, the last two
doublings are forecast from the counts before, of which two are enough, beside two rules of thumb:
the efficiency stays as at the last count, or each further processor adds as much to the rate as
those of the last step did. The error is |forecast - median| / median. The score of a method is
the median of each set, averaged over the sets (each capped at 300%), so that a set with a
thousand series does not drown one with ten. Coverage is the share of held-out points inside the
90% interval, averaged over the sets; width the median of upper / lower.
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
LEFT_OF_RATES, DOUBLINGS = 2, 2  # the same with --rates, and what they are asked for
NOTHING = "Nothing to score: no series has {}. Measure more counts."
CAP = 3.0  # an error of more than 300% counts as that
LAWS = [AMDAHL, LOGARITHMIC, LINEAR, POWER]


def laws_alone(p: np.ndarray, time: np.ndarray, asked: np.ndarray) -> dict[str, np.ndarray]:
    """What each law fitted to all counts says, and the median of them."""
    p, time, asked = p[None], time[None], asked[None]
    said = {law.formula: law.time(asked, law.fit(p, time, np.ones_like(p)))[0] for law in LAWS}
    return said | {"median of the four": np.median(list(said.values()), axis=0)}


def rules_of_thumb(p: np.ndarray, time: np.ndarray, asked: np.ndarray) -> dict[str, np.ndarray]:
    """What follows if the efficiency of all processors, or of the last ones added, stays."""
    rate = 1 / time
    added = max((rate[-1] - rate[-2]) / (p[-1] - p[-2]), 0.0)
    return {
        "constant efficiency": time[-1] * p[-1] / asked,
        "constant marginal efficiency": 1 / (rate[-1] + added * (asked - p[-1])),
    }


def held_out(series: Series, row: int, asked: argparse.Namespace):
    """Numbers of counts to learn from, and numbers asked for, where enough are left."""
    count = series.count[row]
    p = series.p[row, :count]
    known = [count - 1, count - 2]
    if asked.rates or asked.reach is not None:
        known = [int(np.sum(p <= p[-1] / (asked.reach or 2**DOUBLINGS)))]
    for left in known:
        if left >= (LEFT_OF_RATES if asked.rates else LEFT):
            yield left, slice(left if asked.reach is None else count - 1, count)


def score_file(
    path: Path, how: argparse.Namespace, errors: dict, hits: dict, widths: list
) -> None:
    """Add the errors, interval hits and interval widths of one file."""
    runs = parcast.read_measurements(path)
    series = runs.series()
    for row, key in enumerate(series.keys):
        own = runs.select(**key) if key else runs
        p, time = series.p[row], series.time[row]
        for left, at in held_out(series, row, how):
            asked, seen = p[at], time[at]
            known = parcast.Measurements(
                **{name: column[own.p < p[left]] for name, column in own.columns.items()}
            )
            told = parcast.forecast(known, asked, by=[])
            alone = laws_alone(p[:left], time[:left], asked)
            if how.rates:
                alone |= rules_of_thumb(p[:left], time[:left], asked)
            for name, said in {"parcast": told.time, **alone}.items():
                errors[name][path.name] += (np.abs(said - seen) / seen).tolist()
            hits[path.name] += ((told.lower <= seen) & (seen <= told.upper)).tolist()
            widths += (told.upper / told.lower).tolist()


def main() -> int:
    """Score every file and print the table, or say what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--reach", type=float, metavar="K", help="from counts up to 1/K of it")
    which.add_argument("--rates", action="store_true", help="two doublings, and rules of thumb")
    errors: dict = defaultdict(lambda: defaultdict(list))
    hits: dict = defaultdict(list)
    widths: list = []
    try:
        asked = parser.parse_args()
        for path in asked.files:
            score_file(path, asked, errors, hits, widths)
        if not errors:
            few = f"{LEFT_OF_RATES} counts up to a quarter of its largest"
            raise parcast.FitFailed(NOTHING.format(few if asked.rates else f"{LEFT + 1} counts"))
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
