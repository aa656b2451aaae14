"""Count how many runs that were held back lie inside the intervals from fitted files.

Each DIR holds `btio.csv` (p, d, five_step_time_s: `examples/btio` on a simulated SP-2, five steps
and one write) or `programs.csv` (tag, prog, N, p, rep, T_s: four programs on small clusters).
Every triple of small runs is fitted by `parcast fit -o`, and every run with more processors than
these is predicted by `parcast predict` from the file written:

    .venv/bin/python benchmarks/fitted_intervals.py DIR ...

Of BTIO, triples of the runs with p <= 16 are fitted, by each three of five constants of which
nothing is known beforehand, and by all five with +- as in docs/explanation/spmd-accuracy.md. Of
the clusters, triples of repetitions at two counts or more and below the largest, by the law that
counts the program, and by the law spmd with what it sends. `covered` is the share of held runs
inside the 90% interval, `width` the median of its upper end over its lower, `bare` the share of
answers without an interval, `score` the mean interval score of log times (least is best).
"""

import argparse
import contextlib
import csv
import io
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from parcast.cli import cli
from parcast.cli.failures import run

SMALL = 16  # processors, of BTIO
CONSTANTS = {  # of BTIO, with what is known of them where anything is
    "compute.parallel": "830 Mflop +- 20%",
    "compute.serial": "10 Mflop +- 50%",
    "communication.messages": "6*sqrt(p) +- 20%",
    "communication.volume": "1.40628 MB * (p/4)^(-1/6) +- 20%",
    "io.volume": "10.49 MB +- 10%",
}
SP2 = """\
compute = { rate = "120 Mflop/s" }
network = { latency = "150.6 us", bandwidth = "26.97 MB/s", saturation = "114 MB/s" }
storage = { servers = 3, bandwidth = "10 MB/s" }
"""
BOX = {  # programs on clusters: the law that counts them, and what each rank sends
    "mc": ("monte_carlo", 'beta = "8 B * p / n"', "8 B"),
    "matmul": ("matmul", 'beta = "8 B * (p - 1) / (p + 1)"', "4147200 B * (p - 1) / p"),
    "psort": ("sort", "", "38400000 B * (p - 1) / p^2"),
    "gauss": ("gauss", "", "1843200 B / p"),
}
LINKS = """\
network = {{ latency = "130 us", bandwidth = "12 MB/s", contention = {w} }}
"""
Run = tuple[dict[str, float], float]  # axes, and the time [s]


@dataclass(frozen=True)
class Case:
    """What is fitted to some runs, and the runs that are held back."""

    group: str
    program: str
    machine: str
    free: Sequence[str]  # by default all
    told: Sequence[Run]
    held: Sequence[Run]


@dataclass(frozen=True)
class Answer:
    """One prediction from a fitted file, beside what was measured. [s]."""

    lower: float
    time: float
    upper: float
    measured: float

    @property
    def score(self) -> float:
        """Interval score of the log time: its width, and 20 times how far the time is outside."""
        low, high, seen = np.log([self.lower, self.upper, self.measured])
        outside = max(low - seen, seen - high, 0.0)
        return float(high - low + 20.0 * outside)


def btio(path: Path) -> Iterator[Case]:
    """Triples of the small runs of BTIO."""
    rows = [
        ({"p": float(row["p"]), "d": float(row["d"])}, float(row["five_step_time_s"]))
        for row in csv.DictReader(path.open(encoding="utf-8"))
    ]
    bare = {name: text.partition(" +-")[0] for name, text in CONSTANTS.items()}
    small = [run for run in rows if run[0]["p"] <= SMALL]
    for told in combinations(small, 3):
        held = _larger(rows, told)
        for free in combinations(CONSTANTS, 3):
            yield Case(f"BTIO, {_short(free)}", _btio(bare), SP2, free, told, held)
        yield Case("BTIO, all five with +-", _btio(CONSTANTS), SP2, (), told, held)


def _short(names: Sequence[str]) -> str:
    """Names of constants without their tables, where that is enough."""
    return ", ".join(
        name.removeprefix("compute.").removeprefix("communication.") for name in names
    )


def _btio(constants: Mapping[str, str]) -> str:
    """Describe five steps and a write."""
    lines = [f'{name} = "{text}"\n' for name, text in constants.items()]
    fixed = 'compute.variability = "none"\nio.kind = "synchronous"\n'
    return '[[phase]]\nlaw = "spmd"\nbursts_per_io = 5\n' + fixed + "".join(lines)


