"""Primitives of a calibrated machine: one formula over P and size for each, and how sure it is.

The source fits "first per P, then one simplified formula for any P" [1]_. The lines per P are in
the calibration; the formula is that of `parcast.laws.primitives.measured`, and with fewer than
three counts of P the line of the largest. Its +- is the wider of two [D]: the median over P of
what the line per P has, and 1.64 times the error of the formula, which is what one formula costs.

What only one launch measured has a +- of 100% [D], and so have a startup that was raised to the
least that is possible and what is not known else. Launches on a shared machine differ by 10 to
40% (standard deviation over mean), and 1.64 times 40% is a factor of 2 either way.

A formula knows no protocol switches: the pieces of a line stand in the calibration. Ranks that
share a core take turns, which is another law, so they have a formula of their own.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, section on modelling communication.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite, isnan
from statistics import median
from typing import Final, TypeVar

from parcast.calibration.result import BenchmarkTable, Calibration, Line
from parcast.descriptions.amount import NORMAL_90
from parcast.descriptions.machine import PRIMITIVES
from parcast.laws.primitives.measured import (
    FEWEST_COUNTS,
    NO_BYTES,
    PrimitiveFit,
    chosen_times,
    least_startup,
    measured_primitive,
    of_line,
)

Found = TypeVar("Found", BenchmarkTable, Line)

BARRIER: Final = "barrier"  # the primitive whose volume is nothing
SHARED: Final = "one"  # placement of ranks that share a core
ONE_LAUNCH: Final = 1.0  # half-width over its value of what one launch measured: a factor of 2 [D]


@dataclass(frozen=True, kw_only=True, slots=True)
class PrimitiveFormula:
    """A primitive for every P and size; made by `primitive_formulas`."""

    _outline = """
        primitive=name p=counts placement startup_form=fit.startup_form startup_s=fit.startup
        startup_spread byte_form=fit.byte_form byte_s_per_B=fit.byte byte_spread
        error=fit.error settled=is_settled
    """

    name: str  # one of `parcast.descriptions.machine.PRIMITIVES`
    counts: tuple[int, ...]  # of processors, at which it was measured
    placement: str  # of the ranks: "own", "free" ..., or SHARED
    launches: int  # the fewest that a time rests on [1]
    outliers: int  # in all tables [1]
    is_settled: bool  # whether each time has an interval as narrow as was asked
    fit: PrimitiveFit
    startup_spread: float  # half-width of its 90% interval over it [1]
    byte_spread: float | None  # [1]; None where none are sent

    @property
    def holds_for_every_p(self) -> bool:
        """Whether P was varied enough to tell; else the largest count stands for every P."""
        return len(self.counts) >= FEWEST_COUNTS

    @property
    def shares_a_core(self) -> bool:
        """Whether its ranks took turns on one core."""
        return self.placement == SHARED


@lru_cache(maxsize=4)  # file, document and table ask for the same, which takes half a second
def primitive_formulas(calibration: Calibration) -> tuple[PrimitiveFormula, ...]:
    """Formulas of each primitive that was measured among two ranks or more.

    Of each, in the order of PRIMITIVES, first that of ranks with a core each, then that of ranks
    that share one.
    """
    return tuple(_formulas(calibration))


def _formulas(calibration: Calibration) -> Iterator[PrimitiveFormula]:
    """Give one formula for each primitive and way of placing its ranks."""
    for name in PRIMITIVES:
        for shares in (False, True):
            tables = _of(calibration.tables, name, shares=shares)
            if tables:
                yield _formula(name, tables, _of(calibration.lines, name, shares=shares))


def _of(measured: Sequence[Found], name: str, *, shares: bool) -> list[Found]:
    """Give what was measured of a primitive with so placed ranks, by their number."""
    those = [
        x
        for x in measured
        if x.bench == name and x.ranks > 1 and (x.placement == SHARED) == shares
    ]
    return sorted(those, key=lambda x: x.ranks)


def half_width(value: float, lower: float, upper: float) -> float | None:
    """Half-width of an interval as +- has it, over the value; None of 0 and infinity. [1].

    It is infinite where the interval begins at 0 or has no end, and that of one launch where there
    is no interval.
    """
    if not 0 < value < inf:
        return None
    if isnan(lower) or isnan(upper):
        return ONE_LAUNCH
    return max(upper / value, value / lower if lower > 0 else inf, 1.0) - 1.0


def _formula(
    name: str, tables: Sequence[BenchmarkTable], lines: Sequence[Line]
) -> PrimitiveFormula:
    times = _times(name, tables)
    many = len(tables) >= FEWEST_COUNTS
    fit = measured_primitive(times)
    if not many and lines and lines[-1].ranks == max(times) and isfinite(lines[-1].rate):
        fit = of_line(lines[-1].startup, 1.0 / lines[-1].rate, lines[-1].error, times)
    cost = NORMAL_90 * fit.error
    if fit.byte_form == NO_BYTES:
        samples = [table.samples[0] for table in tables]
        startups = [half_width(x.time, x.lower, x.upper) for x in samples]
    else:
        startups = [_startup_spread(x, times) for x in lines]
    rates = [half_width(x.rate, x.rate_lower, x.rate_upper) for x in lines]
    every = [sample for table in tables for sample in table.samples]
    return PrimitiveFormula(
        name=name,
        counts=tuple(table.ranks for table in tables),
        placement=tables[-1].placement,
        launches=min(sample.launches for sample in every),
        outliers=sum(sample.outliers for sample in every),
        is_settled=all(sample.settled for sample in every),
        fit=fit,
        startup_spread=_wider(startups, many=many, cost=cost),
        byte_spread=None if fit.byte_form == NO_BYTES else _wider(rates, many=many, cost=cost),
    )


def _startup_spread(line: Line, times: dict[int, dict[int, float]]) -> float | None:
    """Half-width of a startup; where it was raised, that of a guess from half to twice."""
    if line.ranks in times and line.startup < least_startup(times[line.ranks]):
        return ONE_LAUNCH
    return half_width(line.startup, line.startup_lower, line.startup_upper)


def _times(name: str, tables: Sequence[BenchmarkTable]) -> dict[int, dict[int, float]]:
    """Times by processors and size; of a barrier one, and of others none without bytes."""
    if name == BARRIER:
        return {table.ranks: {0: table.samples[0].time} for table in tables}
    return chosen_times(
        {table.ranks: {x.bytes: x.time for x in table.samples} for table in tables}
    )


def _wider(spreads: list[float | None], *, many: bool, cost: float) -> float:
    """Wider of what the lines say, of the largest count or of the middle, and of the formula."""
    known = [x for x in spreads if x is not None] or [ONE_LAUNCH]
    return max(median(known) if many else known[-1], cost)
