"""What runs of *other* programs on the same machines add to forecasts from a few own runs.

    .venv/bin/python benchmarks/other_programs.py FOLDER [FOLDER ...]

A folder is a source: programs that ran on the same machines, one file a set, in the format of
`docs/reference/measurements.md` with columns `callpath`, the program, and `machine`. What stands
before a colon in a machine is its system, shared by the programs; what follows, a build there.

Protocol: each machine is the target in turn, its smallest one, two or three counts are known, and
its larger ones are asked for as far as two donors reach. Other programs are known at all counts,
on the target too. The error is the median of each set, averaged over the sets (each capped at
300%). A method has a constant, which is chosen on the other folders if there are any.

own runs      one curve alone, from two counts on
donors        the same program on other machines: `parcast.forecast(..., donors=...)`
beside them   each donor's change of log time is corrected by how the target's differs from the
              donor's for other programs: their median, times n/(n + constant) for n programs
regressed     the same difference, times the slope by which each program followed the others so
              far, between 0 and 1; the program in question counts as often as the constant says
rank 1, 2     log times, (programs x counts) x machines, as a mean of each row and factors of low
              rank by alternating least squares with the constant as ridge, moved to the last run
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import parcast
from parcast.cli.failures import meaning

CAP = 3.0  # an error of more than 300% counts as that
KNOWN = (1, 2, 3)  # counts of the target that are known
FURTHEST = 1.0  # log of a correction that is not exceeded
RIDGE = 0.3  # of the slope of `regressed`
NOTHING = "Nothing to score: no program has two donors that reach as far as a machine's runs do."
ROUNDS = 30  # of alternating least squares

Runs = dict[float, float]  # time at each count
Program = tuple[str, str]  # file and callpath


class Target(NamedTuple):
    """What is asked: a program on a machine, with its runs there and elsewhere."""

    program: Program
    machine: str
    known: Runs
    donors: dict[str, Runs]
    asked: np.ndarray
    seen: np.ndarray


def system_of(machine: str) -> str:
    """Machine that other programs share, without the build."""
    return machine.partition(":")[0]


@dataclass
class Source:
    """All programs of a folder on all machines."""

    programs: dict[Program, dict[str, Runs]] = field(default_factory=dict)

    def read(self, path: Path) -> None:
        """Add the medians of a file."""
        runs = parcast.read_measurements(path)
        if not {"machine", "callpath"} <= set(runs.labels):
            raise parcast.FitFailed(f"{path.name} has no columns machine and callpath: add them.")
        series = runs.series(["callpath", "machine"])
        for key, p, time, count in zip(
            series.keys, series.p, series.time, series.count, strict=True
        ):
            here = dict(zip(p[:count].tolist(), time[:count].tolist(), strict=True))
            self.programs.setdefault((path.name, key["callpath"]), {})[key["machine"]] = here

    def prepare(self) -> None:
        """Interpolate every curve on all counts there are, NaN beyond its own runs."""
        every = [runs for machines in self.programs.values() for runs in machines.values()]
        self.counts = np.unique([p for runs in every for p in runs])
        self.systems = sorted({system_of(m) for x in self.programs.values() for m in x})
        self.log_time = {
            program: {m: self._interpolated(runs) for m, runs in machines.items() if len(runs) > 1}
            for program, machines in self.programs.items()
        }

    def _interpolated(self, runs: Runs) -> np.ndarray:
        """Log time at all counts."""
        p = sorted(runs)
        y = np.log([runs[x] for x in p])
        return np.interp(np.log(self.counts), np.log(p), y, left=np.nan, right=np.nan)

    def targets(self, many: int) -> Iterator[Target]:
        """All that is asked with so many counts known."""
        for program, machines in self.programs.items():
            for machine, runs in machines.items():
                counts = sorted(runs)
                known = {p: runs[p] for p in counts[:many]}
                donors = {m: r for m, r in machines.items() if m != machine and len(r) > 1}
                asked = [
                    p
                    for p in counts[many:]
                    if sum(min(r) <= max(known) and max(r) >= p for r in donors.values()) > 1
                ]
                if asked:
                    seen = np.array([runs[p] for p in asked])
                    yield Target(program, machine, known, donors, np.array(asked), seen)

    def changes(self, last: float) -> np.ndarray:
        """Change of log time from the count `last`: (programs, systems, counts).

        The median of the builds. Where a program was not run that far, but half of the way or
        more, its change goes on likewise.
        """
        x = np.log(self.counts)
        start = int(np.searchsorted(self.counts, last))
        table = np.full((len(self.programs), len(self.systems), len(x)), np.nan)
        for i, curves in enumerate(self.log_time.values()):
            for j, system in enumerate(self.systems):
                there = [y for m, y in curves.items() if system_of(m) == system]
                if there:
                    table[i, j] = median([_going_on(x, y, start) for y in there])
        return table


def _going_on(x: np.ndarray, y: np.ndarray, start: int) -> np.ndarray:
    """Change of `y` from one place to all others, within its own range or half of the way."""
    inside = np.flatnonzero(np.isfinite(y))
    end = np.clip(np.arange(len(x)), inside[0], inside[-1])
    begin = np.clip(start, inside[0], inside[-1])
    asked, there = x - x[start], x[end] - x[begin]
    far = (asked * there > 0) & (np.abs(there) >= 0.5 * np.abs(asked))
    change = (y[end] - y[begin]) * np.divide(asked, there, out=np.ones_like(x), where=far)
    return np.where(far | ((asked == 0) & (begin == start)), change, np.nan)


def median(values: np.ndarray | list[np.ndarray]) -> np.ndarray:
    """Median over the first axis of what is not NaN, NaN where there is nothing."""
    values = np.asarray(values)
    count = np.isfinite(values).sum(axis=0)
    ordered = np.sort(values, axis=0)  # NaN last
    places = np.clip([(count - 1) // 2, count // 2], 0, len(values) - 1)
    return np.asarray(np.take_along_axis(ordered, places, axis=0).mean(axis=0))


def forecast(target: Target, donors: dict[str, Runs] | None) -> np.ndarray:
    """What parcast forecasts."""
    elsewhere = None
    if donors is not None:
        rows = [(p, t, machine) for machine, runs in donors.items() for p, t in runs.items()]
        p, time, machine = zip(*rows, strict=True)
        elsewhere = parcast.Measurements(p=p, time=time, machine=machine)
    own = parcast.Measurements(p=list(target.known), time=list(target.known.values()))
    return np.asarray(parcast.forecast(own, p=target.asked, donors=elsewhere).time)


def own_runs(_source: Source, target: Target, _: float) -> np.ndarray:
    """One curve alone; a single run forecasts nothing."""
    return forecast(target, None) if len(target.known) > 1 else np.full(len(target.asked), np.nan)


def same_program(_source: Source, target: Target, _: float) -> np.ndarray:
    """Today's donors."""
    return forecast(target, target.donors)