def box(path: Path) -> Iterator[Case]:
    """Triples of repetitions of programs on clusters."""
    series: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for row in csv.DictReader(path.open(encoding="utf-8")):
        at = {"p": float(row["p"]), "n": float(row["N"])}
        series[row["tag"], row["prog"]].append((at, float(row["T_s"])))
    for (tag, name), rows in series.items():
        most = max(at["p"] for at, _ in rows)
        small = [run for run in rows if run[0]["p"] < most]
        law, keys, volume = BOX[name]
        counts = f'[[phase]]\nlaw = "{law}"\n{keys}\n'
        spmd = (
            f'[[phase]]\nlaw = "spmd"\ncompute.parallel = "1 s"\n'
            f'communication.volume = "{volume}"\n'
        )
        machine = LINKS.format(w=1 if tag.startswith("bus") else 0)
        for told in combinations(small, 3):
            if len({at["p"] for at, _ in told}) > 1:
                held = _larger(rows, told)
                yield Case(f"clusters, {law}", counts, machine, (), told, held)
                yield Case(f"clusters, {name} as spmd", spmd, machine, (), told, held)


def _larger(rows: Sequence[Run], told: Sequence[Run]) -> list[Run]:
    """Medians of the runs with more processors than any of those that are told."""
    most = max(at["p"] for at, _ in told)
    by_place: dict[tuple[tuple[str, float], ...], list[float]] = defaultdict(list)
    for at, time in rows:
        if at["p"] > most:
            by_place[tuple(at.items())].append(time)
    return [(dict(place), float(np.median(times))) for place, times in by_place.items()]


def parcast(*words: str) -> tuple[int, str]:
    """Exit status and standard output of the command line, in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(cli, list(words))
    out.flush()
    return status, out.buffer.getvalue().decode()


def answers_of(case: Case) -> tuple[list[Answer], str]:
    """Fit, and predict from the file; nothing and the reason where either refuses."""
    axes = list(case.told[0][0])
    lines = [[*(f"{at[x]:g}" for x in axes), repr(time)] for at, time in case.told]
    for name, text in (("program.toml", case.program), ("machine.toml", case.machine)):
        Path(name).write_text(text, encoding="utf-8")
    Path("runs.csv").write_text(
        "\n".join(",".join(line) for line in [[*axes, "time_s"], *lines]), encoding="utf-8"
    )
    files = ["program.toml", "runs.csv", "--machine", "machine.toml"]
    free = ["--free", ",".join(case.free)] if case.free else []
    fitted, _ = parcast("fit", *files, *free, "-o", "fitted.toml")
    if fitted > 1:
        return [], f"fit refuses with status {fitted}"
    answers = []
    for fixed in sorted({tuple(x for x in at.items() if x[0] != "p") for at, _ in case.held}):
        held = {at["p"]: time for at, time in case.held if all(at[a] == v for a, v in fixed)}
        options = [text for axis, value in fixed for text in (f"-{axis}", f"{value:.0f}")]
        counts = ",".join(f"{p:.0f}" for p in held)
        status, out = parcast(
            "predict", "fitted.toml", "machine.toml", "-p", counts, *options, "--json"
        )
        if status:
            return [], f"predict refuses with status {status}"
        for row in json.loads(out)["rows"]:
            low, high = (row[f"{end}_s"] or row["time_s"] for end in ("lower", "upper"))
            answers.append(Answer(low, row["time_s"], high, held[row["p"]]))
    return answers, f"fit with status {fitted}"


def line_of(name: str, answers: Sequence[Answer]) -> str:
    """One line of the table."""
    covered = np.mean([x.lower <= x.measured <= x.upper for x in answers])
    errors = np.array([abs(x.time / x.measured - 1) for x in answers])
    width = np.median([x.upper / x.lower for x in answers])
    bare = np.mean([x.upper == x.lower for x in answers])
    score = np.mean([x.score for x in answers])
    numbers = (np.median(errors), np.quantile(errors, 0.95), errors.max(), covered, bare)
    shares = "  ".join(f"{100 * x:7.1f}" for x in numbers)
    return f"{name:44}  {len(answers):6}  {shares}  {width:7.2f}  {score:6.2f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument(
        "--most", type=int, default=100_000, help="cases of each kind, drawn at random"
    )
    given = parser.parse_args()
    cases: list[Case] = []
    for folder in given.folders:
        for name, read in (("btio.csv", btio), ("programs.csv", box)):
            if (folder / name).exists():
                cases += read((folder / name).resolve())
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.group].append(case)
    columns = ("median", "95%", "worst", "covered", "bare")
    print(f"{'':44}  {'times':>6}  {'  '.join(f'{x:>7}' for x in columns)}    width   score")
    everything, kinds = defaultdict(list), defaultdict(int)
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        for group, members in groups.items():
            chosen = random.Random(0).sample(members, min(given.most, len(members)))
            answers = []
            for case in chosen:
                told, how = answers_of(case)
                answers += told
                kinds[how] += 1
            if answers:
                print(line_of(group, answers), flush=True)
            everything[group.partition(",")[0]] += answers
    for name, answers in everything.items():
        print(line_of(f"{name}, all", answers))
    print(*(f"{count} x {how}" for how, count in kinds.items()), sep="\n")


if __name__ == "__main__":
    main()
