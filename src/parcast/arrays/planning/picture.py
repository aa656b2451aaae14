"""The panel below a plan's picture: what the best of each number of servers spends its time on.

What vanishes with infinitely fast disks, what vanishes with an infinitely fast network too, and
the rest, computation.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.arrays.law.bottleneck import LIMITS, Limit
from parcast.arrays.planning.result import RequestPlan
from parcast.arrays.planning.sheet import best_of_each
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import COMMUNICATION, COMPUTING, INPUT_OUTPUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS: Final = 16
WIDTH: Final = 0.7  # of a bar
COLOURS: Final[dict[Limit, str]] = {
    "file system": INPUT_OUTPUT,
    "communication": COMMUNICATION,
    "computation": COMPUTING,
}


def draw_parts(ax: "Axes", result: RequestPlan) -> None:
    """Draw the parts of the time of the best schema of each number of servers."""
    best = sorted(best_of_each(result), key=lambda plan: plan.servers)
    bottom = np.zeros(len(best))
    for limit in LIMITS:
        height = 100 * np.array([max(plan.parts[limit], 0.0) for plan in best])
        colour = COLOURS[limit]
        ax.bar(range(len(best)), height, WIDTH, bottom=bottom, color=colour, label=limit)
        bottom += height
    ax.set_ylabel("share of the time [%]")
    ax.set_ylim(0, 100)
    names = [str(plan.servers) for plan in best]
    canvas.plain_axes(ax)
    ax.grid(visible=False, axis="x")
    step = -(-len(names) // MOST_TICKS)  # not more names than fit
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_xticks(range(0, len(names), step), labels=names[::step])
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("servers")
