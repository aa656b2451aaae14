"""What runs that were stopped tell: forecasts with their bounds and without, on known curves.

    .venv/bin/python benchmarks/cut_off.py [--tables 200] [--seed 0] [--several [FILE.csv ...]]

A table has three to six counts, doubled each time, of a program whose curve is drawn: a part that
is shared and one that is not, with a cost that grows as log p, as a power of p, or not; under weak
scaling only the cost. Noise is 2%. A run at the next count is given between half and twice of
what is forecast for it, whatever it needs; a table is used if it is then stopped. Asked for are
this count and twice as many.

With --several a table has p = 1 to 64 and four problem sizes, of the same curves with a power of
the size for each part; or it is a program of the files, with its medians. A fifth of the runs is
held out, three times for each program of a file. The others have a limit that 10 to 50% of all
exceed, and are stopped there. Asked for are the runs that were stopped and those held out, of
times above the limit and below.

Error is |log(forecast / time)|, coverage the share of times within the 90% interval, width the
median of upper / lower, and the score of an interval its log width plus 20 times what lies
outside; lower is better.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np

import parcast

NOISE = 0.02
HELD_OUT = 0.2
REPEATED = 3
FEWEST = 8  # runs of a program
HEAD = "  median error  mean error  covered  width  score"


def curve(random: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Draw the time of a program as a function of p."""
    work, rest = 100.0, 100.0 * 10 ** random.uniform(-3, -0.7)
    logarithm = 100.0 * 10 ** random.uniform(-3.5, -1.5) * random.integers(2)
    power, exponent = 100.0 * 10 ** random.uniform(-5, -2), random.uniform(0.5, 1.3)
    power *= random.integers(2)
    is_weak = random.random() < 0.3
    return lambda p: (
        (work if is_weak else work / p) + rest + logarithm * np.log2(p) + power * p**exponent
    )


