"""The answer to `simulate` for a person: simulated times beside those of the law, and how made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from typing import Final

import numpy as np

from parcast.descriptions.breakdown import COMPONENTS
from parcast.prediction.sheet import (
    MOST_ROWS,
    SHORT,
    axis_column,
    axis_text,
    fixed_axes,
    spread_out,
)
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.simulation.result import Simulation
from parcast.units import TIME_UNITS
from parcast.words import (
    common_unit,
    rounded,
    rounded_interval,
    signed_percent,
    supported_digits,
    whole_percent,
)

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


def sheet_of(simulation: Simulation, *, show_all: bool = False) -> Sheet:
    """Everything that is said of a simulation; of many points some, unless all are asked for."""
    unit, rows = rows_of(simulation, most=None if show_all else MOST_ROWS)
    points = simulation.time.size
    cut = f"{len(rows)} of {points:,} points are shown. All of them"
    return Sheet(
        title=title_of(simulation),
        tables=(_table(rows, unit, share=f"{simulation.interval * 100:g} %"),),
        facts=(
            *(Fact("" if i else "simulated", text) for i, text in enumerate(simulation.simulated)),
            Fact("precision", precision_of(simulation)),
            Fact("law", "; ".join(simulation.sources)),
        ),
        warnings=simulation.warnings,
        left_out="" if len(rows) == points else cut,
    )


def title_of(simulation: Simulation) -> str:
    """Say what runs on what, and what is the same at every point."""
    fixed = fixed_axes(simulation)
    return f"{simulation.program} on {simulation.machine}{fixed}, simulated"


def precision_of(simulation: Simulation) -> str:
    """Say how far the simulated times may be off."""
    reached = simulation.reached
    least, most = (f"{rounded(100 * float(x), 2)} %" for x in (reached.min(), reached.max()))
    span = most if least == most else f"{least} to {most}"
    goal = ""
    if simulation.precision is not None:
        goal = f", asked for {100 * simulation.precision:g} %"
    return (
        f"the mean times are known to +- {span} ({simulation.interval * 100:g} % interval){goal}"
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
    difference = float(simulation.difference[place])
    signed = "0.0" if abs(difference) < 0.0005 else signed_percent(difference)
    return Row(
        axes={
            name: axis_text(simulation, name, i)
            for name, i in zip(simulation.axes, place, strict=True)
            if len(simulation.axes[name]) > 1
        },
        time=texts[0],
        lower=texts[1],
        upper=texts[2],
        law="none" if isnan(law) else rounded(law, max(supported_digits(lower, upper), 3)),
        difference="" if isnan(law) else signed,
        shares=tuple(
            whole_percent(float(component[place] / simulation.time[place]))
            for _, component in simulation.breakdown.components()
        ),
    )


def _table(rows: Sequence[Row], unit: str, *, share: str) -> Table:
    """Give the table; on a narrow page the shares of the time go first."""
    times = [
        *(axis_column(name, [row.axes[name] for row in rows]) for name in rows[0].axes),
        Column(title="time", unit=f"[{unit}]", cells=[row.time for row in rows]),
        interval_column(
            f"{share} interval", f"[{unit}]", [(row.lower, row.upper) for row in rows]
        ),
        Column(title="law", unit=f"[{unit}]", cells=[row.law for row in rows]),
        Column(
            title="",
            unit="[%]",
            cells=[row.difference for row in rows],
            heading="difference [%]",
        ),
    ]
    shares = [
        Column(title=SHORT[name], unit="[%]", cells=[row.shares[i] for row in rows])
        for i, name in enumerate(COMPONENTS)
    ]
    return Table(
        forms=(Form(columns=[*times, *shares]), Form(columns=times)),
        in_full=tuple(_in_full(row, unit, share) for row in rows),
        legend=LEGEND,
    )


def _in_full(row: Row, unit: str, share: str) -> Entry:
    """Give one row, for a page too narrow for a table."""
    law = f"{row.law} {unit} ({row.difference} %)" if row.difference else row.law
    return Entry(
        title=", ".join(f"{name} = {value}" for name, value in row.axes.items()),
        facts=(
            Fact("time", f"{row.time} {unit}"),
            Fact("", f"{share} interval {row.lower} to {row.upper} {unit}"),
            Fact("law", law),
            Fact("difference", ""),  # it stands behind the law
        ),
    )
