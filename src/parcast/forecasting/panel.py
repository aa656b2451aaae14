"""Series in one pair of axes: what was measured, what is forecast, what was held out.

Everything is in processors, seconds and fractions. Speedup and efficiency are over the median time
of the runs at the smallest measured count, and over several axes over the forecast for that count.
Their intervals are those of the time divided into that baseline, whose own uncertainty is not
included.

Measured medians are filled markers; within the measured counts the line is solid, beyond them it
is dashed, with a hollow marker at each count asked for; the band is the interval. What was
measured but held out is an open diamond, or has a black edge in a panel of several series. A run
that was stopped is an arrow that begins at its time. Runs that are planned are open triangles on
the line, numbered; the dotted line is ideal scaling. Thin lines show how it would go on as on each
machine that was used beside the own runs. Names stand at the right ends of lines. Of markers that
would touch each other some are left out: the line goes through all counts.
Colours are those of M. Okabe and K. Ito, "Color Universal Design", 2008, and
each goes with a marker of its own; values of an axis, such as n, have colours from dark to
bright.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.forecasting.knee import Knee
from parcast.forecasting.result import Forecast, one_series
from parcast.forecasting.series.curve import DrawnLine
from parcast.show.pictures.canvas import arrow, lay_out, plain_axes
from parcast.show.pictures.colours import (
    COMPUTED,
    ELSEWHERE,
    MACHINE_COLOURS,
    MARKERS,
    MEASURED,
    RECOMMENDED,
    REFERENCE,
    graded,
)
from parcast.show.pictures.scales import INCH, MARGIN, apart, inches
from parcast.timings.measure import TIME, Measure
from parcast.timings.series import Key
from parcast.units import format_quantity, shown
from parcast.words import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parcast.forecasting.next_runs.result import PlannedRun

Quantity = Literal["time", "rate", "speedup", "efficiency"]
WIDEST_BAND: Final = 1000.0  # seen of a band, times the largest or below the smallest time
PALEST: Final = 0.66  # of the colours of values, that is still seen on white [1]

BAR: Final[dict[str, Any]] = {"fmt": "none", "elinewidth": 1, "capsize": 2.5, "zorder": 3}

RUNS, HELD_OUT, FORECAST = "measured", "measured, held out", "forecast"
SPREAD, KNEE = "spread of repeated runs", "knee: worth it up to here"
STOPPED: Final = "stopped run: took longer"
OF_ANOTHER, NEXT = "scaling of another machine", "run to make next"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SeriesTrace:
    """One series, ready to be drawn; made by `traces_of`."""

    label: str
    key: Key  # what tells the series apart
    p: Array  # measured counts [1]
    time: Array  # medians measured there [s]
    spread: Array  # sd of log time among repetitions; 0 where there were none [1]
    line: DrawnLine  # over the counts measured, asked for and planned
    within: NDArray[np.bool_]  # points of the line that lie within the measured counts
    base: tuple[float, float]  # what speedup is over: a count [1] and its time [s]
    is_strong: bool
    interval: float  # share of forecasts whose interval is meant to contain the measured time [1]
    requested_p: Array  # asked for and not measured [1]
    requested_time: Array  # [s]
    held_out_p: Array  # [1]
    held_out_time: Array  # [s]
    stopped_p: Array  # counts of runs that were ended [1]
    stopped_time: Array  # times that they took longer than [s]
    knee: int | None  # the largest count worth it, where it was asked for and found [1]
    planned_p: Array  # of runs to make next, the best first [1]
    planned_time: Array  # their forecast times [s]
    at: float | None = None  # the count of processors, where another axis takes the place of p [1]
    ideal: Array | None = None  # ideal times along the line then [s]
    measure: Measure = TIME

    @property
    def counts(self) -> Array:
        """The counts that matter: measured, asked for, held out, planned. [1]."""
        ends = self.line.p[[0, -1]]
        return np.unique(
            np.concatenate(
                [self.p, self.requested_p, self.held_out_p, self.stopped_p, self.planned_p, ends]
            )
        )

    def ideal_time(self, p: Array) -> Array:
        """Time of a program that scales ideally from the baseline. [s]."""
        if self.ideal is not None:
            return np.interp(p, self.line.p, self.ideal)
        shared = p / self.base[0] if self.is_strong else np.ones_like(p)
        return np.asarray(self.base[1] / shared)

    def value(self, quantity: Quantity, p: Array, time: Array) -> Array:
        """What to draw for `time` [s] at `p` [1].

        The time itself [s], the rate [`measure.rate_unit`], the speedup or efficiency [1].
        """
        if quantity == "time":
            return time
        if quantity == "rate":
            return self.measure.rates(time)
        efficiency = self.ideal_time(p) / time
        more = (p if self.at is None else self.at) / self.base[0]
        return efficiency if quantity == "efficiency" else efficiency * more


def traces_of(
    forecast: Forecast,
    rows: Sequence[int],
    *,
    knees: Sequence[Knee] = (),
    planned: "Sequence[PlannedRun]" = (),
) -> list[SeriesTrace]:
    """Gather what is drawn of some series; refuse series that are not there."""
    owns = [one_series(forecast, i) for i in rows]
    keys = [own.notes[0].key for own in owns]
    knee_of = {tuple(knee.key.values()): knee for knee in knees}
    runs_of = [[run for run in planned if run.key == key] for key in keys]
    if forecast.curve is None:
        lines = [_through_answers(own) for own in owns]
    else:
        ends = [
            np.array([*np.ravel(own.p), *stopped_runs(own)[0], *(run.at["p"] for run in runs)])
            for own, runs in zip(owns, runs_of, strict=True)
        ]
        along = forecast.curve.choose(np.array(rows)).along(ends)
        lines = [_between_runs(line, own) for line, own in zip(along, owns, strict=True)]
    return [
        _trace(own, *line, knee=knee_of.get(tuple(key.values())), planned=runs)
        for own, line, key, runs in zip(owns, lines, keys, runs_of, strict=True)
    ]


def stopped_runs(own: Forecast) -> tuple[Array, Array]:
    """Counts of runs of one series that were ended [1], and what they took longer than [s]."""
    if own.stopped is None:
        return np.empty(0), np.empty(0)
    return own.stopped.of(0)[:2]


def _through_answers(own: Forecast) -> tuple[DrawnLine, NDArray[np.bool_]]:
    """Line through the counts asked for, where several axes are forecast at once."""
    p, order = np.unique(np.ravel(own.p), return_index=True)
    time, lower, upper = (np.ravel(x)[order] for x in (own.time, own.lower, own.upper))
    line = DrawnLine(p=p, time=time, lower=lower, upper=upper, elsewhere={})
    return line, np.ravel(own.reach)[order] <= 1 + 1e-9


def _between_runs(line: DrawnLine, own: Forecast) -> tuple[DrawnLine, NDArray[np.bool_]]:
    """Line with an even band between the measured counts.

    The interval is narrow at a measured count and widest about halfway to the next. Drawn as it
    is, close counts would look like beads on a string; so the band is led straight from one count
    of the table, measured or asked for, to the next. Beyond the measured counts it is as computed.
    """
    p = own.measured.p[0, : int(own.measured.count[0])]
    within = (line.p >= p[0]) & (line.p <= p[-1])
    known = np.isin(line.p, p)
    knots, first = np.unique(
        np.log(np.concatenate([line.p[known], np.ravel(own.p)])), return_index=True
    )
    evened = {}
    for name in ("lower", "upper"):
        end, answers = getattr(line, name), np.ravel(getattr(own, name) / own.time)
        widths = np.log(np.concatenate([end[known] / line.time[known], answers]))[first]
        even = line.time * np.exp(np.interp(np.log(line.p), knots, widths))
        evened[name] = np.where(within, even, end)
    return replace(line, **evened), within


def _trace(
    own: Forecast,
    line: DrawnLine,
    within: NDArray[np.bool_],
    *,
    knee: Knee | None,
    planned: "Sequence[PlannedRun]",
) -> SeriesTrace:
    """Bring one series and its line together."""
    measured, count, note = own.measured, int(own.measured.count[0]), own.notes[0]
    p, time = measured.p[0, :count], measured.time[0, :count]
    requested, observed = np.ravel(own.p), np.ravel(own.observed)
    is_measured = np.isin(requested, p)
    held_out = ~np.isnan(observed) & ~is_measured
    is_strong = note.scaling == "strong"
    stopped_p, stopped_time = stopped_runs(own)
    base = (note.measured[0], float(np.ravel(own.speedup * own.time)[0]))
    if own.curve is not None:
        base = (float(p[0]), float(time[0]))
    elif not is_strong:
        base = (base[0], base[1] * base[0] / float(requested[0]))
    return SeriesTrace(
        label=note.label,
        key=note.key,
        p=p,
        time=time,
        spread=np.where(measured.shows_spread, measured.spread, 0.0)[0, :count],
        line=line,
        measure=own.measure,
        within=within,
        base=base,
        is_strong=is_strong,
        interval=own.interval,
        requested_p=requested[~is_measured],
        requested_time=np.ravel(own.time)[~is_measured],
        held_out_p=requested[held_out],
        held_out_time=observed[held_out],
        stopped_p=stopped_p,
        stopped_time=stopped_time,
        knee=knee.p if knee and knee.because != "not reached" else None,
        planned_p=np.array([run.at["p"] for run in planned]),
        planned_time=np.array([run.time for run in planned]),
    )


def along_axis(traces: Sequence[SeriesTrace], axis: str) -> SeriesTrace:
    """Join series of a single count each, in the order of an axis, to one along that axis."""
    values = np.array([float(trace.key[axis]) for trace in traces])
    (at,) = {float(trace.line.p[0]) for trace in traces}

    def joined(name: str, of: str) -> tuple[Array, Array]:
        """Values of the axis and what was noted at this count."""
        found = [np.asarray(getattr(x, name))[getattr(x, of) == at] for x in traces]
        return np.repeat(values, [len(x) for x in found]), np.concatenate(found)

    line = {
        x: np.array([getattr(y.line, x)[0] for y in traces]) for x in ("time", "lower", "upper")
    }
    p, time = joined("time", "p")
    held_out_p, held_out_time = joined("held_out_time", "held_out_p")
    requested_p, requested_time = joined("requested_time", "requested_p")
    stopped_p, stopped_time = joined("stopped_time", "stopped_p")
    return replace(
        traces[0],
        p=p,
        time=time,
        spread=joined("spread", "p")[1],
        line=DrawnLine(p=values, elsewhere={}, **line),
        within=np.array([trace.within[0] for trace in traces]),
        requested_p=requested_p,
        requested_time=requested_time,
        held_out_p=held_out_p,
        held_out_time=held_out_time,
        stopped_p=stopped_p,
        stopped_time=stopped_time,
        at=at,
        ideal=np.array([float(x.ideal_time(np.array([at]))[0]) for x in traces]),
    )


def baseline(traces: Sequence[SeriesTrace]) -> str:
    """Say what speedups are over, where it is the same count for all: "p = 4"."""
    counts = {trace.base[0] for trace in traces}
    return f"p = {whole(counts.pop())}" if len(counts) == 1 else "the smallest measured p"


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How one series is drawn."""

    line: Any  # colours
    dots: Any
    held_out: Mapping[str, Any]  # style of its markers
    marker: str = "o"
    band: float = 0.2  # opacity [1]
    is_alone: bool = True  # whether no other series is in the panel


