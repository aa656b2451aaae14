"""Axes of processors, times, speedups and efficiencies: limits, and ticks people would choose."""

from collections.abc import Sequence
from math import ceil, floor, log, log2, log10
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.units import SIZE_UNITS, TIME_UNITS, format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LEAST_SPAN: Final = 4.0  # ratio of the ends of an axis of times: flat times look flat
HIGHEST: Final = 2.0  # efficiency that is still shown [1]
INCH: Final = 72.0  # [pt]
TOUCHING: Final = 8.0  # between two markers of a line that are too close [pt]
GAP: Final = 16.0  # between two markers of a line of which some were too close, at least [pt]
MARGIN: Final = 0.04  # beyond what is drawn, as a share of the axis [1]
LEAST_MARGIN: Final = 1.01  # ratio of the end of an axis to the end of what is drawn [1]
CHARACTER: Final = 0.09  # width of one in a label [inch]
WIDE_GAP: Final = 0.9  # between two labels, from which there is a round number between them [inch]
LINE: Final = 0.28  # height a label asks for [inch]
STEPS: Final = (1.0, 2.0, 5.0)  # from tick to tick, within a power of ten
# Ticks within a power of ten, from many to few.
MANTISSAS: Final = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5), (1, 2, 5), (1, 3), (1,))


