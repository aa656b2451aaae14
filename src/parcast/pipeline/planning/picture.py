"""Picture of a plan: the best time over ranks, and the stages of the recommended plan."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.pipeline.planning.grid import Stage
from parcast.pipeline.planning.result import PipelinePlan
from parcast.pipeline.planning.sheet import legend_of_others, title_of
from parcast.show.canvas import (
    add_legend,
    entries_of,
    house_style,
    new_figure,
    plain_axes,
    require_one_panel,
    sources_of,
)
from parcast.show.colours import (
    COMMUNICATION,
    COMPUTED,
    COMPUTING,
    INPUT_OUTPUT,
    MERGING,
    NOT_ALLOWED,
    RECOMMENDED,
    REFERENCE,
)
from parcast.show.scales import scale_p, scale_time
from parcast.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final[dict[Stage, tuple[str, str]]] = {  # colour and style of each stage
    "task": (COMPUTING, "-"),
    "merge": (MERGING, "--"),
    "communication": (COMMUNICATION, "-."),
    "fetch": (INPUT_OUTPUT, ":"),
}
FARTHEST: Final = 4.0  # from the times, up to which an interval is shown
SMALLEST: Final = 1e-4  # of the task, of a stage that is drawn


def figure_of(result: PipelinePlan, ax: "Axes | None" = None) -> "Figure":
    """Figure of a plan: times over ranks, and below the stages of the recommended plan.

    Both axes are logarithmic. Where a stage rises above the task, plans are not balanced.
    """
    if ax is not None:
        require_one_panel(2, "Leave ax out.")
    with house_style():
        figure = new_figure(height=7.0)
        upper, lower = figure.subplots(2, 1, height_ratios=(1.1, 1.0))
        _draw_times(upper, result)
        _draw_stages(lower, result)
        figure.suptitle(title_of(result), fontsize="large", parse_math=False)
        notes = [*(["Costs: " + "; ".join(result.origins[:1])] if result.origins else [])]
        add_legend(
            figure,
            entries_of([upper]),
            entries_of([lower]),
            notes=[*notes, *sources_of(result.inputs)],
        )
    return figure


def _draw_times(ax: "Axes", result: PipelinePlan) -> None:
    """Draw the best time for every number of ranks."""
    plans = result.plans
    ranks = np.array([plan.ranks for plan in plans], dtype=np.float64)
    times, low, high = (
        np.array([getattr(plan, name) for plan in plans]) for name in ("time", "lower", "upper")
    )
    fits = np.array([plan.fits for plan in plans])
    if np.any(high > low):
        ax.fill_between(
            ranks, low, high, where=fits, color=COMPUTED, alpha=0.18, lw=0, label="90 % interval"
        )
    ideal = times[0] / ranks
    ax.plot(ranks, ideal, color=REFERENCE, lw=1.0, ls=(0, (1, 1.5)), label="ideal")
    within = np.where(fits, times, np.nan)
    style: dict[str, Any] = {"color": COMPUTED, "marker": "o" if len(ranks) <= 32 else "", "ms": 4}
    if not fits.all():
        ax.plot(
            ranks,
            np.where(fits, np.nan, times),
            color=REFERENCE,
            ls="none",
            marker=".",
            ms=4,
            label=legend_of_others(result),
        )
    if fits.any():
        ax.plot(ranks, within, lw=1.9, label="best plan", **style)
    if result.limits.within is not None:
        label = f"longest time, {format_quantity(result.limits.within, 'time')}"
        ax.axhline(result.limits.within, color=REFERENCE, lw=1.3, ls="--", label=label)
    bottom = max(float(np.min(low)), float(np.min(times)) / FARTHEST)
    top = min(float(np.max(high)), float(np.max(times)) * FARTHEST)
    if result.best is not None:
        best = result.best
        label = f"recommended: {best.ranks} ranks, {format_quantity(best.time, 'time')}"
        ring: dict[str, Any] = {
            "mec": RECOMMENDED,
            "mfc": "none",
            "mew": 2.2,
            "ms": 12,
            "ls": "none",
        }
        ax.plot(best.ranks, best.time, marker="o", label=label, **ring)
    _scale(ax, ranks, bottom, top)
    plain_axes(ax)


def _draw_stages(ax: "Axes", result: PipelinePlan) -> None:
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
            color=NOT_ALLOWED,
            lw=0,
            zorder=0.5,
            label="longer than the task",
        )
    if result.best is not None and plan.ranks > 1:
        ax.axvline(plan.ranks, color=RECOMMENDED, lw=1.2, zorder=1)
    values = np.concatenate(drawn)
    ranks = np.array([x.ranks for x in result.plans], dtype=np.float64)
    _scale(ax, ranks, float(values.min()), float(values.max()))
    title = "Stages in a step, with one pipeline"
    if result.schedule == "adaptive":
        title = f"Stages in the time of a batch, with batch {plan.batch}, fan-in {plan.fan_in}"
        title += f", {plan.pipelines} pipelines" if plan.pipelines > 1 else ""
    ax.set_title(title, fontsize="medium", loc="left")
    plain_axes(ax)


def _scale(ax: "Axes", ranks: Any, low: float, high: float) -> None:
    """Make logarithmic axes of ranks and times."""
    if len(ranks) > 1:
        scale_p(ax, ranks, label="ranks")
    else:
        ax.set_xticks(ranks, labels=[f"{x:.0f}" for x in ranks])
        ax.set_xlabel("ranks")
    scale_time(ax, low, high)
