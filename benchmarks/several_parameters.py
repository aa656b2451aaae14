"""How wrong forecasts over several axes are, beside a log-quadratic regression.

    .venv/bin/python benchmarks/several_parameters.py [FILE.csv ...] [--beyond n] [--plan]

Of every callpath on every machine the runs at the largest value of one axis are held out (p, or
the one that --beyond names) and forecast from all others together. The error is |forecast -
median| / median; cover is the share of what was held out inside the 90% interval, width the
median of upper / lower. With --corner only the runs at the largest value of every axis count.
Where a point has three own counts or more, runs that differ in p alone, the forecast of that one
curve stands beside that of all runs. Without a file a table is made up: programs that compute,
exchange a surface and reduce over p processors, with an accuracy theta, and 2% of noise.

With --plan the two largest values of p are held out instead, one run below the largest is
planned, looked up in the file and added: did the interval narrow as was told?
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import parcast
from parcast.cli.failures import meaning

NOTHING = "Nothing to score: no callpath has three values of {} and runs at the largest."
OWN = 3  # counts of one curve
METHODS = ("parcast", "log-quadratic regression", "power law")


def made_up() -> parcast.Measurements:
    """Twelve programs on full grids of p, n and theta."""
    random = np.random.default_rng(7)
    axes = np.meshgrid(2.0 ** np.arange(9), [100, 141, 200, 283], [0.1, 0.2, 0.4], indexing="ij")
    p, n, theta = (x.ravel() for x in axes)
    tables = []
    for number in range(12):
        volume = n**3 / p
        work, surface, tree, fixed = 10 ** random.uniform([-6, -5, -3, -3], [-5, -4, -1, -1])
        time = work * volume + surface * volume ** (2 / 3) + tree * np.log2(2 * p) + fixed
        if number % 2:
            time = work * n**3 + surface * n**2 * np.log2(2 * p)  # weak: n is of one processor
        time = time * theta ** -random.uniform(0, 2) * random.lognormal(0, 0.02, len(p))
        tables.append((time, np.full(len(p), f"program {number}", dtype=object)))
    return parcast.Measurements(
        p=np.tile(p, 12),
        n=np.tile(n, 12),
        theta=np.tile(theta, 12),
        time=np.concatenate([time for time, _ in tables]),
        callpath=np.concatenate([name for _, name in tables]),
    )


def programs(runs: parcast.Measurements):
    """Yield the runs of each callpath on each machine: axes (runs, axes), median times, names."""
    names = [x for x in runs.axes if np.ptp(runs.axes[x]) > 0]
    labels = list(runs.labels)
    keys = list(zip(*(runs.labels[x].tolist() for x in labels), strict=True)) or [()] * len(runs)
    every = np.column_stack([runs.axes[x] for x in names])
    for key in dict.fromkeys(keys):
        mine = np.array([x == key for x in keys])
        points, place = np.unique(every[mine], axis=0, return_inverse=True)
        times = runs.time[mine]
        medians = [np.median(times[place.ravel() == i]) for i in range(len(points))]
        yield points, np.array(medians), names


def regression(points: np.ndarray, time: np.ndarray, asked: np.ndarray, degree: int) -> np.ndarray:
    """Least squares of log time on the logarithms of the axes, their squares and products."""

    def design(x: np.ndarray) -> np.ndarray:
        logs = np.log(x)
        axes = range(logs.shape[1])
        squares = [logs[:, i] * logs[:, j] for i in axes for j in axes if i <= j]
        return np.column_stack([np.ones(len(x)), logs, *(squares if degree == 2 else [])])

    found = np.linalg.lstsq(design(points), np.log(time), rcond=None)[0]
    return np.exp(design(asked) @ found)


def forecast_at(points: np.ndarray, time: np.ndarray, names: list[str], asked: np.ndarray):
    """Time, lower and upper of parcast at each point asked for."""
    columns = dict(zip(names, points.T, strict=True))
    runs = parcast.Measurements(time=time, **columns)
    values = {x: np.unique(y) for x, y in zip(names, asked.T, strict=True)}
    told = parcast.forecast(runs, **values)
    table = {
        tuple(float(row[x]) for x in names): (row["time_s"], row["lower_s"], row["upper_s"])
        for row in told.rows()
    }
    return np.array([table[tuple(x)] for x in asked.tolist()]).T


def one_curve(points: np.ndarray, time: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Forecast each point from runs that differ from it in p alone; NaN from fewer than three."""
    told = np.full(len(asked), np.nan)
    for i, point in enumerate(asked):
        own = np.all(points[:, 1:] == point[1:], axis=1)
        if np.sum(own) >= OWN:
            runs = parcast.Measurements(p=points[own, 0], time=time[own])
            told[i] = parcast.forecast(runs, p=[int(point[0])], by=[]).time[0]
    return told