def corrected(
    source: Source, target: Target, constant: float, *, regressed: bool = False
) -> np.ndarray:
    """Donors, each corrected by what other programs tell of its machine and the target's."""
    at = list(source.programs).index(target.program)
    here = source.systems.index(system_of(target.machine))
    changes = source.changes(max(target.known))
    changes[at, here] = np.nan  # what is asked for
    apart = changes[:, :, None] - changes[:, None]  # (programs, systems, systems, counts)
    others = np.delete(apart, at, axis=0)
    number = np.isfinite(others).sum(axis=0)
    slope = _slope(np.clip(apart, -1.5, 1.5), changes, at, constant) if regressed else 1.0
    trust = slope * number / (number + (0.5 if regressed else constant))
    told = np.clip(np.nan_to_num(trust * median(others)), -FURTHEST, FURTHEST)
    donors = {}
    for machine, runs in target.donors.items():
        there = source.systems.index(system_of(machine))
        correction = told[here, there] if here != there else np.zeros(len(source.counts))
        donors[machine] = {
            p: t * np.exp(correction[np.searchsorted(source.counts, p)]) for p, t in runs.items()
        }
    return forecast(target, donors)


def _slope(apart: np.ndarray, changes: np.ndarray, at: int, counts_as: float) -> float:
    """Slope by which the differences of each program follow the median of those of the others."""
    products = squares = 0.0
    for i in range(len(apart)):
        told = median(np.delete(apart, i, axis=0))
        both = np.isfinite(told) & np.isfinite(apart[i])
        systems = np.maximum(np.isfinite(changes[i]).sum(axis=0), 1)
        weight = (counts_as if i == at else 1.0) / systems / 2
        products += float(np.sum(np.where(both, apart[i] * told, 0.0) * weight))
        squares += float(np.sum(np.where(both, told**2, 0.0) * weight))
    return float(np.clip(products / (squares + RIDGE), 0.0, 1.0))


