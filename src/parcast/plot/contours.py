"""Speedup, or time, over two axes as filled contours; over disks with how many are worth having.

The ridge is, for each number of processors, the fewest disks whose time lies within 1 % of the
best one at that number. Between the points of the prediction, contours are interpolated along the
axes as they are drawn.
"""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.plot.canvas import new_figure
from parcast.plot.colours import COLOURS, COLOURS_OF_TIMES, add_bar, nice_values, time_unit
from parcast.plot.grid import Shown
from parcast.plot.panel import VERMILLION
from parcast.units import TIME_UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

CELLS: Final = 201  # in each direction
WIDE: Final = 30.0  # ratio of speedups from which levels are powers, not even steps
NEARLY: Final = 1.01  # of the best time
MOST_MARKERS: Final = 24  # on the ridge
ROOM: Final = 0.2  # that a label has to the borders, the ridge and other labels [inch]


def draw_contours(shown: Shown) -> "Figure":
    """Draw the speedup over processors and another axis, else the time; in `house_style`."""
    from matplotlib.colors import LogNorm, Normalize

    first, second = shown.axes
    if "p" in (first.name, second.name):
        values, what, colours = shown.prediction.speedup, "speedup", COLOURS
        (x, y), heights = shown.even(values, CELLS)
        is_wide = bool(heights.max() >= WIDE * heights.min())
    else:
        (x, y), heights = shown.even(shown.prediction.time, CELLS)
        unit = time_unit(float(heights.min()), float(heights.max()))
        heights = heights / TIME_UNITS[unit]
        what, colours, is_wide = f"time [{unit}]", COLOURS_OF_TIMES, True
    levels = levels_of(heights, is_wide=is_wide)

    figure = new_figure(height=5.6)
    ax = figure.add_subplot()
    first.scale(ax, margin=0.0)
    second.scale(ax, "y", margin=0.0)
    x, y = first.values_at(x), second.values_at(y)
    norm = (LogNorm if is_wide else Normalize)(levels[0], levels[-1])
    filled = ax.contourf(
        x, y, heights.T, levels, cmap=colours, norm=norm, extend=_beyond(heights, levels)
    )
    add_bar(filled, levels, label=what, ax=ax)
    avoid = np.empty((0, 2))
    if second.name == "d":
        best = ridge(shown.of(shown.prediction.time), second.values)
        avoid = np.column_stack([first.values, best])
        _draw_ridge(ax, avoid)
        figure.legend(loc="outside lower center", frameon=False)
    if any(heights.min() < level < heights.max() for level in levels):
        lines = ax.contour(x, y, heights.T, levels, colors="black", linewidths=0.6)
        _label(ax, lines, avoid)
    return figure


def ridge(time: Array, disks: Array) -> Array:
    """Fewest disks whose time is within 1 % of the best.

    Parameters
    ----------
    time : ndarray, shape (points, number of disks)
        Of every point with each number of disks. [s]
    disks : ndarray, shape (number of disks,)
        Ascending. [1]

    Returns
    -------
    ndarray, shape (points,)
        Disks. [1]

    Examples
    --------
    >>> ridge(np.array([[8.0, 4.0, 3.99], [3.0, 3.0, 3.5]]), np.array([1.0, 2.0, 4.0]))
    array([2., 1.])
    """
    best = time.min(axis=1, keepdims=True)
    return np.asarray(disks[np.argmax(time <= best * NEARLY, axis=1)])


def levels_of(heights: Array, *, is_wide: bool) -> list[float]:
    """Round values to draw contours at: at least two, even where all heights are alike.

    Examples
    --------
    >>> levels_of(np.array([1.0, 6.2]), is_wide=False)
    [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0]
    >>> levels_of(np.array([1.0, 200.0]), is_wide=True)
    [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0]
    """
    low, high = float(heights.min()), float(heights.max())
    found = nice_values(low, high, is_wide=is_wide)
    return found if len(found) > 1 else [low * 0.99, high * 1.01]


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
    (line,) = ax.plot(*points.T, color=VERMILLION, lw=2.2, label=label, clip_on=False, zorder=3)
    line.set_path_effects([withStroke(linewidth=4.0, foreground="white")])
    if len(points) <= MOST_MARKERS:
        line.set(marker="o", markersize=5)


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
