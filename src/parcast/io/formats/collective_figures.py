"""Collectives as communication primitives of a machine, from the tables of message benchmarks.

Of a primitive that was measured at three counts of processes or more, `fit_primitive` chooses how
start-up and time of a byte depend on P. With fewer, those of the largest count are taken for every
P [D]. What no key of a machine holds becomes a remark.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from parcast.io.formats.machine_figures import Figure, written
from parcast.io.formats.message_tables import COLLECTIVES, Table, by_processes, medians, tools_of
from parcast.machine import PRIMITIVES
from parcast.models.point_to_point import fit_message
from parcast.models.primitives import FEWEST_COUNTS, PrimitiveFit, fit_primitive
from parcast.units import percent

MOST_SIZES = 12  # of messages at each count that are fitted: more cost time and tell little
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
        What was measured and has no key: alltoall, barrier ...
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
        keys, error = _fitted(fitted)
        source = f"{tools_of(tables, name)}, {', '.join(map(str, fitted))} processes"
        if "bandwidth" not in keys:
            too_short.append(name)
            remarks.append(f"{name}: startup {keys['startup']}; {source}, too short for a rate")
            continue
        if few and name in PRIMITIVES:
            single.append(f"{name} of {max(times)}")
        if error > BAD_FIT:
            bad.append(f"{name} {percent(error)}")
        source += f"{', taken for every p' if few else ''}, error {percent(error)}"
        if name in PRIMITIVES:
            figures += [
                Figure(key=f"primitives.{name}.{key}", text=text, source=source)
                for key, text in keys.items()
            ]
        else:
            remarks.append(f"{name}: {'; '.join(f'{k} {v}' for k, v in keys.items())}; {source}")
    remarks += _barriers(tables)
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
    if len(sizes) > MOST_SIZES:
        chosen = np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int)
        sizes = [sizes[i] for i in chosen]
    kept = {p: {m: times[m] for m in sizes if m in times} for p, times in found.items()}
    return {p: times for p, times in kept.items() if times}


def _fitted(times: dict[int, dict[int, float]]) -> tuple[Keys, float]:
    """Give start-up and rate of a primitive as text, and the relative error of its times [1]."""
    runs = [(p, m, t) for p, of_size in times.items() for m, t in of_size.items()]
    counts, sizes, seconds = (np.array(x, dtype=np.float64) for x in zip(*runs, strict=True))
    if len(np.unique(sizes)) < 2:
        return {"startup": written(float(np.median(seconds)), "time")}, 0.0
    if len(times) >= FEWEST_COUNTS:
        fit = fit_primitive(counts, sizes, seconds)
        return _keys(fit), fit.error
    line = fit_message(sizes, seconds)
    keys = {"startup": written(line.startup, "time")}
    if line.byte > 0:
        keys["bandwidth"] = written(1.0 / line.byte, "rate")
    return keys, line.error


def _keys(fit: PrimitiveFit) -> Keys:
    """Write a fit with units that a person reads, as far as its formulas are that simple."""
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


def _barriers(tables: Sequence[Table]) -> list[str]:
    """Say how long a barrier takes, at each count of processes."""
    found = {p: medians(x) for p, x in by_processes(tables, "barrier").items() if p > 1}
    if not found:
        return []
    times = ", ".join(f"{written(x[0], 'time')} at p = {p}" for p, x in found.items())
    return [f"barrier: {times}; {tools_of(tables, 'barrier')}"]
