"""The panel below a plan's picture: the stages of the recommended plan at other rank counts."""

from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.deciding.picture import scale_costs
from parcast.pipeline.planning.grid import Stage
from parcast.pipeline.planning.result import PipelinePlan
from parcast.show.pictures import colours
from parcast.show.pictures.canvas import plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS: Final[dict[Stage, tuple[str, str]]] = {  # colour and style of each stage
    "task": (colours.COMPUTING, "-"),
    "merge": (colours.MERGING, "--"),
    "communication": (colours.COMMUNICATION, "-."),
    "fetch": (colours.INPUT_OUTPUT, ":"),
}
SMALLEST: Final = 1e-4  # of the task, of a stage that is drawn


def draw_stages(ax: "Axes", result: PipelinePlan) -> None:
    """Draw the stages of a plan at other numbers of ranks."""
    plan, curves = result.best or result.nearest, result.curves
    if plan is None or curves is None:
        ax.set_visible(False)
        return
    task = curves.stages["task"]
    drawn = []
    for stage, (colour, style) in COLOURS.items():
        times = curves.stages[stage]
        if not np.any(times > SMALLEST * task):
            continue
        drawn.append(np.maximum(times, SMALLEST * task))
        marker = "o" if len(curves.ranks) == 1 else ""
        width = 2.2 if stage == "task" else 1.6
        label = {"task": f"task of {plan.batch} items" if plan.batch > 1 else "task"}
        ax.plot(
            curves.ranks,
            times,
            color=colour,
            ls=style,
            lw=width,
            marker=marker,
            label=label.get(stage, stage),
        )
    highest = np.max(drawn, axis=0)
    if np.any(highest > task * (1 + 1e-9)):
        ax.fill_between(
            curves.ranks,
            task,
            np.maximum(highest, task),
            color=colours.NOT_ALLOWED,
            lw=0,
            zorder=0.5,
            label="longer than the task",
        )
    if result.best is not None and plan.ranks > 1:
        ax.axvline(plan.ranks, color=colours.RECOMMENDED, lw=1.2, zorder=1)
    values = np.concatenate(drawn)
    scale_costs(ax, result.ways, float(values.min()), float(values.max()))
    title = "Stages in a step, with one pipeline"
    if result.schedule == "adaptive":
        title = f"Stages in the time of a batch, with batch {plan.batch}, fan-in {plan.fan_in}"
        title += f", {plan.pipelines} pipelines" if plan.pipelines > 1 else ""
    ax.set_title(title, fontsize="medium", loc="left")
    plain_axes(ax)
