"""Axes of processors, times and efficiencies: their limits, and ticks that people would choose."""

from collections.abc import Sequence
from math import ceil, floor, log2, log10
from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.aliases import Array
from parcast.units import TIME_UNITS, format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEAST_SPAN: Final = 4.0  # ratio of the ends of an axis of times: flat times look flat
HIGHEST: Final = 2.0  # efficiency that is still shown [1]
MARGIN: Final = 0.04  # beyond what is drawn, as a share of the axis [1]
CHARACTER: Final = 0.09  # width of one in a label [inch]
LINE: Final = 0.28  # height a label asks for [inch]
# Ticks within a power of ten, from many to few.
MANTISSAS: Final = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))


def scale_p(ax: "Axes", counts: Array) -> None:
    """Make the horizontal axis one of processors, from the first of ascending counts on."""
    low, high = counts[0], counts[-1]
    margin = (high / low) ** MARGIN
    ticks = fitting_ticks(counts, inches(ax)[0] * (1 - 2 * MARGIN))
    ax.set_xscale("log")
    ax.set_xlim(low / margin, high * margin)
    ax.set_xticks(ticks, labels=[f"{tick:.0f}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel("processors p")


def scale_time(ax: "Axes", low: float, high: float) -> None:
    """Make the vertical axis one of times [s], labelled in the unit that suits their middle."""
    middle = (low * high) ** 0.5
    half = max((high / low) ** (0.5 + MARGIN), LEAST_SPAN**0.5)
    unit = format_quantity(middle, "time").rpartition(" ")[2]
    factor = TIME_UNITS[unit]
    most = min(max(int(inches(ax)[1] / LINE), 3), 9)
    ticks = round_ticks(middle / half / factor, middle * half / factor, most)
    labels = [f"{tick:.6g}" if 1e-4 <= tick < 1e6 else f"{tick:.0e}" for tick in ticks]
    ax.set_yscale("log")
    ax.set_ylim(middle / half, middle * half)
    ax.set_yticks([tick * factor for tick in ticks], labels=labels)
    ax.minorticks_off()
    ax.set_ylabel(f"time [{unit}]")


def scale_efficiency(ax: "Axes", high: float) -> None:
    """Make the vertical axis one of efficiencies from 0 to 2 at most, labelled in percent."""
    top = min(max(high, 1.0), HIGHEST) * (1 + MARGIN)
    ticks = np.arange(0, top, 0.25 if top < 1.3 else 0.5)
    ax.set_ylim(0, top)
    ax.set_yticks(ticks, labels=[format_quantity(tick, "fraction") for tick in ticks])
    ax.set_ylabel("efficiency [%]")


def inches(ax: "Axes") -> tuple[float, float]:
    """Width and height of `ax` before it is laid out. [inch]."""
    extent = ax.get_window_extent()
    dots = ax.figure.dpi
    return extent.width / dots, extent.height / dots


def fitting_ticks(counts: Array, width: float) -> list[float]:
    """As many `count_ticks` as stand apart on a logarithmic axis `width` inches wide."""
    low, high = counts[0], counts[-1]
    for most in range(int(width / (2 * CHARACTER)), 2, -1):
        ticks = count_ticks(counts, most)
        places = np.log(np.array(ticks) / low) / np.log(high / low) * width
        widths = np.array([len(f"{tick:.0f}") + 1 for tick in ticks]) * CHARACTER
        if np.all(np.diff(places) >= (widths[1:] + widths[:-1]) / 2):
            return ticks
    return [float(low), float(high)]


def count_ticks(counts: Array, most: int) -> list[float]:
    """Counts of processors to label, `most` at most.

    Powers of two where all counts are, else the counts themselves where they spread evenly, else
    round numbers.

    >>> count_ticks(np.array([1, 2, 4, 1024.0]), most=6)
    [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]
    """
    low, high = counts[0], counts[-1]
    if np.all(np.log2(counts) % 1 == 0):
        powers = range(round(log2(low)), round(log2(high)) + 1)
        return [2.0**power for power in powers[:: ceil(len(powers) / most)]]
    gaps = np.diff(np.log(counts)) / np.log(high / low)
    if len(counts) <= most and gaps.min() >= 0.8 / most and gaps.max() <= 0.6:
        return [float(count) for count in counts]
    ticks = [tick for tick in round_ticks(low, high, most) if tick % 1 == 0]
    return ticks if len(ticks) > 1 else [float(low), float(high)]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, as many as are spread evenly but `most` at most.

    >>> round_ticks(0.8, 30, most=6)
    [1.0, 2.0, 5.0, 10.0, 20.0]
    """
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    grids: list[list[float]] = [
        [mantissa * 10.0**decade for decade in decades for mantissa in mantissas]
        for mantissas in MANTISSAS
    ]
    grids += [
        [10.0**decade for decade in decades if decade % every == 0]
        for every in range(2, len(decades))
    ]
    inside = ([x for x in grid if low <= x <= high] for grid in grids)
    return next((ticks for ticks in inside if len(ticks) <= most), [])


def span(limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Lowest and highest of several pairs of limits."""
    return min(low for low, _ in limits), max(high for _, high in limits)
