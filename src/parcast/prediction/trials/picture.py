"""Pictures of a described program beside its runs: over p, on the surface of the law, errors.

Over p, the first panel has times, one colour for each value of a second axis: a line is predicted,
with its 90% interval, and markers are measured. The second has speedups. Runs that the
description was fitted to are hollow. On the surface of the law a stem leads from what was
predicted to what was measured. The map of errors has a field for each configuration.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from parcast.aliases import Array
from parcast.errors import ParameterError, require_one_of
from parcast.prediction.predict import predict
from parcast.prediction.shown import COUNTED, GridAxis, shown_of
from parcast.prediction.surface import draw_surface
from parcast.prediction.trials.result import Configuration, ProgramValidation
from parcast.prediction.trials.validate import validate_program
from parcast.show.pictures import canvas
from parcast.show.pictures.colours import (
    COLOURS_OF_ERRORS,
    MACHINE_COLOURS,
    MARKERS,
    ON_BRIGHT,
    ON_DARK,
    REFERENCE,
    ColourScale,
)
from parcast.show.pictures.fields import ColourField, Told
from parcast.show.pictures.scales import scale_speedup, scale_time, span
from parcast.show.pictures.space import Stems
from parcast.timings.measure import TIME, Measure
from parcast.timings.measurements import measurements_of
from parcast.validation.comparison import Comparison
from parcast.validation.picture import figure_of_validation
from parcast.words import axis_value, signed_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from parcast.fitting.result import Fit

PICTURES: Final = ("lines", "surface", "errors", "times")
MOST_LINES: Final = len(MACHINE_COLOURS)
POINTS: Final = 65  # of the curve of a law
MOST_WRITTEN: Final = 12  # fields of a map across, in which errors are written
PALEST: Final = 0.2  # error that has the strongest colour where none is larger [1]
WIDEST: Final = 1.0  # error that colours tell from a larger one [1]


def figure_of(
    validation: ProgramValidation, ax: "Axes | None" = None, *, picture: str | None = None
) -> "Figure":
    """Draw a kind of picture: by default lines, or the errors where there are many lines."""
    if picture is not None:
        require_one_of("picture", picture, PICTURES)
    kind = picture or _usual(validation)
    if kind == "times":
        return figure_of_validation(validation, ax)
    with canvas.writer().style():
        if kind == "lines":
            return _lines(validation, ax)
        return (_surface if kind == "surface" else _errors)(validation, ax)


def figure_of_fit(fit: "Fit", ax: "Axes | None" = None, **how: str | None) -> "Figure":
    """Draw a fit as its description beside the runs, as `figure_of` does."""
    times = 1.0 / fit.measured if fit.quantity == "speedup" else fit.measured
    measure = Measure(quantity="speedup") if fit.quantity == "speedup" else TIME
    runs = measurements_of({**fit.axes, "time": times}, measure)
    return figure_of(validate_program(fit.program, runs, fit.machine), ax, **how)


def _usual(validation: ProgramValidation) -> str:
    """What suits the axes that vary."""
    if len(validation.varied.get("p", ())) > 1 and len(validation.groups()) <= MOST_LINES:
        return "lines"
    return "errors" if len(validation.varied) == 2 else "times"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Line:
    """Configurations that differ in p alone."""

    name: str
    cases: Sequence[Comparison[Configuration, Any]]
    colour: str
    marker: str
    curve: tuple[Array, Array] | None  # the law at more counts than were run [1], [s]

    @property
    def p(self) -> Array:
        return np.array([x.case.layout for x in self.cases])


def _line_of(validation: ProgramValidation) -> Iterator[_Line]:
    """Give what is drawn in one colour."""
    varied = validation.varied
    for i, (place, cases) in enumerate(validation.groups().items()):
        named = [f"{x} = {axis_value(float(y), 'count')}" for x, y in place if x in varied]
        yield _Line(
            name=", ".join(named) or "predicted (line) and measured",
            cases=sorted(cases, key=lambda x: x.case.layout),
            colour=MACHINE_COLOURS[i % MOST_LINES],
            marker=MARKERS[i % len(MARKERS)],
            curve=_curve(validation, cases),
        )


def _curve(
    validation: ProgramValidation, cases: Sequence[Comparison[Configuration, Any]]
) -> tuple[Array, Array] | None:
    """Give the law between the counts of some configurations; None where it has no answer."""
    ends = [x.case.layout for x in cases]
    p = np.unique(np.round(np.geomspace(min(ends), max(ends), POINTS)))
    p = np.unique([*p, *ends])
    others = {name: np.full(p.shape, value) for name, value in cases[0].case.axes if name != "p"}
    at = {"p": p, **others}
    try:
        at.setdefault("d", np.broadcast_to(validation.machine.servers(at), p.shape))
        time = np.broadcast_to(validation.program.times(validation.machine, at).time, p.shape)
    except ParameterError:  # it may hold for squares alone
        return None
    return p, np.asarray(time)


def _lines(validation: ProgramValidation, ax: "Axes | None") -> "Figure":
    """Draw times and speedups over p."""
    if ax is not None:
        canvas.require_one_panel(2, 'Leave it out, or draw picture="errors".')
    lines = list(_line_of(validation))
    if len(lines) > MOST_LINES:
        raise ParameterError(
            "picture",
            must=f'be "errors" or "surface" where more than {MOST_LINES} lines would be drawn',
            got=f'"lines" for {len(lines)}',
            hint="Select some values of the other axes.",
        )
    figure = canvas.writer().new_figure(height=4.6)
    [part] = validation.parts
    figure.suptitle(f"{part.name}: {part.title}", fontsize="medium", parse_math=False)
    times, speedups = figure.subplots(1, 2)
    along = _axis(validation, "p")
    _draw_times(times, lines)
    _draw_speedups(speedups, validation, lines)
    for each in (times, speedups):
        along.scale(each)
        canvas.plain_axes(each)
    entries = canvas.entries_of([times, speedups])
    canvas.writer().add_legend(figure, entries, notes=_notes(validation))
    return figure


def _axis(validation: ProgramValidation, name: str) -> GridAxis:
    """Make an axis of the picture of one of the axes of the runs."""
    values = np.unique([x.case.columns[name] for x in validation.cases])
    return GridAxis(name=name, values=values, order=np.arange(len(values)))


def _draw_times(ax: "Axes", lines: Sequence[_Line]) -> None:
    """Draw predicted times with their intervals, and measured ones."""
    limits = []
    for line in lines:
        predicted = np.array([x.predicted for x in line.cases])
        ends = np.array([(x.lower or x.predicted, x.upper or x.predicted) for x in line.cases])
        style: dict[str, Any] = {"color": line.colour, "marker": line.marker, "ms": 5.5}
        ax.plot([], [], lw=1.4, label=line.name, **style)
        ax.plot(*(line.curve or (line.p, predicted)), color=line.colour, lw=1.4)
        ax.fill_between(line.p, *ends.T, color=line.colour, alpha=0.18, lw=0)
        _draw_measured(ax, line, [x.measured or np.nan for x in line.cases])
        limits += [*map(tuple, ends.tolist()), *((x.measured, x.measured) for x in line.cases)]
    scale_time(ax, *span([(float(low), float(high)) for low, high in limits]))


def _draw_measured(ax: "Axes", line: _Line, values: Sequence[float]) -> None:
    """Draw what was measured: hollow where the description was fitted to it."""
    for is_fitted in (False, True):
        kept = [i for i, x in enumerate(line.cases) if x.was_fitted == is_fitted]
        if kept:
            ax.plot(
                line.p[kept],
                np.asarray(values)[kept],
                color=line.colour,
                marker=line.marker,
                ls="none",
                ms=5.5,
                mfc="white" if is_fitted else line.colour,
            )


def _draw_speedups(ax: "Axes", validation: ProgramValidation, lines: Sequence[_Line]) -> None:
    """Draw predicted and measured speedups, each over its own time on the fewest processors."""
    known = {x.case: x for x in validation.speedups()}
    every = []
    least = min(line.p[0] for line in lines)
    lines = [line for line in lines if line.p[0] == least]  # others are over another time
    for line in lines:
        found = [known.get(x.case) for x in line.cases]
        predicted = [1.0 if x is None else x.predicted for x in found]
        measured = [1.0 if x is None else x.measured for x in found]
        x, y = line.p, np.asarray(predicted)
        if line.curve is not None:
            x, y = line.curve[0], line.cases[0].predicted / line.curve[1]
        ax.plot(x, y, color=line.colour, lw=1.4)
        _draw_measured(ax, line, measured)
        every += [*predicted, *measured]
    low, high = min(every), max(every)
    ends = np.array([min(line.p[0] for line in lines), max(line.p[-1] for line in lines)])
    if ends[1] > ends[0]:
        ideal = ends / ends[0]
        ax.plot(ends, ideal, color=REFERENCE, lw=1.0, ls=":", label="ideal")
    scale_speedup(ax, low, high, f"p = {least:g}")


def _notes(validation: ProgramValidation) -> list[str]:
    """Say what the band is, and how far the law is off."""
    accuracy = validation.accuracy()
    notes = ["Lines: predicted. Markers: measured."]
    if any(x.was_fitted for x in validation.cases):
        notes.append("Hollow: used to fit the description.")
    if validation.coverage is not None:
        notes.append("Bands: 90% interval of a run.")
    if accuracy is not None:
        notes.append(
            f"Median error {100 * accuracy.median:.1f}%, worst {100 * accuracy.worst:.1f}%."
        )
    return [" ".join(notes)]


def _two_axes(validation: ProgramValidation, picture: str) -> tuple[str, str]:
    """Name the two axes of a picture."""
    names = [*validation.varied]
    if len(names) != 2:
        raise ParameterError(
            "picture",
            must=f'be another one than "{picture}", which has two axes that vary',
            got=" and ".join(names) or "one configuration",
            hint="Select one value of the others." if len(names) > 2 else 'Draw "lines".',
        )
    return names[0], names[1]


def _surface(validation: ProgramValidation, ax: Any) -> "Figure":
    """Draw the speedups that the law gives as a surface, and those of the runs as points."""
    _two_axes(validation, "surface")
    every = {name: np.unique(validation.column(name)) for name in validation.axes}
    asked: dict[str, Any] = {name: every.pop(name) for name in ("p", "d", "n") if name in every}
    asked |= {"vary": every, "interval": False, "bounds": False}
    prediction = predict(validation.program, validation.machine, **asked)
    shown = shown_of(prediction, 2)
    first, second = shown.axes
    modelled, alone = _modelled(validation, prediction)
    measured = alone / validation.column("measured_s")
    stems = Stems(
        x=first.places(validation.column(first.name)),
        y=second.places(validation.column(second.name)),
        low=modelled,
        high=measured,
        texts=[
            f"{first.says(x)}, {second.says(y)}: measured {a:.4g}, predicted {b:.4g}"
            for x, y, a, b in zip(
                validation.column(first.name),
                validation.column(second.name),
                measured,
                modelled,
                strict=True,
            )
        ],
        label="measured, over the predicted T(1, 1); dashed: below the surface",
    )
    return draw_surface(shown, ax, stems=stems)


def _modelled(validation: ProgramValidation, prediction: Any) -> tuple[Array, Array]:
    """Speedup of the law at each configuration, and the time that it is over [1], [s]."""
    places = tuple(
        np.searchsorted(values, validation.column(name))
        for name, values in prediction.axes.items()
    )
    speedup = prediction.speedup[places]
    return speedup, speedup * prediction.time[places]


def _errors(validation: ProgramValidation, ax: "Axes | None") -> "Figure":
    """Draw a field for each configuration, with the colour of its error."""
    first, second = (_axis(validation, name) for name in _two_axes(validation, "errors"))
    field = np.full((len(first.values), len(second.values)), np.nan)
    marks, told = (np.full(field.shape, "", dtype=object) for _ in range(2))
    for x in validation.cases:
        place = tuple(
            int(np.searchsorted(axis.values, x.case.columns[axis.name]))
            for axis in (first, second)
        )
        field[place] = x.error()
        error = signed_percent(x.error() or 0.0)
        marks[place] = error + "*" * (x.is_inside is False) + "'" * x.was_fitted
        there = ", ".join(axis.says(x.case.columns[axis.name]) for axis in (first, second))
        outside = ", outside its 90% interval" * (x.is_inside is False)
        told[place] = f"{there}: error {error} %{outside}{', used to fit' * x.was_fitted}"
    most = float(np.clip(np.nanmax(np.abs(field)), PALEST, WIDEST))
    is_own = ax is None
    ax = ax or canvas.writer().new_figure(height=4.6).add_subplot()
    across, up = (np.arange(float(size)) for size in field.shape)
    scale = ColourScale(
        low=-most,
        high=most,
        title="error: predicted / measured - 1 [%]",
        factor=0.01,
        colours=COLOURS_OF_ERRORS,
    )
    canvas.writer().draw_cells(
        ax,
        ColourField(
            x=across,
            y=up,
            values=field,
            scale=scale,
            told=Told(x=across, y=up, texts=told.tolist()),
        ),
    )
    for which, axis, ticks in (("x", first, across), ("y", second, up)):
        getattr(ax, f"set_{which}ticks")(ticks, labels=[*map(axis.text, axis.values)])
        getattr(ax, f"set_{which}label")(COUNTED.get(axis.name, axis.name), parse_math=False)
    ax.tick_params(length=0)
    if max(field.shape) <= MOST_WRITTEN:
        for (i, j), text in np.ndenumerate(marks):
            colour = ON_DARK if abs(field[i, j]) > 0.6 * most else ON_BRIGHT
            ax.text(i, j, text, ha="center", va="center", fontsize="small", color=colour)
    figure: Figure = ax.figure  # type: ignore[assignment]  # or a sub-figure
    if is_own:
        known = "*: outside its 90% interval. ': used to fit the description."
        canvas.writer().add_legend(figure, {}, notes=[known])
    return figure
