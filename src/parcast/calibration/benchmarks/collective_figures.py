"""Collectives as communication primitives of a machine, from the tables of message benchmarks.

How start-up and time of a byte depend on P is chosen by `measured_primitive`. What makes no key of
a machine becomes a remark.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from parcast.calibration.benchmarks.machine_figures import SourcedFigure, written
from parcast.calibration.benchmarks.message_tables import (
    COLLECTIVES,
    MessageTable,
    by_processes,
    medians,
    tools_of,
)
from parcast.laws.primitives.measured import (
    FEWEST_COUNTS,
    PrimitiveFit,
    chosen_sizes,
    measured_primitive,
)
from parcast.units import percent

BAD_FIT = 0.25  # relative error from which it is told [D]
SHAPES: Final = {"logarithmic": "log2(p)", "linear": "p"}  # as expressions have them
TRACE = 1e-6  # of the other coefficient
Keys = dict[str, str]  # "startup" and "bandwidth", as a machine file has them


def collective_figures(
    tables: Sequence[MessageTable], notes: list[str]
) -> tuple[list[SourcedFigure], list[str]]:
    """Give keys of `primitives` and remarks on collectives without a rate; add notes on them."""
    figures: list[SourcedFigure] = []
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
            remarks.append(
                f"{name}: startup {keys['startup']}; {source}, messages too short to determine a "
                "bandwidth"
            )
            continue
        if few:
            single.append(f"{name} (p = {max(times)})")
        if fit.error > BAD_FIT:
            bad.append(f"{name} {percent(fit.error)}")
        source += f"{', used for every p' if few else ''}, fit error {percent(fit.error)}"
        figures += [
            SourcedFigure(key=f"primitives.{name}.{key}", text=text, source=source)
            for key, text in keys.items()
        ]
    barriers = {p: medians(x) for p, x in by_processes(tables, "barrier").items() if p > 1}
    if barriers:
        fit = measured_primitive(barriers)
        few = len(barriers) < FEWEST_COUNTS
        if few:
            single.append(f"barrier (p = {max(barriers)})")
        source = f"{tools_of(tables, 'barrier')}, {', '.join(map(str, barriers))} processes"
        source += ", the largest used for every p" if few else f", fit error {percent(fit.error)}"
        startup = written_keys(fit)["startup"]
        figures.append(
            SourcedFigure(key="primitives.barrier.startup", text=startup, source=source)
        )
    notes += _notes(single, too_short, bad)
    if remarks:
        notes.append("Results without a key in a machine file are in comments at its end.")
    return figures, remarks


def _notes(single: Sequence[str], too_short: Sequence[str], bad: Sequence[str]) -> Iterator[str]:
    """Say which primitives are based on few data."""
    if single:
        yield (
            f"Measured at fewer than {FEWEST_COUNTS} process counts, so the values of the "
            f"largest are used for every p: {', '.join(single)}. Measure at p = 2, 4, 8 and more."
        )
    if too_short:
        yield (
            "Bandwidth not determined, as longer messages took no longer or only one size was "
            f"measured: {', '.join(too_short)}. Measure longer messages."
        )
    if bad:
        yield (
            f"Startup and bandwidth fit the times poorly, with errors of: {', '.join(bad)}. "
            "Measure again on an idle machine."
        )


def _times(tables: Sequence[MessageTable], name: str) -> dict[int, dict[int, float]]:
    """Times by processes and size; without those of 0 bytes, for which nothing is done."""
    by_p = {p: medians(values) for p, values in by_processes(tables, name).items() if p > 1}
    sizes = sorted({size for times in by_p.values() for size in times if size > 0})
    chosen = chosen_sizes(sizes)
    kept = {p: {m: times[m] for m in chosen if m in times} for p, times in by_p.items()}
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
