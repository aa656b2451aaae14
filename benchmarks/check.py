"""Replays of unchanged programs: how often `parcast check` reports one, and what it finds.

    .venv/bin/python benchmarks/check.py FOLDER [--replays 1000] [--seed 1]

FOLDER has a folder for each set: NAME/NAME.csv with the columns of its context, `callpath`,
`metric`, `value` and `repetition`, and NAME/meta.json, whose `process_param` names the column of
processors. A program is what differs in counts and call paths only; of it the cells with four
repetitions or more take part, 200 at most.

A replay draws a set, a program, and with replacement the repetitions of the base, of a first run
and of a second one of three repetitions. Unchanged, any report is a false one. Then one cell, of
those where parcast said before that it finds 10%, takes 10% longer in both new runs. Beside it
a fixed threshold, 110% of the median, with and without the second run, and Apache Otava where
it is installed (`pip install apache-otava`), with its defaults, on all runs in their order.
"""

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import parcast

LEAST, MOST = 4, 200  # repetitions of a cell, and cells of a program
SLOWER = 1.1
TIMES = ("time", "second", "latency", "hour")  # in the names of metrics that are no rates
AGAIN = 3

Cells = dict[tuple[str, float], np.ndarray]
Runs = Sequence[np.ndarray]


def programs_of(folder: Path) -> list[Cells]:
    """Repetitions of every cell of every program of a set."""
    meta = json.loads((folder / "meta.json").read_text())
    p_name = meta["process_param"]
    found: dict[tuple[str, ...], dict] = defaultdict(lambda: defaultdict(list))
    with (folder / f"{folder.name}.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            value = float(row["value"] or "nan")
            if not 0 < value < np.inf:
                continue
            is_time = any(word in row["metric"] for word in TIMES)
            own = {"value", "repetition", "callpath", p_name}
            program = tuple(y for x, y in row.items() if x not in own)
            cell = row.get("callpath", ""), float(row[p_name])
            found[program][cell].append(value if is_time else 1 / value)
    kept = (
        {cell: np.array(x) for cell, x in cells.items() if len(x) >= LEAST}
        for cells in found.values()
    )
    return [cells for cells in kept if cells]


def table(keys: Sequence[tuple[str, float]], runs: Runs) -> parcast.Measurements:
    """Runs of some cells as a table."""
    sizes = [len(x) for x in runs]
    return parcast.Measurements(
        callpath=np.repeat(np.array([f"c{x}" for x, _ in keys], dtype=object), sizes),
        p=np.repeat([p for _, p in keys], sizes),
        time=np.concatenate(runs),
    )


def by_parcast(keys, base: Runs, first: Runs, second: Runs, confirm: int) -> np.ndarray:
    """Cells that parcast reports; the second run is made where it asks for it."""
    tables = [table(keys, first)]
    against = table(keys, base)
    told = parcast.check(tables, against=against, confirm=confirm)
    if told.answer == "measure again":
        told = parcast.check([*tables, table(keys, second)], against=against, confirm=confirm)
    slower = {(x["callpath"], x["p"]): x["result"] == "slower" for x in told.rows()}
    return np.array([slower[f"c{name}", p] for name, p in keys])


def by_threshold(base: Runs, *runs: Runs) -> np.ndarray:
    """Cells whose median is above 110% of the base in every run."""
    return np.all(
        [
            [np.median(x) > SLOWER * np.median(y) for x, y in zip(each, base, strict=True)]
            for each in runs
        ],
        axis=0,
    )


def otava() -> Callable[..., np.ndarray] | None:
    """Cells in which Otava finds a change to longer times; None where it is not installed."""
    try:
        from otava.series import Metric, Series
    except ImportError:
        return None

    def by_otava(base: Runs, first: Runs, second: Runs) -> np.ndarray:
        slower = []
        for x in zip(base, first, second, strict=True):
            every = np.concatenate(x).tolist()
            series = Series("t", None, [*range(len(every))], {"t": Metric(-1)}, {"t": every}, {})
            points = series.analyze().change_points.get("t", [])
            slower.append(any(point.forward_change_percent() > 0 for point in points))
        return np.array(slower)

    return by_otava


def drawn(random: np.random.Generator, cells: Sequence[np.ndarray], size: int | None) -> Runs:
    """Repetitions drawn from those of each cell, as many as there are or `size`."""
    return [random.choice(x, size or len(x)) for x in cells]


def sorted_runs(runs: Runs) -> list[list[float]]:
    """Repetitions of each cell in order."""
    return [sorted(x) for x in runs]


def study(sets: list[list[Cells]], size: int | None, replays: int, seed: int) -> None:
    """Replay, and print a line for each method."""
    random = np.random.default_rng(seed)
    other = otava()
    false, found = defaultdict(int), defaultdict(int)
    said = cells_seen = trials = 0
    for _ in range(replays):
        programs = sets[random.integers(len(sets))]
        every = programs[random.integers(len(programs))]
        names = list(every)
        keys = [names[i] for i in random.permutation(len(names))[:MOST]]
        cells = [every[key] for key in keys]
        base, first = drawn(random, cells, None), drawn(random, cells, size)
        second = drawn(random, cells, AGAIN)
        while sorted_runs(second) == sorted_runs(first):  # the same runs confirm nothing
            second = drawn(random, cells, AGAIN)
        told = parcast.check(table(keys, first), against=table(keys, base))
        seen = {(x["callpath"], x["p"]): x["visible"] for x in told.rows()}
        visible = np.array([seen[f"c{name}", p] for name, p in keys])
        visible = np.where(np.isnan(visible.astype(float)), np.inf, visible.astype(float))
        chosen = np.flatnonzero(visible <= SLOWER - 1)
        said, cells_seen = said + len(chosen), cells_seen + len(keys)
        place = int(random.choice(chosen)) if len(chosen) else None
        trials += place is not None
        for is_slower in (False, True) if place is not None else (False,):
            if is_slower:
                first, second = ([*x] for x in (first, second))
                first[place], second[place] = first[place] * SLOWER, second[place] * SLOWER
            answers = {
                "parcast, second run": by_parcast(keys, base, first, second, AGAIN),
                "parcast, --confirm 0": by_parcast(keys, base, first, second, 0),
                "110%": by_threshold(base, first),
                "110%, second run": by_threshold(base, first, second),
            }
            if other is not None:
                answers["Otava"] = other(base, first, second)
            for name, cells_slower in answers.items():
                if is_slower:
                    found[name] += bool(cells_slower[place])
                else:
                    false[name] += bool(cells_slower.any())
    runs = f"{size} runs" if size else "as many runs as the base"
    print(f"\nfirst run of {runs}: {said / cells_seen:.0%} of cells said to show 10%")
    print(f"{'method':24}{'reports of unchanged':>22}{'10% found':>12}")
    for name in false:
        share = f"{found[name] / trials:.1%}" if trials else ""
        print(f"{name:24}{false[name] / replays:>22.2%}{share:>12}")


def main() -> int:
    """Read the sets, replay, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    places = sorted(x.parent for x in asked.folder.glob("*/meta.json"))
    sets = [x for x in map(programs_of, places) if x]
    if not sets:
        print(f"{asked.folder} has no set with {LEAST} repetitions.", file=sys.stderr)
        return 3
    cells = sum(len(program) for programs in sets for program in programs)
    print(f"{len(sets)} sets, {sum(map(len, sets))} programs, {cells} cells")
    for size in (None, 3, 1):
        study(sets, size, asked.replays, asked.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