DIAMOND: Final[dict[str, Any]] = {
    "marker": "D",
    "color": MEASURED,
    "mfc": "white",
    "mew": 1.7,
    "ms": 6.5,
}
# Of held-out runs, where there are several series.
EDGED: Final[dict[str, Any]] = {"mec": MEASURED, "mew": 1.4, "ms": 7.0}
ALONE: Final = Look(line=COMPUTED, dots=MEASURED, held_out=DIAMOND)


ARROW: Final[dict[str, Any]] = {"ls": "none", "mfc": "none", "mew": 1.5, "ms": 18, "zorder": 4}
ARROW_LENGTH: Final = 1.3  # factor that an arrow of this size spans [1]


def looks_of(traces: Sequence[SeriesTrace], *, is_ordered: bool) -> list[Look]:
    """How several series in one panel are drawn; `is_ordered` where an axis tells them apart."""
    if len(traces) == 1:
        return [ALONE]
    colours: Any = MACHINE_COLOURS
    if is_ordered:
        colours = graded(np.linspace(0, PALEST, len(traces)))
    looks = []
    for marker, colour in zip(MARKERS, colours, strict=False):
        edged = {"marker": marker, "color": colour, **EDGED}
        looks.append(
            Look(
                line=colour, dots=colour, held_out=edged, marker=marker, band=0.13, is_alone=False
            )
        )
    return looks[: len(traces)]