def surface(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw the times of a program, (runs,), and its p and n, (runs, 2)."""
    p, n = (x.ravel() for x in np.meshgrid(2.0 ** np.arange(7), [1, 2, 4, 8], indexing="ij"))
    parts = [curve(random)(p) for _ in range(2)]
    powers = random.uniform([0.8, 0], [2, 1])
    time = sum(part * n**power for part, power in zip(parts, powers, strict=True))
    return time * np.exp(random.normal(0, NOISE, len(p))), np.column_stack([p, n])


def of_files(paths: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give the median times of each program of some files, (runs,), and the values of its axes."""
    for path in paths:
        runs = parcast.read_measurements(path)
        axes = np.column_stack(list(runs.axes.values()))
        keys = list(zip(*(x.tolist() for x in runs.labels.values()), strict=True))
        for key in dict.fromkeys(keys or [()]):
            mine = np.array([x == key for x in keys]) if keys else np.ones(len(runs), dtype=bool)
            points, place = np.unique(axes[mine], axis=0, return_inverse=True)
            times = runs.time[mine]
            yield (
                np.array([np.median(times[place.ravel() == i]) for i in range(len(points))]),
                points,
            )


def asked_of(runs: parcast.Measurements, points: np.ndarray) -> np.ndarray:
    """Forecast some points, (points, axes): time, lower and upper of each."""
    names = ["p", *(x for x in runs.axes if x != "p")]
    values = {x: np.unique(y) for x, y in zip(names, points.T, strict=True)}
    rows = parcast.forecast(runs, **values).rows()
    found = {
        tuple(float(row.get(x, points[0, j])) for j, x in enumerate(names)): row for row in rows
    }
    told = [found[tuple(x)] for x in points.tolist()]
    return np.array([[x["time_s"], x["lower_s"], x["upper_s"]] for x in told])


def stopped_at_a_limit(
    time: np.ndarray, points: np.ndarray, random: np.random.Generator
) -> dict[tuple[str, str], np.ndarray]:
    """Forecast a program whose longest runs are stopped: answers and times by place and method."""
    held = random.random(len(time)) < HELD_OUT
    limit = np.quantile(time, random.uniform(0.5, 0.9))
    stopped = (time > limit) & ~held
    axes = [f"x{j}" if j else "p" for j in range(points.shape[1])]

    def table(rows: np.ndarray) -> parcast.Measurements:
        return parcast.Measurements(
            time=time[rows], **dict(zip(axes, points[rows].T, strict=True))
        )

    left_out = table(~held & ~stopped)
    limits = dict(zip(axes, points[stopped].T, strict=True)) | {"time": limit}
    methods = {
        "left out": left_out,
        "as bounds": left_out.with_cut_off(**limits),
        "not stopped": table(~held),
    }
    places = {
        "stopped": stopped,
        "above limit": held & (time > limit),
        "below limit": held & (time <= limit),
    }
    asked = held | stopped
    found = {}
    for method, runs in methods.items():
        told = asked_of(runs, points[asked])
        for place, rows in places.items():
            if place != "stopped" or method != "not stopped":
                here = rows[asked]
                found[place, method] = np.column_stack([told[here], time[asked][here]])
    return found


def several(asked: argparse.Namespace) -> None:
    """Print what runs that were stopped change of forecasts over several axes."""
    random = np.random.default_rng(asked.seed)
    if asked.several:
        programs = [x for x in of_files(asked.several) for _ in range(REPEATED)]
    else:
        programs = [surface(random) for _ in range(asked.tables)]
    answers: dict[tuple[str, str], list[np.ndarray]] = {}
    used = 0
    for time, points in programs:
        if len(time) < FEWEST or np.any(np.ptp(points, axis=0) == 0):
            continue
        try:
            found = stopped_at_a_limit(time, points, random)
        except (parcast.FitFailed, parcast.ParameterError):
            continue
        used += 1
        for key, rows in found.items():
            answers.setdefault(key, []).append(rows)
    print(f"{used} of {len(programs)} tables have an answer from what is left")
    print(f"{'':14}{'':12}{'points':>8}{HEAD}")
    for (place, method), rows in sorted(answers.items(), key=lambda x: x[0][0]):
        every = np.concatenate(rows)
        print(f"{place:14}{method:12}{len(every):8}{scored(*np.log(every).T)}")


def scored(middle: np.ndarray, low: np.ndarray, high: np.ndarray, true: np.ndarray) -> str:
    """Write the columns of `HEAD` for some logarithms of times and intervals."""
    error, outside = np.abs(middle - true), np.maximum(np.maximum(low - true, true - high), 0)
    return (
        f"{np.median(error):14.1%}{error.mean():12.1%}{np.mean(outside == 0):9.0%}"
        f"{np.exp(np.median(high - low)):7.2f}{np.mean(high - low + 20 * outside):7.2f}"
    )


def main() -> None:
    """Draw tables until enough have a run that was stopped, and print what the bounds change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--several", nargs="*", help="over several axes, of files or drawn")
    asked = parser.parse_args()
    if asked.several is not None:
        several(asked)
        return
    random = np.random.default_rng(asked.seed)
    found: list[list[np.ndarray]] = [[], []]
    drawn = 0
    while len(found[0]) < asked.tables:
        drawn += 1
        time_of, counts = curve(random), int(random.integers(3, 7))
        p = 2.0 ** np.arange(counts + 2)
        time = time_of(p) * np.exp(random.normal(0, NOISE, len(p)))
        runs = parcast.Measurements(p=p[:counts], time=time[:counts])
        without = parcast.forecast(runs, p[counts:])
        limit = without.time[0] * 2 ** random.uniform(-1, 1)
        if time[counts] <= limit:
            continue
        given = parcast.forecast(runs.with_cut_off(p=p[counts], time=limit), p[counts:])
        for answers, told in zip(found, (without, given), strict=True):
            answers.append(np.stack([told.time, told.lower, told.upper, time[counts:]]))
    print(f"{asked.tables} of {drawn} tables have a run that was stopped")
    print(f"{'':14}{'at':>10}{HEAD}")
    for name, answers in zip(("without bound", "with bound"), found, strict=True):
        logs = np.log(np.array(answers))
        for i, place in enumerate(("its count", "twice it")):
            print(f"{name:14}{place:>10}{scored(*logs[..., i].T)}")


if __name__ == "__main__":
    main()
