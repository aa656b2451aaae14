"""The names of other machines beside the lines that show how it would go on as there."""

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.plot.canvas import any_letters
from parcast.plot.panel import PURPLE, Panel, Quantity
from parcast.units import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

INCH: Final = 72.0  # [pt]
LINE: Final = 11.0  # from one name to the next, at least [pt]
BESIDE: Final = 9.0  # from the end of a line to its name [pt]
LONGEST: Final = 24  # characters of a name
LEADER: Final = {
    "arrowstyle": "-",
    "color": PURPLE,
    "lw": 0.6,
    "relpos": (0.0, 0.5),  # from the left of the name
    "shrinkA": 0,
    "shrinkB": 0,
}


def name_elsewhere(figure: "Figure", ax: "Axes", panel: Panel, quantity: Quantity) -> None:
    """Write the name of every machine at the right end of its line, none on another.

    Where there is not room for all, those that say most are named.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        With all else already drawn, since that decides how large the axes are.
    ax : matplotlib.axes.Axes
        Where the panel is drawn.
    panel : Panel
    quantity : {"time", "efficiency"}
    """
    end = panel.line.p[-1:]
    ends = {
        name: panel.value(quantity, end, times[-1:]).item()
        for name, times in panel.elsewhere.items()
        if np.isfinite(times[-1])
    }
    if not ends:
        return
    with any_letters():
        figure.draw_without_rendering()  # lays out the axes
    frame = ax.get_window_extent()
    bottom, top = (y * INCH / figure.dpi for y in (frame.y0, frame.y1))
    named = list(ends.items())[: int((top - bottom) / LINE)]
    points = [(float(end[0]), value) for _, value in named]
    heights = ax.transData.transform(points)[:, 1] * INCH / figure.dpi
    for (name, value), height, place in zip(
        named, heights, spread(heights, LINE, low=bottom, high=top), strict=True
    ):
        ax.annotate(
            shown(name, limit=LONGEST),
            (float(end[0]), value),
            xytext=(BESIDE, place - height),
            textcoords="offset points",
            va="center",
            fontsize="x-small",
            color=PURPLE,
            parse_math=False,
            arrowprops=LEADER if abs(place - height) > LINE / 4 else None,
        )


def spread(places: Array, gap: float, *, low: float, high: float) -> Array:
    """Move places along a line until all are `gap` apart, as little as may be, in their order.

    Parameters
    ----------
    places : ndarray, shape (places,)
    gap : float
        Above 0.
    low, high : float
        Between which all must stay; wide enough for them.

    Returns
    -------
    ndarray, shape (places,)

    Examples
    --------
    >>> spread(np.array([5.0, 1.0, 5.0, 5.5]), 2.0, low=0.0, high=9.0)
    array([3.33333333, 1.        , 5.33333333, 7.33333333])
    """
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    groups: list[tuple[float, int]] = []  # mean of where its first would be, and how many
    for wanted in np.clip(places[order] - steps, low, high - steps[-1]).tolist():
        mean, count = wanted, 1
        while groups and groups[-1][0] > mean:
            before, many = groups.pop()
            mean, count = (mean * count + before * many) / (count + many), count + many
        groups.append((mean, count))
    moved = np.empty(len(places))
    moved[order] = np.repeat([x for x, _ in groups], [n for _, n in groups]) + steps
    return moved
