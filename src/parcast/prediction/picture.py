"""Pictures of a prediction: lines, a surface, contours, or a map of what dominates where.

The first panel has the time, one line for each value of a second axis, with its interval and, for
the largest value, the band between no contention and a single bus. The second has the speedup
beside the ideal one. The third stacks the shares of what the time goes to, for the one or the
largest value of the second axis, each named where it is wide enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.errors import Argument, ParameterError
from parcast.prediction.limiting import SPENT_ON
from parcast.prediction.result import Prediction
from parcast.prediction.shown import GridAxis, Shown, shown_of, thinned
from parcast.prediction.surface import draw_contours, draw_map, draw_surface
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import (
    COMMUNICATION,
    COMPUTED,
    COMPUTING,
    INPUT_OUTPUT,
    REFERENCE,
    WAITING,
    graded,
)
from parcast.show.pictures.scales import CHARACTER, INCH, apart, inches, scale_speedup, scale_time
from parcast.units import format_quantity
from parcast.words import common_unit

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MOST_LINES: Final = 8  # each with an entry in the legend
MOST_POINTS: Final = 512  # of a line
MARKERS: Final = "osD^vPX*"
PALEST: Final = 0.78  # of these colours, that is still seen on white [1]
SPENT_COLOURS: Final = {
    "compute": COMPUTING,
    "communication": COMMUNICATION,
    "io": INPUT_OUTPUT,
    "synchronisation": WAITING,
}
BELOW_CHARACTERS: Final = 90  # of a line below all panels
NAME_HEIGHT: Final = 0.2  # of a name in the stack, with some room [inch]
PLACES: Final = 200  # across, where a name in the stack may stand
HATCH: Final = "#9A9A9A"
SEEN: Final = 1.001  # ratio of two times that differ to the eye
FURTHEST: Final = 2.0  # times the largest time, as far as a band is seen
ABOVE: Final = 1.6  # times the largest speedup: as far as the ideal line is seen


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Lines:
    """Points of the lines, and how each of them looks."""

    shown: Shown
    points: NDArray[np.intp]  # of the first axis
    chosen: NDArray[np.intp]  # values of the second axis, one a line
    colours: Sequence[Any]

    @property
    def along(self) -> GridAxis:
        return self.shown.axes[0]

    @property
    def second(self) -> GridAxis | None:
        return self.shown.axes[1] if len(self.shown.axes) > 1 else None

    @property
    def x(self) -> Array:
        return self.along.values[self.points]

    @property
    def of_the_last(self) -> str:
        """Words that say which line a band or a share belongs to."""
        return f"at {self.second.says(self.second.values[-1])}" if self.second else ""

    def of(self, array: Array) -> Array:
        """Take what is drawn from an array of the prediction: one column a line."""
        everything = self.shown.of(array).reshape(len(self.along.values), -1)
        return np.asarray(everything[np.ix_(self.points, self.chosen)])

    @property
    def names(self) -> list[str]:
        """What each line is called."""
        if not self.second:
            return ["predicted"]
        return [self.second.text(float(self.second.values[i])) for i in self.chosen]

    def draw(self, ax: "Axes", array: Array) -> "list[Line2D]":
        """Draw and return all lines."""
        drawn = []
        places = self.along.places(self.x)
        across = (places - places[0]) / (places[-1] - places[0]) * inches(ax)[0] * INCH
        kept = apart(across).tolist()
        for i, column in enumerate(self.of(array).T):
            (line,) = ax.plot(self.x, column, color=self.colours[i], lw=1.7)
            line.set(marker=MARKERS[i], markersize=4.5, markevery=kept)
            drawn.append(line)
        return drawn


def draw_lines(shown: Shown, ax: "Axes | None" = None, quantity: str | None = None) -> "Figure":
    """Draw times, speedups and shares over the first axis; in the style of parcast."""
    if quantity is not None:
        raise ParameterError(
            "quantity",
            must="be left out for lines, which show time, speedup and shares",
            got=f'"{quantity}"',
            hint="Predict for a second axis with several values, and draw contours of it.",
        )
    if ax is not None:
        canvas.require_one_panel(
            3, 'Leave it out, or draw picture="contours" or "map" over two axes.'
        )
    figure = canvas.writer().new_figure(height=6.4)
    grid = figure.add_gridspec(2, 2, height_ratios=(1.25, 1))
    places = (grid[0, 0], grid[0, 1], grid[1, :])
    times, speedups, shares = (figure.add_subplot(place) for place in places)
    lines = _lines(shown)
    for each in (times, speedups, shares):
        lines.along.scale(each)
        canvas.plain_axes(each)
    drawn = _draw_times(times, lines)
    _draw_speedups(speedups, lines)
    unnamed = _draw_shares(shares, lines)
    named: dict[str, Artist] = {}
    if lines.second:
        heading = fill(f"{lines.second.heading}:", BELOW_CHARACTERS)
        (named[heading],) = times.plot([], [], ls="none")
    named |= dict(zip(lines.names, drawn, strict=True))
    others = canvas.entries_of([times, speedups]) | unnamed
    canvas.writer().add_legend(
        figure, *([named, others] if lines.second else [named | others]), notes=shown.notes
    )
    return figure


def _lines(shown: Shown) -> _Lines:
    """Choose the points and the colours."""
    second = shown.axes[1] if len(shown.axes) > 1 else None
    chosen = np.zeros(1, dtype=np.intp)
    colours: Sequence[Any] = [COMPUTED]
    if second:
        chosen = thinned(second, MOST_LINES)
        colours = [*graded(PALEST * np.linspace(0.0, 1.0, len(chosen)))]
    return _Lines(
        shown=shown, points=thinned(shown.axes[0], MOST_POINTS), chosen=chosen, colours=colours
    )


def _draw_times(ax: "Axes", lines: _Lines) -> "list[Line2D]":
    """Draw and return the times; with the interval and the reach of contention of the last."""
    prediction = lines.shown.prediction
    time = lines.of(prediction.time)
    limits = [time]
    drawn = lines.draw(ax, prediction.time)
    if prediction.lower is not None and prediction.upper is not None:
        lower, upper = (lines.of(each)[:, -1] for each in (prediction.lower, prediction.upper))
        limits += [lower, upper]
        share = format_quantity(prediction.interval or 0.0, "fraction")
        label = f"{share} interval {lines.of_the_last}".rstrip()
        ax.fill_between(
            lines.x, lower, upper, color=lines.colours[-1], alpha=0.35, lw=0, label=label
        )
    if prediction.contention_free is not None and prediction.single_bus is not None:
        free, bus = (
            lines.of(each)[:, -1] for each in (prediction.contention_free, prediction.single_bus)
        )
        if np.any(bus > free * SEEN):
            limits += [np.minimum(each, time.max() * FURTHEST) for each in (free, bus)]
            label = f"from a link for every pair to a single bus {lines.of_the_last}".rstrip()
            label = fill(label, BELOW_CHARACTERS)
            style: dict[str, Any] = {
                "facecolor": "none",
                "edgecolor": HATCH,
                "hatch": "////",
                "lw": 0.6,
            }
            ax.fill_between(lines.x, free, bus, zorder=0.8, label=label, **style)
    low, high = (float(f([f(each) for each in limits])) for f in (np.min, np.max))
    scale_time(ax, low, high, common_unit(np.ravel(prediction.time).tolist()))
    return drawn


def _draw_speedups(ax: "Axes", lines: _Lines) -> None:
    """Draw the speedups, and the ideal one where they are over processors."""
    speedup = lines.of(lines.shown.prediction.speedup)
    lines.draw(ax, lines.shown.prediction.speedup)
    low, high = float(speedup.min()), float(speedup.max())
    first, last = lines.x[[0, -1]].tolist()
    if lines.along.name == "p" and first < high * ABOVE:
        ax.plot(lines.x, lines.x, ":", color=REFERENCE, lw=1.5, label="ideal speedup, p")
        high = max(high, min(high * ABOVE, last))
    scale_speedup(ax, low, high)


def _draw_shares(ax: "Axes", lines: _Lines) -> "dict[str, Artist]":
    """Stack the shares of the time of the last line; give those that are too thin for a name."""
    time = lines.of(lines.shown.prediction.time)[:, -1]
    parts = {
        name: lines.of(part)[:, -1] / time
        for name, part in lines.shown.prediction.breakdown.components()
    }
    parts = {name: part for name, part in parts.items() if part.any()}
    drawn = ax.stackplot(
        lines.x,
        list(parts.values()),
        labels=[SPENT_ON[name] for name in parts],
        colors=[SPENT_COLOURS[name] for name in parts],
        edgecolor="white",
        linewidth=0.3,
    )
    ticks = np.linspace(0, 1, 5)
    ax.set(ylim=(0, 1), xlim=lines.x[[0, -1]])
    ax.set_ylabel("share of the time [%]")
    title = fill(lines.of_the_last, BELOW_CHARACTERS)
    ax.set_title(title, fontsize="medium", parse_math=False)
    ax.set_yticks(ticks, labels=[f"{100 * tick:.0f}" for tick in ticks])
    tops = np.cumsum(list(parts.values()), axis=0)
    unnamed: dict[str, Artist] = {}
    for name, area, top, part in zip(parts, drawn, tops, parts.values(), strict=True):
        if not _name_area(ax, lines, SPENT_ON[name], top - part, top):
            unnamed[SPENT_ON[name]] = area
    return unnamed


def _name_area(ax: "Axes", lines: _Lines, name: str, low: Array, high: Array) -> bool:
    """Write a name where an area is highest, if there is room; tell whether there was."""
    width, height = inches(ax)
    to, back = (np.log2, np.exp2) if ax.get_xscale() == "log" else (np.asarray, np.asarray)
    first, last = to(np.array(ax.get_xlim())).tolist()
    places = np.linspace(first, last, PLACES)
    bottom, top = (
        np.interp(places, to(lines.x), edge, left=none) for edge, none in ((low, 1.0), (high, 0.0))
    )
    half = ceil((len(name) + 2) * CHARACTER / width / 2 * PLACES)
    if 2 * half >= PLACES:
        return False
    windows = np.lib.stride_tricks.sliding_window_view
    bottom = windows(bottom, 2 * half + 1).max(axis=1)
    top = windows(top, 2 * half + 1).min(axis=1)
    best = int(np.argmax(top - bottom))
    if (top - bottom)[best] * height < NAME_HEIGHT:
        return False
    x = float(back(places[best + half]))
    ax.text(x, float(top[best] + bottom[best]) / 2, name, ha="center", va="center")
    return True


FEW: Final = 4  # values of the first axis that are lines if the second has more than `MOST_LINES`
DRAW: Final = {
    "lines": draw_lines,
    "surface": draw_surface,
    "contours": draw_contours,
    "map": draw_map,
}


def figure_of_prediction(
    prediction: Prediction,
    ax: "Axes | None" = None,
    *,
    picture: str | None = None,
    quantity: str | None = None,
) -> "Figure":
    """Figure of a prediction, over its first one or two axes with several values; or in `ax`.

    Further axes are fixed at their largest value. By default lines where the second axis has 8
    values at most or the first one 4, else contours. Lines have three panels and cannot be drawn
    in `ax`; a surface needs one in space (``projection="3d"``). A `quantity` ("time", "speedup",
    "efficiency", "power" or "cost") is shown by contours, a map or a surface; see `quantities`.
    """
    shown, chosen = choose_picture(prediction, picture, quantity)
    if ax is not None:
        return DRAW[chosen](shown, ax, quantity)
    with canvas.writer().style():
        figure = DRAW[chosen](shown, None, quantity)
        figure.suptitle(shown.title, fontsize="large", parse_math=False)
    return figure


def choose_picture(
    prediction: Prediction, picture: str | None, quantity: str | None
) -> tuple[Shown, str]:
    """What a picture shows and which it is, or a refusal of one with too few axes."""
    if picture is not None and picture not in DRAW:
        raise ParameterError(
            "picture",
            must='be "lines", "surface", "contours" or "map"',
            got=f"{picture!r}",
            hint="Leave it out for what suits the axes.",
        )
    shown = shown_of(prediction, 2)
    if picture is None and quantity is None:
        shown = _with_few_lines(shown)
    is_over_two = quantity is not None and len(shown.axes) > 1
    chosen = picture or ("contours" if is_over_two else _suitable(shown))
    needed = 1 if chosen == "lines" else 2
    if len(shown.axes) < needed:
        raise _too_few(chosen, needed, shown)
    return shown, chosen


def _with_few_lines(shown: Shown) -> Shown:
    """Turn the axes where the first has few values and the second too many for lines."""
    if len(shown.axes) < 2 or len(shown.axes[1].values) <= MOST_LINES:
        return shown
    return shown.turned() if len(shown.axes[0].values) <= FEW else shown


def _suitable(shown: Shown) -> str:
    """Choose the picture that suits the axes."""
    is_lines = len(shown.axes) < 2 or len(shown.axes[1].values) <= MOST_LINES
    return "lines" if is_lines else "contours"


def _too_few(picture: str, needed: int, shown: Shown) -> ParameterError:
    """Say which axes are there, and what to do for more."""
    there = " and ".join(axis.name for axis in shown.axes)
    got = f"only {there}" if there else "none"
    if needed == 1:
        return ParameterError(
            "a picture",
            must="have an axis with several values",
            got=got,
            hint=("Predict for several p, such as ", Argument("p", [1, 2, 4, 8]), "."),
        )
    what = {"surface": "a surface", "contours": "contours", "map": "a map"}[picture]
    bandwidth = Argument(
        "vary", "network.bandwidth=RANGE", python='vary={"network.bandwidth": [...]}'
    )
    lines = Argument("picture", "lines", python='picture="lines"')
    p, d = Argument("p", [1, 2, 4, 8]), Argument("d", [1, 2, 4])
    give = (", or ", bandwidth, ", or draw ", lines) if there else (", such as ", p, " and ", d)
    return ParameterError(
        what,
        must="have two axes with several values",
        got=got,
        hint=("Predict for several p and d", *give, "."),
    )
