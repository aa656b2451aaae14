"""Pictures of a prediction over two axes: a surface in space, filled contours, a map.

By default the surface is the speedup, over processors and disks the s(p, d) of the literature,
coloured by the efficiency. Axes are logarithmic where their values allow; ticks are labelled with
the values.

By default contours are of the speedup, or of the time where processors are no axis, interpolated
along the axes as they are drawn. Over disks they show how many are worth having: the ridge is, for
each number of processors, the fewest disks whose time lies within 1 % of the best one at that
number.

The map has efficiency or time as colour by default, and regions of what limits: a region is where
the time follows one resource more than each of the others.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.prediction.notes import SPENT_ON
from parcast.prediction.quantities import quantity_of
from parcast.prediction.shown import Shown
from parcast.show.pictures.canvas import add_legend_inside, entries_of, writer
from parcast.show.pictures.colours import (
    RECOMMENDED,
    REFERENCE,
    add_bar,
    nice_values,
)
from parcast.show.pictures.scales import CHARACTER, INCH, LINE, apart, inches
from parcast.units import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure


CELLS: Final = 41  # of the mesh, in each direction
PLACE: Final = (-0.02, 0.05, 0.88, 0.88)  # in the figure: left, bottom, width, height [1]
BAR: Final = (0.88, 0.18, 0.022, 0.6)
EYE: Final[dict[str, float]] = {"elev": 30.0, "azim": -75.0}  # sees both flanks [degrees]
EDGES: Final = (4.0, 2.0)  # of the box, as they are seen [inch]
CONTOUR_CELLS: Final = 201  # in each direction
NEARLY: Final = 1.01  # of the best time
MOST_MARKERS: Final = 24  # on the ridge
ROOM: Final = 0.2  # that a label has to the borders, the ridge and other labels [inch]
MAP_CELLS: Final = 240  # in each direction
LEAST: Final = 1e-6  # elasticity that is told from none
SMALLEST: Final = 0.004  # share of the map that a region with a label has
NEAR_BEST: Final = 0.9  # of the most room there is for a label


def draw_surface(shown: Shown, ax: Any = None, quantity: str | None = None) -> "Figure":
    """Draw the speedup over the two axes shown, in `ax` or in a new figure.

    Another quantity has the colours of its heights.
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable

    if ax is not None and ax.name != "3d":
        raise ParameterError(
            "ax",
            must="have three dimensions for a surface",
            hint='Make it with projection="3d", or draw picture="contours".',
        )

    what = quantity_of(shown.prediction, quantity or "speedup")
    coloured = quantity_of(shown.prediction, "efficiency") if what.name == "speedup" else what
    (x, y), heights = shown.even(what.values, CELLS)
    _, shades = shown.even(coloured.values, CELLS)
    colours = ScalarMappable(coloured.norm(shades), colormaps[coloured.colours])
    bar = {"ax": ax}
    if ax is None:
        figure = writer().new_figure(height=5.4)
        figure.set_layout_engine("none")  # it would leave half of the figure empty around the box
        ax = figure.add_axes(PLACE, projection="3d")
        bar = {"cax": figure.add_axes(BAR)}
        for note in shown.notes:
            figure.text(0.01, 0.015, note, fontsize="x-small", color=REFERENCE, parse_math=False)
    ax.plot_surface(
        *np.meshgrid(x, y, indexing="ij"),
        heights / what.factor,
        rstride=1,
        cstride=1,
        facecolors=colours.to_rgba(shades),
        shade=False,
        edgecolor=(0, 0, 0, 0.3),
        linewidth=0.3,
    )
    ax.view_init(**EYE)
    first, second = shown.axes
    ticks, labels = first.ticks(EDGES[0])
    ax.set_xticks(first.places(np.array(ticks)), labels=labels)
    ax.set_xlabel(first.label, labelpad=8, parse_math=False)
    ticks, labels = second.ticks(EDGES[1])
    ax.set_yticks(second.places(np.array(ticks)), labels=labels)
    ax.set_ylabel(second.label, labelpad=8, parse_math=False)
    ax.set_zlim(0, None)
    ax.zaxis.set_rotate_label(False)
    pad = 4 if what.name == "speedup" else 14  # ticks of others are longer
    ax.set_zlabel(what.label, labelpad=pad, rotation=90, parse_math=False)
    ax.set_box_aspect((1.45, 1.1, 0.9), zoom=1.1)
    coloured.add_bar(colours, **bar)
    drawn: Figure = ax.figure
    return drawn


