"""The answer to `simulate` for a person: simulated times beside those of the law, and how made.

On a narrow page the shares of the time are left out, then each row becomes a few lines.

A simulation for a notebook: the facts of the printed answer, as a table and a few lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from math import isnan
from typing import Final

import numpy as np

from parcast.descriptions.breakdown import COMPONENTS
from parcast.prediction.rows import MOST_ROWS, SHORT, spread_out
from parcast.show.page import Page
from parcast.show.table import Column, side_by_side, spans
from parcast.simulation.result import Simulation
from parcast.units import TIME_UNITS, shown
from parcast.words import axis_value, common_unit, rounded, rounded_interval, supported_digits

LEGEND: Final = (
    "law: its time, and how far above (+) or below (-) the simulated one it is; waiting: for the "
    "slowest"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One point, as texts."""

    axes: Mapping[str, str]  # those with several values
    time: str
    lower: str
    upper: str
    law: str  # "none" where it has no answer
    difference: str  # [%]; "" where the law has no answer
    shares: tuple[str, ...]  # of the time, in the order of the components [%]


def simulation_answer(
    simulation: Simulation, page: Page, *, show_all: bool = False
) -> tuple[list[str], str]:
    """Lines of the answer, and what is to be said of what they leave out.

    Parameters
    ----------
    simulation : Simulation
        What to show.
    page : Page
        Where it is shown.
    show_all : bool, default False
        Whether to show every point; otherwise some of many.

    Returns
    -------
    lines : list of str
    left_out : str
        "" where nothing is left out.
    """
    unit, rows = rows_of(simulation, most=None if show_all else MOST_ROWS)
    lines = [*map(page.bold, page.wrapped(title_of(simulation), indent=0)), ""]
    lines += _table(rows, unit, page, share=f"{simulation.interval * 100:g} %")
    lines += ["", *map(page.faint, page.wrapped(LEGEND, indent=0)), ""]
    name = "simulated"
    for text in simulation.simulated:
        lines += page.entry(name, text)
        name = ""
    lines += page.entry("precision", precision_of(simulation))
    lines += page.entry("law", "; ".join(simulation.sources))
    for text in simulation.warnings:
        lines += page.entry("warning:", text, is_marked=True)
    points = simulation.time.size
    if len(rows) == points:
        return lines, ""
    return lines, (
        f"{len(rows)} of {points:,} points are shown. All of them: --all, --json or -o all.csv."
    )


def title_of(simulation: Simulation) -> str:
    """Say what runs on what, and what is the same at every point."""
    program, machine = (shown(x, limit=10_000) for x in (simulation.program, simulation.machine))
    fixed = [
        f", {name} = {_axis_text(simulation, name, 0)}"
        for name, values in simulation.axes.items()
        if len(values) == 1
    ]
    return f"{program} on {machine}{''.join(fixed)}, simulated"


def precision_of(simulation: Simulation) -> str:
    """Say how far the simulated times may be off."""
    reached = simulation.reached
    least, most = (f"{rounded(100 * float(x), 2)} %" for x in (reached.min(), reached.max()))
    span = most if least == most else f"{least} to {most}"
    asked = ""
    if simulation.precision is not None:
        asked = f", asked for {100 * simulation.precision:g} %"
    return (
        f"the mean times are known to +- {span} ({simulation.interval * 100:g} % interval){asked}"
    )


def rows_of(simulation: Simulation, *, most: int | None = None) -> tuple[str, list[Row]]:
    """Rows of the points as texts, p fastest, and the unit that their times share."""
    names = list(simulation.axes)
    order = [*names[1:], names[0]]
    places = [
        tuple(dict(zip(order, place, strict=True))[name] for name in names)
        for place in product(*(range(len(simulation.axes[name])) for name in order))
    ]
    if most is not None:
        places = [places[i] for i in spread_out(np.arange(float(len(places))), most)]
    unit = common_unit([float(simulation.time[place]) for place in places])
    return unit, [_row(simulation, place, TIME_UNITS[unit]) for place in places]


def _row(simulation: Simulation, place: tuple[int, ...], second: float) -> Row:
    """Turn one point into texts."""
    time, lower, upper, law = (
        float(x[place]) / second
        for x in (simulation.time, simulation.lower, simulation.upper, simulation.predicted)
    )
    texts = rounded_interval(time, lower, upper)
    difference = 100 * float(simulation.difference[place])
    return Row(
        axes={
            name: _axis_text(simulation, name, i)
            for name, i in zip(simulation.axes, place, strict=True)
            if len(simulation.axes[name]) > 1
        },
        time=texts[0],
        lower=texts[1],
        upper=texts[2],
        law="none" if isnan(law) else rounded(law, max(supported_digits(lower, upper), 3)),
        difference="" if isnan(law) else _signed(difference),
        shares=tuple(
            _percent(float(component[place] / simulation.time[place]))
            for _, component in simulation.breakdown.components()
        ),
    )


