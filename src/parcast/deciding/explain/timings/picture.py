"""The picture of explained times: parts of the time by count, and serial fractions."""

from typing import TYPE_CHECKING, Final

import numpy as np

from parcast.deciding.explain.timings.result import SeriesExplained, TimingsExplained
from parcast.deciding.explain.timings.sheet import PART_WORDS
from parcast.forecasting.own_runs.parts import PARTS
from parcast.show.pictures import canvas, colours
from parcast.show.pictures.scales import scale_p
from parcast.words import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 6.0  # [inch]
WIDTH: Final = 0.26  # of a bar
COLOURS: Final = {
    "shared": colours.COMPUTING,
    "constant": colours.MACHINE_COLOURS[1],
    "growing": colours.COMMUNICATION,
}
HATCHES: Final = {"shared": "", "constant": "//", "growing": ".."}


def figure_of(result: TimingsExplained, ax: "Axes | None" = None) -> "Figure":
    """One figure of two panels, of the slowest series; it cannot be drawn in `ax`."""
    if ax is not None:
        canvas.require_one_panel(2, "Leave it out: the picture has two panels.")
    series = result.series[0]
    with canvas.writer().figure(HEIGHT) as figure:
        above, below = figure.subplots(2, 1)
        _parts(above, series)
        _serial(below, series)
        more = len(result.series) - 1
        title = series.label or "What the time consists of"
        figure.suptitle(title, fontsize="large", parse_math=False)
        notes = [f"{more} more series are not drawn"] if more else []
        notes += canvas.sources_of(result.inputs)
        groups = [canvas.entries_of([panel]) for panel in (above, below)]
        canvas.writer().add_legend(figure, *groups, notes=notes)
    return figure


def _parts(ax: "Axes", series: SeriesExplained) -> None:
    """Draw the share of each part at each count, with its interval."""
    place = np.arange(len(series.p))
    for k, name in enumerate(PARTS):
        value, low, high = (
            100 * x[:, k] for x in (series.parts.share, series.parts.lower, series.parts.upper)
        )
        at = place + (k - 1) * WIDTH
        ax.bar(
            at,
            value,
            WIDTH * 0.92,
            color=COLOURS[name],
            hatch=HATCHES[name],
            edgecolor="white",
            lw=0,
            label=PART_WORDS[name],
        )
        error = np.stack([value - low, high - value])
        label = "90% interval" if not k else None
        ax.errorbar(
            at, value, yerr=error, fmt="none", ecolor=colours.BLACK, capsize=3, lw=1.1, label=label
        )
    labels = [
        f"p = {whole(p)}\n{'forecast' if i else 'measured'}"
        for i, p in enumerate(series.p.tolist())
    ]
    ax.set_xticks(place, labels=labels)
    ax.set_ylim(0, 100)
    ax.set_ylabel("share of the time [%]")
    canvas.plain_axes(ax)
    ax.grid(visible=False, axis="x")


def _serial(ax: "Axes", series: SeriesExplained) -> None:
    """Draw the serial fractions over the counts."""
    serial = series.serial
    for is_forecast, colour, marker, label in (
        (False, colours.MEASURED, "o", "measured"),
        (True, colours.COMPUTED, "s", "forecast"),
    ):
        some = serial.is_forecast == is_forecast
        if not some.any():
            continue
        value, low, high = (x[some] for x in (serial.fraction, serial.lower, serial.upper))
        error = np.maximum(np.stack([value - low, high - value]), 0.0)
        ax.errorbar(
            serial.p[some],
            value,
            yerr=error,
            color=colour,
            marker=marker,
            ls="-" if not is_forecast else "--",
            capsize=3,
            lw=1.2,
            label=label,
        )
    ax.axhline(0.0, color=colours.REFERENCE, lw=0.8)
    if len(serial.p) > 1:
        scale_p(ax, serial.p)
    else:
        ax.set_xticks(serial.p, labels=[f"{whole(float(serial.p[0]))}"])
        ax.set_xlabel("processors p")
    ax.set_ylabel("serial fraction (Karp-Flatt)")
    canvas.plain_axes(ax)
