"""Planned runs for a person: a table of what to run next, and what each is expected to do."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parcast.show.page import Page
from parcast.show.table import Column, side_by_side, spans
from parcast.units import TIME_UNITS, format_quantity, shown
from parcast.words import common_unit, rounded_interval, whole


def numbers_of(runs: Sequence[Any]) -> list[int]:
    """Number the planned runs of each program from 1."""
    counted: dict[str, int] = {}
    numbers = []
    for run in runs:
        counted[run.label] = counted.get(run.label, 0) + 1
        numbers.append(counted[run.label])
    return numbers


def planned_runs(runs: Sequence[Any], page: Page) -> list[str]:
    """Lines that say which runs to make next, the best first.

    Parameters
    ----------
    runs : sequence of PlannedRun
        Of one program or several.
    page : Page
        Where it is shown.

    Returns
    -------
    list of str
    """
    lines = [page.bold("next runs")]
    if not runs:
        text = "none: no run below the counts asked for would narrow the interval by 5 %"
        return [*lines, *page.wrapped(text, indent=0)]
    unit = common_unit([run.time for run in runs])
    times = [
        rounded_interval(*(x / TIME_UNITS[unit] for x in (run.time, run.lower, run.upper)))
        for run in runs
    ]
    names = list(dict.fromkeys(name for run in runs for name in run.at))
    keys = list(dict.fromkeys(name for run in runs for name in run.key))
    columns = [
        Column(title="", cells=[str(number) for number in numbers_of(runs)]),
        *(
            Column(title=x, cells=[_cell(run.key.get(x, "")) for run in runs], is_text=True)
            for x in keys
        ),
        *(Column(title=x, cells=[_cell(run.at[x]) for run in runs]) for x in names),
        Column(title="time", unit=f"[{unit}]", cells=[x for x, _, _ in times]),
        Column(
            title="90 % interval",
            unit=f"[{unit}]",
            cells=spans([x for _, x, _ in times], [x for _, _, x in times]),
        ),
        Column(
            title="cost", unit="[p x s]", cells=[format_quantity(x.cost, "count") for x in runs]
        ),
        Column(title="width", unit="before", cells=[_width(run.before) for run in runs]),
        Column(title="width", unit="after", cells=[_width(run.after) for run in runs]),
    ]
    table = side_by_side(columns, page)
    if table:
        lines += table
    else:
        for cells in zip(*(column.laid_out() for column in columns), strict=True):
            lines += page.wrapped("  ".join(" ".join(cells).split()), indent=0)
    for number, run in zip(numbers_of(runs), runs, strict=True):
        label = f"{shown(run.label, limit=10_000)}: " if run.label else ""
        lines += page.entry(f"run {number}", f"{label}{run.because}")
    first = runs[0].target
    target = ", ".join(f"{name} = {_cell(value)}" for name, value in first.items())
    text = (
        f"width: upper / lower of the interval at {target}, as expected; a run that contradicts "
        "those before it narrows nothing"
    )
    return [*lines, "", *(page.faint(x) for x in page.wrapped(text, indent=0))]


def _cell(value: Any) -> str:
    """Write the value of an axis or a label."""
    return shown(value, limit=10_000) if isinstance(value, str) else f"{whole(value)}"


def _width(half: float) -> str:
    """Write upper / lower of an interval."""
    return format_quantity(float(np.exp(2 * half)), "count", 3)