def draw_panel(
    ax: "Axes",
    traces: Sequence[SeriesTrace],
    looks: Sequence[Look],
    quantity: Quantity,
    counts: Array,
) -> tuple[float, float]:
    """Draw series with labels for the legend; give the least and most to be seen [s] or [1].

    `counts` are all those of the axis. The line of ideal scaling and the far ends of a band that
    would flatten all else need not be seen.
    """
    length = max(float(np.log(counts[-1] / counts[0])), 1e-9)  # a single count has none
    scale = inches(ax)[0] * (1 - 2 * MARGIN) * INCH / length
    limits = [_draw(ax, x, look, quantity, scale) for x, look in zip(traces, looks, strict=True)]
    if len(traces) > 1:
        _explain(ax, traces, quantity)
    alike = len({trace.base[0] for trace in traces}) == 1
    is_common = quantity != "time" and alike
    if is_common or (len(traces) == 1 and traces[0].at is None):
        _draw_ideal(ax, traces[0], quantity, counts)
    plain_axes(ax)
    return min(low for low, _ in limits), max(high for _, high in limits)


def _draw(
    ax: "Axes", trace: SeriesTrace, look: Look, quantity: Quantity, scale: float
) -> tuple[float, float]:
    """Draw one series; `scale` are points for a factor of e."""
    along = trace.line.p
    line, low, high = (
        trace.value(quantity, along, time)
        for time in (trace.line.time, trace.line.lower, trace.line.upper)
    )
    measured = trace.value(quantity, trace.p, trace.time)
    held_out = trace.value(quantity, trace.held_out_p, trace.held_out_time)

    kept = apart(np.log(trace.p) * scale)
    if kept.size:
        dots = {"ls": "none", "color": look.dots, "marker": look.marker, "ms": 5, "zorder": 4}
        ax.plot(trace.p[kept], measured[kept], **dots, label=_named(RUNS, look))
    if held_out.size:
        style = {"ls": "none", "zorder": 4, **look.held_out}
        ax.plot(trace.held_out_p, held_out, **style, label=_named(HELD_OUT, look))
    stopped = trace.value(quantity, trace.stopped_p, trace.stopped_time)
    if stopped.size:
        style = {**ARROW, "color": look.dots, "marker": arrow(is_up=quantity == "time")}
        ax.plot(trace.stopped_p, stopped, **style, label=_named(STOPPED, look))
    _draw_line(ax, trace, look, line)
    _draw_requested(ax, trace, look, quantity, scale)
    elsewhere = _draw_elsewhere(ax, trace, quantity)
    if trace.knee is not None and along[0] <= trace.knee <= along[-1]:
        _mark_knee(ax, trace.knee, quantity, RECOMMENDED if look.is_alone else look.line)
    if trace.planned_p.size:
        _mark_planned(ax, trace, quantity)
    if len(along) > 1:
        style = {"color": look.line, "alpha": look.band, "label": _named(_band(trace), look)}
        ax.fill_between(along, low, high, lw=0, **style)
    else:
        style = {"color": look.line, "alpha": 0.4, "label": _named(_band(trace), look)}
        ax.vlines(along, low, high, lw=5, zorder=1.9, **style)
    bars = np.sort(
        [trace.value(quantity, trace.p, trace.time * np.exp(k * trace.spread)) for k in (-1, 1)],
        axis=0,
    )
    if trace.spread.any():
        reach = np.abs(bars - measured)[:, kept]
        drawn = ax.errorbar(trace.p[kept], measured[kept], reach, ecolor=look.dots, **BAR)
        drawn.set_label(_named(SPREAD, look))
    heads = stopped * ARROW_LENGTH ** (1 if quantity == "time" else -1)
    told = np.concatenate([line, *bars, held_out, stopped, heads, elsewhere])
    band = np.clip([low, high], told.min() / WIDEST_BAND, told.max() * WIDEST_BAND)
    return float(min(told.min(), band.min())), float(max(told.max(), band.max()))


