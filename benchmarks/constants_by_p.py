"""Count how often a fit finds that a constant depends on p, where it does and where it does not.

Tables of a sort on 1, 2, 4 and 8 processors at three sizes, three repetitions each, are made up
with a scatter of each part of the time. The rates differ by 20% between the fewest and the most
processors, as a power of p or by a step, or not at all:

    .venv/bin/python benchmarks/constants_by_p.py [--tables 200] [--noise 0.03] [--size 0.2]

`found` is the share of tables in which every rate that differs is found, `only` that in which
these are and no other. `inside` is the share of rates, over all tables and p, that lie inside the
90% intervals of those found. Parts are the columns that a table has beside the time.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, law_named
from parcast.fitting.fit import varying_constants
from parcast.timings.measurements import Measurements

LAW = {"law": "sort", "merge": "tree", "beta": "8 B * (p - 1) / p"}  # of `parcast run sort`
RATES = {"compute": "300 Mflop/s", "network": "40 MB/s", "disk": "20 MB/s"}
GUESSES = {"compute": "100 Mflop/s", "network": "100 MB/s", "disk": "100 MB/s"}
COLUMNS = ("compute_s", "communication_s", "disk_s")
COUNTS, SIZES, REPETITIONS = (1, 2, 4, 8), (1e5, 2e5, 4e5), 3
LEAST = {"network": 2, "disk": 1, "compute": 1}  # processors that show a rate
TABLES = (("compute_s", "disk_s"), COLUMNS, ("disk_s",))  # those of `parcast run` first


@dataclass(frozen=True)
class Found:
    """What fits to many tables found."""

    found: float
    only: float
    inside: float


def formula(name: str, shape: str, size: float) -> str:
    """A rate that falls by a share between the fewest and the most processors."""
    first, last = LEAST[name], COUNTS[-1]
    if shape == "step":
        return f"{RATES[name]} * (1 if p < 4 else {1 / (1 + size)!r})"
    exponent = float(-np.log1p(size) / np.log(last / first))
    return f"{RATES[name]} * (p/{first})^({exponent!r})"


def table(
    differing: Mapping[str, str], parts: Sequence[str], *, noise: float, seed: int
) -> Measurements:
    """One table, whose times are the sums of their parts."""
    grid = np.array([(p, n) for p in COUNTS for n in SIZES for _ in range(REPETITIONS)]).T
    phase = law_named("sort")(**LAW, capacities=RATES | differing)
    times = phase.times(Machine(), {"p": grid[0], "n": grid[1], "d": 1.0})
    random = np.random.default_rng(seed)
    of_law = (times.compute, times.communication, times.io)
    seconds = {
        name: np.broadcast_to(x, grid[0].shape) * np.exp(random.normal(0, noise, len(grid[0])))
        for name, x in zip(COLUMNS, of_law, strict=True)
    }
    own = {name: seconds[name] for name in parts}
    return Measurements(p=grid[0], n=grid[1], time=sum(seconds.values()), **own)


def asked(
    names: Sequence[str],
    shape: str,
    parts: Sequence[str],
    *,
    tables: int,
    noise: float,
    size: float,
) -> Found:
    """Fit tables in which some rates differ with p."""
    differing = {name: formula(name, shape, size) for name in names}
    phase = law_named("sort")(**LAW, capacities=RATES | differing)
    program = Program(phase=[LAW | {"capacities": GUESSES}])
    wanted = {f"capacities.{name}" for name in names}
    found, only, inside = [], [], list[bool]()
    for seed in range(tables):
        runs = table(differing, parts, noise=noise, seed=seed)
        varying = {x.name: x for x in varying_constants(program, Machine(), runs)}
        found.append(wanted <= varying.keys())
        only.append(wanted == varying.keys())
        for name in wanted & varying.keys():
            x = varying[name]
            true = getattr(phase.capacities, name.rpartition(".")[2])({"p": x.p})
            inside += ((x.lower <= true) & (true <= x.upper)).tolist()
    share = float(np.mean(inside)) if inside else np.nan
    return Found(found=float(np.mean(found)), only=float(np.mean(only)), inside=share)


def main() -> None:
    """Print a line for each kind of tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--noise", type=float, default=0.03)
    parser.add_argument("--size", type=float, default=0.2)
    given = parser.parse_args()
    print(f"{'differ':14} {'shape':6} {'parts':34} found   only inside")
    cases = [((), ""), *((x, y) for x in (("disk",), ("network",)) for y in ("power", "step"))]
    for parts in TABLES:
        for names, shape in [*cases, (("disk", "network"), "power")]:
            x = asked(names, shape, parts, tables=given.tables, noise=given.noise, size=given.size)
            print(
                f"{', '.join(names) or 'none':14} {shape:6} {', '.join(parts):34} "
                f"{x.found:5.1%} {x.only:6.1%} {x.inside:6.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