def _axis_text(simulation: Simulation, name: str, i: int) -> str:
    """Write a value of an axis, with its unit."""
    return axis_value(float(simulation.axes[name][i]), simulation.dimensions.get(name, "count"))


def _signed(percent: float) -> str:
    """Write a difference with its sign."""
    if abs(percent) < 0.05:
        return "0.0"
    return f"{percent:+.1f}" if abs(percent) < 9.95 else f"{percent:+.0f}"


def _percent(share: float) -> str:
    """Write a share in whole percent, never as nothing if it is something."""
    return "<1" if 0 < share < 0.005 else f"{100 * share:.0f}"


def _table(rows: Sequence[Row], unit: str, page: Page, *, share: str) -> list[str]:
    """Write the table, as much of it as the page has room for."""
    axes = [_axis_column(name, rows) for name in rows[0].axes]
    times = [
        Column(title="time", unit=f"[{unit}]", cells=[row.time for row in rows]),
        Column(
            title=f"{share} interval",
            unit=f"[{unit}]",
            cells=spans([row.lower for row in rows], [row.upper for row in rows]),
        ),
        Column(title="law", unit=f"[{unit}]", cells=[row.law for row in rows]),
        Column(title="", unit="[%]", cells=[row.difference for row in rows]),
    ]
    shares = [
        Column(title=SHORT[name], unit="[%]", cells=[row.shares[i] for row in rows])
        for i, name in enumerate(COMPONENTS)
    ]
    for columns in ([*axes, *times, *shares], [*axes, *times]):
        if laid_out := side_by_side(columns, page):
            return [*map(page.bold, laid_out[:2]), *laid_out[2:]]
    return _in_full(rows, unit, page, share=share)


def _axis_column(name: str, rows: Sequence[Row]) -> Column:
    """Column of an axis, a long name in two lines."""
    table, dot, key = name.rpartition(".")
    cells = [row.axes[name] for row in rows]
    return Column(title=f"{table}{dot}" or key, unit=key if dot else "", cells=cells)


def _in_full(rows: Sequence[Row], unit: str, page: Page, *, share: str) -> list[str]:
    """Write each row as a few short lines, for a page too narrow for a table."""
    written: list[str] = []
    for row in rows:
        named = ", ".join(f"{name} = {value}" for name, value in row.axes.items())
        written += ["", *map(page.bold, page.wrapped(named, indent=0))] if named else [""]
        law = f"{row.law} {unit} ({row.difference} %)" if row.difference else row.law
        written += [
            f"  time        {row.time} {unit}",
            f"              {share} interval {row.lower} to {row.upper} {unit}",
            f"  law         {law}",
        ]
    return written[1:]


def html_of_simulation(simulation: Simulation) -> str:
    """HTML of a simulation, with everything that came from a user escaped.

    It sets neither text nor background colours, so that it suits light and dark notebooks.
    """
    unit, rows = rows_of(simulation, most=MOST_ROWS)
    share = f"{simulation.interval * 100:g} % interval [{unit}]"
    shares = [f"{title} [%]" for title in SHORT.values()]
    heads = [*rows[0].axes, f"time [{unit}]", share, f"law [{unit}]", "difference [%]", *shares]
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(text)}</td>"
            for text in (
                *row.axes.values(),
                row.time,
                f"{row.lower} to {row.upper}",
                row.law,
                row.difference,
                *row.shares,
            )
        )
        + "</tr>"
        for row in rows
    )
    left_out = simulation.time.size - len(rows)
    more = f"<p>and {left_out} more rows; all of them: to_document()</p>" if left_out else ""
    facts = [f"simulated: {text}" for text in simulation.simulated]
    facts.append(f"precision: {precision_of(simulation)}")
    warnings = "".join(f"<li>{escape(text)}</li>" for text in simulation.warnings)
    return (
        f"<p><b>{escape(title_of(simulation))}</b></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        f"<p>{'<br>'.join(map(escape, facts))}</p>" + (f"<ul>{warnings}</ul>" if warnings else "")
    )
