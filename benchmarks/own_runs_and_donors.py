"""How wrong forecasts with donors are from one, two and three own runs, all at the same points.

    .venv/bin/python benchmarks/own_runs_and_donors.py FILE.csv [FILE.csv ...]

Protocol: a file is a set, with a column `machine`. Each machine is the target in turn, and the
runs of the same call path on the others are its donors. The counts beyond the third smallest are
asked for that two donors reach; known are the smallest one, two or three. Beside parcast stands
the shape of the donors: the last known time, scaled by the median of their ratios. The error is
|forecast - median| / median. Of each set the median counts, and these are averaged (each capped at
300%); covered is the share of points inside the 90% interval, averaged over the sets, width the
median of upper / lower.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import parcast

OWN = (1, 2, 3)  # runs of the target
CAP = 3.0  # an error of more than 300% counts as that
Curve = dict[float, float]  # median times by count [s]


def programs(path: Path) -> Iterator[dict[str, Curve]]:
    """Give the curves of each call path by machine."""
    series = parcast.read_measurements(path).series()
    found: dict[tuple, dict[str, Curve]] = defaultdict(dict)
    for row, key in enumerate(series.keys):
        others = {name: x for name, x in key.items() if name != "machine"}
        count = int(series.count[row])
        curve = dict(zip(series.p[row, :count], series.time[row, :count], strict=True))
        found[tuple(others.items())][str(key.get("machine", ""))] = curve
    yield from found.values()


def shape(known: Curve, donors: dict[str, Curve], asked: list[float]) -> np.ndarray:
    """Scale the last known time as the donors do, by the median of their ratios."""
    last = max(known)
    told = []
    for p in asked:
        ratios = [
            np.interp(np.log(p), np.log(list(curve)), np.log(list(curve.values())))
            - np.interp(np.log(last), np.log(list(curve)), np.log(list(curve.values())))
            for curve in donors.values()
            if min(curve) <= last and max(curve) >= p
        ]
        told.append(known[last] * np.exp(np.median(ratios)))
    return np.array(told)


def targets(machines: dict[str, Curve]) -> Iterator[tuple[Curve, dict[str, Curve], list[float]]]:
    """Give each machine's curve, its donors, and the counts that are asked for."""
    for target, curve in machines.items():
        donors = {name: x for name, x in machines.items() if name != target and len(x) > 1}
        counts = sorted(curve)
        reach = [
            p
            for p in counts[OWN[-1] :]
            if sum(min(x) <= counts[0] and max(x) >= p for x in donors.values()) > 1
        ]
        if reach:
            yield curve, donors, reach


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    errors: dict = defaultdict(lambda: defaultdict(list))
    inside: dict = defaultdict(lambda: defaultdict(list))
    widths: dict = defaultdict(list)
    for path in parser.parse_args().files:
        for machines in programs(path):
            for curve, donors, asked in targets(machines):
                seen = np.array([curve[p] for p in asked])
                others = [(p, t, name) for name, x in donors.items() for p, t in x.items()]
                p, time, machine = (list(x) for x in zip(*others, strict=True))
                table = parcast.Measurements(p=p, time=time, machine=machine)
                for own in OWN:
                    known = {p: curve[p] for p in sorted(curve)[:own]}
                    runs = parcast.Measurements(p=list(known), time=list(known.values()))
                    told = parcast.forecast(runs, p=asked, donors=table)
                    for name, said in (
                        ("parcast", told.time),
                        ("shape", shape(known, donors, asked)),
                    ):
                        errors[name, own][path.name] += (np.abs(said - seen) / seen).tolist()
                    held = (told.lower <= seen) & (seen <= told.upper)
                    inside[own][path.name] += held.tolist()
                    widths[own] += (told.upper / told.lower).tolist()
    print("own runs  parcast  shape of the donors  covered  width  sets  points")
    for own in OWN:
        scores = [
            100 * np.mean([min(np.median(x), CAP) for x in errors[name, own].values()])
            for name in ("parcast", "shape")
        ]
        covered = 100 * np.mean([np.mean(x) for x in inside[own].values()])
        print(
            f"{own:8} {scores[0]:7.1f}% {scores[1]:19.1f}% {covered:7.0f}% "
            f"{np.median(widths[own]):6.2f} {len(inside[own]):5} {len(widths[own]):7}"
        )


if __name__ == "__main__":
    main()
