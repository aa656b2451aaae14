"""How well memory of real programs is forecast, with the largest runs held out.

    .venv/bin/python benchmarks/memory.py FOLDER

Programs that are there are run on 1 to 32 ranks or threads, twice each, and their memory is kept
in FOLDER, a table each; tables that are there already are only read, so others can be put beside
them (columns `p`, `n` and `memory_B`, `memory_total_B`). More ranks than cores take turns, which
changes times and not memory. It takes some 15 minutes on two cores. Memory of all is that of a
control group where one may be made, and with `--proc` what is seen in /proc.

xz          xz -T{p}: threads, each with its blocks
zstd        zstd -T{p}, likewise
stencil     parcast run stencil: a grid of ranks with halos
sort        parcast run sort: every rank sends to every other
fft         a three-dimensional FFT with NumPy, transposed by MPI (extra mpi)
gathered    an array that is shared by the ranks, and gathered on the first of them
lammps      Lennard-Jones atoms, if lmp is installed

Protocol: of every series the counts up to some are known, three at least, and those up to four
times the last of them are asked for; likewise of every p the sizes n. Memory of a rank and of all
are scored apart, that of all only where both runs saw it. The error is the median of each table,
averaged over the tables; inside is the share of the 90% intervals that hold, width the median of
upper / lower.
"""

import argparse
import csv
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import parcast
from parcast.errors import ParcastError
from parcast.forecasting.memory.curves import RANK, TOTAL, of_memory
from parcast.measurement.measure import MeasuredCommand, measured
from parcast.measurement.point import points_of

