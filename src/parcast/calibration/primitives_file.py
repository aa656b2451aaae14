"""Primitives of a calibrated machine in the words of its file."""

import math
from collections.abc import Iterator
from typing import Final

from parcast.calibration.benchmarks.machine_figures import SourcedFigure, written
from parcast.calibration.benchmarks.network_figures import written_keys
from parcast.calibration.primitives import BARRIER, PrimitiveFormula, primitive_formulas
from parcast.calibration.result import Calibration, Line
from parcast.descriptions.amount import WIDEST
from parcast.descriptions.machine import PRIMITIVES
from parcast.laws.primitives.measured import FEWEST_COUNTS
from parcast.units import percent
from parcast.words import counted, joined

PLACEMENTS: Final = {
    "own": "with one core each",
    "one": "sharing one core",
    "spread": "distributed over the cores",
    "free": "not pinned",
}
UNKNOWN: Final = "+- set to 100% (one launch)"
ROUNDING: Final = 1e-9  # of a share, which is no reason to write more


def with_spread(text: str, spread: float | None) -> str:
    """Text of an amount and how far its 90% interval reaches, rounded up: "27 MB/s +- 3.2%"."""
    if not spread:
        return text
    share = 100.0 * min(spread, WIDEST)
    step = 10.0 ** max(math.floor(math.log10(share)) - 1, -2)
    return f"{text} +- {max(math.ceil(share / step - ROUNDING), 1) * step:.6g}%"


SWITCHING: Final = ("pingpong", "stream", "bidirectional", "saturation", *PRIMITIVES)


def primitive_figures(calibration: Calibration) -> Iterator[SourcedFigure]:
    """Give start-up and bandwidth of the primitives, in two parts where ranks share a core.

    One without a rate is left out, as a region that sends bytes with it would be refused.
    """
    cores = calibration.host.cores
    formulas = primitive_formulas(calibration)
    for name in dict.fromkeys(formula.name for formula in formulas):
        first, *beyond = (formula for formula in formulas if formula.name == name)
        source = primitive_origin(first, calibration.date)
        keys = written_keys(first.fit)
        if not is_complete(first):
            continue
        spreads = _spreads(first)
        for other in beyond:
            source += f"; for p > {cores}: {primitive_origin(other, calibration.date)}"
            theirs = written_keys(other.fit)
            keys = {
                key: f"{text} if p <= {cores} else {theirs[key]}" if key in theirs else text
                for key, text in keys.items()
            }
            spreads = {
                key: max((x for x in (wide, _spreads(other)[key]) if x), default=None)
                for key, wide in spreads.items()
            }
        for key, text in keys.items():
            yield SourcedFigure(
                key=f"primitives.{name}.{key}",
                text=with_spread(text, spreads[key]),
                source=source,
            )


def is_complete(formula: PrimitiveFormula) -> bool:
    """Tell whether a primitive has all that a region may ask for."""
    return formula.name == BARRIER or "bandwidth" in written_keys(formula.fit)


def primitives_without_rate(calibration: Calibration) -> Iterator[str]:
    """Give the primitives whose messages were too short to tell a rate."""
    for formula in primitive_formulas(calibration):
        if not is_complete(formula):
            startup = with_spread(written_keys(formula.fit)["startup"], formula.startup_spread)
            origin = primitive_origin(formula, calibration.date)
            yield (
                f"{formula.name}: startup {startup}; {origin}, messages too short to determine a "
                "bandwidth"
            )


def _spreads(formula: PrimitiveFormula) -> dict[str, float | None]:
    return {"startup": formula.startup_spread, "bandwidth": formula.byte_spread}


def primitive_origin(formula: PrimitiveFormula, date: str) -> str:
    """Say in one line what a formula is based on."""
    counts = ", ".join(map(str, formula.counts))
    facts = [
        f"p = {counts}, {PLACEMENTS.get(formula.placement, formula.placement)}",
        f"{date[:10]}, {counted(formula.launches, 'launch')}",
        f"fit error {percent(formula.fit.error)}",
    ]
    if formula.launches == 1:
        facts.append(UNKNOWN)
    if not formula.holds_for_every_p:
        largest = "the largest " if len(formula.counts) > 1 else ""
        facts.append(f"{largest}used for every {'such ' if formula.shares_a_core else ''}p")
    if formula.outliers:
        facts.append(counted(formula.outliers, "outlier"))
    if not formula.is_settled:
        facts.append("not converged")
    return ", ".join(facts)


def few_counts(calibration: Calibration) -> Iterator[str]:
    """Say where formulas of primitives know of no other P."""
    few = [formula for formula in primitive_formulas(calibration) if not formula.holds_for_every_p]
    own = next((formula for formula in few if not formula.shares_a_core), None)
    if own is None:
        return
    shared = next((formula for formula in few if formula.shares_a_core), None)
    values = "the values at the largest are" if len(own.counts) > 1 else "these values are"
    counts = joined([*map(str, own.counts)])
    text = f"Primitives were measured only at p = {counts}; {values} used for every p"
    if shared is not None:
        cores = calibration.host.cores
        text += f" up to {cores}, for larger p those at p = {shared.counts[-1]} on one core"
    yield (
        f"{text}. Measure at {FEWEST_COUNTS} or more counts, as with -np 4 on 4 or more cores, to "
        "get formulas in p."
    )


def line_remarks(calibration: Calibration, *, leave_out: set[str]) -> Iterator[str]:
    """Give the line of each primitive for each P, and where lines are in pieces."""
    for line in calibration.lines:
        is_told = f"primitives.{line.bench}.startup" in leave_out
        pieces = line.segments if len(line.segments) > 1 else ()
        if line.bench in SWITCHING and not is_told and (pieces or line.bench in PRIMITIVES):
            yield line_words(line)


def line_words(line: Line) -> str:
    """Say what a line is: "reduce, p = 4: 8.1 us + m / 2.3 GB/s, error 4%"."""
    ends = [f" below {x.first} B" for x in line.segments[1:]] + [""]
    pieces = [
        f"{_sum(x.startup, x.rate)}{f' from {x.first} B' if i else ''}{ends[i]}"
        for i, x in enumerate(line.segments)
    ]
    whole = _sum(line.startup, line.rate)
    texts = f"{whole}, fit error {percent(line.error)}"
    if len(pieces) > 1:
        texts += f"; piecewise {', '.join(pieces)}"
    return f"{line.bench}, p = {line.ranks}: {texts}"


def _sum(startup: float, rate: float) -> str:
    first = written(startup, "time")
    return f"{first} + m / {written(rate, 'rate')}" if math.isfinite(rate) else first
