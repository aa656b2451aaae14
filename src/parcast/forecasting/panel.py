"""One series in one pair of axes: what was measured, what is forecast, what was held out.

Measured medians are dots; between them the line is solid, beyond them it is dashed; the band is
the interval; what was measured but held out is an open diamond; runs that are planned are open
triangles on the line, numbered; the dotted line is ideal scaling. Thin lines show how it would go
on as on each machine that was used beside the own runs, with its name at the end where there is
room. Colours are those of M. Okabe and K. Ito, "Color Universal Design", 2008, and each goes with
a marker or a style of its own. Everything is drawn in processors, seconds and fractions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.forecasting.curve import Line
from parcast.forecasting.knee import Knee
from parcast.forecasting.result import Forecast, one_series
from parcast.show.canvas import any_letters, plain_axes
from parcast.show.colours import BLACK, BLUE, GREEN, GREY, PURPLE, VERMILLION
from parcast.units import format_quantity, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parcast.forecasting.next_runs.result import PlannedRun


Quantity = Literal["time", "efficiency"]

WIDEST_BAND: Final = 1000.0  # seen of a band, times the largest or below the smallest time


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Panel:
    """One series, ready to be drawn; made by `panels_of`."""

    label: str
    p: Array  # measured counts [1]
    time: Array  # medians measured there [s]
    spread: Array  # sd of log time among repetitions; 0 where there were none [1]
    line: Line  # from the smallest to the largest count measured, asked for or planned
    interval: float  # share of forecasts whose band is meant to hold [1]
    held_out_p: Array  # [1]
    held_out_time: Array  # [s]
    is_strong: bool
    knee: int | None  # the largest count worth it, where it was asked for and found [1]
    planned_p: Array  # of runs to make next, the best first [1]
    planned_time: Array  # their forecast times [s]

    @property
    def counts(self) -> Array:
        """The counts that matter: measured, held out, and the ends of the line. [1]."""
        ends = self.line.p[[0, -1]]
        return np.unique(np.concatenate([self.p, self.held_out_p, self.planned_p, ends]))

    def ideal_time(self, p: Array) -> Array:
        """Time of a program that scales ideally from its first measured count. [s]."""
        shared = p / self.p[0] if self.is_strong else np.ones_like(p)
        return np.asarray(self.time[0] / shared)

    def value(self, quantity: Quantity, p: Array, time: Array) -> Array:
        """What to draw for `time` [s] at `p` [1]: itself [s], or the efficiency [1]."""
        return time if quantity == "time" else self.ideal_time(p) / time


def panels_of(
    forecast: Forecast,
    rows: Sequence[int],
    *,
    knees: Sequence[Knee] = (),
    planned: "Sequence[PlannedRun]" = (),
) -> list[Panel]:
    """Gather what is drawn of some series; refuse series that are not there, and surfaces."""
    owns = [one_series(forecast, i) for i in rows]
    if forecast.curve is None:
        raise ParameterError(
            "forecast",
            must="be along p alone for a line through it",
            got="one over several axes",
            hint="Draw the rows of to_pandas(), or forecast without values of other axes.",
        )
    keys = [own.notes[0].key for own in owns]
    knee_of = {tuple(knee.key.values()): knee for knee in knees}
    runs_of = [[run for run in planned if run.key == key] for key in keys]
    ends = [
        np.array([*np.ravel(own.p), *(run.at["p"] for run in runs)])
        for own, runs in zip(owns, runs_of, strict=True)
    ]
    lines = forecast.curve.choose(np.array(rows)).along(ends)
    return [
        _panel(own, line, knee=knee_of.get(tuple(key.values())), planned=runs)
        for own, line, key, runs in zip(owns, lines, keys, runs_of, strict=True)
    ]


def _panel(
    own: Forecast, line: Line, *, knee: Knee | None, planned: "Sequence[PlannedRun]"
) -> Panel:
    """Bring one series and its line together."""
    measured, count = own.measured, int(own.measured.count[0])
    p = measured.p[0, :count]
    requested, observed = np.ravel(own.p), np.ravel(own.observed)
    held_out = ~np.isnan(observed) & ~np.isin(requested, p)
    return Panel(
        label=own.notes[0].label,
        p=p,
        time=measured.time[0, :count],
        spread=np.where(measured.repetitions > 1, measured.spread, 0.0)[0, :count],
        line=line,
        interval=own.interval,
        held_out_p=requested[held_out],
        held_out_time=observed[held_out],
        is_strong=own.notes[0].scaling == "strong",
        knee=knee.p if knee and knee.because != "not reached" else None,
        planned_p=np.array([run.at["p"] for run in planned]),
        planned_time=np.array([run.time for run in planned]),
    )


def draw_panel(ax: "Axes", panel: Panel, quantity: Quantity) -> tuple[float, float]:
    """Draw one series with labels for the legend; give the least and most to be seen [s] or [1].

    The line of ideal scaling and the far ends of a band that would flatten all else need not be.
    """
    along, first, last = panel.line.p, panel.p[0], panel.p[-1]
    line, low, high = (
        panel.value(quantity, along, time)
        for time in (panel.line.time, panel.line.lower, panel.line.upper)
    )
    measured = panel.value(quantity, panel.p, panel.time)
    held_out = panel.value(quantity, panel.held_out_p, panel.held_out_time)
    between = (along >= first) & (along <= last)

    ax.plot(panel.p, measured, "o", color=BLACK, ms=5, zorder=4, label="measured")
    if held_out.size:
        (mark,) = ax.plot(panel.held_out_p, held_out, "D", color=VERMILLION, ms=7, zorder=4)
        mark.set(label="measured, held out", markerfacecolor="white", markeredgewidth=1.8)
    if between.sum() > 1:
        ax.plot(along[between], line[between], color=BLUE, lw=1.8, label="between measured counts")
    beyond = (along <= first) | (along >= last)
    if beyond.sum() > 2:
        dashed = np.where(beyond, line, np.nan)  # one line, with a gap where there are runs
        ax.plot(along, dashed, "--", color=BLUE, lw=1.8, label="forecast")
    elsewhere = _draw_elsewhere(ax, panel, quantity)
    ideal = panel.value(quantity, along, panel.ideal_time(along))
    ax.plot(along, ideal, ":", color=GREY, lw=1.4, label="ideal scaling")
    label = "end of the measured counts"
    for end in (first, last):
        if along[0] < end < along[-1]:
            ax.axvline(end, color=GREY, lw=1, ls="-.", label=label)
            label = "_the other end"
    if panel.knee is not None and along[0] <= panel.knee <= along[-1]:
        _mark_knee(ax, panel.knee, quantity)
    if panel.planned_p.size:
        _mark_planned(ax, panel, quantity)
    share = format_quantity(panel.interval, "fraction")
    ax.fill_between(along, low, high, color=BLUE, alpha=0.2, lw=0, label=f"{share} interval")
    ends = [panel.value(quantity, panel.p, panel.time * np.exp(k * panel.spread)) for k in (-1, 1)]
    bars = np.sort(ends, axis=0)
    if panel.spread.any():
        reach = np.abs(bars - measured)
        style = ax.errorbar(panel.p, measured, reach, fmt="none", ecolor=BLACK, capsize=4)
        style.set_label("spread of repeated runs")
    plain_axes(ax)
    told = np.concatenate([line, *bars, held_out, elsewhere])
    band = np.clip([low, high], told.min() / WIDEST_BAND, told.max() * WIDEST_BAND)
    return float(min(told.min(), band.min())), float(max(told.max(), band.max()))


def _draw_elsewhere(ax: "Axes", panel: Panel, quantity: Quantity) -> Array:
    """Draw how it would go on as on each machine that was used, and give what was drawn."""
    along, label = panel.line.p, "if it goes on as elsewhere"
    drawn = [panel.value(quantity, along, times) for times in panel.line.elsewhere.values()]
    for line in drawn:
        ax.plot(along, line, color=PURPLE, lw=0.9, zorder=1.9, label=label)
        label = "_another machine"
    values = np.concatenate([np.empty(0), *drawn])
    return np.asarray(values[np.isfinite(values)])


def _mark_knee(ax: "Axes", knee: int, quantity: Quantity) -> None:
    """Draw an upright line where the knee is, with its count at the end that is mostly free."""
    end, inwards, side = (1.0, -2, "top") if quantity == "time" else (0.0, 4, "bottom")
    ax.axvline(knee, color=VERMILLION, lw=1.4, ls=(0, (7, 2)), label="knee: worth it up to here")
    ax.annotate(
        f"knee {knee}",
        (knee, end),
        xycoords=ax.get_xaxis_transform(),
        xytext=(-2, inwards),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va=side,
        color=VERMILLION,
        fontsize="small",
    )


def _mark_planned(ax: "Axes", panel: Panel, quantity: Quantity) -> None:
    """Draw the runs to make next at their forecast times, each with its number in the plan."""
    heights = panel.value(quantity, panel.planned_p, panel.planned_time)
    (mark,) = ax.plot(panel.planned_p, heights, "^", color=GREEN, ms=8, zorder=4)
    mark.set(label="run to make next", markerfacecolor="white", markeredgewidth=1.8)
    for number, place in enumerate(zip(panel.planned_p, heights, strict=True), start=1):
        ax.annotate(
            str(number),
            place,
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            color=GREEN,
            fontsize="small",
        )


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
    """Name machines at the right ends of their lines, where room is short those that say most.

    All else must be drawn, since that decides how large the axes are.
    """
    end = panel.line.p[-1:]
    ends = {
        name: panel.value(quantity, end, times[-1:]).item()
        for name, times in panel.line.elsewhere.items()
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
    """Move places as little as may be, in order, to be `gap` apart within `low` to `high`."""
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
