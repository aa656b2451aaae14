"""The figure of a proposal: time on linear and on logarithmic axes, and efficiency."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.deciding.picture import notable
from parcast.deciding.proposal.result import Proposal, ScalingPoint
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import MACHINE_COLOURS, MARKERS, REFERENCE
from parcast.show.pictures.scales import scale_efficiency, scale_p, scale_time
from parcast.units import TIME_UNITS
from parcast.words import common_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 9.0  # of three panels [inch]


def figure_of(result: Proposal, ax: "Axes | None" = None) -> "Figure":
    """Figure of three panels, which cannot be drawn in `ax`."""
    if ax is not None:
        canvas.require_one_panel(3, "Leave ax out.")
    with canvas.writer().figure(HEIGHT) as figure:
        linear, logs, efficiency = figure.subplots(3, 1)
        draw_times(linear, result, is_log=False)
        draw_times(logs, result, is_log=True)
        draw_efficiency(efficiency, result)
        figure.suptitle("Scaling", fontsize="large")
        notes = [*notable(result.sources), *canvas.sources_of(result.inputs)]
        entries = canvas.entries_of([linear, logs, efficiency])
        canvas.writer().add_legend(figure, entries, notes=notes)
    return figure


def sizes_of(result: Proposal) -> list[list[ScalingPoint]]:
    """Points of each size."""
    names = dict.fromkeys(x.size for x in result.scaling)
    return [[x for x in result.scaling if x.size == name] for name in names]


def _axis(result: Proposal) -> tuple[str, float]:
    """What the axis counts, and how many of p that is: nodes, or cores where some fill none."""
    size = result.node_size
    each = size.cores_per_node or 1
    if size.p_is == "cores" and min(x.p for x in result.scaling) < each:
        return "cores", 1.0
    return "nodes" if size.knows_nodes else "cores", float(each) if size.p_is == "cores" else 1.0


def draw_times(ax: "Axes", result: Proposal, *, is_log: bool) -> None:
    """Draw measured times as filled markers, forecast ones as hollow ones with their interval."""
    counted, each = _axis(result)
    unit = common_unit([x.time for x in result.scaling])
    factor = 1.0 if is_log else TIME_UNITS[unit]
    for i, points in enumerate(sizes_of(result)):
        colour, marker = MACHINE_COLOURS[i % 8], MARKERS[i % 8]
        style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "none", "ms": 6}
        counts = np.array([x.p / each for x in points])
        times = np.array([x.time for x in points]) / factor
        of = f"{points[0].size}, " if points[0].size else ""
        ax.plot(counts, times, color=colour, lw=1.0)
        known = np.array([x.kind == "measured" for x in points])
        if known.any():
            ax.plot(counts[known], times[known], label=f"{of}measured", **style)
        if not known.all():
            told = [x for x in points if x.kind != "measured"]
            lower = np.array([x.lower or x.time for x in told]) / factor
            upper = np.array([x.upper or x.time for x in told]) / factor
            bars = np.maximum([times[~known] - lower, upper - times[~known]], 0.0)
            label = f"{of}forecast, 90% interval"
            hollow: dict[str, Any] = {**style, "mfc": "white", "capsize": 3, "label": label}
            ax.errorbar(counts[~known], times[~known], yerr=bars, **hollow)
        if is_log:
            ideal = times[0] * counts[0] / counts
            label = "ideal" if i == 0 else "_ideal"
            ax.plot(counts, ideal, color=REFERENCE, lw=1.0, ls=(0, (1, 1.5)), label=label)
    every = np.unique([x.p / each for x in result.scaling])
    if is_log:
        low = min(x.lower or x.time for x in result.scaling)
        high = max(x.upper or x.time for x in result.scaling)
        if len(every) > 1:
            scale_p(ax, every, label=counted)
        scale_time(ax, low, high, unit)
    else:
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=0)
        ax.set_xlabel(counted)
        ax.set_ylabel(f"time [{unit}]")
    canvas.plain_axes(ax)


def draw_efficiency(ax: "Axes", result: Proposal) -> None:
    """Draw efficiencies on linear axes."""
    counted, each = _axis(result)
    highest = 1.0
    for i, points in enumerate(sizes_of(result)):
        colour, marker = MACHINE_COLOURS[i % 8], MARKERS[i % 8]
        counts = np.array([x.p / each for x in points])
        shares = np.array([x.efficiency for x in points])
        known = np.array([x.kind == "measured" for x in points])
        style: dict[str, Any] = {"color": colour, "marker": marker, "ls": "none", "ms": 6}
        ax.plot(counts, shares, color=colour, lw=1.0)
        ax.plot(counts[known], shares[known], **style)
        ax.plot(counts[~known], shares[~known], mfc="white", **style)
        highest = max(highest, float(shares.max()))
    ax.axhline(result.efficiency, color=REFERENCE, lw=1.3, ls="--", label="least efficiency")
    scale_efficiency(ax, highest)
    ax.set_xlim(left=0)
    ax.set_xlabel(counted)
    canvas.plain_axes(ax)
