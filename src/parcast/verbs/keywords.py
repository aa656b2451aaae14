"""Keywords of a verb that takes axes so: a misspelt parameter must not pass for an axis."""

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any, Final

from parcast.columns import did_you_mean
from parcast.errors import ParameterError
from parcast.measurements import Measurements
from parcast.units import shown

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
            there = f" Its axes besides p: {', '.join(axes)}." if axes else " Its only axis is p."
            hint = (
                f" {ASKED_OTHERWISE[name]}"
                if name in ASKED_OTHERWISE
                else did_you_mean(name, [*parameters_of(verb), *axes]) or there
            )
            raise ParameterError(
                f"{shown(name)} must be a parameter of {verb.__name__} or an axis of the "
                f"measurements, got neither.{hint}"
            )


def parameters_of(verb: Callable[..., Any]) -> list[str]:
    """Names that a function takes for itself, so that no axis can be asked for by them.

    >>> parameters_of(check_keywords)
    ['verb', 'keywords', 'measurements']
    """
    parameters = signature(verb).parameters.values()
    return [x.name for x in parameters if x.kind is not Parameter.VAR_KEYWORD]
