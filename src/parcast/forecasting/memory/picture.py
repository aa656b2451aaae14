"""A picture of memory over processors: of a rank and of all, with the runs and the node."""

from typing import TYPE_CHECKING

import numpy as np

from parcast.aliases import Array
from parcast.forecasting.memory.curves import MemoryAt, MemoryCurve
from parcast.forecasting.memory.result import MemoryForecast
from parcast.show.pictures.canvas import (
    add_heads,
    add_legend_inside,
    entries_of,
    heads_of,
    plain_axes,
    sources_of,
    writer,
)
from parcast.show.pictures.colours import MACHINE_COLOURS, REFERENCE
from parcast.show.pictures.scales import scale_memory, scale_p
from parcast.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 121  # of a line
MOST_SERIES = 4  # drawn, the first


def figure_of(told: MemoryForecast, ax: "Axes | None" = None) -> "Figure":
    """Draw memory of a rank and of all; dashed beyond the measured counts."""
    heads = heads_of(told.verdict)
    if ax is not None:
        _draw(ax, told)
        add_legend_inside(ax, entries_of([ax]))
        add_heads(ax, heads)
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    with writer().figure(4.6) as figure:
        own = figure.add_subplot()
        _draw(own, told)
        title = "Memory, forecast from that of measured runs"
        figure.suptitle("\n".join([title, *heads]), fontsize="large", parse_math=False)
        more = len(told.notes) - MOST_SERIES
        notes = [f"{more} more series are not shown."] if more > 0 else []
        writer().add_legend(figure, entries_of([own]), notes=[*notes, *sources_of(told.inputs)])
    return figure


def _draw(ax: "Axes", told: MemoryForecast) -> None:
    """Draw both quantities of each series."""
    counts = np.unique(np.ravel(told.p))
    seen: list[float] = []
    place = 0
    for curve, of in zip(told.curves, ("a rank", "all"), strict=True):
        if curve is None:
            continue
        for i, note in enumerate(told.notes[:MOST_SERIES]):
            name = f"{of}, {note.label}" if note.label else of
            counts = np.union1d(counts, curve.series.p[i, : curve.series.count[i]])
            colour = MACHINE_COLOURS[place % len(MACHINE_COLOURS)]
            own = curve.take(np.array([i]))
            seen += _line(ax, own, np.ravel(told.p), name=name, colour=colour)
            place += 1
    if told.node is not None:
        seen.append(told.node.memory)
        text = f"a node has {format_quantity(told.node.memory, 'size')}"
        ax.axhline(told.node.memory, color=REFERENCE, ls=":", label=text)
    plain_axes(ax)
    scale_p(ax, counts, np.ravel(told.p).tolist())
    scale_memory(ax, min(seen), max(seen))


def _line(ax: "Axes", own: MemoryCurve, asked: Array, *, name: str, colour: str) -> list[float]:
    """Draw one quantity of one series, and give the ends of what is drawn. [B]."""
    measured = own.series.p[0, : own.series.count[0]]
    ends = np.concatenate([measured, asked])
    p = np.union1d(np.geomspace(ends.min(), ends.max(), POINTS), measured)
    at = MemoryAt(*(x[0] for x in own.at(p)))
    inside = (p >= measured[0]) & (p <= measured[-1])
    ax.fill_between(p, at.lower, at.upper, color=colour, alpha=0.18, lw=0)
    ax.plot(p, np.where(inside, at.value, np.nan), color=colour, label=f"memory of {name}")
    for side in (p <= measured[0], p >= measured[-1]):
        ax.plot(p[side], at.value[side], color=colour, ls="--")
    runs = own.measured_at(measured)[0]
    ax.plot(measured, runs, "o", color=colour, ms=5)
    requested = own.at(asked).value[0]
    ax.plot(asked, requested, "D", color=colour, mfc="white", ms=5)
    return [float(at.lower.min()), float(at.upper.max())]
