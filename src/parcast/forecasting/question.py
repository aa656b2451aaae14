"""The arguments of a forecast, checked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.errors import ParameterError, require
from parcast.forecasting.scaling import Scaling
from parcast.importers.registry import as_measurements
from parcast.numerics import distinct
from parcast.timings.columns import DOMAINS, LIMITS
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import shown
from parcast.words import did_you_mean, whole

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.toml_files import MachineLike


_SELECT = "Select rows first: runs.select(machine='T3E')."
_COUNTS = "Processors are p: p=[64, 128]."
# What is an option of the command line, or called so elsewhere, and how Python asks for it.
ASKED_OTHERWISE: Final = {
    "target": "Select the machine, and give the others as donors: parcast.forecast("
    "runs.select(machine='T3E'), p, donors=runs.select(machine=['SP', 'O2000'])).",
    "select": _SELECT,
    "callpath": "Select rows first: runs.select(callpath='main').",
    "machine": f"{_SELECT} Descriptions of machines are machines=[parcast.read_machine(path)].",
    "ignore": "Ignore columns when reading: parcast.read_measurements(path, ignore=['jobid']).",
    "at": "Name the axis itself: n=[1000, 2000].",
    "knee": "Call parcast.knee(runs, upto=1024).",
    "min_efficiency": "Call parcast.knee(runs, upto=1024, min_efficiency=0.5).",
    "upto": "Call parcast.knee(runs, upto=1024), or parcast.plan_runs(runs, p, upto=64).",
    "plan_runs": "Call parcast.plan_runs(runs, p).",
    "top": "Call parcast.largest_regions(result, 10) with the result of parcast.forecast.",
    **dict.fromkeys(("processors", "procs", "nprocs", "cores", "ranks"), _COUNTS),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Question:
    """What is asked of which measurements; made by `question_of`."""

    measurements: Measurements  # everything, with what is held out
    p: Array  # processors asked for, in the shape given [1]
    hold_out: ArrayLike | None  # measured counts to keep back [1]
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None  # on other machines
    machines: Sequence["Machine"]
    by: Sequence[str] | None
    scaling: Scaling
    at: Mapping[str, ArrayLike]  # values of other axes

    def known(self) -> Measurements:
        """Rows that a forecast is made from: those at the counts that are not held out."""
        if self.hold_out is None:
            return self.measurements
        held_out = processors("hold_out", self.hold_out)
        measured = distinct(self.measurements.p)
        require(
            "hold_out",
            held_out,
            np.isin(held_out, measured),
            must="be a measured count",
            hint=f"Measured are {', '.join(f'{whole(x)}' for x in measured[:12].tolist())}.",
        )
        left = np.setdiff1d(measured, held_out)
        if left.size == 0:
            raise ParameterError(
                "hold_out",
                must="leave counts to forecast from",
                got="all of them",
                hint="Name fewer.",
            )
        return self.measurements.select(p=left)


def question_of(
    verb: Callable[..., Any],
    measurements: MeasurementsLike,
    p: ArrayLike | None,
    *,
    hold_out: ArrayLike | None = None,
    donors: MeasurementsLike | Sequence[MeasurementsLike] | None = None,
    machines: Sequence["MachineLike"] = (),
    by: Sequence[str] | None = None,
    scaling: Scaling = "auto",
    at: Mapping[str, ArrayLike] | None = None,
) -> Question:
    """Check what `verb` was called with; `at` holds the keywords that it does not have itself."""
    check_scaling(scaling)
    measurements = as_measurements(measurements)
    check_keywords(verb, at or {}, measurements)
    if p is None:
        p = next_counts(measurements) if hold_out is None else hold_out
    return Question(
        measurements=measurements,
        p=processors("p", p),
        hold_out=hold_out,
        donors=donors,
        machines=_machines(machines),
        by=by,
        scaling=scaling,
        at=at or {},
    )


def check_scaling(scaling: object) -> None:
    """Refuse what names no scaling."""
    if scaling not in ("auto", "strong", "weak"):
        raise ParameterError(
            "scaling",
            must='be "auto", "strong" or "weak"',
            got=f"{scaling!r:.60}",
            hint='By default ("auto") it is weak where n grows with p, else strong.',
        )


def _machines(given: Sequence["MachineLike"]) -> Sequence["Machine"]:
    """Take machines or their files; without any, nothing of descriptions is loaded."""
    if isinstance(given, tuple | list) and not given:
        return ()
    from parcast.descriptions.toml_files import as_machines

    return as_machines(given)


def next_counts(measurements: Measurements) -> list[int]:
    """Counts to forecast where none are given: the next two doublings of the largest measured p.

    >>> next_counts(Measurements(p=[1, 2, 48], time=[9.0, 5.0, 1.0]))
    [96, 192]
    """
    largest = int(measurements.p.max())
    return [2 * largest, 4 * largest]


def processors(name: str, p: ArrayLike) -> Array:
    """Processor counts as floats, in the shape given. [1]."""
    counts = _numbers(name, p)
    is_count = (counts >= 1) & (counts == np.floor(counts))
    require(name, counts, is_count, must="be a whole number of at least 1", hint="Count from 1.")
    limit = LIMITS["p"]
    require(name, counts, limit.ok(counts), must=limit.must, hint=limit.hint)
    return counts


def counts_of(name: str, values: ArrayLike) -> Array:
    """Processor counts that a caller names, each once, ascending. [1]."""
    counts = distinct(_numbers(name, values))
    for domain in (DOMAINS["p"], LIMITS["p"]):
        require(name, counts, domain.ok(counts), must=domain.must, hint=domain.hint)
    return counts


def _numbers(name: str, values: ArrayLike) -> Array:
    """Take at least one number, whatever it is."""
    hint = f"Give whole numbers of at least 1, such as {name}=[64, 128]."
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(name, must="be numbers", got=f"{values!r:.60}", hint=hint) from None
    if numbers.size == 0:
        raise ParameterError(name, must="hold at least one number", got="none", hint=hint)
    return numbers


def check_keywords(
    verb: Callable[..., Any], keywords: Iterable[str], measurements: Measurements
) -> None:
    """Refuse keywords that are no axis of the measurements, and say what may be meant."""
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
    """Names that a function takes for itself, so that no axis can be asked for by them."""
    parameters = signature(verb).parameters.values()
    return [x.name for x in parameters if x.kind is not Parameter.VAR_KEYWORD]