def _band(trace: SeriesTrace) -> str:
    """Name the band."""
    return f"{format_quantity(trace.interval, 'fraction')} interval"


def _named(kind: str, look: Look) -> str:
    """Label of what is drawn; a legend does not show it where `_explain` does."""
    return kind if look.is_alone else f"_{kind}"


def _draw_line(ax: "Axes", trace: SeriesTrace, look: Look, line: Array) -> None:
    """Draw the line: solid within the measured counts, dashed beyond."""
    along, within = trace.line.p, trace.within
    if within.sum() > 1:
        ax.plot(along, np.where(within, line, np.nan), color=look.line, lw=1.7, label="_within")
    beyond = ~within
    beyond[1:] |= ~within[:-1]
    beyond[:-1] |= ~within[1:]
    if beyond.sum() > 1:
        dashed = np.where(beyond, line, np.nan)  # one line, with a gap where there are runs
        style = {"ls": (0, (4, 1.6)), "lw": 1.7, "color": look.line}
        ax.plot(along, dashed, **style, label=_named(FORECAST, look))


def _draw_requested(
    ax: "Axes", trace: SeriesTrace, look: Look, quantity: Quantity, scale: float
) -> None:
    """Draw the counts asked for, those that stand apart."""
    p, order = np.unique(trace.requested_p, return_index=True)
    kept = apart(np.log(p) * scale)
    if not kept.size:
        return
    times = trace.requested_time[order][kept]
    heights = trace.value(quantity, p[kept], times)
    style = {"ls": "none", "color": look.line, "marker": look.marker, "ms": 5, "zorder": 3.5}
    ax.plot(p[kept], heights, **style, mfc="white", label="_asked for")