def draw_contours(shown: Shown, ax: "Axes | None" = None, quantity: str | None = None) -> "Figure":
    """Draw the speedup over processors and another axis, else the time, or another quantity.

    In `ax`, or in a new figure in the style of parcast.
    """
    from matplotlib.colors import LogNorm, Normalize

    first, second = shown.axes
    usual = "speedup" if "p" in (first.name, second.name) else "time"
    what = quantity_of(shown.prediction, quantity or usual)
    (x, y), heights = shown.even(what.values, CONTOUR_CELLS)
    heights = heights / what.factor
    is_wide = what.is_wide(heights)
    levels = levels_of(heights, is_wide=is_wide)

    is_own = ax is None
    ax = ax or writer().new_figure(height=5.4).add_subplot()
    first.scale(ax, margin=0.0)
    second.scale(ax, "y", margin=0.0)
    x, y = first.values_at(x), second.values_at(y)
    norm = (LogNorm if is_wide else Normalize)(levels[0], levels[-1])
    filled = ax.contourf(
        x, y, heights.T, levels, cmap=what.colours, norm=norm, extend=_beyond(heights, levels)
    )
    add_bar(filled, levels, label=what.label, ax=ax)
    avoid = np.empty((0, 2))
    if second.name == "d":
        best = ridge(shown.of(shown.prediction.time), second.values)
        avoid = np.column_stack([first.values, best])
        _draw_ridge(ax, avoid)
    figure: Figure = ax.figure  # type: ignore[assignment]  # or a sub-figure
    if is_own:
        writer().add_legend(figure, entries_of([ax]), notes=shown.notes)
    elif entries := entries_of([ax]):
        add_legend_inside(ax, entries, is_framed=True)
    if any(heights.min() < level < heights.max() for level in levels):
        lines = ax.contour(x, y, heights.T, levels, colors="black", linewidths=0.6)
        _label(ax, lines, avoid)
    return figure


def ridge(time: Array, disks: Array) -> Array:
    """Fewest disks whose time [s], (points, number of disks), is within 1 % of the best."""
    best = time.min(axis=1, keepdims=True)
    return np.asarray(disks[np.argmax(time <= best * NEARLY, axis=1)])


def levels_of(heights: Array, *, is_wide: bool) -> list[float]:
    """Round values to draw contours at: at least two, even where all heights are equal."""
    low, high = float(heights.min()), float(heights.max())
    levels = nice_values(low, high, is_wide=is_wide)
    return levels if len(levels) > 1 else [low * 0.99, high * 1.01]


def _beyond(heights: Array, levels: list[float]) -> str:
    """Whether heights lie below the first level, above the last one, or both."""
    slack = 1e-9 * levels[-1]
    below, above = heights.min() < levels[0] - slack, heights.max() > levels[-1] + slack
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get(
        (bool(below), bool(above)), "neither"
    )


def _draw_ridge(ax: "Axes", points: Array) -> None:
    """Draw the fewest disks that are worth having."""
    from matplotlib.patheffects import withStroke

    label = "fewest disks within 1 % of the best time"
    (line,) = ax.plot(*points.T, color=RECOMMENDED, lw=2.2, label=label, clip_on=False, zorder=3)
    line.set_path_effects([withStroke(linewidth=4.0, foreground="white")])
    if len(points) <= MOST_MARKERS:
        across = ax.transAxes.inverted().transform(ax.transData.transform(points))[:, 0]
        kept = apart(across * inches(ax)[0] * INCH)
        line.set(marker="o", markersize=5, markevery=kept.tolist())


def _label(ax: "Axes", lines: "ContourSet", avoid: Array) -> None:
    """Write its level on each contour, where there is most room around; nothing where is none."""
    dots = ax.figure.dpi
    corner, other = ax.get_window_extent().get_points() / dots
    taken = ax.transData.transform(avoid) / dots
    for level, pieces in zip(lines.levels, lines.allsegs, strict=True):
        for piece in filter(len, pieces):
            points = ax.transData.transform(piece) / dots
            room = np.minimum(points - corner, other - points).min(axis=1)
            if len(taken):
                apart = np.sqrt(((points[:, np.newaxis] - taken) ** 2).sum(axis=-1))
                room = np.minimum(room, apart.min(axis=1))
            best = int(np.argmax(room))
            if room[best] < ROOM:
                continue
            taken = np.vstack([taken, points[best]])
            ax.text(
                piece[best][0],
                piece[best][1],
                f"{level:.4g}",
                ha="center",
                va="center",
                fontsize="small",
                bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.8},
            )


