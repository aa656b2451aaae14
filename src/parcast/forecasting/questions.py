"""Keywords of a verb that takes axes so: a misspelt parameter must not pass for an axis.

Columns that leave runs alone: the id of a job or a date makes every run a series of its own.
"""

from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, signature
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParameterError
from parcast.timings.measurements import Measurements
from parcast.timings.series import Series, number_groups
from parcast.units import shown
from parcast.words import did_you_mean, whole

_SELECT = "Select rows first: runs.select(machine='T3E')."
_COUNTS = "Processors are p: p=[64, 128]."
# What is an option of the command line, or called so elsewhere, and how Python asks for it.
ASKED_OTHERWISE: Final = {
    "target": "Select the machine, and give the others as donors: parcast.forecast("
    "runs.select(machine='T3E'), p, donors=runs.select(machine=['SP', 'O2000'])).",
    "select": _SELECT,
    "callpath": "Select rows first: runs.select(callpath='main').",
    "machine": f"{_SELECT} Descriptions of machines are machines=[parcast.read_machine(path)].",
    "ignore": "Pass over columns as they are read: "
    "parcast.read_measurements(path, ignore=['jobid']).",
    "at": "Name the axis itself: n=[1000, 2000].",
    "knee": "Call parcast.knee(runs, upto=1024).",
    "min_efficiency": "Call parcast.knee(runs, upto=1024, min_efficiency=0.5).",
    "upto": "Call parcast.knee(runs, upto=1024), or parcast.plan_runs(runs, p, upto=64).",
    "plan_runs": "Call parcast.plan_runs(runs, p).",
    "top": "Call parcast.largest_regions(told, 10) with what parcast.forecast gave.",
    **dict.fromkeys(("processors", "procs", "nprocs", "cores", "ranks"), _COUNTS),
}


def check_keywords(
    verb: Callable[..., Any], keywords: Iterable[str], measurements: Measurements
) -> None:
    """Refuse keywords that are no axis of the measurements, and say what may be meant.

    Parameters
    ----------
    verb : callable
        The function that was called; its own parameters are suggested too.
    keywords : iterable of str
        What was given besides its parameters.
    measurements : Measurements
        Whose axes may be asked for.

    Raises
    ------
    ParameterError
        If one of them is no axis besides `p`.

    Examples
    --------
    >>> from parcast import forecast
    >>> check_keywords(forecast, ["donor"], Measurements(p=[1, 2], time=[8.0, 4.5]))
    Traceback (most recent call last):
    parcast.errors.ParameterError: donor must be a parameter of forecast or an axis of the \
measurements, got neither. Did you mean donors?
    """
    axes = [name for name in measurements.axes if name != "p"]
    for name in keywords:
        if name not in axes:
            there = f"Its axes besides p: {', '.join(axes)}." if axes else "Its only axis is p."
            hint = (
                ASKED_OTHERWISE[name]
                if name in ASKED_OTHERWISE
                else did_you_mean(name, [*parameters_of(verb), *axes]) or there
            )
            raise ParameterError(
                shown(name),
                must=f"be a parameter of {verb.__name__} or an axis of the measurements",
                got="neither",
                hint=hint.lstrip(),
            )


def parameters_of(verb: Callable[..., Any]) -> list[str]:
    """Names that a function takes for itself, so that no axis can be asked for by them.

    >>> parameters_of(check_keywords)
    ['verb', 'keywords', 'measurements']
    """
    parameters = signature(verb).parameters.values()
    return [x.name for x in parameters if x.kind is not Parameter.VAR_KEYWORD]


NEARLY_ALL: Final = 0.9  # share of series with a single count from which a column is looked for


def parting_columns(measurements: Measurements, series: Series) -> tuple[str, ...]:
    """Axes by which nearly every run stands alone, where without them series have several counts.

    Parameters
    ----------
    measurements : Measurements
        What was measured.
    series : Series
        The series it was grouped into.

    Returns
    -------
    tuple of str
        Empty where most series have several counts, or would have one without such axes too.

    Examples
    --------
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
    """Name the columns by which nearly every run stands alone, and what to do; else "".

    Parameters
    ----------
    measurements, series
        As for `parting_columns`.
    of : str, optional
        Whose runs they are: "of the donors".
    briefly : bool, default False
        Whether to leave out how to ask for values of the column.

    Examples
    --------
    >>> runs = Measurements(p=[1, 2, 2], jobid=[7, 8, 9], time=[8, 4.5, 4.4])
    >>> print(remedy_of_lone_runs(runs, runs.series()))
    By jobid nearly every run is a series of its own. If jobid is no parameter of the program, \
pass over it (--ignore jobid; in Python ignore=['jobid'] of read_measurements). If it is, \
ask at a value of it (--at jobid=9; in Python jobid=9).
    """
    columns = parting_columns(measurements, series)
    if not columns:
        return ""
    names = [shown(name) for name in columns]
    run = f"run {of}" if of else "run"
    text = f"By {' and '.join(names)} nearly every {run} is a series of its own. "
    if len(names) > 1:
        return text + (
            "Pass over what is no parameter of the program "
            f"(--ignore {','.join(names)}; in Python ignore={names} of read_measurements)."
        )
    asked = f"{names[0]}={whole(float(measurements.axes[columns[0]].max()))}"
    text += (
        f"If {names[0]} is no parameter of the program, pass over it (--ignore {names[0]}; in "
        f"Python ignore={names} of read_measurements)."
    )
    at = f" If it is, ask at a value of it (--at {asked}; in Python {asked})."
    return text if briefly else text + at


def _alone(columns: Sequence[NDArray[Any]], p: NDArray[np.float64]) -> float:
    """Share of the groups by some columns that have a single count of processors."""
    group = number_groups(columns, len(p))[0]
    first_of_pair = number_groups([group, p], len(p))[1]
    return float(np.mean(np.bincount(group[first_of_pair]) == 1))