def low_rank(source: Source, target: Target, ridge: float, *, rank: int) -> np.ndarray:
    """Log times as row means and low-rank factors, moved to the target's last run."""
    rows, table = _table(source, target)
    weight = np.isfinite(table).astype(float)
    filled = _factorised(np.nan_to_num(table), weight, rank, ridge)
    asked = [rows[target.program, p] for p in target.asked.tolist()]
    last = max(target.known)
    known = rows[target.program, last]
    return target.known[last] * np.exp(filled[asked, 0] - filled[known, 0])


def _table(source: Source, target: Target) -> tuple[dict[tuple[Program, float], int], np.ndarray]:
    """Log times, (programs x counts) x machines, with the target first and only what is known."""
    builds = [target.machine, *(m for m in source.programs[target.program] if m != target.machine)]
    rest = [s for s in source.systems if s not in {system_of(m) for m in builds}]
    rows, lines = {}, []
    for program, machines in source.programs.items():
        of_system = defaultdict(list)
        for machine, y in source.log_time[program].items():
            of_system[system_of(machine)].append(y)
        missing = np.full(len(source.counts), np.nan)
        best = {s: max(y, key=lambda y: np.isfinite(y).sum()) for s, y in of_system.items()}
        columns = [best.get(system_of(m), missing) for m in builds + rest]
        if program == target.program:
            known = {p: np.log(t) for p, t in target.known.items()}
            first = np.array([known.get(p, np.nan) for p in source.counts.tolist()])
            columns = [source.log_time[program].get(m, missing) for m in builds + rest]
            columns[0] = first
        for p in sorted({p for runs in machines.values() for p in runs}):
            rows[program, p] = len(lines)
            lines.append([y[np.searchsorted(source.counts, p)] for y in columns])
    return rows, np.array(lines)


def _factorised(table: np.ndarray, weight: np.ndarray, rank: int, ridge: float) -> np.ndarray:
    """Fill a table by a mean of each row and factors of a rank, where there is no weight."""
    mean = (table * weight).sum(axis=1) / np.maximum(weight.sum(axis=1), 1)
    factors = 0.01 * np.random.default_rng(0).standard_normal((table.shape[1], rank))
    rest = (table - mean[:, None]) * weight
    factors[:, 0] += rest.sum(axis=0) / np.maximum(weight.sum(axis=0), 1)
    penalty = np.diag([1e-9, *[ridge] * rank])
    for _ in range(ROUNDS):
        of_columns = np.column_stack([np.ones(len(factors)), factors])
        of_rows = _solved(weight, of_columns, table * weight, penalty)
        mean, rows = of_rows[:, 0], of_rows[:, 1:]
        rest = (table - mean[:, None]) * weight
        factors = _solved(weight.T, rows, rest.T, penalty[1:, 1:])
    return mean[:, None] + rows @ factors.T


def _solved(weight: np.ndarray, x: np.ndarray, y: np.ndarray, penalty: np.ndarray) -> np.ndarray:
    """Ridge regression of each row of `y` on `x`."""
    gram = np.einsum("ij,jk,jl->ikl", weight, x, x) + penalty
    return np.linalg.solve(gram, (y @ x)[..., None])[..., 0]


