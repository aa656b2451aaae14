"""Figures of a forecast: its series in one panel, or a panel for each of them.

They show what was measured, what is forecast from it, and its interval. A forecast over several
axes has a line for each value of the first axis that has several. Names of series are the titles
of panels, broken or shortened between the parts of a name.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, log10
from typing import TYPE_CHECKING, Final, get_args

import numpy as np

from parcast.errors import ParameterError
from parcast.forecasting.knee import Knee
from parcast.forecasting.panel import (
    Look,
    Quantity,
    SeriesTrace,
    along_axis,
    baseline,
    draw_panel,
    ends_of,
    looks_of,
    name_ends,
    traces_of,
)
from parcast.forecasting.result import Forecast
from parcast.show.pictures import canvas
from parcast.show.pictures.scales import (
    CHARACTER,
    inches,
    scale_efficiency,
    scale_p,
    scale_rate,
    scale_speedup,
    scale_time,
    span,
)
from parcast.timings.series import label_of
from parcast.units import shown
from parcast.words import joined, whole

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
    return re.findall(rf".+?(?:{ends}|\Z)", text, re.DOTALL)


def _beginning(parts: Sequence[str], most: int) -> str:
    """Put together the first parts, as many as fit."""
    beginnings = (text for text in accumulate(parts) if len(text.rstrip()) <= most)
    return max(beginnings, key=len, default="")


def _ending(parts: Sequence[str], most: int) -> str:
    """Put together the last parts, as many as fit."""
    return _beginning([part[::-1] for part in reversed(parts)], most)[::-1]


MOST_PANELS: Final = 9
MOST_TOGETHER: Final = 8  # series in one panel
FEW: Final = 4  # series that share one panel if nothing else is said
SHARED_DECADES: Final = 4.0  # panels whose times together span more have a scale each
LONGEST_LIST: Final = 24  # characters of the counts in a title; of more counts only the ends


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pane:
    """What is drawn in one pair of axes."""

    title: str
    traces: Sequence[SeriesTrace]
    names: Sequence[str]  # of the lines, where there are several
    is_ordered: bool  # whether values of an axis tell the lines apart


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Picture:
    """All panels of a figure, on the same axes."""

    panes: Sequence[Pane]
    quantity: Quantity
    unit: str  # of times, that of the table; "1" of relative ones
    along: str = "processors p"

    @property
    def traces(self) -> list[SeriesTrace]:
        """Those of all panels."""
        return [trace for pane in self.panes for trace in pane.traces]


def figure_of(
    forecast: Forecast,
    ax: "Axes | None" = None,
    *,
    quantity: Quantity | None = None,
    overlay: bool | None = None,
    knees: Sequence[Knee] = (),
    planned: "Sequence[PlannedRun]" = (),
) -> "Figure":
    """One figure, 8 inches wide, for a whole forecast; or a single panel of it in `ax`.

    Parameters
    ----------
    forecast : Forecast
        Of more series than fit, those that take longest at the largest count are drawn.
    ax : matplotlib Axes, default: those of a new figure
        Where to draw a picture of one panel. With `ax`, several series share it.
    quantity : {"time", "rate", "speedup", "efficiency"}, optional
        By default the time, or the rate where rates were measured. Speedup and efficiency are over
        the median time of the runs at the smallest measured count; over several axes, over the
        forecast for it. Their intervals are those of the time divided into this baseline, whose
        own uncertainty is not included.
    overlay : bool, optional
        Whether the series share one panel, 8 at most, or have one each, 9 at most. By default 2
        to 4 series share one, unless knees, planned runs or other machines are drawn as well.
    knees : sequence of Knee
        Marked where they were reached.
    planned : sequence of PlannedRun
        Marked at their forecast times.
    """
    usual: Quantity = "rate" if forecast.measure.quantity == "rate" else "time"
    quantity = usual if quantity is None else quantity
    if quantity not in get_args(Quantity) or (quantity == "rate" != usual):
        raise ParameterError(
            "quantity",
            must='be "time", "speedup" or "efficiency", or "rate" where rates were measured',
            got=f"{quantity!r}",
            hint=f'Leave it out for "{usual}".',
        )
    if overlay is None:
        overlay = ax is not None or _shares_a_panel(forecast, marked=bool(knees or planned))
    picture, notes = _picture(forecast, quantity, knees, planned, overlay=overlay)
    heads = canvas.heads_of(forecast.verdict)
    if ax is not None:
        canvas.require_one_panel(len(picture.panes), "Leave it out, or forecast fewer series.")
        _draw_into(ax, picture)
        canvas.add_heads(ax, heads)
        return ax.figure  # type: ignore[return-value]  # a sub-figure is as good
    columns = {1: 1, 2: 2, 4: 2}.get(len(picture.panes), 3)
    rows = ceil(len(picture.panes) / columns)
    with canvas.writer().figure(4.6 if rows == 1 else 1.0 + 2.3 * rows) as figure:
        axes = [figure.add_subplot(rows, columns, 1 + i) for i in range(len(picture.panes))]
        own_scales = _draw_all(axes, picture)
        for i, each in enumerate(axes):
            if i + columns < len(axes):
                each.set_xlabel("")
            if i % columns and not own_scales:
                each.set_ylabel("")
                each.tick_params(labelleft=False)
        title = "\n".join([_title(forecast, picture), *heads])
        figure.suptitle(title, fontsize="large", parse_math=False)
        notes += [_reading(forecast), *canvas.sources_of(forecast.inputs)]
        canvas.writer().add_legend(figure, canvas.entries_of(figure.axes), notes=notes)
        _name_lines(axes, picture)
    return figure


def _draw_into(ax: "Axes", picture: Picture) -> None:
    """Draw a picture of one panel in axes that were given, with a legend."""
    _draw_all([ax], picture)
    canvas.add_legend_inside(ax, canvas.entries_of([ax]))
    _name_lines([ax], picture)


def _draw_all(axes: Sequence["Axes"], picture: Picture) -> bool:
    """Draw the panels on scales that they share, and say whether times needed one each."""
    traces, quantity = picture.traces, picture.quantity
    counts = np.unique(np.concatenate([trace.counts for trace in traces]))
    wanted = np.unique(np.concatenate([trace.requested_p for trace in traces])).tolist()
    limits = [
        draw_panel(ax, pane.traces, _looks(pane), quantity, counts)
        for ax, pane in zip(axes, picture.panes, strict=True)
    ]
    low, high = span(limits)
    own_scales = quantity == "time" and log10(high / low) > SHARED_DECADES
    for ax, pane, own in zip(axes, picture.panes, limits, strict=True):
        _name(ax, pane.title)
        scale_p(ax, counts, wanted, picture.along)
        if quantity == "efficiency":
            scale_efficiency(ax, high)
        elif quantity == "speedup":
            scale_speedup(ax, low, high, baseline(traces))
        elif quantity == "rate":
            scale_rate(ax, low, high, traces[0].measure.axis_title)
        elif picture.unit == "1":
            scale_rate(ax, *(own if own_scales else (low, high)), traces[0].measure.time_title)
        elif own_scales:
            scale_time(ax, *own)
        else:
            scale_time(ax, low, high, picture.unit)
    return own_scales


def _looks(pane: Pane) -> list[Look]:
    """Tell how each line of a panel is drawn."""
    return looks_of(pane.traces, is_ordered=pane.is_ordered)


def _name_lines(axes: Sequence["Axes"], picture: Picture) -> None:
    """Name lines at their ends, the machines used beside the own runs in a single panel only."""
    for ax, pane in zip(axes, picture.panes, strict=True):
        if len(pane.traces) > 1 or len(axes) == 1:
            name_ends(ax, ends_of(pane.traces, _looks(pane), pane.names, picture.quantity))


def _unit(forecast: Forecast) -> str:
    """Unit of the times in the table."""
    return forecast.measure.time_unit(forecast.time)


def _reading(forecast: Forecast) -> str:
    """Say how the runs of all series are read."""
    note = forecast.notes[0]
    return f"{note.scaling.capitalize()} scaling ({note.scaling_reason})."


def _shares_a_panel(forecast: Forecast, *, marked: bool) -> bool:
    """Whether a few series can be told apart in one panel."""
    alone = marked or any(note.donors for note in forecast.notes)
    return 1 < len(forecast.notes) <= FEW and not alone


def _picture(
    forecast: Forecast,
    quantity: Quantity,
    knees: Sequence[Knee],
    planned: "Sequence[PlannedRun]",
    *,
    overlay: bool,
) -> tuple[Picture, list[str]]:
    """Choose what is drawn, and say what is not."""
    along = "processors p"
    if forecast.curve is None:
        panes, along, left_out = _panes_over_axes(forecast)
    else:
        most = MOST_TOGETHER if overlay else MOST_PANELS
        rows = sorted(forecast.slowest(most).tolist())
        traces = traces_of(forecast, rows, knees=knees, planned=planned)
        names = [trace.label for trace in traces]
        groups = [traces] if overlay else [[trace] for trace in traces]
        panes = [
            Pane(
                title=group[0].label if len(group) == 1 else "",
                traces=group,
                names=names if overlay else [""],
                is_ordered=False,
            )
            for group in groups
        ]
        left_out = []
        if len(rows) < len(forecast.notes):
            left_out.append(
                f"{len(rows)} of {len(forecast.notes)} series are shown: those that take longest "
                f"at p = {np.max(forecast.p):.0f}."
            )
    if forecast.refused:
        refused = len(forecast.refused)
        left_out.append(f"{refused} more series {'have' if refused > 1 else 'has'} no forecast.")
    picture = Picture(panes=panes, quantity=quantity, unit=_unit(forecast), along=along)
    return picture, left_out


def _panes_over_axes(forecast: Forecast) -> tuple[list[Pane], str, list[str]]:
    """A panel for each combination of other values, with a line for each of the first axis.

    Of a single count of processors the line is along that axis. Also given are the label of the
    horizontal axis, and what is left out.
    """
    keys = [note.key for note in forecast.notes]
    values = {name: list(dict.fromkeys(key[name] for key in keys)) for name in forecast.by}
    several = [x for x, y in values.items() if len(y) > 1 and not isinstance(y[0], str)]
    axis = several[0] if several else ""
    is_along = len(several) > 0 and len(np.unique(forecast.p)) == 1
    is_along = is_along and all(float(x) > 0 for x in values[axis])  # on a logarithmic scale
    groups: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        groups.setdefault(label_of({x: y for x, y in key.items() if x != axis}), []).append(i)
    panes: list[Pane] = []
    left_out: list[str] = []
    for title, rows in list(groups.items())[:MOST_PANELS]:
        rows.sort(key=lambda i: keys[i].get(axis, 0))
        spaced = np.linspace(0, len(rows) - 1, MOST_TOGETHER).round().astype(int)
        kept = rows if is_along else [rows[i] for i in np.unique(spaced).tolist()]
        names = [f"{axis} = {whole(keys[i][axis])}" if axis else "" for i in kept]
        traces = traces_of(forecast, kept)
        traces = [along_axis(traces, axis)] if is_along else traces
        panes.append(Pane(title=title, traces=traces, names=names, is_ordered=True))
        if len(kept) < len(rows) and not left_out:
            left_out.append(f"{len(kept)} of {len(rows)} values of {axis} are shown.")
    if len(panes) < len(groups):
        left_out.append(f"{len(panes)} of {len(groups)} panels are shown: the first.")
    return panes, shown(axis) if is_along else "processors p", left_out


def _name(ax: "Axes", label: str) -> None:
    """Put the name of the series above its axes: as it stands, in two lines at most."""
    most = max(int(inches(ax)[0] / CHARACTER), 12)
    text = shown(label, limit=10_000)
    ax.set_title(
        "\n".join(two_lines(text, most)), fontsize="medium", parse_math=False, usetex=False
    )


def _title(forecast: Forecast, picture: Picture) -> str:
    """Say what was asked and from what it is answered."""
    requested = [str(whole(count)) for count in np.unique(forecast.p).tolist()]
    counts = joined(requested)
    if len(counts) > LONGEST_LIST and len(requested) > 2:
        counts = f"{requested[0]} to {requested[-1]}"
    first, last = span([note.measured for note in forecast.notes])
    processors = "processor" if requested == ["1"] else "processors"
    measured = forecast.measure
    drawn = measured.time_title if picture.quantity == "time" else picture.quantity
    asked = measured.title if picture.quantity == "rate" else drawn.capitalize()
    question = f"{asked} on {counts} {processors}"
    if forecast.is_without_p:
        return f"{asked}, forecast from runs at other {', '.join(map(shown, forecast.by))}"
    runs = f"{first:.0f} to {last:.0f}" if last > first else f"{first:.0f}"
    return f"{question}, forecast from runs on {runs}"
