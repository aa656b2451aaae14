"""The picture of a match: time over processors and over cost, a curve for each machine.

Where no machine has a price, time over processors is all. The band is the 90% interval: a run
that takes longer costs more, so that it lies askew over cost, where a curve is faint at counts
that are dearer than others and no faster. What lies beyond the limits is shaded, the count that
was chosen is ringed. Counts that were run are filled, those that are forecast or predicted are
hollow.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.deciding.goals.configurations import front_of
from parcast.deciding.goals.picture import scale_cost
from parcast.deciding.machines.result import Candidate, Match
from parcast.deciding.machines.sheet import title_of
from parcast.show.pictures import canvas, colours
from parcast.show.pictures.scales import scale_p, scale_rate, scale_time
from parcast.show.warning import verdicts
from parcast.units import format_quantity, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT: Final = 4.2  # of a panel [inch]
LONGEST: Final = 40  # characters of a machine's name
WIDEST_BAND: Final = 20.0  # seen of an interval, times what is told
FAR: Final = 3.0  # from what is drawn, up to which a limit is shown


def figure_of_match(match: Match, ax: "Axes | None" = None) -> "Figure":
    """One figure, 8 inches wide; in `ax` its last panel alone.

    Of more than 8 machines the first 8 of the ranking are drawn.
    """
    priced = [x for x in match.candidates if x.cost is not None]
    drawn = (priced or match.candidates)[: len(colours.MACHINE_COLOURS)]
    heads = canvas.heads_of(verdicts(match.warnings))
    if ax is not None:
        canvas.add_heads(ax, heads)
        _draw_panel(ax, match, drawn, over_cost=bool(priced))
        canvas.add_legend_inside(ax, canvas.entries_of([ax]))
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    left = len(match.candidates) - len(drawn)
    notes = [f"{left} more without a curve"] if left else []
    if match.reading is not None:
        notes.append(f"{match.reading.name.capitalize()} scaling ({match.reading.reason}).")
    notes += canvas.sources_of(match.inputs)
    with canvas.writer().style():
        panels = 2 if priced else 1
        figure = canvas.writer().new_figure(height=HEIGHT * panels)
        own = figure.subplots(panels, 1, squeeze=False)[:, 0]
        for i, panel in enumerate(own):
            _draw_panel(panel, match, drawn, over_cost=i > 0)
        title = "\n".join([title_of(match), *heads])
        figure.suptitle(title, fontsize="large", parse_math=False)
        canvas.writer().add_legend(figure, canvas.entries_of(own), notes=notes)
    return figure


def _draw_panel(
    ax: "Axes", match: Match, candidates: Sequence[Candidate], *, over_cost: bool
) -> None:
    """Draw the times of all machines over processors, or over cost."""
    ends = [_ends(x, over_cost=over_cost) for x in candidates]
    _scale(ax, match, candidates, ends, over_cost=over_cost)
    for i, (candidate, (low, high)) in enumerate(zip(candidates, ends, strict=True)):
        colour, marker = colours.MACHINE_COLOURS[i], colours.MARKERS[i]
        time, x = candidate.time, candidate.cost if over_cost else candidate.p
        assert x is not None
        kept = np.sort(front_of(time, x)) if over_cost else np.arange(len(x))
        band = (np.concatenate([low[k][kept], high[k][kept[::-1]]]) for k in (0, 1))
        ax.fill(*band, color=colour, alpha=0.18, lw=0)
        style = "-" if candidate.fits else (0, (5, 2))
        ax.plot(x, time, lw=1.0, color=colour, alpha=0.4)
        ax.plot(x[kept], time[kept], lw=1.9, color=colour, ls=style)
        known = candidate.measured
        mark: dict[str, Any] = {"color": colour, "marker": marker, "ms": 5.5}
        ax.plot(x[~known], time[~known], ls="none", mfc="white", **mark)
        ax.plot(x[known], time[known], ls="none", **mark)
        ring: dict[str, Any] = {"mec": colour, "mfc": "none", "mew": 2.0, "ms": 15.0}
        ax.plot(x[candidate.chosen], time[candidate.chosen], "o", **ring)
        name = shown(candidate.machine, limit=LONGEST)
        label = f"{name}, p = {candidate.best_p}" + ("" if candidate.fits else ": does not fit")
        fill: dict[str, Any] = {} if known.any() else {"mfc": "white"}
        ax.plot([], [], lw=1.9, ls=style, label=label, **mark, **fill)
    _draw_limits(ax, match, over_cost=over_cost)
    known = np.concatenate([x.measured for x in candidates])
    grey: dict[str, Any] = {"color": colours.REFERENCE, "marker": "o", "ms": 5.5, "ls": "none"}
    if known.any():
        ax.plot([], [], label="filled: measured", **grey)
    if not known.all():
        label = f"hollow: {'predicted' if match.program else 'forecast'}"
        ax.plot([], [], label=label, mfc="white", **grey)
    canvas.plain_axes(ax)


def _ends(
    candidate: Candidate, *, over_cost: bool
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Lower and upper ends of what lies along both axes, cut where they reach very far."""

    def cut(end: Array | None, value: Array) -> Array:
        return np.clip(value if end is None else end, value / WIDEST_BAND, value * WIDEST_BAND)

    x, time = candidate.cost if over_cost else candidate.p, candidate.time
    assert x is not None
    own = (candidate.cost_lower, candidate.cost_upper) if over_cost else (x, x)
    low = cut(own[0], x), cut(candidate.lower, time)
    return low, (cut(own[1], x), cut(candidate.upper, time))


def _scale(
    ax: "Axes",
    match: Match,
    candidates: Sequence[Candidate],
    ends: Sequence[Any],
    *,
    over_cost: bool,
) -> None:
    """Make the axes, with room for limits that are not far off."""

    def span(k: int, limit: float | None) -> tuple[float, float]:
        every = np.concatenate([side[k] for low_high in ends for side in low_high])
        low, high = float(every.min()), float(every.max())
        near = [limit] if limit is not None and low / FAR < limit < high * FAR else []
        return min(low, *near, high), max(high, *near, low)

    if over_cost:
        unit = shown(match.currency, limit=20)
        scale_cost(ax, *span(0, match.budget), f"cost [{unit}]" if unit else "cost")
    else:
        counts = np.unique(np.concatenate([x.p for x in candidates]))
        scale_p(ax, counts)
    low, high = span(1, match.within)
    if match.measure.is_relative:
        scale_rate(ax, low, high, match.measure.time_title)
    else:
        times = [float(x.time[x.chosen]) for x in match.candidates]
        scale_time(ax, low, high, match.measure.time_unit(times))


def _draw_limits(ax: "Axes", match: Match, *, over_cost: bool) -> None:
    """Shade what is not allowed, and draw the lines that bound it."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    style: dict[str, Any] = {"color": colours.NOT_ALLOWED, "lw": 0, "zorder": 0.5}
    line: dict[str, Any] = {"color": colours.REFERENCE, "lw": 1.3, "zorder": 1.5}
    if match.within is not None:
        ax.axhspan(min(max(match.within, bottom), top), top, **style)
        label = f"longest time, {format_quantity(match.within, 'time')}"
        ax.axhline(match.within, label=label, ls=(0, (1, 1.5)), **line)
    if match.goals.budget is not None and over_cost:
        budget = match.goals.budget.amount
        ax.axvspan(min(max(budget, left), right), right, **style)
        ax.axvline(budget, label=f"budget, {match.goals.budget}", ls=(0, (6, 1.5, 1, 1.5)), **line)
    ax.set(xlim=(left, right), ylim=(bottom, top))
