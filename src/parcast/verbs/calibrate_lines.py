"""Straight lines of times over sizes, launch by launch, and where the protocol switches."""

from collections.abc import Sequence
from math import inf
from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.calibration_result import Line, Segment, Table
from parcast.models.point_to_point import (
    FEWEST_ON_A_SIDE,
    MessageFit,
    fit_message,
    protocol_switch,
)
from parcast.run.bench.records import Launch
from parcast.verbs.calibrate_statistics import estimate

Array = NDArray[np.float64]

OCTAVES: Final = 64  # times the largest message is larger than the least that tells a rate [D]
FEWEST: Final = 3  # sizes that decide a rate


def fit_of_launch(
    launch: Launch, bench: str, ranks: int, *, long_only: bool = False
) -> MessageFit | None:
    """Line of a benchmark in one launch; None where there are too few sizes.

    Parameters
    ----------
    launch : Launch
    bench : str
    ranks : int
    long_only : bool, default False
        Whether only sizes from 1/64 of the largest on count, which tell the rate of the bytes.
    """
    sizes = launch.sizes(bench, ranks)
    if long_only and sizes:
        sizes = [size for size in sizes if size >= max(sizes[-1] / OCTAVES, 1)]
    if len(sizes) < (FEWEST if long_only else 2):
        return None
    return fit_message(sizes, [median(launch.times[bench, ranks, size]) for size in sizes])


def line_of(table: Table, launches: Sequence[Launch]) -> Line | None:
    """Line of a benchmark: medians of the lines of the launches, and what error it has.

    Parameters
    ----------
    table : Table
        Of the benchmark. One of a single size, such as of a barrier, has no rate.
    launches : sequence of Launch
        That it was made of.

    Returns
    -------
    Line or None
        None where no launch has two sizes, though the table has.
    """
    name, ranks = table.bench, table.ranks
    if len(table.samples) == 1:
        (only,) = table.samples
        segments: tuple[Segment, ...]
        segments = (Segment(first=only.bytes, startup=only.time, rate=inf),)
        numbers = (only.time, only.lower, only.upper, inf, inf, inf)
        error = 0.0
    else:
        fits = [x for x in (fit_of_launch(launch, name, ranks) for launch in launches) if x]
        if not fits:
            return None
        start = estimate([fit.startup for fit in fits])
        byte = estimate([fit.byte for fit in fits])
        error = float(np.mean(np.abs(_times(start.value, byte.value, table) / table.time - 1)))
        segments = segments_of(table)
        rates = (_inverse(byte.value), _inverse(byte.upper), _inverse(byte.lower))
        numbers = (start.value, start.lower, start.upper, *rates)
    return Line(
        bench=name,
        ranks=ranks,
        placement=table.placement,
        startup=numbers[0],
        startup_lower=numbers[1],
        startup_upper=numbers[2],
        rate=numbers[3],
        rate_lower=numbers[4],
        rate_upper=numbers[5],
        error=error,
        segments=segments,
        method=f"t = t0 + m/r_inf over {len(table.samples)} sizes in each launch; {table.method}",
    )


def segments_of(table: Table) -> tuple[Segment, ...]:
    """Cut times over sizes where two lines fit much better than one, again and again."""
    sizes, times = table.bytes, table.time
    pieces, firsts = [(0, len(sizes))], []
    while pieces:
        low, high = pieces.pop()
        if high - low < 2 * FEWEST_ON_A_SIDE:
            firsts.append((low, high))
            continue
        switch = protocol_switch(sizes[low:high], times[low:high])
        if switch is None:
            firsts.append((low, high))
        else:
            middle = low + int(np.searchsorted(sizes[low:high], switch))
            pieces += [(low, middle), (middle, high)]
    found = []
    for low, high in sorted(firsts):
        fit = fit_message(sizes[low:high], times[low:high])
        found.append(Segment(first=int(sizes[low]), startup=fit.startup, rate=_inverse(fit.byte)))
    return tuple(found)


def _times(startup: float, byte: float, table: Table) -> Array:
    """Give what a line says at the sizes of a table. [s]."""
    return np.asarray(startup + byte * table.bytes)


def _inverse(value: float) -> float:
    """Give 1 over a value; infinite of 0, NaN of NaN."""
    return inf if value == 0.0 else 1.0 / value
