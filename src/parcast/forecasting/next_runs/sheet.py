"""Planned runs for a person: a table, and below it what each run is good for."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from parcast.forecasting.next_runs.result import TELLING, PlannedRun
from parcast.show.sheet import Column, Entry, Fact, Form, Sheet, Table, interval_column
from parcast.timings.measure import seconds_in
from parcast.units import format_quantity
from parcast.words import rounded_interval, whole

TITLE: Final = "next runs"
LEAST: Final = f"{TELLING * 100:g}%"


def sheet_of_plan(
    runs: Sequence[PlannedRun], requested: int | None = None, *, where: str = ""
) -> Sheet:
    """Everything that is said of planned runs, of one program or several, the best first.

    Where there are fewer than `requested` for a program, it is said why; `where` is what runs
    were looked for: "below p = 512".
    """
    if not runs:
        text = f"None: no further run{where and ' '}{where} would narrow the interval by {LEAST}."
        return Sheet(tables=(Table(title=TITLE, in_full=(Entry(lines=(text,)),)),))
    numbers = numbers_of(runs)
    columns = _plan_columns(runs, numbers)
    rows = zip(*([x.title, x.unit, *x.cells] for x in columns), strict=True)
    seconds = "relative time" if runs[0].measure.is_relative else "seconds"
    target = ", ".join(f"{name} = {_cell(value)}" for name, value in runs[0].target.items())
    table = Table(
        title=TITLE,
        forms=(Form(columns=columns),),
        in_full=(Entry(lines=tuple("  ".join(" ".join(row).split()) for row in rows)),),
        notes=tuple(
            Fact(f"run {number}", f"{run.label}: {run.because}" if run.label else run.because)
            for number, run in zip(numbers, runs, strict=True)
        ),
        legend=(
            f"cost: processors x {seconds}; width: upper / lower end of the interval at "
            f"{target}, expected before and after the run"
        ),
    )
    return Sheet(tables=(table,), facts=tuple(_fewer(runs, requested, where)))


def _fewer(runs: Sequence[PlannedRun], requested: int | None, where: str) -> Iterator[Fact]:
    """Say why there are fewer runs than were asked for."""
    planned = Counter(run.label for run in runs)
    missing = 0 if requested is None else requested - min(planned.values())
    if not missing:
        return
    if len(planned) > 1:
        many = f"{requested} runs for each series were"
    else:
        many = f"{missing} more run{'s were' if missing > 1 else ' was'}"
    yield Fact(
        "fewer runs",
        f"{many} asked for, but no further run{where and ' '}{where} would narrow the interval "
        f"by {LEAST}",
    )


def numbers_of(runs: Sequence[PlannedRun]) -> list[int]:
    """Number the planned runs of each program from 1."""
    counted: dict[str, int] = {}
    numbers = []
    for run in runs:
        counted[run.label] = counted.get(run.label, 0) + 1
        numbers.append(counted[run.label])
    return numbers


def _plan_columns(runs: Sequence[PlannedRun], numbers: Sequence[int]) -> list[Column]:
    """Give what each run is and what it is expected to do."""
    measure = runs[0].measure
    unit = measure.time_unit([run.time for run in runs])
    times = [
        rounded_interval(*(x / seconds_in(unit) for x in (run.time, run.lower, run.upper)))
        for run in runs
    ]
    axes = dict.fromkeys(name for run in runs for name in run.at)
    keys = dict.fromkeys(name for run in runs for name in run.key)
    labels = {name: [_cell(run.key.get(name, "")) for run in runs] for name in keys}
    return [
        Column(title="", cells=[str(number) for number in numbers]),
        *(Column(title=name, cells=cells, align="left") for name, cells in labels.items()),
        *(Column(title=name, cells=[_cell(run.at[name]) for run in runs]) for name in axes),
        Column(title=measure.time_title, unit=f"[{unit}]", cells=[x for x, _, _ in times]),
        interval_column("90% interval", f"[{unit}]", [(x, y) for _, x, y in times]),
        Column(
            title="cost",
            unit="[p]" if measure.is_relative else "[p x s]",
            cells=[format_quantity(x.cost, "count") for x in runs],
        ),
        Column(title="width", unit="before", cells=[_interval_width(run.before) for run in runs]),
        Column(title="width", unit="after", cells=[_interval_width(run.after) for run in runs]),
    ]


def _cell(value: Any) -> str:
    """Write the value of an axis or a label."""
    return value if isinstance(value, str) else f"{whole(value)}"


def _interval_width(half: float) -> str:
    """Write upper / lower of an interval."""
    return format_quantity(float(np.exp(2 * half)), "count", 3)
