"""The picture of a match: what a shorter time costs, a curve for each machine.

Along a curve processors are added; it is faint where they make the program dearer and no faster.
The band is the 90 % interval: a run that takes longer costs more, so that it lies askew. What lies
beyond the limits is shaded, the count that was chosen is ringed. Where no machine has a price,
time is drawn over processors instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from parcast.match_result import Candidate, Match
from parcast.plot.canvas import house_style, new_figure, save_figure
from parcast.plot.scales import MARGIN, round_ticks, scale_p, scale_time
from parcast.text.match_answer import title_of
from parcast.units import TIME_UNITS, format_quantity, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

# Of M. Okabe and K. Ito, "Color Universal Design", 2008, each with a marker of its own.
COLOURS: Final = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#757575"),
)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "h")
PALE, GREY, SHADE = "#E4E4E4", "#757575", "#F1EDE6"
WIDEST_BAND: Final = 20.0  # seen of an interval, times what is told
MOST_TICKS: Final = 8
LONGEST: Final = 40  # characters of a machine's name
APART: Final = (0.04, 0.05)  # of two named counts, as shares of the axes [1]


def draw_match(match: Match, path: str | PathLike[str]) -> None:
    """Draw a match into a file: the same match gives the same bytes.

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.
    ParameterError
        If `path` ends in none of ``.svg``, ``.png`` and ``.pdf``.
    OSError
        If the file cannot be written; what was there before is still there.
    """
    save_figure(figure_of_match(match), path)


SHORT, MIDDLING = 28, 45  # longest label of a legend of three and of two columns


def figure_of_match(match: Match) -> "Figure":
    """One figure of a match: cost over time, or time over processors without prices.

    Parameters
    ----------
    match : Match
        What to draw; of more than 8 machines the first 8 of the ranking.

    Returns
    -------
    matplotlib.figure.Figure
        8 inches wide. It is not shown; `save_figure` writes it to a file.

    Raises
    ------
    MissingPackage
        If matplotlib is not installed.

    Examples
    --------
    >>> from parcast import Measurements
    >>> from parcast.verbs.match import match
    >>> runs = Measurements(p=[1, 2, 4], time=[90, 50, 30], machine="A")
    >>> figure_of_match(match(runs, prices={"A": 2})).get_suptitle()
    'Machines by least time'
    """
    priced = [x for x in match.candidates if x.cost is not None]
    shown_ones = (priced or match.candidates)[: len(COLOURS)]
    with house_style():
        figure = new_figure(height=5.8)
        ax = figure.subplots()
        curves = [_curve(x, has_cost=bool(priced)) for x in shown_ones]
        (_scale_trade if priced else _scale_plain)(ax, match, curves)
        for i, (candidate, curve) in enumerate(zip(shown_ones, curves, strict=True)):
            _draw(ax, candidate, curve, i)
        _name_counts(ax, shown_ones, curves, only_chosen=not priced)
        _draw_limits(ax, match, over_time=bool(priced))
        ax.grid(color=PALE, lw=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        labels = [str(line.get_label()) for line in ax.get_lines()]
        longest = max(len(label) for label in labels if not label.startswith("_"))
        columns = 3 if longest <= SHORT else 2 if longest <= MIDDLING else 1
        legend = figure.legend(loc="outside lower center", ncols=columns, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
        left = len(match.candidates) - len(shown_ones)
        if left:
            figure.text(0.995, 0.005, f"{left} more without a curve", ha="right", color=GREY)
        figure.suptitle(title_of(match), fontsize="large", parse_math=False)
    return figure


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """One machine as it is drawn: x and y, in the middle and at the ends of the interval."""

    x: Array
    y: Array
    low: tuple[Array, Array]
    high: tuple[Array, Array]
    useful: NDArray[np.bool_]  # counts to which none is preferred in time and cost both

    def within(self) -> "_Curve":
        """Keep the useful counts only."""
        keep = self.useful
        low, high = ((ends[0][keep], ends[1][keep]) for ends in (self.low, self.high))
        return _Curve(self.x[keep], self.y[keep], low, high, keep[keep])


def _curve(candidate: Candidate, *, has_cost: bool) -> _Curve:
    """Lay out one machine: cost over time [s], or time [s] over processors."""
    time, cost = candidate.time, candidate.cost
    lower, upper = (np.clip(t, time / WIDEST_BAND, time * WIDEST_BAND) for t in _ends(candidate))
    if not has_cost or cost is None:
        everything = np.ones(len(time), dtype=bool)
        return _Curve(candidate.p, time, (candidate.p, lower), (candidate.p, upper), everything)
    least = cost if candidate.cost_lower is None else candidate.cost_lower
    most = cost if candidate.cost_upper is None else candidate.cost_upper
    least, most = (np.clip(c, cost / WIDEST_BAND, cost * WIDEST_BAND) for c in (least, most))
    no_worse = (time[:, None] >= time) & (cost[:, None] >= cost)
    better = no_worse & ((time[:, None] > time) | (cost[:, None] > cost))
    useful = np.logical_not(np.any(better, axis=1, keepdims=True)).ravel()
    useful[candidate.chosen] = True
    return _Curve(time, cost, (lower, least), (upper, most), useful)


def _ends(candidate: Candidate) -> tuple[Array, Array]:
    """Ends of the interval of time. [s]."""
    return candidate.lower, candidate.upper


def _draw(ax: "Axes", candidate: Candidate, curve: _Curve, i: int) -> None:
    """Draw the band, the curve, its counts and the one that was chosen."""
    colour, marker = COLOURS[i], MARKERS[i]
    kept = curve.within()
    x, y = (
        np.concatenate([low, high[::-1]]) for low, high in zip(kept.low, kept.high, strict=True)
    )
    ax.fill(x, y, color=colour, alpha=0.18, lw=0)
    if not curve.useful.all():
        ax.plot(curve.x, curve.y, color=colour, lw=1.0, alpha=0.4, marker=marker, ms=2.5)
    name = shown(candidate.machine, limit=LONGEST)
    label = f"{name}, p = {candidate.best_p}" + ("" if candidate.fits else ": does not fit")
    style = "-" if candidate.fits else (0, (5, 2))
    ax.plot(kept.x, kept.y, color=colour, marker=marker, ms=5.5, lw=1.9, ls=style, label=label)
    at = candidate.chosen
    ends = [[curve.low[0][at], curve.high[0][at]], [curve.low[1][at], curve.high[1][at]]]
    ax.plot(*ends, color=colour, lw=3.2, alpha=0.55, solid_capstyle="butt")
    ring = {"mec": colour, "mfc": "none", "mew": 2.0, "ms": 15}
    ax.plot(curve.x[at], curve.y[at], "o", **ring)  # type: ignore[arg-type]  # styles of a marker


def _name_counts(
    ax: "Axes", candidates: Sequence[Candidate], curves: Sequence[_Curve], *, only_chosen: bool
) -> None:
    """Write counts beside their points: the chosen ones, and others as far as there is room."""
    from matplotlib.patheffects import withStroke

    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = [
        (j != candidate.chosen, i, j)
        for i, (candidate, curve) in enumerate(zip(candidates, curves, strict=True))
        for j in np.flatnonzero(curve.useful).tolist()
        if j == candidate.chosen or not only_chosen
    ]
    taken: list[Array] = []
    for is_minor, i, j in sorted(wanted):
        point = (float(curves[i].x[j]), float(curves[i].y[j]))
        place = np.asarray(to_axes.transform(point))
        if is_minor and any(np.all(np.abs(place - other) < APART) for other in taken):
            continue
        taken.append(place)
        ax.annotate(
            f"{candidates[i].p[j]:.0f}",
            point,
            xytext=(6, 5) if is_minor else (8, 9),
            textcoords="offset points",
            fontsize="small",
            fontweight="normal" if is_minor else "bold",
            color=COLOURS[i],
            annotation_clip=True,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )


def _scale_trade(ax: "Axes", match: Match, curves: Sequence[_Curve]) -> None:
    """Make axes of time and cost, with room for the limits."""
    useful = [curve.within() for curve in curves]
    times, costs = (
        np.concatenate([np.concatenate([c.low[k], c.high[k]]) for c in useful]) for k in (0, 1)
    )
    low, high = _span(times, match.within)
    unit = format_quantity((low * high) ** 0.5, "time").rpartition(" ")[2]
    factor = TIME_UNITS[unit]
    ticks = round_ticks(low / factor, high / factor, MOST_TICKS)
    ax.set(
        xscale="log",
        xlim=(low, high),
        xlabel=f"time [{unit}]    (numbers: processors; bands: 90 % intervals)",
    )
    ax.set_xticks([x * factor for x in ticks], labels=[f"{x:.6g}" for x in ticks])
    low, high = _span(costs, match.budget)
    ticks = round_ticks(low, high, MOST_TICKS)
    ax.set(yscale="log", ylim=(low, high))
    ax.set_yticks(ticks, labels=[f"{x:.6g}" for x in ticks])
    money = f"cost [{shown(match.currency, limit=20)}]" if match.currency else "cost"
    ax.set_ylabel(money, parse_math=False)
    ax.minorticks_off()


def _scale_plain(ax: "Axes", match: Match, curves: Sequence[_Curve]) -> None:
    """Make axes of processors and time."""
    counts = np.unique(np.concatenate([c.x for c in curves]))
    times = np.concatenate([np.concatenate([c.low[1], c.high[1]]) for c in curves])
    if len(counts) > 1:
        scale_p(ax, counts)
    else:
        ax.set_xlabel("processors p")
        ax.set_xticks(counts, labels=[f"{x:.0f}" for x in counts])
    low, high = _span(times, match.within)
    scale_time(ax, low, high)


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


def _draw_limits(ax: "Axes", match: Match, *, over_time: bool) -> None:
    """Shade what is not allowed."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    style = {"color": SHADE, "lw": 0, "zorder": 0.5}
    line = {"color": GREY, "lw": 1.3, "ls": (0, (1, 1.5)), "zorder": 1.5}
    if match.within is not None:
        label = f"longest time, {format_quantity(match.within, 'time')}"
        if over_time:
            ax.axvspan(min(max(match.within, left), right), right, **style)  # type: ignore[arg-type]  # styles
            ax.axvline(match.within, label=label, **line)  # type: ignore[arg-type]  # styles
        else:
            ax.axhspan(min(max(match.within, bottom), top), top, **style)  # type: ignore[arg-type]  # styles
            ax.axhline(match.within, label=label, **line)  # type: ignore[arg-type]  # styles
    if match.budget is not None and over_time:
        label = f"budget, {match.budget:g} {match.currency}".rstrip()
        ax.axhspan(min(max(match.budget, bottom), top), top, **style)  # type: ignore[arg-type]  # styles
        ax.axhline(match.budget, label=label, **line | {"ls": (0, (6, 1.5, 1, 1.5))})  # type: ignore[arg-type]  # styles
    ax.set(xlim=(left, right), ylim=(bottom, top))