def _draw_ideal(ax: "Axes", trace: SeriesTrace, quantity: Quantity, counts: Array) -> None:
    """Draw ideal scaling over the whole axis."""
    along = np.geomspace(counts[0], counts[-1], 2)
    ideal = trace.value(quantity, along, trace.ideal_time(along))
    ax.plot(along, ideal, ":", color=REFERENCE, lw=1.4, zorder=1.8, label=_ideal(trace))


def _ideal(trace: SeriesTrace) -> str:
    """Name the line of ideal scaling: that of the reading of the runs."""
    return f"ideal {'strong' if trace.is_strong else 'weak'} scaling"


def _explain(ax: "Axes", traces: Sequence[SeriesTrace], quantity: Quantity) -> None:
    """Name in grey what is drawn of every series, without drawing anything."""
    grey: dict[str, Any] = {"color": REFERENCE, "ms": 5}
    if any(trace.p.size for trace in traces):
        ax.plot([], [], marker="o", lw=1.7, **grey, label=RUNS)
    if any(trace.held_out_p.size for trace in traces):
        ax.plot([], [], "o", color=REFERENCE, **EDGED, label=HELD_OUT)
    if any(trace.stopped_p.size for trace in traces):
        is_up = quantity == "time"
        ax.plot([], [], **ARROW, color=REFERENCE, marker=arrow(is_up=is_up), label=STOPPED)
    if not all(trace.within.all() for trace in traces):
        ax.plot([], [], ls=(0, (4, 1.6)), lw=1.7, marker="o", mfc="white", **grey, label=FORECAST)
    ax.fill_between([], [], [], color=REFERENCE, alpha=0.25, lw=0, label=_band(traces[0]))
    if any(trace.spread.any() for trace in traces):
        ax.errorbar([], [], [], ecolor=REFERENCE, **BAR, label=SPREAD)


def _draw_elsewhere(ax: "Axes", trace: SeriesTrace, quantity: Quantity) -> Array:
    """Draw how it would go on as on each machine that was used, and give what was drawn."""
    along, label = trace.line.p, OF_ANOTHER
    drawn = [trace.value(quantity, along, times) for times in trace.line.elsewhere.values()]
    for line in drawn:
        ax.plot(along, line, color=ELSEWHERE, lw=0.9, zorder=1.9, label=label)
        label = "_another machine"
    values = np.concatenate([np.empty(0), *drawn])
    return np.asarray(values[np.isfinite(values)])


