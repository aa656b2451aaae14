"""The picture of a decision: times over what one asks for, and a panel of the subject's own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.deciding.decision import Decision
from parcast.places import load
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import (
    COMPUTED,
    MACHINE_COLOURS,
    MARKERS,
    RECOMMENDED,
    REFERENCE,
)
from parcast.show.pictures.scales import scale_p, scale_time
from parcast.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parcast.deciding.alternatives import Ways

HEIGHT: Final = 7.0  # of two panels [inch]
FARTHEST: Final = 4.0  # from the times, up to which an interval is shown
MOST_SOURCES: Final = 2  # more are of a law fitted from many, which the text lists
FEW: Final = 32  # costs up to which each has a marker


def figure_of(result: Decision, ax: "Axes | None" = None) -> "Figure":
    """Figure of a decision; one of two panels cannot be drawn in `ax`."""
    below = load(result._below) if result._below else None
    ways = result.ways
    if ax is not None:
        canvas.require_one_panel(1 if below is None else 2, "Leave ax out.")
        draw_times(ax, ways, result.chosen)
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    with canvas.writer().figure(HEIGHT if below else HEIGHT / 2) as figure:
        panels = figure.subplots(2 if below else 1, 1, squeeze=False)[:, 0]
        draw_times(panels[0], ways, result.chosen)
        if below is not None:
            below(panels[1], result)
        figure.suptitle(ways.title, fontsize="large", parse_math=False)
        notes = [*notable(result.sources), *canvas.sources_of(getattr(result, "inputs", None))]
        canvas.writer().add_legend(
            figure, *(canvas.entries_of([panel]) for panel in panels), notes=notes
        )
    return figure


def notable(sources: tuple[str, ...]) -> tuple[str, ...]:
    """Sources to name below a picture: none of them where they are many."""
    return sources if len(sources) <= MOST_SOURCES else ()


def draw_times(ax: "Axes", ways: "Ways", chosen: int | None) -> None:
    """Draw the times of all alternatives, the best of each cost joined."""
    order = np.lexsort((ways.time, ~ways.fits, ways.cost))
    costs, first = np.unique(ways.cost[order], return_index=True)
    best = order[first]
    time, low, high = (x[best] for x in ways.times)
    fits = ways.fits[best]
    if np.any(high > low):
        style: dict[str, Any] = {"color": COMPUTED, "alpha": 0.18, "label": "90% interval"}
        if np.any(fits[1:] & fits[:-1]):
            ax.fill_between(costs, low, high, where=fits, lw=0, **style)
        elif fits.any():
            ax.vlines(costs[fits], low[fits], high[fits], lw=4, **style)
    ideal = time[0] * costs[0] / costs
    ax.plot(costs, ideal, color=REFERENCE, lw=1.0, ls=(0, (1, 1.5)), label="ideal")
    grey: dict[str, Any] = {"color": REFERENCE, "ls": "none", "marker": ".", "ms": 4}
    if ways.machines:
        draw_machines(ax, ways.cost, ways.time, ways.machines)
    elif len(best) < len(order):
        others = np.setdiff1d(order, best)
        ax.plot(ways.cost[others], ways.time[others], label="other alternatives", **grey)
    if not ways.fits.all():
        failing = grey | {"marker": "x", "mew": 0.7}
        out = ~ways.fits if ways.machines else np.isin(np.arange(len(ways.time)), best[~fits])
        if out.any():
            ax.plot(ways.cost[out], ways.time[out], label="does not fit", **failing)
    if fits.any():
        marker = "o" if len(costs) <= FEW else ""
        within = np.where(fits, time, np.nan)
        line: dict[str, Any] = {
            "color": REFERENCE if ways.machines else COMPUTED,
            "ms": 4,
            "lw": 1.9,
        }
        ax.plot(costs, within, marker=marker, label="best plan", **line)
    if ways.within is not None:
        label = f"longest time, {format_quantity(ways.within, 'time')}"
        ax.axhline(ways.within, color=REFERENCE, lw=1.3, ls="--", label=label)
    if chosen is not None:
        asked, own = f"{ways.cost[chosen]:g} {ways.asked}", float(ways.time[chosen])
        label = f"recommended: {asked}, {format_quantity(own, 'time')}"
        ring: dict[str, Any] = {"mec": RECOMMENDED, "mfc": "none", "mew": 2.2, "ms": 12}
        at = ways.cost[chosen], ways.time[chosen]
        ax.plot(*at, marker="o", ls="none", label=label, **ring)
    every = ways.time
    bottom = max(float(np.min(ways.lower)), float(np.min(every)) / FARTHEST)
    top = min(float(np.max(ways.upper)), float(np.max(every)) * FARTHEST)
    scale_costs(ax, ways, bottom, top)
    canvas.plain_axes(ax)


def draw_machines(
    ax: "Axes", x: Array, time: Array, machines: Sequence[str], *, is_named: bool = True
) -> None:
    """Draw the times on each machine in a colour and with a marker of its own."""
    names = np.array(machines)
    for i, name in enumerate(dict.fromkeys(machines)):
        own = names == name
        of = i % len(MACHINE_COLOURS)
        style: dict[str, Any] = {"color": MACHINE_COLOURS[of], "marker": MARKERS[of], "ls": "none"}
        ax.plot(x[own], time[own], label=name if is_named else "", ms=4, mfc="none", **style)


def scale_costs(ax: "Axes", ways: "Ways", low: float, high: float) -> None:
    """Make logarithmic axes of what one asks for, and of times."""
    costs = np.unique(ways.cost)
    if len(costs) > 1:
        scale_p(ax, costs, label=ways.asked)
    else:
        ax.set_xticks(costs, labels=[f"{x:.0f}" for x in costs])
        ax.set_xlabel(ways.asked)
    scale_time(ax, low, high)