def draw_map(shown: Shown, ax: "Axes | None" = None, quantity: str | None = None) -> "Figure":
    """Draw efficiency or time, or another quantity, and what limits, over the two axes shown.

    In `ax`, or in a new figure in the style of parcast.
    """
    is_own = ax is None
    ax = ax or writer().new_figure(height=5.4).add_subplot()
    first, second = shown.axes
    first.scale(ax, margin=0.0)
    second.scale(ax, "y", margin=0.0)
    _draw_colours(ax, shown, quantity)
    places, leads = _leads(shown)
    x, y = first.values_at(places[0]), second.values_at(places[1])
    _outline(ax, x, y, leads)
    unnamed = _label_on_map(ax, leads)
    note = "Regions: what limits the time, the resource that it follows most."
    if unnamed:
        names = ", ".join(
            f"{SPENT_ON[name]} ({percent(share)} of the map)" for name, share in unnamed.items()
        )
        note += f" Too small for a label: {names}."
    figure: Figure = ax.figure  # type: ignore[assignment]  # or a sub-figure
    if is_own:
        writer().add_legend(figure, {}, notes=[note, *shown.notes])
    return figure


def _draw_colours(ax: "Axes", shown: Shown, quantity: str | None) -> None:
    """Colour the map, and explain the colours."""
    usual = "efficiency" if "p" in (axis.name for axis in shown.axes) else "time"
    what = quantity_of(shown.prediction, quantity or usual)
    places, values = shown.even(what.values, MAP_CELLS)
    x, y = (axis.values_at(at) for axis, at in zip(shown.axes, places, strict=True))
    drawn = ax.pcolormesh(
        x,
        y,
        values.T,
        norm=what.norm(values),
        cmap=what.colours,
        shading="nearest",
        rasterized=True,
    )
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]])
    what.add_bar(drawn, ax=ax)


def _leads(shown: Shown) -> tuple[list[Array], dict[str, Array]]:
    """Places of the cells, and logarithm of each elasticity over the largest of the others. [1].

    Logarithms of times are linear between the points of a grid where these are powers of its axes.
    """
    logs = {}
    for name, elasticity in shown.prediction.elasticity.items():
        known = np.log(np.maximum(shown.of(elasticity), LEAST))
        places, logs[name] = shown.evened(known, MAP_CELLS)
    return places, {
        name: known - np.max([x for other, x in logs.items() if other != name], axis=0)
        for name, known in logs.items()
    }


def _outline(ax: "Axes", x: Array, y: Array, leads: Mapping[str, Array]) -> None:
    """Draw where the lead changes."""
    from matplotlib.patheffects import withStroke

    for lead in leads.values():
        if lead.min() < 0 < lead.max():
            edge = ax.contour(x, y, lead.T, [0.0], colors="black", linewidths=1.3)
            edge.set_path_effects([withStroke(linewidth=3.2, foreground="white")])


def _label_on_map(ax: "Axes", leads: Mapping[str, Array]) -> dict[str, float]:
    """Name each region where it has room; return the shares of the map of those too small."""
    leader = np.argmax(np.stack(list(leads.values())), axis=0)
    unnamed = {}
    for i, name in enumerate(leads):
        share = float(np.mean(leader == i))
        if share >= SMALLEST:
            _write(ax, leader == i, SPENT_ON[name])
        elif share > 0:
            unnamed[name] = share
    return unnamed


def _write(ax: "Axes", region: NDArray[np.bool_], name: str) -> None:
    """Write a name near the middle of a region, where there is room."""
    from scipy import ndimage  # type: ignore[import-untyped]  # SciPy ships no types

    width, height = inches(ax)
    cell = (width / MAP_CELLS / (len(name) * CHARACTER), height / MAP_CELLS / LINE)  # in names
    room = ndimage.distance_transform_edt(np.pad(region, 1), sampling=cell)[1:-1, 1:-1]
    middle = np.argwhere(region).mean(axis=0)
    roomy = np.argwhere(room >= NEAR_BEST * room.max())
    across, up = roomy[np.argmin(((roomy - middle) ** 2).sum(axis=1))]
    ax.text(
        (across + 0.5) / MAP_CELLS,
        (up + 0.5) / MAP_CELLS,
        name,
        transform=ax.transAxes,
        ha="center",
        va="center",
        fontsize="medium" if room.max() > 0.5 else "x-small",
        bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": "none", "alpha": 0.8},
    )