def _mark_knee(ax: "Axes", knee: int, quantity: Quantity, colour: Any) -> None:
    """Draw an upright line where the knee is, with its count at the end that is mostly free."""
    is_falling = quantity == "time"  # where an upper corner is free, else a lower one
    end, inwards, side = (1.0, -2, "top") if is_falling else (0.0, 4, "bottom")
    ax.axvline(knee, color=colour, lw=1.4, ls=(0, (7, 2)), label=KNEE)
    ax.annotate(
        f"knee {knee}",
        (knee, end),
        xycoords=ax.get_xaxis_transform(),
        xytext=(-2, inwards),
        textcoords="offset points",
        rotation=90,
        ha="right",
        va=side,
        color=colour,
        fontsize="small",
    )


def _mark_planned(ax: "Axes", trace: SeriesTrace, quantity: Quantity) -> None:
    """Draw the runs to make next at their forecast times, each with its number in the plan."""
    heights = trace.value(quantity, trace.planned_p, trace.planned_time)
    (mark,) = ax.plot(trace.planned_p, heights, "^", color=RECOMMENDED, ms=8, zorder=4.2)
    mark.set(label=NEXT, markerfacecolor="white", markeredgewidth=1.8)
    for number, place in enumerate(zip(trace.planned_p, heights, strict=True), start=1):
        ax.annotate(
            str(number),
            place,
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            color=RECOMMENDED,
            fontsize="small",
        )


LINE: Final = 11.0  # from one name to the next, at least [pt]
BESIDE: Final = 9.0  # from the end of a line to its name [pt]
LONGEST: Final = 24  # characters of a name


@dataclass(frozen=True, slots=True)
class End:
    """The right end of a line, and what is written there."""

    name: str
    p: float  # [1]
    value: float  # [s] or [1]
    colour: Any


def ends_of(
    traces: Sequence[SeriesTrace], looks: Sequence[Look], names: Sequence[str], quantity: Quantity
) -> list[End]:
    """Ends of the lines that need a name: of several series, or of the machines of one."""
    if len(traces) > 1:
        return [
            End(
                name,
                float(x.line.p[-1]),
                float(x.value(quantity, x.line.p, x.line.time)[-1]),
                look.line,
            )
            for x, look, name in zip(traces, looks, names, strict=True)
        ]
    (trace,) = traces
    ends = []
    for name, times in trace.line.elsewhere.items():
        known = np.flatnonzero(np.isfinite(times))[-1:]  # its machine may have no larger count
        for p, value in zip(
            trace.line.p[known],
            trace.value(quantity, trace.line.p[known], times[known]),
            strict=True,
        ):
            ends.append(End(name, float(p), float(value), ELSEWHERE))
    return ends


def name_ends(ax: "Axes", ends: Sequence[End]) -> None:
    """Write names at the right ends of lines, where room is short those that come first.

    All else must be drawn, since that decides how large the axes are.
    """
    if not ends:
        return
    lay_out(ax)
    frame, points = ax.get_window_extent(), INCH / ax.figure.dpi
    bottom, top = frame.y0 * points, frame.y1 * points
    named = list(ends)[: max(int((top - bottom) / LINE), 1)]
    heights = ax.transData.transform([(end.p, end.value) for end in named])[:, 1] * points
    places = spread(heights, LINE, low=bottom, high=top)
    for end, height, place in zip(named, heights, places, strict=True):
        leader = {
            "arrowstyle": "-",
            "color": end.colour,
            "lw": 0.6,
            "relpos": (0.0, 0.5),  # from the left of the name
            "shrinkA": 0,
            "shrinkB": 0,
        }
        ax.annotate(
            shown(end.name, limit=LONGEST),
            (end.p, end.value),
            xytext=(BESIDE, place - height),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=end.colour,
            parse_math=False,
            arrowprops=leader if abs(place - height) > LINE / 4 else None,
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