FURTHEST = 4.0  # times the last count that is known
FEWEST = 3  # counts that are known
MPI = [*os.environ.get("MPIEXEC", "mpiexec").split(), "-n", "{p}"]
COUNTS = [1, 2, 4, 8, 16, 32]
BESIDE = ["memory_B", "memory_total_B", "memory_from"]
FFT = """
import sys
import numpy as np
from mpi4py import MPI
comm, n = MPI.COMM_WORLD, int(sys.argv[1])
p = comm.size
part = np.random.default_rng(comm.rank).random((n // p, n, n))
part = np.fft.fft2(part, axes=(1, 2))
sent = np.ascontiguousarray(part.reshape(n // p, p, n // p, n).transpose(1, 0, 2, 3))
got = np.empty_like(sent)
comm.Alltoall(sent, got)
whole = got.reshape(n, n // p, n)
print(abs(np.fft.fft(whole, axis=0)).sum())
"""
GATHERED = """
import sys
import numpy as np
from mpi4py import MPI
comm, n = MPI.COMM_WORLD, int(sys.argv[1])
part = np.full(n // comm.size, 1.0 + comm.rank)
every = np.empty((comm.size, n // comm.size)) if comm.rank == 0 else None
comm.Gather(part, every)
print(comm.allreduce(part.sum()))
"""
LAMMPS = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {n} 0 {n} 0 {n}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
run 10
"""


class Program(NamedTuple):
    """A command, and where it is run."""

    command: list[str]
    p: list[int]
    n: list[float]
    needs: str  # a program that must be installed


class Scored(NamedTuple):
    """One forecast: what, and how it compares with what was measured."""

    table: str
    quantity: str  # "rank" or "all"
    axis: str  # that is held out
    reach: float
    error: float  # relative, not below 0
    inside: bool
    width: float


def programs(folder: Path) -> dict[str, Program]:
    """Programs that are here."""
    data, repeated = folder / "random.bin", folder / "repeated.bin"
    if not data.exists():
        random = np.random.default_rng(1).integers(0, 64, 60_000_000, np.uint8).tobytes()
        data.write_bytes(random)
        repeated.write_bytes(random[: 2**18] * 256)  # which xz compresses quickly
    for name, text in (("fft.py", FFT), ("gathered.py", GATHERED)):
        (folder / name).write_text(text)
    mpi = [*MPI, sys.executable]
    lammps = folder / "lammps.in"
    lammps.write_text(LAMMPS.replace("{n}", "${n}"))
    on_lammps = os.environ.get("MPIEXEC_LAMMPS", "mpiexec").split()
    kernel = [*mpi, "-m", "parcast.kernels"]
    all_programs = {
        "xz": Program(
            ["xz", "-1", "--block-size=2MiB", "-T{p}", "-kc", str(repeated)], COUNTS, [], "xz"
        ),
        "zstd": Program(["zstd", "-3", "-T{p}", "-kc", str(data)], COUNTS, [], "zstd"),
        "stencil": Program(
            [*kernel, "stencil", "--no-check", "--steps", "2", "-n", "{n}"],
            COUNTS,
            [1e3, 2e3, 4e3, 6e3],
            MPI[0],
        ),
        "sort": Program(
            [*kernel, "sort", "--no-check", "-n", "{n}"], COUNTS, [1e6, 2e6, 4e6, 8e6], MPI[0]
        ),
        "fft": Program(
            [*mpi, str(folder / "fft.py"), "{n}"], COUNTS, [64, 128, 192, 256, 320], MPI[0]
        ),
        "gathered": Program(
            [*mpi, str(folder / "gathered.py"), "{n}"], COUNTS, [4e6, 8e6, 16e6, 32e6], MPI[0]
        ),
        "lammps": Program(
            [
                *on_lammps,
                "-n",
                "{p}",
                "lmp",
                "-in",
                str(lammps),
                "-log",
                "none",
                "-var",
                "n",
                "{n}",
            ],
            COUNTS,
            [20, 30, 40, 60],
            "lmp",
        ),
    }
    return {name: x for name, x in all_programs.items() if shutil.which(x.needs)}


def measure(folder: Path, name: str, program: Program, *, is_grouped: bool) -> None:
    """Run a program and keep its memory, whether ranks took turns or not."""
    command = MeasuredCommand(command=program.command, timeout=120.0)
    points = points_of(
        {"p": [float(x) for x in program.p], **({"n": program.n} if program.n else {})}, {}
    )
    with tempfile.TemporaryDirectory() as place:
        found = measured(
            command,
            points,
            runs=2,
            launcher=replace(command.launcher, is_grouped=is_grouped),
            output=f"{place}/runs.csv",
        )
    columns = ["p", *(["n"] if program.n else []), "time_s", *BESIDE]
    with (folder / f"{name}.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(x.row for x in found.table if x.is_run)
    failed = sum(not x.is_run for x in found.table)
    print(f"{name}: {len(found.table) - failed} runs, {failed} failed", flush=True)


def scores(path: Path) -> Iterator[Scored]:
    """Forecast what is held out of a table."""
    runs = parcast.read_measurements(path)
    sizes = np.unique(runs.axes["n"]).tolist() if "n" in runs.axes else [None]
    for n in sizes:
        some = runs if n is None else runs.select(n=n).without("n")
        counts = np.unique(some.p)
        for k in range(FEWEST, len(counts)):
            asked = counts[k:][counts[k:] <= FURTHEST * counts[k - 1]]
            try:
                told = parcast.forecast_memory(some.select(p=counts[:k].tolist()), asked)
            except ParcastError as refusal:
                print(path.stem, refusal)
                continue
            yield from _compared(path.stem, told, some, axis="p", last=counts[k - 1])
    for p in np.unique(runs.p).tolist() if len(sizes) > FEWEST else []:
        for k in range(FEWEST, len(sizes)):
            yield from _over_n(path.stem, runs, p, sizes, k)


def _compared(
    name: str,
    told: parcast.MemoryForecast,
    runs: parcast.Measurements,
    *,
    axis: str,
    last: float,
) -> Iterator[Scored]:
    """Compare forecasts of a rank and of all with the medians of what was measured."""
    for quantity, column, ends in (
        ("rank", RANK, (told.memory, told.lower, told.upper)),
        ("all", TOTAL, (told.total, told.total_lower, told.total_upper)),
    ):
        for j, p in enumerate(np.ravel(told.p).tolist()):
            value, lower, upper = (float(np.ravel(x)[j]) for x in ends)
            seen = _seen(runs, column, p)
            if np.isnan(seen + value):
                continue
            yield Scored(
                name,
                quantity,
                axis,
                p / last,
                abs(value / seen - 1),
                lower <= seen <= upper,
                upper / lower,
            )


def _seen(runs: parcast.Measurements, column: str, p: float) -> float:
    """Memory that was measured at a count, NaN where not all ranks were seen."""
    known = of_memory(runs, column)
    if known is None or p not in known.p:
        return np.nan
    return float(np.median(known.select(p=p).time)) * (p if column == TOTAL else 1.0)


def _over_n(
    name: str, runs: parcast.Measurements, p: float, sizes: list[float], k: int
) -> Iterator[Scored]:
    """Forecast larger sizes than those that are known, at a count that was measured."""
    known = runs.select(n=sizes[:k])
    for n in sizes[k:]:
        there = runs.select(n=n).without("n")
        if n > FURTHEST * sizes[k - 1] or p not in there.p or p not in known.p:
            continue
        try:
            told = parcast.forecast_memory(known, [p], n=[n])
        except ParcastError as refusal:
            print(name, refusal)
            continue
        yield from (
            x._replace(reach=n / sizes[k - 1])
            for x in _compared(name, told, there, axis="n", last=1.0)
        )


def report(every: list[Scored]) -> None:
    """Print the scores of each table and of all."""
    print("table       quantity axis forecasts  error  inside  width")
    total: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    groups: dict[tuple[str, str, str], list[Scored]] = defaultdict(list)
    for x in every:
        groups[x.table, x.quantity, x.axis].append(x)
    for (table, quantity, axis), some in sorted(groups.items()):
        row = _line(some)
        total[quantity, axis].append(row)
        print(f"{table:12}{quantity:9}{axis:5}{len(some):9}" + _shown(row))
    for (quantity, axis), rows in sorted(total.items()):
        mean = tuple(np.mean(rows, axis=0).tolist())
        print(f"{'all':12}{quantity:9}{axis:5}{len(rows):9}" + _shown(mean))


def _line(some: list[Scored]) -> tuple[float, float, float]:
    return (
        float(np.median([x.error for x in some])),
        float(np.mean([x.inside for x in some])),
        float(np.median([x.width for x in some])),
    )


def _shown(row: tuple[float, ...]) -> str:
    error, inside, width = row
    return f"{100 * error:6.1f} %{100 * inside:6.0f} %{width:7.2f}"


def main() -> None:
    """Measure what is not there, and score all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--proc", action="store_true", help="without control groups")
    asked = parser.parse_args()
    folder = asked.folder
    folder.mkdir(exist_ok=True)
    for name, program in programs(folder).items():
        if not (folder / f"{name}.csv").exists():
            measure(folder, name, program, is_grouped=not asked.proc)
    report([x for path in sorted(folder.glob("*.csv")) for x in scores(path)])


if __name__ == "__main__":
    main()
