"""A simulation as a sheet: simulated times, those of the law, and how they were simulated."""

from math import isnan, prod
from typing import Final

import numpy as np

from parcast.prediction.sheet import (
    MOST_ROWS,
    Points,
    axis_cells,
    axis_column,
    fixed_axes,
    legend_of_shares,
    share_columns,
    spread_out,
)
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, facts_of, interval_column
from parcast.simulation.result import Simulation
from parcast.units import TIME_UNITS
from parcast.words import (
    common_unit,
    rounded,
    rounded_interval,
    signed_percent,
    supported_digits,
)

LEGEND: Final = "law: time predicted by the law; diff.: difference of the law from the simulation"


def sheet_of(simulation: Simulation, *, show_all: bool = False) -> Sheet:
    """Everything that is said of a simulation; of many points some, unless all are asked for."""
    points = simulation.time.size
    shown = _points(simulation, most=points if show_all else MOST_ROWS)
    cut = f"{len(shown[0])} of {points:,} points are shown. All of them"
    return Sheet(
        title=title_of(simulation),
        tables=(_table(simulation, shown),),
        facts=(
            *facts_of("simulated", simulation.simulated),
            Fact("precision", precision_of(simulation)),
            Fact("law", "; ".join(simulation.sources)),
        ),
        warnings=simulation.warnings,
        left_out="" if len(shown[0]) == points else cut,
    )


def title_of(simulation: Simulation) -> str:
    """Say what runs on what, and what is the same at every point."""
    fixed = fixed_axes(simulation)
    return f"{simulation.program} on {simulation.machine}{fixed}, simulated"


def precision_of(simulation: Simulation) -> str:
    """Say how far the simulated times may be off."""
    reached = simulation.reached
    least, most = (f"{rounded(100 * float(x), 2)}%" for x in (reached.min(), reached.max()))
    span = most if least == most else f"{least} to {most}"
    goal = ""
    if simulation.precision is not None:
        goal = f"; requested {100 * simulation.precision:g}%"
    return f"mean times within +- {span} ({simulation.interval * 100:g}% interval){goal}"


def _points(simulation: Simulation, *, most: int) -> Points:
    """Indices of the points, p fastest; of some where there are more than `most`."""
    p, *others = simulation.axes
    order = [*others, p]
    kept = spread_out(np.arange(float(prod(simulation.shape))), most)
    places = np.unravel_index(kept, [len(simulation.axes[name]) for name in order])
    along = dict(zip(order, places, strict=True))
    return tuple(along[name] for name in simulation.axes)


def _law(law: float, lower: float, upper: float, difference: float) -> tuple[str, str]:
    """Time by the law, "none" where it has no answer, and its difference [%], there ""."""
    if isnan(law):
        return "none", ""
    text = rounded(law, max(supported_digits(lower, upper), 3))
    return text, "0.0" if abs(difference) < 0.0005 else signed_percent(difference)


def _table(simulation: Simulation, points: Points) -> Table:
    """Give the table; on a narrow page the shares of the time go first."""
    unit = common_unit(simulation.time[points].tolist())
    second = TIME_UNITS[unit]
    time, lower, upper, predicted = (
        (x[points] / second).tolist()
        for x in (simulation.time, simulation.lower, simulation.upper, simulation.predicted)
    )
    difference = simulation.difference[points].tolist()
    laws = list(map(_law, predicted, lower, upper, difference))
    times = list(map(rounded_interval, time, lower, upper))
    share = f"{simulation.interval * 100:g}% interval"
    axes = axis_cells(simulation, points)
    columns = [
        *(axis_column(name, cells) for name, cells in axes.items()),
        Column(title="time", unit=f"[{unit}]", cells=[x[0] for x in times]),
        interval_column(share, f"[{unit}]", [x[1:] for x in times]),
        Column(title="law", unit=f"[{unit}]", cells=[x[0] for x in laws]),
        Column(title="diff.", unit="[%]", cells=[x[1] for x in laws], heading="difference [%]"),
    ]
    in_full = [
        Entry(
            title=", ".join(f"{name} = {cells[i]}" for name, cells in axes.items()),
            facts=(
                Fact("time", f"{times[i][0]} {unit}"),
                Fact("", f"{share} {times[i][1]} to {times[i][2]} {unit}"),
                Fact("law", f"{law} {unit} ({percent}%)" if percent else law),
                Fact("difference", ""),  # it stands behind the law
            ),
        )
        for i, (law, percent) in enumerate(laws)
    ]
    shares = share_columns(simulation, points)
    legend = legend_of_shares([x.title for x in shares])
    return Table(
        forms=(
            Form(columns=[*columns, *shares], legend="; ".join(filter(None, (LEGEND, legend)))),
            Form(columns=columns),
        ),
        in_full=tuple(in_full),
        legend=LEGEND,
    )
