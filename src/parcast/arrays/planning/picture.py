"""The picture of plans: times over servers, and what the best of each number consists of.

Above, a point for each plan; the best of each number of servers are joined, with a marker for what
limits them. Below, the parts of their time: what vanishes with infinitely fast disks, what
vanishes with an infinitely fast network too, and the rest, computation.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.arrays.bottleneck.picture import name_bars
from parcast.arrays.bottleneck.result import LIMITS, Limit
from parcast.arrays.planning.result import Plan, RequestPlan
from parcast.arrays.planning.sheet import best_of_each, title_of
from parcast.show.canvas import (
    add_legend,
    entries_of,
    house_style,
    new_figure,
    require_one_panel,
    sources_of,
)
from parcast.show.colours import (
    COMMUNICATION,
    COMPUTED,
    COMPUTING,
    INPUT_OUTPUT,
    RECOMMENDED,
    REFERENCE,
)
from parcast.show.scales import scale_time
from parcast.units import format_quantity
from parcast.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 6.5  # [inch]
WIDTH: Final = 0.7  # of a bar
STYLE: Final[dict[Limit, tuple[str, str]]] = {  # colour and marker
    "file system": (INPUT_OUTPUT, "s"),
    "communication": (COMMUNICATION, "o"),
    "computation": (COMPUTING, "^"),
}


def figure_of(result: RequestPlan, ax: "Axes | None" = None) -> "Figure":
    """One figure of two panels; it cannot be drawn in `ax`."""
    if ax is not None:
        require_one_panel(2, "Leave it out: the picture has two panels.")
    best = sorted(best_of_each(result), key=lambda plan: plan.servers)
    with house_style():
        figure = new_figure(height=HEIGHT)
        above, below = figure.subplots(2, 1, height_ratios=(1.3, 1.0))
        _times(above, result, best)
        _parts(below, best)
        for each in (above, below):
            name_bars(each, [str(plan.servers) for plan in best], "servers")
        figure.suptitle(title_of(result), fontsize="large", parse_math=False)
        notes = [f"Costs: {result.machine}"] if result.machine else []
        add_legend(
            figure,
            entries_of([above]),
            entries_of([below]),
            notes=[*notes, *sources_of(result.inputs)],
        )
    return figure


def _times(ax: "Axes", result: RequestPlan, best: list[Plan]) -> None:
    """Draw the time of every plan; numbers of servers are places on the axis."""
    place = {plan.servers: i for i, plan in enumerate(best)}
    times = np.array([plan.time for plan in result.plans])
    if len(best) < len(times):
        at = [place[plan.servers] for plan in result.plans]
        ax.plot(at, times, ls="none", marker=".", ms=5, color=REFERENCE, label="other schema")
    ax.plot(range(len(best)), [plan.time for plan in best], color=COMPUTED, lw=1.5)
    for limit, (colour, marker) in STYLE.items():
        shown = [plan for plan in best if plan.limited_by == limit]
        if shown:
            ax.plot(
                [place[plan.servers] for plan in shown],
                [plan.time for plan in shown],
                ls="none",
                marker=marker,
                ms=7,
                color=colour,
                label=f"best schema, limited by {limit}",
            )
    first = result.best
    time = format_quantity(first.time, "time", 4)
    label = f"recommended: {counted(first.servers, 'server')}, {time}"
    ring: dict[str, Any] = {"mec": RECOMMENDED, "mfc": "none", "mew": 2.2, "ms": 14, "ls": "none"}
    ax.plot(place[first.servers], first.time, marker="o", label=label, **ring)
    scale_time(ax, float(times.min()), float(times.max()))


def _parts(ax: "Axes", best: list[Plan]) -> None:
    """Draw the parts of the time of the best schema of each number of servers."""
    bottom = np.zeros(len(best))
    for limit in LIMITS:
        height = 100 * np.array([max(plan.parts[limit], 0.0) for plan in best])
        colour, _ = STYLE[limit]
        ax.bar(range(len(best)), height, WIDTH, bottom=bottom, color=colour, label=limit)
        bottom += height
    ax.set_ylabel("share of the time [%]")
    ax.set_ylim(0, 100)