def scale_p(
    ax: "Axes", counts: Array, wanted: Sequence[float] = (), label: str = "processors p"
) -> None:
    """Make the horizontal axis one of processors, from the first of ascending counts on.

    `wanted` are counts that are labelled before others; both ends always are.
    """
    low, high = counts[0], counts[-1]
    margin = max((high / low) ** MARGIN, LEAST_MARGIN)
    ticks = fitting_ticks(counts, inches(ax)[0] * (1 - 2 * MARGIN), wanted)
    ax.set_xscale("log")
    ax.set_xlim(low / margin, high * margin)
    ax.set_xticks(ticks, labels=[_text(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(label)


def scale_time(ax: "Axes", low: float, high: float, unit: str = "") -> None:
    """Make the vertical axis one of times [s], in `unit` or else what suits their middle."""
    middle = (low * high) ** 0.5
    unit = unit or format_quantity(middle, "time").rpartition(" ")[2]
    _scale_log(ax, low, high, TIME_UNITS[unit])
    ax.set_ylabel(f"time [{unit}]")


def scale_memory(ax: "Axes", low: float, high: float) -> None:
    """Make the vertical axis one of memory [B], in the unit that suits its middle."""
    unit = format_quantity((low * high) ** 0.5, "size").rpartition(" ")[2]
    _scale_log(ax, low, high, SIZE_UNITS[unit])
    ax.set_ylabel(f"memory [{unit}]")


def scale_speedup(ax: "Axes", low: float, high: float, over: str = "") -> None:
    """Make the vertical axis one of speedups, `over` what: "p = 4"."""
    _scale_log(ax, low, high)
    ax.set_ylabel(f"speedup over {over}" if over else "speedup")


def scale_rate(ax: "Axes", low: float, high: float, title: str) -> None:
    """Make the vertical axis one of rates, called by a title with their unit."""
    _scale_log(ax, low, high)
    ax.set_ylabel(title, parse_math=False)


def _scale_log(ax: "Axes", low: float, high: float, factor: float = 1.0) -> None:
    """Make the vertical axis logarithmic, with round ticks in units of `factor`."""
    middle = (low * high) ** 0.5
    half = max((high / low) ** (0.5 + MARGIN), LEAST_SPAN**0.5)
    most = min(max(int(inches(ax)[1] / LINE), 3), 9)
    ticks = round_ticks(middle / half / factor, middle * half / factor, most)
    labels = [f"{tick:.6g}" if 1e-4 <= tick < 1e6 else f"{tick:.0e}" for tick in ticks]
    ax.set_yscale("log")
    ax.set_ylim(middle / half, middle * half)
    ax.set_yticks([tick * factor for tick in ticks], labels=labels)
    ax.minorticks_off()


def scale_efficiency(ax: "Axes", high: float) -> None:
    """Make the vertical axis one of efficiencies from 0 to 2 at most, labelled in percent."""
    top = min(max(high, 1.0), HIGHEST) * (1 + MARGIN)
    ticks = np.arange(0, top, 0.25 if top < 1.3 else 0.5)
    ax.set_ylim(0, top)
    ax.set_yticks(ticks, labels=[f"{100 * tick:.0f}" for tick in ticks])
    ax.set_ylabel("efficiency [%]")


def apart(places: Array) -> NDArray[np.intp]:
    """Which points of a line, at ascending places [pt], have a marker.

    All of them, or the ends and some between where markers would look like beads on a string.
    """
    if not np.any(np.diff(places) < TOUCHING):
        return np.arange(len(places))
    kept = [0]
    for i in range(1, len(places) - 1):
        if places[i] - places[kept[-1]] >= GAP and places[-1] - places[i] >= GAP:
            kept.append(i)
    return np.array([*kept, len(places) - 1])


def inches(ax: "Axes") -> tuple[float, float]:
    """Width and height of `ax` before it is laid out. [inch]."""
    extent = ax.get_window_extent()
    dots = ax.figure.dpi
    return extent.width / dots, extent.height / dots


def fitting_ticks(counts: Array, width: float, wanted: Sequence[float] = ()) -> list[float]:
    """Counts to label on a logarithmic axis `width` inches wide, its two ends among them.

    All of the ascending `counts` if they stand apart; else some that look even, after `wanted`.

    >>> fitting_ticks(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]), 1.2)
    [1.0, 4.0, 16.0, 64.0]
    >>> fitting_ticks(np.arange(1.0, 97.0), 5.0, wanted=[96.0, 80.0])
    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 96.0]
    """
    low, high = float(counts[0]), float(counts[-1])
    if high <= low:
        return [low]
    scale = width / np.log(high / low)  # inches for a factor of e
    inner = [float(x) for x in counts if low < x < high]
    if np.all(np.log2(counts) % 1 == 0):
        return _powers(round(log2(low)), round(log2(high)), scale)
    every = _labels_apart([low, high, *inner], scale)
    if len(every) < len(inner) + 2:
        powers = [x for x in inner if log2(x) % 1 == 0]
        several = powers if len(powers) > 2 or len(inner) > width / CHARACTER else inner
        first = sorted((float(x) for x in wanted if low < x < high), reverse=True)
        every = _labels_apart([low, high, *first, *several], scale)
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    between = [m * 10.0**k for m in (1, 2, 5, 4, 3) for k in decades if low < m * 10.0**k < high]
    return sorted(
        _labels_apart([*every, *(x for x in between if x % 1 == 0)], scale, WIDE_GAP, every)
    )


def _text(tick: float) -> str:
    """Write a count, or a value of another axis."""
    return f"{tick:.0f}" if tick % 1 == 0 else f"{tick:.6g}"


def _powers(first: int, last: int, scale: float) -> list[float]:
    """Powers of two that stand apart, counted from the last; and the first."""
    for every in range(1, last - first):
        powers = [2.0**x for x in range(last, first + every - 1, -every)] + [2.0**first]
        if len(_labels_apart(powers, scale)) == len(powers):
            return powers[::-1]
    return [2.0**first, 2.0**last]


def _labels_apart(
    ticks: Sequence[float], scale: float, gap: float = 0.0, given: Sequence[float] = ()
) -> list[float]:
    """Keep the ticks, in their order, whose labels stand apart from those kept before.

    All of the `given` are kept; others lie `gap` from each other and from these, at least [inch].
    """
    kept = list(given)
    for tick in dict.fromkeys(ticks):
        widths = (CHARACTER * (len(_text(tick) + _text(x)) / 2 + 1) for x in kept)
        far = (abs(log(tick / x)) * scale for x in kept)
        if all(x >= max(w, gap) for x, w in zip(far, widths, strict=True)):
            kept.append(tick)
    return kept


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


def even_ticks(low: float, high: float, most: int, *, is_whole: bool = False) -> list[float]:
    """Round numbers from `low` to `high` in even steps, `most` of these at most.

    >>> even_ticks(0.0, 1.0, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    rough = max((high - low) / most, 1.0 if is_whole else 0.0)
    decade = 10.0 ** floor(log10(rough))
    step = next((x * decade for x in STEPS if x * decade >= rough * (1 - 1e-9)), 10 * decade)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def span(limits: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Lowest and highest of several pairs of limits."""
    return min(low for low, _ in limits), max(high for _, high in limits)
