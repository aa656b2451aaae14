"""A described program beside its runs, for a person: times, errors by two axes, speedups."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from parcast.prediction.trials.result import Configuration, ProgramValidation
from parcast.show.sheet import Column, Form, Sheet, Table
from parcast.validation.comparison import Comparison
from parcast.validation.sheet import sheet_of as sheet_of_validation
from parcast.words import FACTOR, FAR_OFF, axis_value, rounded, signed_percent

Compared: TypeAlias = Comparison[Configuration, Any]

MOST_ROWS: Final = 24  # configurations that are listed unless all are asked for
MOST_ACROSS: Final = 10  # values of the second axis of a grid of errors
FITTED: Final = "'"  # behind an error of what was fitted


def sheet_of(validation: ProgramValidation, *, show_all: bool = False) -> Sheet:
    """Everything that is said; of many configurations the errors, unless all are asked for."""
    sheet = sheet_of_validation(validation, show_all=show_all)
    part, rest = sheet.parts
    grids = list(_grids(validation)) if show_all or len(validation.cases) > MOST_ROWS else []
    is_long = len(validation.cases) > MOST_ROWS and not show_all
    tables = list[Table]()
    if not (is_long and grids):
        tables = [_marked(validation, part.tables[0]), *part.tables[1:]]
        tables += filter(None, [_speedups(validation)])
    left_out = "The times and speedups of all configurations" if is_long and grids else ""
    return replace(
        sheet,
        parts=(
            replace(part, tables=(*tables, *grids)),
            replace(rest, left_out=left_out or rest.left_out),
        ),
    )


def _marked(validation: ProgramValidation, table: Table) -> Table:
    """Mark the errors of configurations that were fitted."""
    if not any(x.was_fitted for x in validation.cases):
        return table
    forms = tuple(
        replace(form, columns=[_with_marks(x, validation.cases) for x in form.columns])
        for form in table.forms
    )
    return replace(table, forms=forms, legend=f"{table.legend}; {MARKED}")


MARKED: Final = f"{FITTED}: used to fit the description"


def _with_marks(column: Column, cases: Sequence[Compared]) -> Column:
    """The column of errors, with its marks; any other as it is."""
    if column.title != "error":
        return column
    cells = [cell + FITTED * x.was_fitted for cell, x in zip(column.cells, cases, strict=True)]
    return replace(column, cells=cells)


def _grids(validation: ProgramValidation) -> Iterator[Table]:
    """Give the errors by two axes, for each value of a third, where most of the grid was run."""
    varied = validation.varied
    if len(varied) < 2 or any(len(x) > MOST_ACROSS for x in [*varied.values()][1:]):
        return
    down, across, *others = varied
    wanted = np.unique(
        [[x.case.columns[name] for name in others] for x in validation.cases], axis=0
    )
    if len(wanted) > MOST_ACROSS:
        return
    for place in wanted if others else [()]:
        fixed = dict(zip(others, place, strict=True))
        here = {
            (x.case.columns[down], x.case.columns[across]): x
            for x in validation.cases
            if all(x.case.columns[name] == value for name, value in fixed.items())
        }
        rows = [value for value in varied[down] if any((value, y) in here for y in varied[across])]
        at = "".join(f", {name} = {axis_value(float(y), 'count')}" for name, y in fixed.items())
        columns = [Column(title=down, cells=[axis_value(float(x), "count") for x in rows])]
        columns += [
            Column(
                title=f"{across} = {axis_value(float(y), 'count')}",
                cells=[_error(here.get((x, y))) for x in rows],
            )
            for y in varied[across]
        ]
        is_marked = any(x.was_fitted for x in here.values())
        legend = "predicted / measured time - 1; *: outside its 90% interval"
        if any((x.error() or 0.0) >= FAR_OFF for x in validation.cases):
            legend += f"; {FACTOR}"
        yield Table(
            title=f"Errors [%]{at}",
            forms=(Form(columns=columns),),
            is_spaced=False,
            legend=f"{legend}; {MARKED}" if is_marked else legend,
        )


def _error(x: Compared | None) -> str:
    """Signed error of a configuration, marked where it is outside its interval, or was fitted."""
    if x is None or (error := x.error()) is None:
        return ""
    return signed_percent(error) + "*" * (x.is_inside is False) + FITTED * x.was_fitted


def _speedups(validation: ProgramValidation) -> Table | None:
    """Give the speedups over the fewest processors, as measured and as predicted."""
    rows = validation.speedups()
    if not rows:
        return None
    names = [name for name in ("p", *validation.varied) if name in rows[0].case.columns]
    labels = [
        Column(title=name, cells=[axis_value(x.case.columns[name], "count") for x in rows])
        for name in dict.fromkeys(names)
    ]
    bases = sorted({x.base for x in rows})
    columns = [
        Column(title="predicted", cells=[rounded(x.predicted, 3) for x in rows]),
        Column(title="measured", cells=[rounded(x.measured, 3) for x in rows]),
        Column(title="error", unit="[%]", cells=[signed_percent(x.error) for x in rows]),
    ]
    over = " or ".join(axis_value(float(x), "count") for x in bases)
    return Table(
        title="Speedups",
        forms=(Form(columns=[*labels, *columns]),),
        is_spaced=False,
        legend=f"speedup over the time on p = {over} of the same other axes; "
        "error: predicted / measured - 1",
    )
