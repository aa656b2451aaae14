"""The picture of a match: what a shorter time costs, a curve for each machine.

Along a curve processors are added; it is faint where they make the program dearer and no faster.
The band is the 90 % interval: a run that takes longer costs more, so that it lies askew. What lies
beyond the limits is shaded, the count that was chosen is ringed. Counts that were run are filled,
those that are forecast or predicted are hollow. Where no machine has a price, time is drawn over
processors instead.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.matching.labels import RING, WIDEST_BAND, TradeCurve, curve_of, name_counts
from parcast.matching.result import Candidate, Match
from parcast.matching.sheet import title_of
from parcast.show import canvas, colours
from parcast.show.scales import MARGIN, round_ticks, scale_p, scale_rate, scale_time
from parcast.show.warning import verdicts
from parcast.timings.measure import seconds_in
from parcast.units import format_quantity, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


MOST_TICKS: Final = 8
LONGEST: Final = 40  # characters of a machine's name


def figure_of_match(match: Match, ax: "Axes | None" = None) -> "Figure":
    """One figure, 8 inches wide: cost over time, or time over processors without prices.

    In `ax`, or in new axes. Of more than 8 machines the first 8 of the ranking are drawn.
    """
    priced = [x for x in match.candidates if x.cost is not None]
    shown_ones = (priced or match.candidates)[: len(colours.MACHINE_COLOURS)]
    curves = [curve_of(x, has_cost=bool(priced)) for x in shown_ones]
    heads = canvas.heads_of(verdicts(match.warnings))
    if ax is not None:
        canvas.add_heads(ax, heads)
        limits = _draw_all(ax, match, shown_ones, curves, over_time=bool(priced))
        canvas.add_legend_inside(ax, canvas.entries_of([ax]))
        name_counts(ax, shown_ones, curves, limits, only_chosen=not priced)
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    left = len(match.candidates) - len(shown_ones)
    notes = [f"{left} more without a curve"] if left else []
    if match.reading is not None:
        notes.append(f"{match.reading.name.capitalize()} scaling ({match.reading.reason}).")
    with canvas.house_style():
        figure = canvas.new_figure(height=5.4)
        own = figure.subplots()
        limits = _draw_all(own, match, shown_ones, curves, over_time=bool(priced))
        title = "\n".join([title_of(match), *heads])
        figure.suptitle(title, fontsize="large", parse_math=False)
        canvas.add_legend(
            figure, canvas.entries_of([own]), notes=[*notes, *canvas.sources_of(match.inputs)]
        )
        name_counts(own, shown_ones, curves, limits, only_chosen=not priced)
    return figure


def _draw_all(
    ax: "Axes",
    match: Match,
    candidates: Sequence[Candidate],
    curves: Sequence[TradeCurve],
    *,
    over_time: bool,
) -> list["Line2D"]:
    """Draw all but the names of counts, and give the lines of the limits."""
    (_scale_trade if over_time else _scale_plain)(ax, match, curves)
    for i, (candidate, curve) in enumerate(zip(candidates, curves, strict=True)):
        _draw(ax, candidate, curve, i)
    limits = _draw_limits(ax, match, over_time=over_time)
    _explain_markers(ax, candidates, is_program=bool(match.program))
    canvas.plain_axes(ax)
    return limits


def _draw(ax: "Axes", candidate: Candidate, curve: TradeCurve, i: int) -> None:
    """Draw the band, the curve, its counts and the one that was chosen."""
    colour, marker = colours.MACHINE_COLOURS[i], colours.MARKERS[i]
    kept = curve.within()
    x, y = (
        np.concatenate([low, high[::-1]]) for low, high in zip(kept.low, kept.high, strict=True)
    )
    ax.fill(x, y, color=colour, alpha=0.18, lw=0)
    if not curve.useful.all():
        faint = {"color": colour, "alpha": 0.4}
        ax.plot(curve.x, curve.y, lw=1.0, **faint)  # type: ignore[arg-type]  # styles
        known = candidate.measured
        _mark(ax, curve.x, curve.y, known, {"marker": marker, "ms": 3.5, "mew": 0.8, **faint})
    at = candidate.chosen
    ends = [[curve.low[0][at], curve.high[0][at]], [curve.low[1][at], curve.high[1][at]]]
    ax.plot(*ends, color=colour, lw=3.2, alpha=0.55, solid_capstyle="butt")
    name = shown(candidate.machine, limit=LONGEST)
    label = f"{name}, p = {candidate.best_p}" + ("" if candidate.fits else ": does not fit")
    style = "-" if candidate.fits else (0, (5, 2))
    ax.plot(kept.x, kept.y, color=colour, lw=1.9, ls=style)
    known = candidate.measured[curve.useful]
    mark = {"color": colour, "marker": marker, "ms": 5.5}
    _mark(ax, kept.x, kept.y, known, mark)
    fill = {} if known.any() else {"mfc": "white"}
    ax.plot([], [], lw=1.9, ls=style, label=label, **mark, **fill)  # type: ignore[arg-type]  # styles
    ring = {"mec": colour, "mfc": "none", "mew": 2.0, "ms": RING}
    ax.plot(curve.x[at], curve.y[at], "o", **ring)  # type: ignore[arg-type]  # styles of a marker


def _mark(ax: "Axes", x: Array, y: Array, known: NDArray[np.bool_], style: dict[str, Any]) -> None:
    """Draw the counts of a curve: filled where the program was run, hollow elsewhere."""
    ax.plot(x[~known], y[~known], ls="none", mfc="white", **style)
    ax.plot(x[known], y[known], ls="none", **style)


def _explain_markers(ax: "Axes", candidates: Sequence[Candidate], *, is_program: bool) -> None:
    """Say in the legend what is filled and what is hollow."""
    known = np.concatenate([x.measured for x in candidates])
    style = {"color": colours.REFERENCE, "marker": "o", "ms": 5.5, "ls": "none"}
    if known.any():
        ax.plot([], [], label="filled: measured", **style)  # type: ignore[arg-type]  # styles
    if not known.all():
        label = "hollow: predicted" if is_program else "hollow: forecast"
        ax.plot([], [], label=label, mfc="white", **style)  # type: ignore[arg-type]  # styles


def _scale_trade(ax: "Axes", match: Match, curves: Sequence[TradeCurve]) -> None:
    """Make axes of time and cost, with room for the limits."""
    useful = [curve.within() for curve in curves]
    times, costs = (
        np.concatenate([np.concatenate([c.low[k], c.high[k]]) for c in useful]) for k in (0, 1)
    )
    low, high = _span(times, match.within)
    unit = _unit(match)
    factor = seconds_in(unit)
    ticks = round_ticks(low / factor, high / factor, MOST_TICKS)
    title = match.measure.time_title + ("" if unit == "1" else f" [{unit}]")
    ax.set(
        xscale="log",
        xlim=(low, high),
        xlabel=f"{title}    (numbers: processors; bands: 90 % intervals)",
    )
    ax.set_xticks([x * factor for x in ticks], labels=[f"{x:.6g}" for x in ticks])
    low, high = _span(costs, match.budget)
    ticks = round_ticks(low, high, MOST_TICKS)
    ax.set(yscale="log", ylim=(low, high))
    ax.set_yticks(ticks, labels=[f"{x:.6g}" for x in ticks])
    money = f"cost [{shown(match.currency, limit=20)}]" if match.currency else "cost"
    ax.set_ylabel(money, parse_math=False)
    ax.minorticks_off()


def _scale_plain(ax: "Axes", match: Match, curves: Sequence[TradeCurve]) -> None:
    """Make axes of processors and time."""
    counts = np.unique(np.concatenate([c.x for c in curves]))
    times = np.concatenate([np.concatenate([c.low[1], c.high[1]]) for c in curves])
    if len(counts) > 1:
        scale_p(ax, counts)
    else:
        ax.set_xlabel("processors p")
        ax.set_xticks(counts, labels=[f"{x:.0f}" for x in counts])
    low, high = _span(times, match.within)
    if match.measure.is_relative:
        scale_rate(ax, low, high, match.measure.time_title)
    else:
        scale_time(ax, low, high, _unit(match))


def _unit(match: Match) -> str:
    """Unit of the times in the table."""
    return match.measure.time_unit([float(x.time[x.chosen]) for x in match.candidates])


def _span(values: Array, limit: float | None) -> tuple[float, float]:
    """Ends of a logarithmic axis that shows values, and a limit that is not far off."""
    low, high = float(values.min()), float(values.max())
    if limit is not None:
        low, high = (
            max(min(low, limit / 1.2), low / WIDEST_BAND),
            min(max(high, limit * 1.2), high * WIDEST_BAND),
        )
    room = max(high / low, 1.5) ** (1.5 * MARGIN)
    return low / room, high * room


def _draw_limits(ax: "Axes", match: Match, *, over_time: bool) -> list["Line2D"]:
    """Shade what is not allowed, and give the lines that bound it."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    style = {"color": colours.NOT_ALLOWED, "lw": 0, "zorder": 0.5}
    line = {"color": colours.REFERENCE, "lw": 1.3, "ls": (0, (1, 1.5)), "zorder": 1.5}
    drawn = []
    if match.within is not None:
        label = f"longest time, {format_quantity(match.within, 'time')}"
        if over_time:
            ax.axvspan(min(max(match.within, left), right), right, **style)  # type: ignore[arg-type]  # styles
            drawn.append(ax.axvline(match.within, label=label, **line))  # type: ignore[arg-type]  # styles
        else:
            ax.axhspan(min(max(match.within, bottom), top), top, **style)  # type: ignore[arg-type]  # styles
            drawn.append(ax.axhline(match.within, label=label, **line))  # type: ignore[arg-type]  # styles
    if match.budget is not None and over_time:
        label = f"budget, {match.budget:g} {match.currency}".rstrip()
        ax.axhspan(min(max(match.budget, bottom), top), top, **style)  # type: ignore[arg-type]  # styles
        line["ls"] = (0, (6, 1.5, 1, 1.5))
        drawn.append(ax.axhline(match.budget, label=label, **line))  # type: ignore[arg-type]  # styles
    ax.set(xlim=(left, right), ylim=(bottom, top))
    return drawn
