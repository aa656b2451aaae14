"""Which layout of ranks and threads is fastest at a count that was not measured.

For each table with three or more layouts (values of its column `variant` that name threads), each
count with two smaller ones is held out with all larger ones; `parcast.match` ranks the layouts
from the rest:

    .venv/bin/python benchmarks/layouts.py FOLDER
"""

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Final

import parcast

FEWEST: Final = 3  # layouts: of two the best is always among the first two
SMALLER: Final = 2  # counts of a layout, from which it is forecast


def tables(folder: Path) -> Iterator[tuple[str, dict[str, dict[int, float]]]]:
    """Median times of layouts by count, for each machine of each set."""
    for file in sorted(folder.glob("*/meta.json")):
        meta = json.loads(file.read_text())
        found: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        with file.with_name(f"{meta['name']}.csv").open() as stream:
            for row in csv.DictReader(x for x in stream if not x.startswith("#")):
                is_primary = all(row[key] == value for key, value in meta["primary"].items())
                if is_primary and "threads" in row.get("variant", ""):
                    times = found[row["machine"]][row["variant"]]
                    times[int(row["p"])].append(float(row["value"]))
        for machine, layouts in found.items():
            middle = {k: {p: median(x) for p, x in of.items()} for k, of in layouts.items()}
            yield f"{meta['name']} {machine}", middle


def ranking(layouts: dict[str, dict[int, float]], target: int) -> list[str]:
    """Layouts at a count, the fastest first, forecast from smaller counts."""
    rows = [(k, p, x) for k, of in layouts.items() for p, x in of.items() if p < target]
    names, p, times = zip(*rows, strict=True)
    runs = parcast.Measurements(p=p, time=times, machine=names)
    answer = parcast.match(runs, p=[target])
    return [row["machine"] for row in sorted(answer.rows(), key=lambda row: row["time_s"])]


def main() -> None:
    """Print a line for each count that is held out, and how often the best was found."""
    first, second, losses = 0, 0, []
    for name, layouts in tables(Path(sys.argv[1])):
        for target in sorted({p for of in layouts.values() for p in of}):
            here = {
                k: of
                for k, of in layouts.items()
                if target in of and sum(p < target for p in of) >= SMALLER
            }
            if len(here) < FEWEST:
                continue
            ranked, best = ranking(here, target), min(here, key=lambda k: here[k][target])
            first, second = first + (best == ranked[0]), second + (best in ranked[:2])
            losses.append(here[ranked[0]][target] / here[best][target] - 1)
            print(f"{name}: {target}: {best}; ranked {ranked[:3]}, {losses[-1]:.1%} slower")
    print(f"first {first}, among the first two {second} of {len(losses)}")
    print(
        f"the one that is recommended is slower by {median(losses):.1%}, at most {max(losses):.0%}"
    )


if __name__ == "__main__":
    main()
