"""Pictures of a prediction over two axes: a surface in space, filled contours, a map.

By default the surface is the speedup, over processors and disks the s(p, d) of the literature,
coloured by the efficiency. Axes are logarithmic where their values allow; ticks are labelled with
the values.

By default contours are of the speedup, or of the time where processors are no axis, interpolated
along the axes as they are drawn. Over disks they show how many are worth having: the ridge is, for
each number of processors, the fewest disks whose time lies within 1% of the best one at that
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
from parcast.prediction.limiting import SPENT_ON
from parcast.prediction.quantities import DrawnQuantity, quantity_of
from parcast.prediction.shown import GridAxis, Shown, thinned
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import (
    COLOURS,
    ON_BRIGHT,
    ON_DARK,
    RECOMMENDED,
    ColourScale,
    nice_values,
)
from parcast.show.pictures.contours import lines_at
from parcast.show.pictures.fields import ColourField, Told
from parcast.show.pictures.scales import CHARACTER, INCH, LINE, MARGIN, apart, even_ticks, inches
from parcast.show.pictures.space import SpaceAxis, SpaceSurface, Stems
from parcast.units import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CELLS: Final = 41  # of the mesh, in each direction
EDGES: Final = (4.0, 2.0)  # of the box, as they are seen [inch]
MOST_HEIGHTS: Final = 8  # named on the third
MOST_TOLD: Final = (12, 9)  # values along each axis whose points say what is there
CONTOUR_CELLS: Final = 161  # in each direction
NEARLY: Final = 1.01  # of the best time
MOST_MARKERS: Final = 24  # on the ridge
ROOM: Final = 0.2  # that a label has to the borders, the ridge and other labels [inch]
MAP_CELLS: Final = 121  # in each direction
LEAST: Final = 1e-6  # elasticity that is told from none
SMALLEST: Final = 0.004  # share of the map that a region with a label has
DARK: Final = 0.4  # share of a scale of colours from which lines on it are dark
NEAR_BEST: Final = 0.9  # of the most room there is for a label


def draw_surface(
    shown: Shown, ax: Any = None, quantity: str | None = None, stems: Stems | None = None
) -> "Figure":
    """Draw the speedup over the two axes shown, in `ax` or in a new figure.

    Another quantity has the colours of its heights. `stems` are points beside the surface, over
    the places of its axes.
    """
    if ax is not None and ax.name != "3d":
        raise ParameterError(
            "ax",
            must="have three dimensions for a surface",
            hint='Make it with projection="3d", or draw picture="contours".',
        )

    what = quantity_of(shown.prediction, quantity or "speedup")
    coloured = quantity_of(shown.prediction, "efficiency") if what.name == "speedup" else what
    (x, y), heights = shown.even(what.values, CELLS)
    _, values = shown.even(coloured.values, CELLS)
    heights = heights / what.factor
    top = max([float(heights.max()), *(stems.high.tolist() if stems else ())])
    ticks = even_ticks(0.0, top, MOST_HEIGHTS)
    edges = [_edge(axis, width) for axis, width in zip(shown.axes, EDGES, strict=True)]
    upright = SpaceAxis(
        low=0.0, high=top, ticks=ticks, labels=[f"{x:.6g}" for x in ticks], title=what.label
    )
    told = _told(shown, *dict.fromkeys([what, coloured]))
    first, second = shown.axes
    surface = SpaceSurface(
        x=x,
        y=y,
        heights=heights,
        values=values,
        scale=coloured.scale(values),
        axes=(edges[0], edges[1], upright),
        told=Told(x=first.places(told.x), y=second.places(told.y), texts=told.texts),
        stems=stems,
        notes=shown.notes,
    )
    figure = canvas.writer().draw_surface(ax, surface)
    canvas.writer().describe(figure, _words(shown, what))
    return figure


def _edge(axis: GridAxis, width: float) -> SpaceAxis:
    """Make an edge of the box of an axis that is seen `width` inches long."""
    low, high = axis.places(axis.values[[0, -1]]).tolist()
    margin = MARGIN * (high - low)
    ticks, labels = axis.ticks(width)
    places = axis.places(np.array(ticks)).tolist()
    return SpaceAxis(
        low=low - margin, high=high + margin, ticks=places, labels=labels, title=axis.label
    )


def _told(shown: Shown, *what: DrawnQuantity, limits: Array | None = None) -> Told:
    """Say what is at some points: quantities, and which of `SPENT_ON` limits."""
    first, second = shown.axes
    i, j = (thinned(axis, most) for axis, most in zip(shown.axes, MOST_TOLD, strict=True))
    values = [(each, shown.of(each.values)) for each in what]
    names = [*SPENT_ON.values()]

    def text(a: int, b: int) -> str:
        there = f"{first.says(first.values[a])}, {second.says(second.values[b])}"
        said = [each.says(found[a, b]) for each, found in values]
        said += [] if limits is None else [f"{names[limits[a, b]]} limits"]
        return f"{there}: {', '.join(said)}"

    texts = [[text(a, b) for b in j.tolist()] for a in i.tolist()]
    return Told(x=first.values[i], y=second.values[j], texts=texts)


def _words(shown: Shown, what: DrawnQuantity) -> str:
    """Say in words between which values a quantity lies, and where these are."""
    found = shown.of(what.values)
    first, second = shown.axes

    def at(place: int) -> str:
        i, j = np.unravel_index(place, found.shape)
        there = f"{first.says(first.values[i])}, {second.says(second.values[j])}"
        return f"{what.says(found[i, j])} at {there}"

    return f"Lowest: {at(int(found.argmin()))}. Highest: {at(int(found.argmax()))}."


def draw_contours(shown: Shown, ax: "Axes | None" = None, quantity: str | None = None) -> "Figure":
    """Draw the speedup over processors and another axis, else the time, or another quantity.

    In `ax`, or in a new figure in the style of parcast.
    """
    first, second = shown.axes
    usual = "speedup" if "p" in (first.name, second.name) else "time"
    what = quantity_of(shown.prediction, quantity or usual)
    places, heights = shown.even(what.values, CONTOUR_CELLS)
    heights = heights / what.factor
    scale = _bands(what, heights)

    is_own = ax is None
    ax = ax or canvas.writer().new_figure(height=5.4).add_subplot()
    first.scale(ax, margin=0.0)
    second.scale(ax, "y", margin=0.0)
    x, y = (axis.values_at(at) for axis, at in zip(shown.axes, places, strict=True))
    told = _told(shown, what)
    canvas.writer().draw_field(ax, ColourField(x=x, y=y, values=heights, scale=scale, told=told))
    avoid = np.empty((0, 2))
    if second.name == "d":
        best = ridge(shown.of(shown.prediction.time), second.values)
        avoid = np.column_stack([first.values, best])
        _draw_ridge(ax, first, avoid)
    lines = {level: lines_at(x, y, heights, level) for level in scale.levels}
    for level, ink in zip(lines, _inks(scale), strict=True):
        canvas.writer().draw_lines(ax, lines[level], ink, width=0.6, zorder=2)
    figure: Figure = ax.figure  # type: ignore[assignment]  # or a sub-figure
    canvas.writer().describe(figure, _words(shown, what))
    if is_own:
        canvas.writer().add_legend(figure, canvas.entries_of([ax]), notes=shown.notes)
    elif entries := canvas.entries_of([ax]):
        canvas.add_legend_inside(ax, entries, is_framed=True)
    _label(ax, lines, avoid)
    return figure


def _bands(what: DrawnQuantity, heights: Array) -> ColourScale:
    """Scale of colours with levels, of heights in the unit of a quantity."""
    is_wide = what.is_wide(heights)
    levels = levels_of(heights, is_wide=is_wide)
    slack = 1e-9 * levels[-1]
    return ColourScale(
        low=levels[0],
        high=levels[-1],
        title=what.label,
        is_logarithmic=is_wide,
        colours=what.colours,
        levels=levels,
        is_open=(
            bool(heights.min() < levels[0] - slack),
            bool(heights.max() > levels[-1] + slack),
        ),
    )


def _inks(scale: ColourScale) -> list[str]:
    """Colour of the line at each level: one that is seen on the colours beside it."""
    shares = scale.shares(np.asarray(scale.levels))
    is_bright = shares > DARK if scale.colours == COLOURS else shares < 1 - DARK
    return [ON_BRIGHT if x else ON_DARK for x in is_bright.tolist()]


def ridge(time: Array, disks: Array) -> Array:
    """Fewest disks whose time [s], (points, number of disks), is within 1% of the best."""
    best = time.min(axis=1, keepdims=True)
    return np.asarray(disks[np.argmax(time <= best * NEARLY, axis=1)])


def levels_of(heights: Array, *, is_wide: bool) -> list[float]:
    """Round values to draw contours at: at least two, even where all heights are equal."""
    low, high = float(heights.min()), float(heights.max())
    levels = nice_values(low, high, is_wide=is_wide)
    return levels if len(levels) > 1 else [low * 0.99, high * 1.01]


def _draw_ridge(ax: "Axes", first: GridAxis, points: Array) -> None:
    """Draw the fewest disks that are worth having."""
    label = "fewest disks within 1% of the best time"
    style: dict[str, Any] = {"clip_on": False, "zorder": 3}
    canvas.writer().draw_lines(ax, [points], ON_DARK, width=4.0, zorder=3)
    (line,) = ax.plot(*points.T, color=RECOMMENDED, lw=2.2, label=label, **style)
    if len(points) <= MOST_MARKERS:
        at = first.places(points[:, 0])
        across = (at - at[0]) / (at[-1] - at[0]) * inches(ax)[0] * INCH
        line.set(marker="o", markersize=5, markevery=apart(across).tolist())


def _label(ax: "Axes", lines: Mapping[float, list[Array]], avoid: Array) -> None:
    """Write its level on each contour, where there is most room around; nothing where is none."""
    if not any(lines.values()):
        return
    canvas.lay_out(ax)
    frame, dots = ax.get_window_extent(), ax.figure.dpi
    corner, other = np.array([[frame.x0, frame.y0], [frame.x1, frame.y1]]) / dots
    taken = ax.transData.transform(avoid) / dots if len(avoid) else avoid
    for level, pieces in lines.items():
        for piece in pieces:
            points = ax.transData.transform(piece[::4]) / dots
            room = np.minimum(points - corner, other - points).min(axis=1)
            if len(taken):
                apart = np.sqrt(((points[:, np.newaxis] - taken) ** 2).sum(axis=-1))
                room = np.minimum(room, apart.min(axis=1))
            best = int(np.argmax(room))
            if room[best] < ROOM:
                continue
            taken = np.vstack([taken, points[best]])
            x, y = piece[4 * best].tolist()
            style: dict[str, Any] = {"fontsize": "small", "bbox": canvas.LABEL_BOX}
            ax.text(x, y, f"{level:.6g}", ha="center", va="center", color=ON_BRIGHT, **style)


def draw_map(shown: Shown, ax: "Axes | None" = None, quantity: str | None = None) -> "Figure":
    """Draw efficiency or time, or another quantity, and what limits, over the two axes shown.

    In `ax`, or in a new figure in the style of parcast.
    """
    is_own = ax is None
    ax = ax or canvas.writer().new_figure(height=5.4).add_subplot()
    first, second = shown.axes
    first.scale(ax, margin=0.0)
    second.scale(ax, "y", margin=0.0)
    usual = "efficiency" if "p" in (first.name, second.name) else "time"
    what = quantity_of(shown.prediction, quantity or usual)
    places, values = shown.even(what.values, MAP_CELLS)
    x, y = (axis.values_at(at) for axis, at in zip(shown.axes, places, strict=True))
    limits = np.argmax([shown.of(x) for x in shown.prediction.elasticity.values()], axis=0)
    told = _told(shown, what, limits=limits)
    canvas.writer().draw_field(
        ax, ColourField(x=x, y=y, values=values, scale=what.scale(values), told=told)
    )
    ax.set(xlim=x[[0, -1]], ylim=y[[0, -1]])
    leads = _leads(shown)
    _outline(ax, x, y, leads)
    unnamed = _label_on_map(ax, leads)
    note = "Regions: what limits the time, the resource that it follows most."
    if unnamed:
        names = ", ".join(
            f"{SPENT_ON[name]} ({percent(share)} of the map)" for name, share in unnamed.items()
        )
        note += f" Too small for a label: {names}."
    figure: Figure = ax.figure  # type: ignore[assignment]  # or a sub-figure
    canvas.writer().describe(figure, _words(shown, what))
    if is_own:
        canvas.writer().add_legend(figure, {}, notes=[note, *shown.notes])
    return figure


def _leads(shown: Shown) -> dict[str, Array]:
    """Logarithm of each elasticity over the largest of the others, in each cell. [1].

    Logarithms of times are linear between the points of a grid where these are powers of its axes.
    """
    logs = {}
    for name, elasticity in shown.prediction.elasticity.items():
        known = np.log(np.maximum(shown.of(elasticity), LEAST))
        _, logs[name] = shown.evened(known, MAP_CELLS)
    return {
        name: known - np.max([x for other, x in logs.items() if other != name], axis=0)
        for name, known in logs.items()
    }


def _outline(ax: "Axes", x: Array, y: Array, leads: Mapping[str, Array]) -> None:
    """Draw where the lead changes."""
    lines = [line for lead in leads.values() for line in lines_at(x, y, lead, 0.0)]
    for colour, width in ((ON_DARK, 3.2), (ON_BRIGHT, 1.3)):
        canvas.writer().draw_lines(ax, lines, colour, width=width, zorder=2)


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
        color=ON_BRIGHT,
        bbox=canvas.LABEL_BOX,
    )
