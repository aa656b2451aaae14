"""The panel of a plan below its times: time over cost, and the front of both."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.deciding.goals.result import ResourcePlan
from parcast.deciding.picture import draw_machines
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import COMPUTED, RECOMMENDED, REFERENCE
from parcast.show.pictures.scales import round_ticks, scale_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOM: Final = 1.1  # beside the costs
MOST_TICKS: Final = 9


def draw_front(ax: "Axes", result: ResourcePlan) -> None:
    """Draw time over cost; those on the front are joined."""
    weighed = result.weighed
    table, front = weighed.table, weighed.front()
    cost, told = table.cost, table.is_told
    others = told & ~weighed.is_front
    grey: dict[str, Any] = {"color": REFERENCE, "ls": "none", "marker": ".", "ms": 4}
    machines = np.array(result.ways.machines)
    if len(machines):
        every = machines[told].tolist()
        draw_machines(ax, cost[told], table.time[told], every, is_named=False)
    else:
        ax.plot(cost[others], table.time[others], **grey)
    line = REFERENCE if len(machines) else COMPUTED
    style: dict[str, Any] = {"color": line, "marker": ".", "ms": 5, "lw": 1.9}
    label = "front: no other takes less time and costs no more"
    ax.plot(cost[front], table.time[front], label=label, **style)
    budget = result.goals.budget
    if budget is not None:
        ax.axvline(budget.amount, color=REFERENCE, lw=1.3, ls="-.", label=f"budget, {budget}")
    if result.goals.within is not None:
        ax.axhline(result.goals.within, color=REFERENCE, lw=1.3, ls="--")
    is_found = result.place is not None
    at = result.near if result.place is None else result.place
    ring: dict[str, Any] = {"mfc": "none", "mew": 2.2, "ms": 12, "marker": "o", "ls": "none"}
    ring |= {"mec": RECOMMENDED} if is_found else {"mec": REFERENCE, "label": "comes nearest"}
    ax.plot(cost[at], table.time[at], **ring)
    limit = [] if budget is None else [budget.amount]
    costs = np.concatenate([cost[told], limit])
    scale_cost(ax, float(costs.min()), float(costs.max()), f"cost [{table.unit}]")
    times = table.time[told]
    scale_time(ax, float(np.min(times)), float(np.max(times)))
    canvas.plain_axes(ax)


def scale_cost(ax: "Axes", low: float, high: float, title: str) -> None:
    """Make the horizontal axis one of costs, logarithmic."""
    ticks = round_ticks(low / ROOM, high * ROOM, MOST_TICKS)
    ax.set_xscale("log")
    ax.set_xlim(low / ROOM, high * ROOM)
    ax.set_xticks(ticks, labels=[f"{tick:,.6g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlabel(title, parse_math=False)
