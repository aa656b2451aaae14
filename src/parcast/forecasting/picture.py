"""Figures of a forecast: one series in axes of your own, or all of them side by side.

They show what was measured, what is forecast from it, and how far to trust it. Names of series are
the titles of panels, broken or shortened between the parts of a name.
"""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import ceil, log10
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from parcast.errors import ParameterError
from parcast.forecasting.knee import Knee
from parcast.forecasting.panel import Panel, Quantity, draw_panel, name_elsewhere, panels_of
from parcast.forecasting.result import Forecast
from parcast.show.canvas import (
    MissingPackage,
    add_legend,
    entries_of,
    house_style,
    new_figure,
    save_figure,
    svg_text,
)
from parcast.show.scales import CHARACTER, inches, scale_efficiency, scale_p, scale_time, span
from parcast.units import shown
from parcast.words import whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parcast.forecasting.next_runs.result import PlannedRun


ENDS: Final = (r",\s+", r"->|::|/|\s+", r"->|::|[\s/,;:._-]+")  # of parts of a name, best first


def two_lines(text: str, most: int) -> list[str]:
    """Break a name between its parts; leave out the middle of one too long for two lines."""
    if len(text) <= most:
        return [text]
    for ends in ENDS:
        first = _beginning(_parts(text, ends), most)
        rest = text[len(first) :]
        if first and len(rest) <= most:
            return [first.rstrip(), rest]
    path, comma, place = text.partition(", ")
    if comma:
        return [f"{_one_line(path, most - 1)},", _one_line(place, most)]
    first = _some(text, most - 1, _beginning) or text[: most - 1]
    last = _some(text, most - 1, _ending) or text[1 - most :]
    return [f"{first}…", f"…{last}"]


