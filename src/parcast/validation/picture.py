"""Picture of a validation: predicted over measured times, a panel for each subject.

Each kind of case has a symbol; a bar is the 90% interval of a run, and a cross stands where the
median of the runs lies outside it. Points of disturbed runs are pale. What other ways predict is
grey.
"""

from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from parcast.show.pictures import canvas
from parcast.show.pictures.colours import GREY, MACHINE_COLOURS, MARKERS
from parcast.show.pictures.scales import scale_time, span
from parcast.units import percent
from parcast.validation.comparison import Comparison
from parcast.validation.result import Validated, Validation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Compared: TypeAlias = Comparison[Any, Any]

SHORTEST: Final = 0.1  # lower end of an interval that is drawn, of the upper [1]
PALE: Final = 0.4  # of points where disturbed runs count
MOST_PANELS: Final = 9
MOST_TICKS: Final = 5  # of an axis, from which 3 is too near to 2
OTHER_MARKERS: Final = "xv+^sD"  # of other ways
DISTURBED: Final = "pale: disturbed runs"
OUTSIDE: Final = "outside its interval"


def figure_of_validation(validation: Validation, ax: "Axes | None" = None) -> "Figure":
    """One figure, 8 inches wide; that of one subject can be drawn in `ax`. Of more 9 are drawn."""
    every = validation.parts
    parts = every[:MOST_PANELS]
    if ax is not None:
        hint = "Leave it out, or draw a validation of one program."
        canvas.require_one_panel(len(every), hint)
        _draw(ax, parts[0])
        canvas.add_legend_inside(ax, canvas.entries_of([ax]))
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    columns = min(len(parts), 3 if len(parts) > 4 else 2)
    rows = ceil(len(parts) / columns)
    with canvas.writer().figure(4.6 if rows == 1 else 1.0 + 2.7 * rows) as figure:
        grid = list(figure.subplots(rows, columns, squeeze=False).flat)
        for each in grid[len(parts) :]:
            each.set_axis_off()
        for each, part in zip(grid, parts, strict=False):
            _draw(each, part)
        before = " before the runs," if validation.predicted_at else ""
        figure.suptitle(f"Predicted{before} and measured", fontsize="large")
        canvas.writer().add_legend(figure, canvas.entries_of(grid))
    return figure


def _draw(ax: "Axes", part: Validated) -> None:
    """Draw one subject."""
    rows = part.compared
    ends = [(_lower(x), x.upper or x.predicted) for x in rows]
    ends += [(x.measured or x.predicted, x.measured or x.predicted) for x in rows]
    ends += [(time, time) for x in rows for time in x.ways.values() if time is not None]
    low, high = span(ends) if ends else (0.1, 1.0)
    _scale(ax, low, high)
    line = np.array(ax.get_ylim())  # from edge to edge, however near the times are
    ax.plot(line, line, color=GREY, lw=1.0, label="predicted = measured")
    tolerance = part.tolerance
    if tolerance is not None:
        ax.fill_between(
            line,
            (1 - tolerance) * line,
            (1 + tolerance) * line,
            color=GREY,
            alpha=0.18,
            lw=0,
            label=f"within {percent(tolerance)}",
        )
    for i, way in enumerate(rows[0].ways if rows else ()):
        known = [x for x in rows if x.ways[way] is not None]
        marker = OTHER_MARKERS[i % len(OTHER_MARKERS)]
        style: dict[str, Any] = {"color": GREY, "marker": marker, "ls": "none", "ms": 5}
        style |= {} if marker in "x+" else {"mfc": "none"}
        points = np.array([(x.measured, x.ways[way]) for x in known], dtype=np.float64)
        ax.plot(*points.reshape(-1, 2).T, **style, label=way)
    for i, kind in enumerate(dict.fromkeys(x.kind for x in part.comparisons)):
        _draw_kind(ax, [x for x in rows if x.kind == kind], kind, i % len(MACHINE_COLOURS))
    if any(x.is_disturbed for x in rows):
        ax.plot([], [], "o", color=GREY, alpha=PALE, label=DISTURBED)
    ax.set_title(f"{part.name}: {part.agreement}", fontsize="medium", parse_math=False)
    canvas.plain_axes(ax)


def _draw_kind(ax: "Axes", rows: list[Compared], kind: str, i: int) -> None:
    """Draw the cases of a kind."""
    style: dict[str, Any] = {"color": MACHINE_COLOURS[i], "ls": "none", "ms": 6}
    for x in rows:
        if x.lower is not None and x.measured is not None:
            ends = _lower(x), x.upper or x.predicted
            ax.vlines(x.measured, *ends, color=style["color"], lw=1.2, alpha=0.6)
        is_outside = x.is_inside is False
        marker = "x" if is_outside else MARKERS[i]
        alpha = PALE if x.is_disturbed else 1.0
        label = OUTSIDE if is_outside else None
        at = [x.measured or x.predicted], [x.predicted]
        ax.plot(*at, **style, marker=marker, alpha=alpha, label=label)
    ax.plot([], [], **style, marker=MARKERS[i], label=kind)  # not pale, even if all points are


def _lower(x: Compared) -> float:
    """Lower end of an interval, which may be 0, on a logarithmic scale [s]."""
    if x.lower is None or x.upper is None:
        return x.predicted
    return max(x.lower, SHORTEST * x.upper)


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