METHODS: dict[str, tuple[Callable[..., np.ndarray], tuple[float, ...]]] = {
    "own runs": (own_runs, (0.0,)),
    "donors": (same_program, (0.0,)),
    "beside them": (corrected, (2.0, 6.0, 12.0)),
    "regressed": (partial(corrected, regressed=True), (1.0, 5.0)),
    "rank 1": (partial(low_rank, rank=1), (0.01, 0.1, 1.0)),
    "rank 2": (partial(low_rank, rank=2), (0.01, 0.1, 1.0)),
}

Errors = dict[tuple[str, float, int], dict[Program, list[float]]]  # of (method, constant, known)


def score(folder: Path, errors: Errors) -> None:
    """Add the errors of all methods on all that is asked of a folder; sets by (folder, file)."""
    source = Source()
    for path in sorted(folder.glob("*.csv")):
        source.read(path)
    source.prepare()
    for many in KNOWN:
        for target in source.targets(many):
            name = (folder.name, target.program[0])
            for method, (told, constants) in METHODS.items():
                for constant in constants:
                    said = told(source, target, constant)
                    error = np.abs(said - target.seen) / target.seen
                    errors[method, constant, many][name] += error.tolist()


def of_sets(errors: Errors, method: str, constant: float, many: int) -> dict[Program, float]:
    """Median error of each set."""
    found = errors[method, constant, many]
    return {name: min(float(np.median(e)), CAP) for name, e in found.items()}


def chosen(errors: Errors, method: str, folder: str) -> float:
    """Constant with the least error on the other folders, or on the only one."""

    def mean_error(constant: float) -> float:
        tables = [of_sets(errors, method, constant, many) for many in KNOWN]
        only = len({source for table in tables for source, _ in table}) == 1
        kept = [[e for (x, _), e in table.items() if only or x != folder] for table in tables]
        return float(np.nanmean([np.nanmean(x) for x in kept if x]))

    constants = METHODS[method][1]
    return constants[0] if len(constants) == 1 else min(constants, key=mean_error)


def table_of(errors: Errors, folders: list[str]) -> Iterator[str]:
    """Lines with the errors of every method, then of every set."""
    yield f"{'method':14}" + "".join(f"{f'{many} known':>11}" for many in KNOWN) + "  constants"
    by_method = {}
    for method in METHODS:
        constants = {folder: chosen(errors, method, folder) for folder in folders}
        by_method[method] = [
            {
                name: error
                for folder, constant in constants.items()
                for name, error in of_sets(errors, method, constant, many).items()
                if name[0] == folder
            }
            for many in KNOWN
        ]
        means = [np.mean(list(table.values())) if table else np.nan for table in by_method[method]]
        listed = ", ".join(f"{x:g}" for x in constants.values()) if any(constants.values()) else ""
        yield (
            f"{method:14}"
            + "".join(f"{mean:11.1%}" if np.isfinite(mean) else f"{'-':>11}" for mean in means)
            + f"  {listed}"
        )
    yield ""
    yield f"{'donors, beside them':40}" + "".join(f"{f'{many} known':>17}" for many in KNOWN)
    before, after = by_method["donors"], by_method["beside them"]
    for name in before[0]:
        pairs = [
            f"{b[name]:8.1%}{a[name]:9.1%}" if name in b else 17 * " "
            for b, a in zip(before, after, strict=True)
        ]
        yield f"{'/'.join(name):40}" + "".join(pairs)


def main() -> int:
    """Score every folder and print the tables, or say what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    errors: Errors = defaultdict(lambda: defaultdict(list))
    try:
        for folder in folders:
            score(folder, errors)
        if not errors:
            raise parcast.FitFailed(NOTHING)
    except parcast.ParcastError as failure:
        lines, status = meaning(failure)
        print(*lines, sep="\n", file=sys.stderr)
        return status
    print(*table_of(errors, [folder.name for folder in folders]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
