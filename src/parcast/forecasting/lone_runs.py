"""Columns that leave runs alone: the id of a job or a date makes every run a series of its own."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import Argument
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, number_groups
from parcast.units import shown
from parcast.words import whole

NEARLY_ALL: Final = 0.9  # share of series with a single count from which a column is looked for


def parting_columns(measurements: Measurements, series: Series) -> tuple[str, ...]:
    """Axes by which nearly every run stands alone, where without them series have several counts.

    >>> runs = Measurements(p=[1, 2, 2, 4], jobid=[7, 8, 9, 10], time=[8, 4.5, 4.4, 2.5])
    >>> parting_columns(runs, runs.series())
    ('jobid',)
    """
    if np.mean(series.count == 1) < NEARLY_ALL or len(np.unique(series.p[:, 0])) == 1:
        return ()
    labels, axes = measurements.labels, measurements.axes
    parting = tuple(
        name
        for name in series.by
        if name in axes and _alone([*labels.values(), axes[name]], measurements.p) >= NEARLY_ALL
    )
    others = [measurements.columns[name] for name in series.by if name not in parting]
    is_better = bool(parting) and _alone(others, measurements.p) < NEARLY_ALL
    return parting if is_better else ()


def remedy_of_lone_runs(
    measurements: Measurements, series: Series, *, of: str = "", briefly: bool = False
) -> str:
    """Name the columns by which nearly every run stands alone, and what to do; else ""."""
    columns = parting_columns(measurements, series)
    if not columns:
        return ""
    names = [shown(name) for name in columns]
    run = f"run {of}" if of else "run"
    differ = "differs" if len(names) == 1 else "differ"
    text = f"{' and '.join(names)} {differ} in nearly every {run}: each is a series of its own. "
    if len(names) > 1:
        return text + (
            f"Ignore columns that are no parameter of the program ({_ignored(columns)})."
        )
    example = f"{names[0]}={whole(float(measurements.axes[columns[0]].max()))}"
    text += f"If {names[0]} is no parameter of the program, ignore it ({_ignored(columns)})."
    value = Argument("at", example, python=example)
    at = f" If it is one, forecast at a value of it ({value})."
    return text if briefly else text + at


def _ignored(columns: Sequence[str]) -> Argument:
    """Name the argument that leaves columns out."""
    names = list(columns)
    return Argument("ignore", names, python=f"read_measurements(path, ignore={names})")


def _alone(columns: Sequence[NDArray[Any]], p: NDArray[np.float64]) -> float:
    """Share of the groups by some columns that have a single count of processors."""
    group = number_groups(columns, len(p))[0]
    first_of_pair = number_groups([group, p], len(p))[1]
    return float(np.mean(np.bincount(group[first_of_pair]) == 1))
