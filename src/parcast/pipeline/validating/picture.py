"""Picture of a validation: predicted over measured time of all rows, a panel for each schedule."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.pipeline.validating.predicting import CALIBRATED, WAYS
from parcast.pipeline.validating.result import Compared, PipelineValidation, ValidatedSchedule
from parcast.pipeline.validating.sheet import NAMES, WORDS
from parcast.show.canvas import (
    add_legend,
    add_legend_inside,
    entries_of,
    house_style,
    new_figure,
    plain_axes,
    require_one_panel,
)
from parcast.show.colours import BLUE, GREEN, GREY, ORANGE, PURPLE
from parcast.show.scales import scale_time, span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: Final[dict[str, tuple[str, str]]] = {  # colour and marker of a way
    "stated": (GREY, "v"),
    "law": (ORANGE, "^"),
    "given": (GREEN, "s"),
    "mm1": (GREY, "x"),
    "md1": (GREY, "+"),
    "overlapped": (PURPLE, "D"),
    "calibrated": (BLUE, "o"),
}
LABELS: Final[dict[str, str]] = {  # of a way, in the legend
    "stated": "formula (6), published schedule",
    "law": "law",
    "given": "measured message times",
    "mm1": "formula (6), M/M/1",
    "md1": "formula (6), M/G/1",
    "overlapped": "overlapped formula",
    "calibrated": "calibrated law",
}
SHORTEST: Final = 0.1  # lower end of an interval that is drawn, of the upper [1]
PALE: Final = 0.4  # of points where disturbed runs count
MOST_TICKS: Final = 5  # of the x axis, from which 3 is too near to 2
DISTURBED: Final = "pale: disturbed runs"


def figure_of(result: PipelineValidation, ax: "Axes | None" = None) -> "Figure":
    """Figure of a validation; that of one schedule can be drawn in `ax`."""
    if ax is not None:
        hint = "Leave it out, or draw a validation of one schedule."
        require_one_panel(len(result.schedules), hint)
        _draw(ax, result.schedules[0])
        add_legend_inside(ax, entries_of([ax]))
        figure: Figure = ax.figure  # type: ignore[assignment]  # no axes of a subfigure
        return figure
    with house_style():
        figure = new_figure(height=4.6)
        every = list(figure.subplots(1, len(result.schedules), squeeze=False).flat)
        for each, schedule in zip(every, result.schedules, strict=True):
            _draw(each, schedule)
        figure.suptitle("Pipeline: predicted before the runs, and measured", fontsize="large")
        add_legend(figure, entries_of(every))
    return figure


def _draw(ax: "Axes", each: ValidatedSchedule) -> None:
    """Draw one schedule."""
    rows = [row for row in each.rows_ if row.measured is not None]
    measured = np.array([row.measured for row in rows], dtype=np.float64)
    ends = [(_lower(row), row.upper) for row in rows]
    ends += [(x, x) for x in measured]
    for way in WAYS[each.schedule]:
        times = [row.predicted[way] for row in rows]
        ends += [(x, x) for x in times if x is not None]
    low, high = span(ends) if ends else (0.1, 1.0)
    ax.plot((low, high), (low, high), color=GREY, lw=1.0, label="predicted = measured")
    for way in WAYS[each.schedule]:
        colour, marker = STYLES[way]
        style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "none"}
        style |= {"ms": 6 if way == CALIBRATED else 5}
        if marker not in "x+" and way != CALIBRATED:
            style["mfc"] = "none"
        known = [row for row in rows if row.predicted[way] is not None]
        for is_disturbed in (False, True):
            own = [row for row in known if row.is_disturbed == is_disturbed]
            ax.plot(
                np.array([row.measured for row in own], dtype=np.float64),
                np.array([row.predicted[way] for row in own], dtype=np.float64),
                **style,
                alpha=PALE if is_disturbed else 1.0,
                zorder=2.5 if way == CALIBRATED else 3,
            )
        if known:  # a symbol of the legend is not pale, even if all of its points are
            ax.plot([], [], **style, label=LABELS[way])
    if any(row.is_disturbed for row in rows):
        ax.plot([], [], "o", color=GREY, alpha=PALE, label=DISTURBED)
    if rows:
        ax.vlines(
            measured,
            [_lower(row) for row in rows],
            [row.upper for row in rows],
            color=BLUE,
            lw=1.2,
            alpha=0.6,
            label="90 % interval",
        )
    scale_time(ax, low, high)
    ticks = [x for x in ax.get_yticks() if f"{x:e}"[0] != "3" or len(ax.get_yticks()) < MOST_TICKS]
    ax.set(xscale="log", xlim=ax.get_ylim(), xticks=ticks)
    ax.xaxis.set_major_formatter(ax.yaxis.get_major_formatter())
    ax.minorticks_off()
    ax.set_xlabel(ax.get_ylabel().replace("time", "measured time"))
    ax.set_ylabel(ax.get_ylabel().replace("time", "predicted time"))
    ax.set_title(f"{NAMES[each.schedule]}: {WORDS[each.holds]}", fontsize="medium")
    plain_axes(ax)


def _lower(row: Compared) -> float:
    """Lower end of an interval, which may be 0, on a logarithmic scale [s]."""
    return max(row.lower, SHORTEST * row.upper)
