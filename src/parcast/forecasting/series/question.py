"""The arguments of a forecast, checked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parcast.aliases import Array
from parcast.errors import Argument, ParameterError, as_numbers, require, require_one_of
from parcast.forecasting.own_runs.scaling import Scaling
from parcast.importers.registry import as_measurements
from parcast.numerics import distinct
from parcast.timings.columns import DOMAINS, LIMITS
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.timings.series import Series, number_groups
from parcast.units import shown
from parcast.words import did_you_mean, whole

if TYPE_CHECKING:
    from parcast.descriptions.machine import Machine
    from parcast.descriptions.toml_files import MachineLike

NEARLY_ALL: Final = 0.9  # share of series with a single count from which a column is looked for
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ForecastQuestion:
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
) -> ForecastQuestion:
    """Check what `verb` was called with; `at` holds the keywords that it does not have itself."""
    check_scaling(scaling)
    measurements = as_measurements(measurements)
    check_keywords(verb, at or {}, measurements)
    if p is None:
        p = next_counts(measurements) if hold_out is None else hold_out
    return ForecastQuestion(
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
    hint = 'By default ("auto") it is weak where n grows with p, else strong.'
    require_one_of("scaling", scaling, ("auto", "strong", "weak"), hint)


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
    numbers = as_numbers(name, values, hint=hint)
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
                hint=hint.lstrip(),
            )


def parameters_of(verb: Callable[..., Any]) -> list[str]:
    """Names that a function takes for itself, so that no axis can be asked for by them."""
    parameters = signature(verb).parameters.values()
    return [x.name for x in parameters if x.kind is not Parameter.VAR_KEYWORD]