def score(runs: parcast.Measurements, beyond: str, scores: dict, *, corner: bool) -> None:
    """Add errors, hits and widths of every program of a table."""
    for points, time, names in programs(runs):
        if beyond not in names or "p" not in names or len(names) < 2:
            continue
        axis = points[:, names.index(beyond)]
        if len(np.unique(axis)) < 3:
            continue
        known = axis < axis.max()
        held = np.all(points == points.max(axis=0), axis=1) if corner else ~known
        if not held.any():
            continue
        try:
            said, lower, upper = forecast_at(points[known], time[known], names, points[held])
        except parcast.FitFailed:
            scores["refused"].append(1)
            continue
        seen = time[held]
        told = points[known], time[known], points[held]
        answers = (said, regression(*told, degree=2), regression(*told, degree=1))
        for method, answer in zip(METHODS, answers, strict=True):
            scores[method] += (np.abs(answer - seen) / seen).tolist()
        if beyond == "p" == names[0]:
            alone = np.abs(one_curve(*told) - seen) / seen
            scores["alone"] += alone[np.isfinite(alone)].tolist()
            scores["beside"] += (np.abs(said - seen) / seen)[np.isfinite(alone)].tolist()
        scores["hits"] += ((lower <= seen) & (seen <= upper)).tolist()
        scores["widths"] += (upper / lower).tolist()


def check_plan(runs: parcast.Measurements, scores: dict) -> None:
    """Add how wide intervals were, were told to become, and became with one planned run."""
    for points, time, names in programs(runs):
        counts = np.unique(points[:, 0])
        if len(counts) < 5 or names[0] != "p":
            continue
        told = points[:, 0] < counts[-2]
        for asked in points[points[:, 0] == counts[-1]]:
            known = parcast.Measurements(
                time=time[told], **dict(zip(names, points[told].T, strict=True))
            )
            values = dict(zip(names, asked.tolist(), strict=True))
            plan = parcast.plan_runs(known, counts=counts[:-1], runs=1, **values)
            if not plan:
                continue
            run = np.array([plan[0].at[x] for x in names])
            made = np.all(points == run, axis=1)
            if not made.any():
                continue
            both = told | made
            _, lower, upper = forecast_at(points[both], time[both], names, asked[None])
            scores["before"].append(2 * plan[0].before)
            scores["promised"].append(2 * plan[0].after)
            scores["after"].append(float(np.log(upper / lower)[0]))


def say_plan(scores: dict) -> None:
    """Print what was told of planned runs and what became of it."""
    before, promised, after = (np.array(scores[x]) for x in ("before", "promised", "after"))
    widths = [f"{np.exp(np.median(x)):.2f}" for x in (before, promised, after)]
    low, middle, high = np.quantile(after / promised, [0.1, 0.5, 0.9])
    print(f"{len(before)} planned runs: median width {widths[0]} before, {widths[1]} told,")
    print(f"{widths[2]} after; narrowed at all {np.mean(after < before):.0%};")
    print(
        f"log width after / told: median {middle:.2f}, 10 to 90% of runs {low:.2f} to {high:.2f}"
    )


def main() -> int:
    """Score every file and print the table, or say what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--beyond", default="p", help="axis whose largest value is held out")
    parser.add_argument("--corner", action="store_true", help="only the largest of all axes")
    parser.add_argument("--plan", action="store_true", help="check what plan_runs promises")
    asked = parser.parse_args()
    scores: dict = defaultdict(list)
    try:
        tables = [parcast.read_measurements(path) for path in asked.files] or [made_up()]
        for table in tables:
            if asked.plan:
                check_plan(table, scores)
            else:
                score(table, asked.beyond, scores, corner=asked.corner)
        if not scores["before" if asked.plan else "hits"]:
            raise parcast.FitFailed(NOTHING.format(asked.beyond))
    except parcast.ParcastError as failure:
        lines, status = meaning(failure)
        print(*lines, sep="\n", file=sys.stderr)
        return status
    if asked.plan:
        say_plan(scores)
        return 0
    print(f"{'method':28}{'median':>8}{'p90':>8}{'within 10%':>12}{'cover':>8}{'width':>8}")
    for method in METHODS:
        e = np.array(scores[method])
        line = f"{method:28}{np.median(e):8.1%}{np.quantile(e, 0.9):8.1%}{np.mean(e <= 0.1):12.0%}"
        if method == "parcast":
            line += f"{np.mean(scores['hits']):8.0%}{np.median(scores['widths']):8.2f}"
        print(line)
    if scores["alone"]:
        alone, beside = (f"{np.median(scores[x]):.1%}" for x in ("alone", "beside"))
        print(
            f"one curve alone {alone}, parcast {beside} at the same {len(scores['alone'])} points"
        )
    print(f"{len(scores['hits'])} held-out points; {len(scores['refused'])} programs refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
