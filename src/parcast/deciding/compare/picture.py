"""Picture of two versions: their times by count above, the change with its interval below.

Of call paths and other series those that differ are drawn, then the longest, each with a colour;
base times are hollow and dashed. Where a check says what it can see, a grey mark is the smallest
such slowdown.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.deciding.compare.ratios import Ratios
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import MACHINE_COLOURS, MARKERS, REFERENCE
from parcast.show.pictures.scales import scale_p, scale_rate, scale_time, span
from parcast.timings.measure import Measure
from parcast.timings.series import label_of
from parcast.units import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 6.4  # [inch]
MOST_SERIES: Final = 4
DIFFERS: Final = 0.1  # probability up to which a series is drawn before longer ones
SPREAD: Final = 0.012  # between the points of series at one count, of the logarithm of p
WIDEST: Final = 3.0  # largest change that is drawn, of all within [1]


class Drawn(Protocol):
    """What is drawn: the result of `compare` or of `check`."""

    @property
    def ratios(self) -> Ratios:
        """Times and their ratios."""

    @property
    def probability(self) -> Array | None:
        """Probability of each difference if there is none; None where nothing is said of it."""

    @property
    def visible(self) -> Array | None:
        """Smallest slowdown that is seen at each; None where nothing is said of it [1]."""

    @property
    def measure(self) -> Measure:
        """What the times are."""

    @property
    def verdict(self) -> str:
        """The answer in a sentence."""

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Files and options."""


def figure_of(told: Drawn, ax: "Axes | None" = None) -> "Figure":
    """Draw times and changes; in `ax` that was given, the changes alone."""
    groups = _groups(told)
    if ax is not None:
        _draw_changes(ax, told, groups)
        canvas.add_legend_inside(ax, canvas.entries_of([ax]))
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    with canvas.writer().figure(HEIGHT) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        _draw_times(above, told, groups)
        _draw_changes(below, told, groups)
        above.set_xlabel("")
        heads = canvas.heads_of([told.verdict])
        figure.suptitle("\n".join(heads), fontsize="medium", parse_math=False)
        more = len(_all_groups(told.ratios)) - len(groups)
        notes = [f"Not shown: {more} more series."] if more > 0 else []
        entries = canvas.entries_of([above, below])
        canvas.writer().add_legend(
            figure, entries, notes=[*notes, *canvas.sources_of(told.inputs)]
        )
    return figure


def _all_groups(ratios: Ratios) -> dict[str, NDArray[np.intp]]:
    """Cells of each series, by its name; "" where there is one."""
    groups: dict[str, list[int]] = {}
    for i, key in enumerate(ratios.keys):
        groups.setdefault(label_of({x: y for x, y in key.items() if x != "p"}), []).append(i)
    return {name: np.array(places) for name, places in groups.items()}


def _groups(told: Drawn) -> dict[str, NDArray[np.intp]]:
    """Cells of the series that differ, and of those that take longest."""
    longest = np.nan_to_num(np.fmax(told.ratios.base, told.ratios.new))
    every, chance = _all_groups(told.ratios), np.ones(len(told.ratios))
    if told.probability is not None:
        chance = np.nan_to_num(told.probability, nan=1.0)
    order = sorted(
        every,
        key=lambda name: (chance[every[name]].min() > DIFFERS, -float(longest[every[name]].max())),
    )
    return {name: every[name] for name in order[:MOST_SERIES]}


def _counts(told: Drawn, places: NDArray[np.intp]) -> Array:
    """Processor counts of some cells [1]."""
    return np.array([float(told.ratios.keys[i]["p"]) for i in places.tolist()])


def _scale_counts(ax: "Axes", told: Drawn, groups: Mapping[str, NDArray[np.intp]]) -> None:
    """Scale the axis of counts."""
    counts = np.unique(np.concatenate([_counts(told, x) for x in groups.values()]))
    scale_p(ax, counts)
    if len(counts) == 1:
        ax.set_xlim(counts[0] / 1.5, counts[0] * 1.5)


def _draw_times(ax: "Axes", told: Drawn, groups: Mapping[str, NDArray[np.intp]]) -> None:
    """Draw the times of both versions."""
    ratios, ends = told.ratios, []
    for i, (name, places) in enumerate(groups.items()):
        p, of = _counts(told, places), f" of {shown(name)}" if name else ""
        style: dict[str, Any] = {"color": MACHINE_COLOURS[i], "marker": MARKERS[i], "ms": 5}
        hollow: dict[str, Any] = {"ls": "--", "mfc": "white"}
        for times, label, look in ((ratios.base, "base", hollow), (ratios.new, "new", {})):
            known = times[places]
            if np.isfinite(known).any():
                ax.plot(p, known, label=f"{label}{of}", **style, **look)
                ends.append((float(np.nanmin(known)), float(np.nanmax(known))))
    _scale_counts(ax, told, groups)
    if told.measure.is_relative:
        scale_rate(ax, *span(ends), told.measure.time_title)
    else:
        scale_time(ax, *span(ends))
    canvas.plain_axes(ax)


def _draw_changes(ax: "Axes", told: Drawn, groups: Mapping[str, NDArray[np.intp]]) -> None:
    """Draw the change of each cell with its interval, in percent."""
    ratios, seen = told.ratios, told.visible
    ax.axhline(0.0, color=REFERENCE, lw=1.0)
    ends = [0.0]
    for i, places in enumerate(groups.values()):
        aside = np.exp(SPREAD * (i - (len(groups) - 1) / 2) * 2)
        p = _counts(told, places) * aside
        middle, low, high = (
            100 * (np.minimum(x[places], 1 + WIDEST) - 1)
            for x in (ratios.ratio, ratios.lower, ratios.upper)
        )
        if np.isfinite(middle).any():
            label = "change, 90% interval"
            style: dict[str, Any] = {"color": MACHINE_COLOURS[i], "marker": MARKERS[i], "ms": 5}
            bars = np.array([middle - low, high - middle])
            ax.errorbar(p, middle, yerr=bars, ls="none", capsize=3, label=label, **style)
            ends += [float(np.nanmin(low)), float(np.nanmax(high))]
        if seen is not None:
            known = np.minimum(100 * seen[places], 100 * WIDEST)
            label = "smallest slowdown that is found in 95% of checks"
            at: dict[str, Any] = {
                "color": REFERENCE,
                "marker": "_",
                "ms": 16,
                "mew": 1.8,
                "ls": "none",
            }
            ax.plot(p, np.where(seen[places] <= WIDEST, known, np.nan), label=label, **at)
            ends.append(float(np.max(known)))
    _scale_counts(ax, told, groups)
    bottom, top = min(ends), max(ends)
    room = 0.08 * max(top - bottom, 2.0)
    ax.set_ylim(bottom - room, top + room)
    ax.set_ylabel("change [%]")
    canvas.plain_axes(ax)
