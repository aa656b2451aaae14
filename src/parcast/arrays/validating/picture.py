"""Picture of a validation: predicted over measured times, with the band of 20 %."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.arrays.validating.result import TOLERANCE, ArrayIoValidation, Compared
from parcast.arrays.validating.sheet import WORDS
from parcast.show.canvas import (
    add_legend,
    add_legend_inside,
    entries_of,
    house_style,
    new_figure,
    plain_axes,
)
from parcast.show.colours import BLUE, GREEN, GREY, ORANGE, PALE, VERMILLION
from parcast.show.scales import scale_time, span
from parcast.units import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: Final[dict[str, tuple[str, str, str]]] = {  # colour, marker and label of a kind
    "sync": (VERMILLION, "s", "write, sync"),
    "write-behind": (ORANGE, "^", "write, write-behind"),
    "double-buffer": (BLUE, "o", "write, double-buffer"),
    "read": (GREEN, "D", "read"),
}
FAINT: Final = 0.35  # of points where disturbed runs count
MOST_TICKS: Final = 5  # of an axis, from which 3 is too near to 2
DISTURBED: Final = "pale: disturbed"


def figure_of(result: ArrayIoValidation, ax: "Axes | None" = None) -> "Figure":
    """Figure of a validation."""
    if ax is not None:
        _draw(ax, result)
        add_legend_inside(ax, entries_of([ax]))
        figure: Figure = ax.figure  # type: ignore[assignment]  # no axes of a subfigure
        return figure
    with house_style():
        figure = new_figure(height=5.2)
        own = figure.subplots()
        _draw(own, result)
        add_legend(figure, entries_of([own]))
    return figure


def _draw(ax: "Axes", result: ArrayIoValidation) -> None:
    """Draw all requests."""
    rows = result.measured
    low, high = _ends(rows)
    _scale(ax, low, high)
    line = np.array(ax.get_ylim())
    ax.fill_between(
        line,
        line * (1.0 - TOLERANCE),
        line * (1.0 + TOLERANCE),
        color=PALE,
        lw=0.0,
        label=f"within {percent(TOLERANCE)}",
    )
    ax.plot(line, line, color=GREY, lw=1.0, label="predicted = measured")
    for kind, (colour, marker, label) in STYLES.items():
        own = [row for row in rows if row.kind == kind]
        style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "none", "ms": 5.5}
        for is_disturbed in (False, True):
            some = [row for row in own if row.is_disturbed == is_disturbed]
            x = np.array([row.measured for row in some], dtype=np.float64)
            y = np.array([row.predicted for row in some])
            ax.plot(x, y, **style, mew=0.0, alpha=FAINT if is_disturbed else 0.85)
        if own:  # a symbol of the legend is not pale, even if all of its points are
            ax.plot([], [], **style, mew=0.0, label=label)
    if any(row.is_disturbed for row in rows):
        ax.plot([], [], "o", color=GREY, alpha=FAINT, label=DISTURBED)
    ax.set(xlim=line, ylim=line)
    accuracy = result.accuracy()
    found = (
        f"{accuracy.within} of {accuracy.requests} within {percent(TOLERANCE)}" if accuracy else ""
    )
    where = result.place.testbed.split(",")[0] or f"this machine, {result.place.cores} cores"
    ax.set_title(
        f"Array I/O, {where}: law {WORDS[result.holds]}{f', {found}' if found else ''}",
        fontsize="medium",
    )
    plain_axes(ax)


def _ends(rows: tuple[Compared, ...]) -> tuple[float, float]:
    """Least and largest time of all, with some room."""
    times = [x for row in rows for x in (row.measured, row.predicted) if x]
    return span([(x, x) for x in times]) if times else (0.1, 1.0)


def _scale(ax: "Axes", low: float, high: float) -> None:
    """Make both axes the same logarithmic one of times."""
    scale_time(ax, low, high)
    ticks = [x for x in ax.get_yticks() if f"{x:e}"[0] != "3" or len(ax.get_yticks()) < MOST_TICKS]
    labels = {
        tick: label.get_text()
        for tick, label in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    }
    ax.set(xscale="log", xlim=ax.get_ylim())
    ax.set_xticks(ticks, labels=[labels[tick] for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(ax.get_ylabel().replace("time", "measured time"))
    ax.set_ylabel(ax.get_ylabel().replace("time", "predicted time"))
