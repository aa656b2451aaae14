"""The picture of a check of traffic: histograms, successive gaps, and mean delays.

Histograms have a logarithmic scale, on which an exponential distribution is a straight line
(dashed, with the fitted mean). Independent gaps fill the panel of successive gaps evenly, as both
axes are ranks: bursts gather in corners, periods on lines.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.pipeline.traces.traffic.result import MEASURED as IN_TRACE
from parcast.pipeline.traces.traffic.result import QUEUE, Occurrences, Successive, TrafficCheck
from parcast.pipeline.traces.traffic.sheet import FORMULA, title_of
from parcast.show.pictures import canvas, colours
from parcast.units import Dimension, format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HEIGHT: Final = 6.2  # [inch]
NAMES: Final = {
    "mm1": "M/M/1",
    "md1": "M/D/1",
    "mg1": "M/G/1",
    QUEUE: "queue",
    IN_TRACE: "measured",
}


def figure_of_traffic(check: TrafficCheck, ax: "Axes | None" = None) -> "Figure":
    """One figure, 8 inches wide, of four panels; it cannot be drawn in `ax`."""
    if ax is not None:
        canvas.require_one_panel(4, "Leave it out: the picture has four panels.")
    with canvas.writer().figure(HEIGHT) as figure:
        axes = figure.subplots(2, 2)
        gaps, lengths, successive, delays = axes.flat
        _histogram(gaps, check.gaps, "gap", "time")
        _histogram(lengths, check.lengths, "length", "size")
        _successive(successive, check.successive)
        _delays(delays, check)
        for each in axes.flat:
            canvas.plain_axes(each)
        title = f"{title_of(check)}\n{FORMULA[check.formula]}"
        figure.suptitle(title, fontsize="large", parse_math=False)
        canvas.writer().add_legend(
            figure, canvas.entries_of(list(axes.flat)), notes=canvas.sources_of(check.inputs)
        )
    return figure


def _unit(value: float, dimension: Dimension) -> tuple[float, str]:
    """Choose the unit in which a value is best read: it in SI, and its name."""
    text, _, name = format_quantity(value, dimension, digits=15).rpartition(" ")
    return (value / float(text) if value else 1.0), name


def _histogram(ax: "Axes", values: Occurrences, what: str, dimension: Dimension) -> None:
    counts, edges = np.array(values.counts), values.edges
    if values.mean <= 0:
        _empty(ax, f"all {what}s are 0" if counts.any() else f"no {what}s")
        return
    factor, unit = _unit(values.largest, dimension)
    style: dict[str, Any] = {
        "color": colours.MEASURED,
        "alpha": 0.45,
        "lw": 0,
        "label": "messages",
    }
    ax.bar(edges[:-1] / factor, counts, np.diff(edges) / factor, align="edge", **style)
    expected = values.expected
    middles = (edges[1:] + edges[:-1]) / 2
    is_seen = expected > 0.3
    label = "exponential with the same mean"
    ax.plot(
        middles[is_seen] / factor, expected[is_seen], "--", color=colours.COMPUTED, label=label
    )
    ax.set(yscale="log", xlabel=f"{what} [{unit}]", ylabel="messages")
    ax.minorticks_off()
    ax.set_ylim(0.5, 2 * max(float(counts.max()), float(expected.max())))
    ax.set_xlim(0, 1.02 * edges[-1] / factor)
    ax.set_title(f"{what.capitalize()}s", fontsize="medium")


def _successive(ax: "Axes", gaps: Successive) -> None:
    kept, pairs = len(gaps.first), gaps.count - 1
    if not kept:
        _empty(ax, "no successive gaps")
        return
    style: dict[str, Any] = {"color": colours.MEASURED, "alpha": 0.4, "ms": 2.5, "mew": 0}
    ax.plot(*gaps.in_percent(), "o", **style)
    ax.set(xlim=(0, 100), ylim=(0, 100))
    ax.set(xlabel="gap, rank [%]", ylabel="next gap, rank [%]")
    many = f"{kept:,} of {pairs:,}" if kept < pairs else "all"
    ax.set_title(f"Successive gaps ({many})", fontsize="medium")


def _delays(ax: "Axes", check: TrafficCheck) -> None:
    known = [x for x in check.delays if np.isfinite(x.mean)]
    if not known:
        _empty(ax, "no delays")
        return
    factor, unit = _unit(max((x.mean for x in known), key=abs), "time")
    for place, x in enumerate(known):
        colour = colours.MEASURED if x.name == IN_TRACE else colours.COMPUTED
        if np.isfinite(x.lower):
            ends = np.array([x.lower, x.upper]) / factor
            label = "90% interval" if x.name == IN_TRACE else None
            ax.plot(ends, [place, place], color=colour, lw=5, alpha=0.3, label=label)
        ax.plot(x.mean / factor, place, "o", color=colour, ms=6, clip_on=False, zorder=3)
    ax.set_yticks(range(len(known)), labels=[NAMES[x.name] for x in known])
    ax.set_ylim(len(known) - 0.5, -0.5)
    ax.set_xlim(left=0 if min(x.mean for x in known) >= 0 else None)
    ax.set_xlabel(f"mean delay [{unit}]")
    ax.set_title("Mean delay", fontsize="medium")


def _empty(ax: "Axes", why: str) -> None:
    ax.set_axis_off()
    ax.text(
        0.5, 0.5, why, ha="center", va="center", color=colours.REFERENCE, transform=ax.transAxes
    )
