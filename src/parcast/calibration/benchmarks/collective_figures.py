"""Collectives as communication primitives of a machine, from the tables of message benchmarks.

How start-up and time of a byte depend on P is chosen by `measured_primitive`. What makes no key of
a machine becomes a remark.

Tables of message benchmarks: a time or a rate for each size, and their medians over runs.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from parcast.calibration.benchmarks.machine_figures import Figure, written
from parcast.files.faults import Faults
from parcast.importers.content import CUT_OFF
from parcast.laws.primitives.measured import (
    FEWEST_COUNTS,
    PrimitiveFit,
    chosen_sizes,
    measured_primitive,
)
from parcast.units import percent, shown

COLLECTIVES: Final = (  # of messages; a barrier has none
    "broadcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "gather",
    "scatter",
)
RATES: Final = ("rate", "pairs")  # whose values are in B/s; all others are times
LONG = 2**16  # bytes: of one size alone, from here on it is long [D]
LARGEST = 1e15  # in the unit of a file: a month in microseconds, or more than any memory moves
_NUMBER = re.compile(r"[-+]?(?:[0-9.]|nan\b|inf)", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table: one run of one benchmark."""

    kind: str  # "message", "rate" of a pair, "pairs" together, "barrier", or one of COLLECTIVES
    tool: str  # "osu_latency"
    processes: int
    points: tuple[tuple[int, float], ...]  # size [B], and the time of one message or call [s],
    # or the rate [B/s]; what has no size is at 0


Values = dict[int, list[float]]  # by size


def is_row(text: str) -> bool:
    """Tell whether a line begins with a number, as a row of a table does."""
    return _NUMBER.match(text) is not None


def row_of(
    text: str,
    columns: Sequence[str],
    wanted: int,
    faults: Faults,
    *,
    line: int,
    size: int | None = 0,
) -> tuple[int, float] | None:
    """Read size and value of a row, or note what is wrong with it.

    Parameters
    ----------
    text : str
        The row.
    columns : sequence of str
        What its columns are called.
    wanted : int
        Which one is the value.
    faults : Faults
        Where to note what is wrong.
    line : int
        Number of the line.
    size : int, optional
        Which column is the size; None where there is none.

    Returns
    -------
    (int, float) or None
        Size [B], 0 without a column of it, and value in the unit of the file.
    """
    words = text.split()
    if len(words) != len(columns):
        faults.add(f"must have {len(columns)} columns, got {len(words)}. {CUT_OFF}", line=line)
        return None
    value = _float(words[wanted])
    if value is None or not (0 <= value <= LARGEST):
        got = shown(repr(words[wanted]), limit=24)
        faults.add(
            f"must be a number of at least 0, got {got}. Run the benchmark again.",
            line=line,
            field=shown(columns[wanted]),
        )
        return None
    if size is None:
        return 0, value
    if not words[size].isdecimal() or len(words[size]) > 15:
        got = shown(repr(words[size]), limit=24)
        faults.add(f"must be a size in whole bytes, got {got}.", line=line, field=columns[size])
        return None
    return int(words[size]), value


def ends_of_lines(paths: Iterable[Path]) -> Iterator[str]:
    """Say which files end within a line, where the last number may have been cut off."""
    for path in paths:
        if not os.path.isfile(path):  # of a pipe nothing may be taken away
            continue
        with path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            is_whole = stream.read() in b"\r\n"
        if not is_whole:
            yield (
                f"{shown(path.name)} ends within a line, and its last value may be cut off. "
                "Write it again."
            )


def by_processes(tables: Iterable[Table], kind: str) -> dict[int, Values]:
    """Give the values of one kind above 0, by processes and then by size, both in order."""
    found: dict[int, Values] = defaultdict(lambda: defaultdict(list))
    for table in tables:
        if table.kind == kind:
            for size, value in table.points:
                if value > 0:
                    found[table.processes][size].append(value)
    return {p: dict(sorted(found[p].items())) for p in sorted(found)}


def medians(values: Values) -> dict[int, float]:
    """Give the median at each size."""
    return {size: float(np.median(given)) for size, given in values.items()}


def is_mostly_bytes(times: dict[int, float], size: int) -> bool:
    """Tell whether the bytes of a message are most of its time, by that of the shortest.

    Otherwise the rate at this size says more of the start-up than of the network.
    """
    shortest = min(times)
    if shortest == size:
        return size >= LONG
    return times[size] >= 2 * times[shortest]


def tools_of(tables: Iterable[Table], kind: str) -> str:
    """Name the benchmarks that measured a kind: "osu_bcast"."""
    return ", ".join(dict.fromkeys(table.tool for table in tables if table.kind == kind))


def _float(word: str) -> float | None:
    """Read a number, or None."""
    try:
        return float(word)
    except ValueError:
        return None


