"""The picture of a validation: times over sizes, a panel for each program.

For each count of ranks the line is what the calibrated law says, the band the 90 % interval of a
run. Hollow points were calibrated with, full ones were predicted and then measured; a cross stands
where the median of the runs lies outside the interval. Pale points hold runs that were disturbed.
"""

from collections.abc import Sequence
from itertools import product
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.kernels.validating.result import Comparison, TimedRun, ValidatedProgram, Validation
from parcast.show.canvas import (
    add_legend,
    add_legend_inside,
    entries_of,
    house_style,
    new_figure,
    plain_axes,
    require_one_panel,
)
from parcast.show.colours import (
    MACHINE_COLOURS,
    MARKERS,
    REFERENCE,
)
from parcast.show.scales import fitting_ticks, inches, scale_time, span
from parcast.units import shown

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BAND: Final = "90 % interval"
CALIBRATED: Final = "calibrated"
OUTSIDE: Final = "outside its interval"
DISTURBED: Final = "pale: disturbed"
OF_ALL: Final = (BAND, CALIBRATED, OUTSIDE, DISTURBED)  # labels that no count has for itself
PALENESS: Final = 0.4  # of points where others used the processors
SHORTER: Final = 1.35  # times as short as the sizes written out, are the labels of ticks
MOST_PANELS: Final = 9
MOST_COUNTS: Final = len(MACHINE_COLOURS)


def figure_of_validation(validation: Validation, ax: "Axes | None" = None) -> "Figure":
    """One figure, 8 inches wide: time over size, a panel for each program.

    Of a single program it can be drawn in `ax`. Of more than 9 programs the first 9 are drawn, of
    more than 8 counts the first 8.
    """
    programs = validation.programs[:MOST_PANELS]
    counts = sorted({x.p for program in programs for x in program.comparisons})[:MOST_COUNTS]
    if ax is not None:
        require_one_panel(len(programs), "Leave it out, or draw a validation of one program.")
        _draw(ax, programs[0], counts)
        add_legend_inside(ax, _entries([ax], programs))
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    columns = min(len(programs), 3 if len(programs) > 4 else 2)
    rows = ceil(len(programs) / columns)
    with house_style():
        figure = new_figure(height=4.6 if rows == 1 else 1.0 + 2.7 * rows)
        grid = figure.subplots(rows, columns, squeeze=False)
        for i, each in enumerate(grid.flat):
            if i >= len(programs):
                each.set_axis_off()
                continue
            _draw(each, programs[i], counts)
        figure.suptitle("Predicted from small runs, and measured", fontsize="large")
        add_legend(figure, _entries(list(grid.flat), programs))
    return figure


def _entries(axes: "Sequence[Axes]", programs: Sequence[ValidatedProgram]) -> "dict[str, Artist]":
    """What the legend explains: each count, and then what all have."""
    handles = entries_of(axes)
    if any(x.is_disturbed for program in programs for x in program.compared):
        (pale,) = axes[0].plot([], [], ls="", marker="o", color=REFERENCE, alpha=PALENESS)
        handles[DISTURBED] = pale
    return {x: handles[x] for x in sorted(handles, key=lambda label: label in OF_ALL)}


def _draw(ax: "Axes", program: ValidatedProgram, counts: Sequence[int]) -> None:
    """Draw one program."""
    small = _medians(program.calibration)
    for i, p in enumerate(counts):
        points = sorted((x for x in program.comparisons if x.p == p), key=lambda x: x.n)
        _draw_count(ax, points, sorted((n, t) for (n, q), t in small.items() if q == p), i, p)
    times = [(x.lower, x.upper) for x in program.comparisons]
    times += [(x.measured, x.measured) for x in program.compared]
    times += [(t, t) for t in small.values()]
    scale_time(ax, *span(times))
    sizes = sorted({n for n, _ in small} | {x.n for x in program.comparisons})
    room = (sizes[-1] / sizes[0]) ** 0.06
    ax.set(xscale="log", xlim=(sizes[0] / room, sizes[-1] * room))
    at = fitting_ticks(np.array(sizes, dtype=np.float64), SHORTER * inches(ax)[0])
    ax.set_xticks(at, labels=[_short(tick) for tick in at])
    ax.minorticks_off()
    ax.set_xlabel(f"n [{shown(program.size, limit=20)}]", parse_math=False)
    ax.set_title(f"{program.program}: {program.agreement}", fontsize="medium", parse_math=False)
    plain_axes(ax)


def _draw_count(
    ax: "Axes",
    points: Sequence[Comparison],
    small: Sequence[tuple[int, float]],
    i: int,
    p: int,
) -> None:
    """Draw one count of ranks of a program."""
    colour, marker = MACHINE_COLOURS[i], MARKERS[i]
    if points:
        n = [x.n for x in points]
        ends = [x.lower for x in points], [x.upper for x in points]
        band = BAND if i == 0 else None
        ax.fill_between(n, *ends, color=colour, alpha=0.18, lw=0, label=band)
        ax.plot(n, [x.predicted for x in points], color=colour, lw=1.5, label=f"law, p = {p}")
    for is_inside, is_disturbed in product((True, False), (False, True)):
        there = [
            x
            for x in points
            if x.runs and (x.is_inside, x.is_disturbed) == (is_inside, is_disturbed)
        ]
        if there:
            at = ([x.n for x in there], [x.measured for x in there])
            shape, alpha = marker if is_inside else "x", PALENESS if is_disturbed else 1.0
            label = f"measured, p = {p}" if is_inside else OUTSIDE
            ax.plot(
                *at, ls="", marker=shape, ms=6, mew=1.5, color=colour, alpha=alpha, label=label
            )
    if small:
        style = {"ls": "", "marker": marker, "ms": 4.5, "mfc": "none", "color": colour}
        ax.plot(*zip(*small, strict=True), **style, label=CALIBRATED)  # type: ignore[arg-type]  # styles of a marker


def _medians(runs: Sequence[TimedRun]) -> dict[tuple[int, int], float]:
    """Median time of every size and count. [s]."""
    cells: dict[tuple[int, int], list[float]] = {}
    for run in runs:
        if run.counts:
            cells.setdefault((run.n, run.p), []).append(run.time)
    return {key: median(times) for key, times in cells.items()}


def _short(size: float) -> str:
    """Text of a size on an axis."""
    mantissa, _, exponent = f"{size:.1e}".partition("e")
    return f"{size:.0f}" if size < 1e4 else f"{float(mantissa):g}e{int(exponent)}"
