"""A map over two axes: efficiency or time as colour, and regions of what takes most of the time.

Where processors are one of the axes, the colour is the efficiency, else the time. A region is
where one component of the time is larger than each of the others.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.plot.canvas import new_figure
from parcast.plot.colours import (
    COLOURS,
    COLOURS_OF_TIMES,
    add_efficiency_bar,
    add_time_bar,
    efficiency_norm,
    time_norm,
)
from parcast.plot.grid import Shown
from parcast.plot.scales import CHARACTER, LINE, inches
from parcast.units import percent
from parcast.verbs.predict_notes import SPENT_ON

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

CELLS: Final = 240  # in each direction
REGION: Final = SPENT_ON | {"communication": "network"}
SMALLEST: Final = 0.004  # share of the map that a region with a label has
NEAR_BEST: Final = 0.9  # of the most room there is for a label


def draw_map(shown: Shown) -> "Figure":
    """Draw efficiency or time, and what dominates, over the two axes shown; in `house_style`."""
    figure = new_figure(height=5.6)
    ax = figure.add_subplot()
    first, second = shown.axes
    first.scale(ax, margin=0.0)
    second.scale(ax, "y", margin=0.0)
    _draw_colours(ax, shown)
    places, time = shown.even(shown.prediction.time, CELLS)
    x, y = first.values_at(places[0]), second.values_at(places[1])
    shares = {
        name: shown.even(part, CELLS)[1] / time
        for name, part in shown.prediction.breakdown.components()
    }
    leads = _leads(shares)
    _outline(ax, x, y, leads)
    unnamed = _label(ax, leads)
    note = "Regions: what takes the largest share of the time."
    if unnamed:
        names = ", ".join(
            f"{REGION[name]} ({percent(share)} of the map)" for name, share in unnamed.items()
        )
        note += f" Too small for a label: {names}."
    figure.supxlabel(note, fontsize="small")
    return figure


def _draw_colours(ax: "Axes", shown: Shown) -> None:
    """Colour the map, and explain the colours."""
    has_p = "p" in (axis.name for axis in shown.axes)
    what = shown.prediction.efficiency if has_p else shown.prediction.time
    places, values = shown.even(what, CELLS)
    x, y = (axis.values_at(at) for axis, at in zip(shown.axes, places, strict=True))
    drawn = ax.pcolormesh(
        x,
        y,
        values.T,
        norm=efficiency_norm(values) if has_p else time_norm(values),
        cmap=COLOURS if has_p else COLOURS_OF_TIMES,
        shading="nearest",
        rasterized=True,
    )
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]])
    if has_p:
        add_efficiency_bar(drawn, ax=ax)
    else:
        add_time_bar(drawn, ax=ax)


def _leads(shares: Mapping[str, Array]) -> dict[str, Array]:
    """How far the share of each component is above the largest of the others. [1]."""
    return {
        name: share - np.max([x for other, x in shares.items() if other != name], axis=0)
        for name, share in shares.items()
    }


def _outline(ax: "Axes", x: Array, y: Array, leads: Mapping[str, Array]) -> None:
    """Draw where the lead changes."""
    from matplotlib.patheffects import withStroke

    for lead in leads.values():
        if lead.min() < 0 < lead.max():
            edge = ax.contour(x, y, lead.T, [0.0], colors="black", linewidths=1.3)
            edge.set_path_effects([withStroke(linewidth=3.2, foreground="white")])


def _label(ax: "Axes", leads: Mapping[str, Array]) -> dict[str, float]:
    """Name each region where it has room; return the shares of the map of those too small."""
    leader = np.argmax(np.stack(list(leads.values())), axis=0)
    unnamed = {}
    for i, name in enumerate(leads):
        share = float(np.mean(leader == i))
        if share >= SMALLEST:
            _write(ax, leader == i, REGION[name])
        elif share > 0:
            unnamed[name] = share
    return unnamed


def _write(ax: "Axes", region: NDArray[np.bool_], name: str) -> None:
    """Write a name near the middle of a region, where there is room."""
    from scipy import ndimage  # type: ignore[import-untyped]  # SciPy ships no types

    width, height = inches(ax)
    cell = (width / CELLS / (len(name) * CHARACTER), height / CELLS / LINE)  # in names
    room = ndimage.distance_transform_edt(np.pad(region, 1), sampling=cell)[1:-1, 1:-1]
    middle = np.argwhere(region).mean(axis=0)
    roomy = np.argwhere(room >= NEAR_BEST * room.max())
    across, up = roomy[np.argmin(((roomy - middle) ** 2).sum(axis=1))]
    ax.text(
        (across + 0.5) / CELLS,
        (up + 0.5) / CELLS,
        name,
        transform=ax.transAxes,
        ha="center",
        va="center",
        fontsize="medium" if room.max() > 0.5 else "x-small",
        bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": "none", "alpha": 0.8},
    )