BAD_FIT = 0.25  # relative error from which it is told [D]
SHAPES: Final = {"logarithmic": "log2(p)", "linear": "p"}  # as expressions have them
TRACE = 1e-6  # of the other coefficient
Keys = dict[str, str]  # "startup" and "bandwidth", as a machine file has them


def collective_figures(
    tables: Sequence[Table], notes: list[str]
) -> tuple[list[Figure], list[str]]:
    """Give the primitives that the tables tell, and add notes on them.

    Parameters
    ----------
    tables : sequence of Table
        All that was read.
    notes : list of str
        Where to add what a reader must know.

    Returns
    -------
    figures : list of Figure
        Keys of `primitives`.
    remarks : list of str
        What was measured and makes no key: collectives without a rate.
    """
    figures: list[Figure] = []
    remarks: list[str] = []
    single, too_short, bad = [], [], []
    for name in COLLECTIVES:
        times = _times(tables, name)
        if not times:
            continue
        few = len(times) < FEWEST_COUNTS
        fitted = {max(times): times[max(times)]} if few else times
        fit = measured_primitive(fitted)
        keys = written_keys(fit)
        source = f"{tools_of(tables, name)}, {', '.join(map(str, fitted))} processes"
        if "bandwidth" not in keys:
            too_short.append(name)
            remarks.append(f"{name}: startup {keys['startup']}; {source}, too short for a rate")
            continue
        if few:
            single.append(f"{name} of {max(times)}")
        if fit.error > BAD_FIT:
            bad.append(f"{name} {percent(fit.error)}")
        source += f"{', taken for every p' if few else ''}, error {percent(fit.error)}"
        figures += [
            Figure(key=f"primitives.{name}.{key}", text=text, source=source)
            for key, text in keys.items()
        ]
    barriers = {p: medians(x) for p, x in by_processes(tables, "barrier").items() if p > 1}
    if barriers:
        fit = measured_primitive(barriers)
        few = len(barriers) < FEWEST_COUNTS
        if few:
            single.append(f"barrier of {max(barriers)}")
        source = f"{tools_of(tables, 'barrier')}, {', '.join(map(str, barriers))} processes"
        source += ", the largest taken for every p" if few else f", error {percent(fit.error)}"
        startup = written_keys(fit)["startup"]
        figures.append(Figure(key="primitives.barrier.startup", text=startup, source=source))
    notes += _notes(single, too_short, bad)
    if remarks:
        notes.append("What no key of a machine holds is told in comments at the end of the file.")
    return figures, remarks


def _notes(single: Sequence[str], too_short: Sequence[str], bad: Sequence[str]) -> Iterator[str]:
    """Say which primitives rest on little."""
    if single:
        yield (
            f"Measured at fewer than {FEWEST_COUNTS} counts of processes, so that the largest "
            f"stands for every p: {', '.join(single)}. Measure at p = 2, 4, 8 and more."
        )
    if too_short:
        yield (
            f"Without a rate, as longer messages take no longer, or only one size was measured: "
            f"{', '.join(too_short)}. Measure longer messages."
        )
    if bad:
        yield (
            f"Startup and bandwidth fit the times badly, with an error of: {', '.join(bad)}. "
            "Measure again on processors that are free."
        )


def _times(tables: Sequence[Table], name: str) -> dict[int, dict[int, float]]:
    """Times by processes and size; without those of 0 bytes, for which nothing is done."""
    found = {p: medians(values) for p, values in by_processes(tables, name).items() if p > 1}
    sizes = sorted({size for times in found.values() for size in times if size > 0})
    chosen = chosen_sizes(sizes)
    kept = {p: {m: times[m] for m in chosen if m in times} for p, times in found.items()}
    return {p: times for p, times in kept.items() if times}


def written_keys(fit: PrimitiveFit) -> Keys:
    """Write a fit with units that a person reads, as far as its formulas are that simple.

    There is no "bandwidth" where the time does not grow with the bytes.
    """
    keys = fit.described()
    alpha, beta = _without_traces(fit.startup)
    terms = [written(alpha, "time")] if alpha > 0 or not beta > 0 else []
    if beta > 0:
        terms.append(f"{written(beta, 'time')}*{SHAPES[fit.startup_form]}")
    keys["startup"] = " + ".join(terms)
    alpha, beta = _without_traces(fit.byte)
    if alpha > 0 and not beta > 0:
        keys["bandwidth"] = written(1.0 / alpha, "rate")
    elif beta > 0 and not alpha > 0:
        keys["bandwidth"] = f"{written(1.0 / beta, 'rate')} / {SHAPES[fit.byte_form]}"
    return keys


def _without_traces(coefficients: tuple[float, float]) -> tuple[float, float]:
    """Give coefficients with 0 for one that rounding alone keeps above it."""
    alpha, beta = coefficients
    return (alpha if alpha > TRACE * beta else 0.0), (beta if beta > TRACE * alpha else 0.0)