def _one_line(text: str, most: int) -> str:
    """Leave out the middle of a name that is too long for a line; its end matters most.

    >>> _one_line("main->timestep->LagrangeNodal->CommSBN", 20)
    'main->…CommSBN'
    """
    if len(text) <= most:
        return text
    last = _some(text, 2 * most // 3, _ending) or text[1 - most :]
    return f"{_some(text, most - 1 - len(last), _beginning)}…{last}"


def _some(text: str, most: int, choose: Callable[[Sequence[str], int], str]) -> str:
    """Keep the parts of a name that are chosen, split as well as may be; "" if none fits."""
    chosen = (choose(_parts(text, ends), most) for ends in ENDS)
    return next(filter(None, chosen), "").strip()


def _parts(text: str, ends: str) -> list[str]:
    """Take a name apart, each part with what ends it."""
    return re.findall(f".+?(?:{ends}|$)", text)


def _beginning(parts: Sequence[str], most: int) -> str:
    """Put together the first parts, as many as fit."""
    beginnings = (text for text in accumulate(parts) if len(text.rstrip()) <= most)
    return max(beginnings, key=len, default="")


def _ending(parts: Sequence[str], most: int) -> str:
    """Put together the last parts, as many as fit."""
    return _beginning([part[::-1] for part in reversed(parts)], most)[::-1]


MOST_PANELS: Final = 9
SHARED_DECADES: Final = 4.0  # panels whose times together span more have a scale each
LONGEST_LIST: Final = 24  # characters of the counts in a title; of more counts only the ends


def draw_times(forecast: Forecast, ax: "Axes | None" = None, series: int = 0) -> "Axes":
    """Time [s] against processors [1], both logarithmic, for one series, in `ax` or in new axes.

    >>> from parcast import Measurements, forecast
    >>> runs = Measurements(p=[1, 2, 4, 8], time=[0.1, 0.052, 0.028, 0.016])
    >>> draw_times(forecast(runs, p=[16, 32])).get_ylabel()
    'time [ms]'
    """
    return _draw(forecast, ax, series, "time")


def draw_efficiency(forecast: Forecast, ax: "Axes | None" = None, series: int = 0) -> "Axes":
    """Efficiency over the smallest measured count against processors, for one series.

    As `draw_times`, but what is drawn is in processors [1] and fractions [1].
    """
    return _draw(forecast, ax, series, "efficiency")


def figure_of(
    forecast: Forecast,
    *,
    quantity: Quantity = "time",
    knees: Sequence[Knee] = (),
    planned: "Sequence[PlannedRun]" = (),
) -> "Figure":
    """One figure, 8 inches wide, for a whole forecast: a panel a series, and one legend.

    Of more than 9 series, those that take longest at the largest count asked for. `knees` are
    marked where they were reached, `planned` runs at their forecast times.
    """
    if quantity not in get_args(Quantity):
        raise ParameterError(
            "quantity",
            must='be "time" or "efficiency"',
            got=f"{quantity!r}",
            hint='Leave it out for "time".',
        )
    panels = panels_of(forecast, _longest(forecast), knees=knees, planned=planned)
    columns = {1: 1, 2: 2, 4: 2}.get(len(panels), 3)
    rows = ceil(len(panels) / columns)
    with house_style():
        figure = new_figure(height=1.4 + (3.4 if rows == 1 else 2.3 * rows))
        axes = [figure.add_subplot(rows, columns, 1 + i) for i in range(len(panels))]
        own_scales = _draw_all(axes, panels, quantity)
        for i, ax in enumerate(axes):
            if i + columns < len(axes):
                ax.set_xlabel("")
            if i % columns and not own_scales:
                ax.set_ylabel("")
                ax.tick_params(labelleft=False)
        figure.suptitle(_title(forecast, panels, quantity), fontsize="large")
        _add_legend(figure, note="\n".join(_left_out(forecast, len(panels))))
        if len(panels) == 1:
            name_elsewhere(figure, axes[0], panels[0], quantity)
    return figure


def _draw(forecast: Forecast, ax: "Axes | None", series: int, quantity: Quantity) -> "Axes":
    """Draw one series, in a new figure if need be."""
    (panel,) = panels_of(forecast, [series])
    if ax is not None:
        _draw_all([ax], [panel], quantity)
        return ax
    with house_style():
        figure = new_figure(height=5.0)
        own = figure.add_subplot()
        _draw_all([own], [panel], quantity)
        _add_legend(figure)
        name_elsewhere(figure, own, panel, quantity)
    return own


def _draw_all(axes: list["Axes"], panels: list[Panel], quantity: Quantity) -> bool:
    """Draw the panels on scales that they share, and say whether times needed one each."""
    counts = np.unique(np.concatenate([panel.counts for panel in panels]))
    limits = [draw_panel(ax, panel, quantity) for ax, panel in zip(axes, panels, strict=True)]
    low, high = span(limits)
    own_scales = quantity == "time" and log10(high / low) > SHARED_DECADES
    for ax, panel, own in zip(axes, panels, limits, strict=True):
        _name(ax, panel.label)
        scale_p(ax, counts)
        if quantity == "time":
            scale_time(ax, *(own if own_scales else (low, high)))
        else:
            scale_efficiency(ax, high)
    return own_scales


def _add_legend(figure: "Figure", note: str = "") -> None:
    """Explain below all panels what is drawn in any of them, each kind once, and add a note."""
    legend = add_legend(figure, entries_of(figure.axes), columns=3)
    legend.set_title(note)
    legend.set_alignment("left")


def _longest(forecast: Forecast) -> list[int]:
    """Which series to draw, in their order: those that take longest where most is asked."""
    times = np.reshape(forecast.time, (len(forecast.notes), np.size(forecast.p)))
    furthest = times[:, np.argmax(forecast.p)]
    return sorted(np.argsort(-furthest, kind="stable")[:MOST_PANELS].tolist())


def _name(ax: "Axes", label: str) -> None:
    """Put the name of the series above its axes: as it stands, in two lines at most."""
    most = max(int(inches(ax)[0] / CHARACTER), 12)
    text = shown(label, limit=10_000)
    ax.set_title(
        "\n".join(two_lines(text, most)), fontsize="medium", parse_math=False, usetex=False
    )


def _title(forecast: Forecast, panels: list[Panel], quantity: Quantity) -> str:
    """Say what was asked and from what it is answered."""
    requested = [str(whole(count)) for count in np.unique(forecast.p).tolist()]
    counts = " and ".join(filter(None, [", ".join(requested[:-1]), requested[-1]]))
    if len(counts) > LONGEST_LIST and len(requested) > 2:
        counts = f"{requested[0]} to {requested[-1]}"
    first, last = span([(panel.p[0], panel.p[-1]) for panel in panels])
    processors = "processor" if requested == ["1"] else "processors"
    question = f"{quantity.capitalize()} on {counts} {processors}"
    runs = f"{first:.0f} to {last:.0f}" if last > first else f"{first:.0f}"
    return f"{question}, forecast from runs on {runs}"


def _left_out(forecast: Forecast, panels: int) -> list[str]:
    """Say which series are not to be seen."""
    lines = []
    if panels < len(forecast.notes):
        lines.append(
            f"{panels} of {len(forecast.notes)} series are shown: those that take longest "
            f"at p = {np.max(forecast.p):.0f}."
        )
    if forecast.refused:
        refused = len(forecast.refused)
        lines.append(f"{refused} more series {'have' if refused > 1 else 'has'} no forecast.")
    return lines


__all__ = [
    "MissingPackage",
    "draw_efficiency",
    "draw_times",
    "figure_of",
    "save_figure",
    "svg_text",
]
