"""How well do the laws hold on this machine? Every program, calibrated small, predicted larger.

Prints a table with a line for each program and the figures of all: median and worst error, and the
share of runs in their 90% intervals, without sizes and counts where others used the processors in
all runs (~). At the end the allowance for extending a law, as each
program would have it and as the others have it, from the runs of this campaign. On a quiet
machine, about a minute for each:

    .venv/bin/python benchmarks/validation.py [-np 1,2] [--longest 5] [-o all.json] [NAME ...]

A program that fails is told and does not stop the others; interrupted, the table shows what was
compared so far. With -o the document of `parcast validate --json` is written after every program.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from parcast.errors import ParcastError
from parcast.kernels.registry import KERNELS
from parcast.kernels.trials.predicting import FILE_ALLOWANCE, SIZE_ALLOWANCE
from parcast.kernels.trials.subject import validate
from parcast.validation.comparison import Comparison, Z, quiet
from parcast.validation.result import Validation

WORDS = {True: "holds", False: "fails", None: "open"}


def line(name: str, told: Validation) -> str:
    """One program, or all of them, as a line of the table."""
    compared = told.compared
    if not compared:
        return f"{name:12} nothing compared"
    runs = sum(len(x.runs) for x in quiet(compared))
    inside = sum(x.runs_inside for x in quiet(compared))
    errors = [f"{100 * x.error():+5.1f}{'~' if x.is_disturbed else ''}" for x in compared]
    errors = errors if name != "all" else []
    return (
        f"{name:12} {WORDS[told.holds]:6} {100 * told.median_error:6.1f} "
        f"{100 * told.worst_error:6.1f} {100 * inside / runs:7.0f} {runs:5}   {' '.join(errors)}"
    )


def allowances(told: Validation) -> dict[str, float]:
    """Standard deviation for ten times the size that each program's errors ask for.

    The rest of what a prediction may be off by, known from its interval, is taken off in squares.
    """
    found = {}
    for part in told.parts:
        squares = []
        for x in quiet(part.compared):
            if x.first.facts["factor"] <= 1 or not x.first.facts["calibrated_p"]:
                continue
            half = np.log(x.upper / x.lower) / 2 / Z
            decades = np.log10(x.first.facts["factor"])
            known = max(half**2 - allowed(x, SIZE_ALLOWANCE) ** 2, 0.0)
            off = np.log(x.predicted / x.measured)
            squares.append((off**2 - known) / decades**2)
        if squares:
            found[part.name] = float(np.mean(squares))
    return found


def allowed(x: Comparison, by_size: float) -> float:
    """Standard deviation that is allowed for the size, if it were another for ten times of it."""
    by_files = FILE_ALLOWANCE * x.first.facts["disk_s"] / x.predicted
    return float((by_size + by_files) * np.log10(max(x.first.facts["factor"], 1.0)))


def coverage_with(told: Validation, allowance: float) -> float:
    """Share of runs in their intervals if the allowance for ten times the size were another."""
    inside = []
    for x in quiet(told.compared):
        more = Z**2 * (allowed(x, allowance) ** 2 - allowed(x, SIZE_ALLOWANCE) ** 2)
        low, high = (
            max(float(np.log(end / x.predicted)) ** 2 + more, 0.0) ** 0.5
            for end in (x.lower, x.upper)
        )
        off = [float(np.log(run.seconds / x.predicted)) for run in x.runs]
        inside += [-low <= y <= high for y in off]
    return sum(inside) / len(inside)


def main() -> int:
    """Validate, print, and return 0 if the figures of all programs are within their aims."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(KERNELS), metavar="NAME")
    parser.add_argument("-np", dest="p", default="1,2", help="counts of ranks, with commas")
    parser.add_argument("--longest", type=float, default=5.0, help="of a run on one rank [s]")
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--median", type=float, default=10.0, help="aim [%%]")
    parser.add_argument("--worst", type=float, default=25.0, help="aim [%%]")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    begun = time.monotonic()
    told: Validation | None = None
    failures: dict[str, str] = {}
    print(
        f"{'program':12} {'law':6} {'median':>6} {'worst':>6} {'inside':>7} {'runs':>5}   errors"
    )
    print(f"{'':12} {'':6} {'[%]':>6} {'[%]':>6} {'[%]':>7} {'':5}   [%], n then p ascending")
    for name in asked.names:
        try:
            one = validate(
                name,
                p=[int(x) for x in asked.p.split(",")],
                longest=asked.longest,
                repetitions=asked.repetitions,
                quick=asked.quick,
                seed=asked.seed,
            )
        except ParcastError as failure:
            print(f"{name:12} failed: {failure}", flush=True)
            failures[name] = str(failure)
            continue
        except KeyboardInterrupt:
            break
        told = one if told is None else replace(told, parts=(*told.parts, *one.parts))
        print(line(name, one), flush=True)
        if asked.output:
            asked.output.write_text(json.dumps(told.to_document(), indent=1), encoding="utf-8")
        if one.ended_by == "interrupted":
            break
    if told is None or not told.compared:
        return 4
    print(line("all", told))
    print(f"took {time.monotonic() - begun:.0f} s")
    print("\nallowance for ten times the size: by itself, by the others [%]")
    found = allowances(told)
    for name, own in found.items():
        others = [x for other, x in found.items() if other != name]
        of_others = 100 * max(float(np.mean(others)), 0.0) ** 0.5 if others else float("nan")
        print(f"{name:12} {100 * max(own, 0.0) ** 0.5:5.1f} {of_others:5.1f}")
    shares = {a: coverage_with(told, a / 100) for a in (0, 1, 2, 3, 4, 5, 6, 8, 10, 12)}
    print("runs in their intervals, by that allowance [%]")
    print("  ".join(f"{a}: {100 * share:.0f}" for a, share in shares.items()))
    met = 100 * told.median_error <= asked.median and 100 * told.worst_error <= asked.worst
    met = met and 0.85 <= told.coverage <= 0.95 and not failures
    print("aims met" if met else "aims not met")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
