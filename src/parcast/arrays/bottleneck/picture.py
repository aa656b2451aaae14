"""The picture of a simulated request: what each server's time consists of, and its throughput.

Above, the time of each server in stacked bars, from the start of the request to its end. Below,
its throughput as it is, with infinitely fast disks and with such a network too, and the rate of
its file system as a line.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.arrays.bottleneck.result import MODES, RequestSimulation
from parcast.arrays.bottleneck.sheet import title_of
from parcast.show.pictures import canvas, colours
from parcast.units import TIME_UNITS
from parcast.words import common_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 6.0  # [inch]
WIDTH: Final = 0.8  # of the bars of a server
THINNEST: Final = 1e-6  # part that is drawn, of the time of the request [1]
MOST_TICKS: Final = 16
MEGABYTE: Final = 1e6
HATCH: Final = "///"  # of waiting at the end, which has the colour of that at the start
NAMES: Final = {
    "none": ("normal", colours.COMPUTED),
    "disks": ("infinitely fast disks", colours.COMMUNICATION),
    "disks and network": ("infinitely fast network too", colours.COMPUTING),
}


def figure_of(result: RequestSimulation, ax: "Axes | None" = None) -> "Figure":
    """One figure of two panels; it cannot be drawn in `ax`."""
    if ax is not None:
        canvas.require_one_panel(2, "Leave it out: the picture has two panels.")
    with canvas.writer().figure(HEIGHT) as figure:
        above, below = figure.subplots(2, 1)
        _times(above, result)
        _throughput(below, result)
        for each in (above, below):
            name_bars(each, [*map(str, range(len(result.normal.startup)))], "server")
        figure.suptitle(title_of(result), fontsize="large", parse_math=False)
    return figure


def _times(ax: "Axes", result: RequestSimulation) -> None:
    """Draw the phases of each server."""
    normal = result.normal
    unit = common_unit([result.time])
    delays = normal.delay
    parts = {
        "startup": (normal.startup, colours.WAITING),
        "assembly": (normal.assembly - delays, colours.COMMUNICATION),
        "delay by clients": (delays, colours.RECEIVING),
        "file system": (normal.file_system, colours.INPUT_OUTPUT),
        "last client": (
            normal.intermediate - normal.assembly - normal.file_system,
            colours.WAITING,
        ),
    }
    place, bottom = np.arange(len(normal.startup)), np.zeros(len(normal.startup))
    for label, (times, colour) in parts.items():
        if times.max() <= THINNEST * result.time:
            continue
        height = times / TIME_UNITS[unit]
        hatch = HATCH if label == "last client" else None
        style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "lw": 0}
        ax.bar(place, height, WIDTH, bottom=bottom, label=label, **style)
        bottom += height
    end = result.time / TIME_UNITS[unit]
    ax.axhline(end, color=colours.REFERENCE, lw=0.8, ls="--", label="end of the request")
    ax.set_ylabel(f"time [{unit}]")
    ax.set_ylim(0, 1.05 * end)
    _legend_above(ax)


def _throughput(ax: "Axes", result: RequestSimulation) -> None:
    """Draw the throughput of each server in the three modes."""
    place = np.arange(len(result.normal.startup))
    each = WIDTH / len(MODES)
    rates = {mode: result.times[mode].throughput for mode in MODES}
    ends = np.concatenate([result.normal.disk_rate, *rates.values()])
    highest = float(ends[np.isfinite(ends)].max(initial=0.0)) or MEGABYTE
    for i, (mode, rate) in enumerate(rates.items()):
        label, colour = NAMES[mode]
        at = place + (i - 1) * each
        for x in at[np.isinf(rate)]:  # it takes no time
            ax.text(x, highest / MEGABYTE, "∞", ha="center", va="top", color="white")
        ax.bar(at, np.minimum(rate, 2 * highest) / MEGABYTE, each, color=colour, label=label)
    edges = np.stack([place - 0.5, place + 0.5])
    disks = np.stack([result.normal.disk_rate] * 2) / MEGABYTE
    ax.plot(
        edges.T.ravel(),
        disks.T.ravel(),
        color=colours.REFERENCE,
        lw=0.8,
        label="rate of the file system",
    )
    ax.set_ylabel("throughput [MB/s]")
    ax.set_ylim(0, 1.05 * highest / MEGABYTE)
    _legend_above(ax)


def _legend_above(ax: "Axes") -> None:
    """Explain the bars in one line, where none are."""
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=5, fontsize="small", frameon=False)


def name_bars(ax: "Axes", names: Sequence[str], label: str) -> None:
    """Write a name below each of the bars, or not more than fit."""
    canvas.plain_axes(ax)
    ax.grid(visible=False, axis="x")
    step = -(-len(names) // MOST_TICKS)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.set_xticks(range(0, len(names), step), labels=names[::step])
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel(label)
