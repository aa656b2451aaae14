"""How far the forms of the pipeline's law are from the simulation of the schedule they are for.

    .venv/bin/python benchmarks/pipeline_simulation.py [--jobs 2] [--quick] [-o points.csv]
    .venv/bin/python benchmarks/pipeline_simulation.py --points points.csv

A point of the grid is P processors in each of G pipelines that share a channel, N items, merges
and messages (L/C) as parts of the time of a task, and tasks that are all the same or exponential.
Each form is compared with its schedule: adaptive with the default one, overlapped and serial with
the published one, without and with waiting for messages; the law of the default one knows that
tasks vary. The error is law / simulation - 1; in
the tables are the median of its size, the largest one, and the share of points within 5 and 10%.
"""

import argparse
import csv
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

import parcast

FORMS = ("adaptive", "overlapped", "serial")
TASK = 0.1  # [s]
GRID = {
    "tasks": ("the same", "exponential"),
    "P": (2, 4, 16, 64),
    "G": (1, 4),
    "N": (100, 1000, 4000),
    "T_merge/T_comp": (0.1, 0.5, 1.0),
    "(L/C)/T_comp": (0.001, 0.01, 0.1),
}
QUICK = GRID | {"P": (2, 16), "N": (100, 1000), "T_merge/T_comp": (0.1, 1.0)}


def point(form, values, precision=0.02):
    """Simulate one point: its values, the law's time (NaN: none) and the simulated one."""
    tasks, size, pipelines, items, merge, service = values
    phase = {
        "law": "pipeline",
        "form": form,
        "items": items,
        "task": f"{TASK} s",
        "merge": f"{TASK * merge} s",
        "pipelines": pipelines,
        "channel": "shared",
        "message": f"{round(TASK * service * 1e9)} B",
    }
    if form == "adaptive" and tasks != "the same":
        phase["task_cv"] = 1
    found = parcast.simulate(
        parcast.Program(phase=[phase]),
        parcast.Machine(network={"bandwidth": "1 GB/s"}),
        p=[size * pipelines],
        laws={"task": "none" if tasks == "the same" else "exponential"},
        precision=precision,
        replications=4,
    )
    return (form, *values, float(found.predicted[0]), float(found.time[0]))


def summary(errors):
    """Write the row of a table for some errors; NaN where the law has no answer."""
    known = np.abs(errors[~np.isnan(errors)])
    if not known.size:
        return f"{0:6d}" + f"{'-':>9s}" * 4 + f"{errors.size:9d}"
    shares = [100 * np.mean(known <= most) for most in (0.05, 0.10)]
    worst = errors[np.nanargmax(np.abs(errors))]
    return (
        f"{known.size:6d} {100 * np.median(known):8.1f} {100 * worst:+8.0f} "
        f"{shares[0]:8.0f} {shares[1]:8.0f} {errors.size - known.size:8d}"
    )


def tables(rows, grid):
    """Print a table of each form and kind of tasks, with a row for each G, N and length."""
    heading = "points  median    worst    <= 5%   <= 10%   no law"
    errors = {tuple(row[:-2]): row[-2] / row[-1] - 1 for row in rows}
    bands = {"L/C <= 0.01 T_comp": lambda x: x <= 0.01, "L/C = 0.1 T_comp": lambda x: x > 0.01}
    for form, tasks in product(FORMS, grid["tasks"]):
        print(f"\n{f'{form}, tasks {tasks}':40s}{heading}")
        for band, inside in bands.items():
            for pipelines, items in product(grid["G"], grid["N"]):
                own = [
                    error
                    for (own_form, own_tasks, _, g, n, _, service), error in errors.items()
                    if (own_form, own_tasks, g, n) == (form, tasks, pipelines, items)
                    and inside(service)
                ]
                name = f"  {band}, G = {pipelines}, N = {items}"
                print(f"{name:40s}{summary(np.array(own))}")


def read(path):
    """Read points that were written before."""
    with open(path, newline="") as file:
        _, *rows = csv.reader(file)
    return [
        (
            *row[:2],
            *(float(x) if "." in x else int(x) for x in row[2:-2]),
            float(row[-2]),
            float(row[-1]),
        )
        for row in rows
    ]


def main():
    """Simulate the grid and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--quick", action="store_true", help="a part of the grid")
    parser.add_argument("-o", metavar="FILE", help="all points as CSV")
    parser.add_argument("--points", metavar="FILE", help="tables of a CSV that -o has written")
    asked = parser.parse_args()
    if asked.points:
        tables(read(asked.points), GRID)
        return
    grid = QUICK if asked.quick else GRID
    cases = list(product(FORMS, product(*grid.values())))
    began = time.monotonic()
    with ProcessPoolExecutor(asked.jobs) as pool:
        rows = list(pool.map(point, *zip(*cases, strict=True), chunksize=4))
    print(f"{len(rows)} points in {time.monotonic() - began:.0f} s", file=sys.stderr)
    if asked.o:
        with open(asked.o, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["form", *grid, "law_s", "simulated_s"])
            writer.writerows(rows)
    tables(rows, grid)


if __name__ == "__main__":
    main()
