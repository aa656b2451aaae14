"""A description and a table of runs in, a validation out: each configuration, and its errors.

A configuration that the description was fitted to says how well the law fits; only the others say
how well it predicts. So the verdict, the coverage of the intervals and the error that is written
back are of these alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import mean, pstdev
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import as_whole
from parcast.fitting.observed import PARTS_OF
from parcast.fitting.runs import configurations_of
from parcast.importers.registry import as_measurements
from parcast.laws.allowances import law_errors, law_half_width
from parcast.prediction.grid import require_times
from parcast.prediction.notes import doubts_of_law, warnings_of
from parcast.prediction.predict import sampled_ends, sets_of, widened
from parcast.prediction.trials.result import Configuration, ProgramValidation
from parcast.saved.call import Call
from parcast.show.sheet import Fact
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.trials.disturbance import Counted
from parcast.trials.trial import Trial
from parcast.units import format_quantity, shown
from parcast.validation.comparison import Comparison, accuracy_of
from parcast.validation.result import Validated
from parcast.validation.subject import Findings, Predicted, Rule
from parcast.validation.verdict import FEWEST, Quietness
from parcast.words import axis_value, counted, error_in_words, ranges_in_words, whole

RULE: Final = Rule(
    chance=0.05, cases="configuration", remedy="Compare it with runs at other configurations"
)
MEASURED, FITTED, NEW = ("measured", "used to fit", "not used to fit")
SAMPLES: Final = 256
ONE_FACTOR: Final = 1.5  # by which all times may differ from the predicted ones unnoticed [1]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PredictedConfigurations:
    """Predicted times at some configurations, (configurations,) each."""

    parts: Breakdown  # [s]
    time: Array  # [s]
    lower: Array | None  # ends of the 90% interval of a run [s]
    upper: Array | None
    warnings: tuple[str, ...]


def validate_program(
    program: ProgramLike,
    runs: MeasurementsLike,
    machine: MachineLike | None = None,
    *,
    law_error: bool = True,
    seed: int = 0,
) -> ProgramValidation:
    """Compare a described program with runs of it: errors, coverage, and whether the law holds.

    Parameters
    ----------
    program : Program or path
        The program, or the path of its TOML file.
    runs : Measurements, table or path
        Measured times with the axes p and, where the program uses them, d and n. Runs of the same
        configuration are repetitions. Speedups over one processor and one disk are compared as
        times over the described time there.
    machine : Machine or path, optional
        The machine of the runs, or the path of its TOML file.
    law_error : bool, default True
        Whether the interval includes the allowance for the error of the law, as in
        `parcast.predict`.
    seed : int, default 0
        Seed of the sets of parameters that the interval is computed from.

    Returns
    -------
    ProgramValidation
        Predicted and measured times [s] and signed errors [1] of every configuration, which of
        them the description was fitted to, and how many runs lie in their 90% intervals.

    Raises
    ------
    ParameterError
        If the runs have an axis that the program does not use, or are of several machines or call
        paths, or the law has no answer at one of them.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> work = {"parallel": "8 s", "serial": "1 s"}
    >>> program = parcast.Program(phase=[{"law": "spmd", "compute": work}])
    >>> found = parcast.validate_program(program, {"p": [1, 2, 4], "time": [9.2, 5.1, 2.9]})
    >>> [round(row["error"], 3) for row in found.rows()], found.coverage
    ([-0.022, -0.02, 0.034], 1.0)
    """
    program, measurements = as_program(program), as_measurements(runs)
    machine = Machine() if machine is None else as_machine(machine)
    seed = as_whole("seed", seed, least=0, hint="Use any such number.")
    axes, group = configurations_of(measurements, program, machine)
    points = axes | {"d": axes["d"] if "d" in axes else np.asarray(machine.servers(axes))}
    predicted = _predicted(program, machine, axes, points, law_error=law_error, seed=seed)
    seconds = _seconds(program, machine, measurements, points, group)
    runs_at = [seconds[group == i].tolist() for i in range(len(axes["p"]))]
    fitted, parts = fitted_at(program, machine, points), _parts_at(measurements, group)
    comparisons = tuple(_comparisons(axes, predicted, fitted, zip(runs_at, parts, strict=True)))
    part = Validated(
        name=program.name or "program",
        title=f"{program.law} on {machine.name}" if machine.name else program.law,
        law=program.law,
        rule=RULE,
        comparisons=comparisons,
        runs=tuple(run for x in comparisons for run in _runs(x, program.name)),
        findings=Findings(
            facts=tuple(_facts(program, machine, comparisons)),
            doubts=tuple(_missed(comparisons)),
            warnings=(
                *_factor(comparisons),
                *_unknown(program, machine, fitted),
                *_doubts_of_runs(machine, measurements, comparisons),
                *predicted.warnings,
            ),
        ),
        quietness=Quietness(),
        seconds=0.0,
    )
    return ProgramValidation(
        names=("validation", "program"),
        parts=(part,),
        axes=tuple(axes),
        program=program,
        machine=machine,
        are_speedups=measurements.measure.is_relative,
        seed=seed,
        call=Call(
            verb="validate-program",
            arguments={
                "program": program,
                "runs": measurements,
                "machine": machine,
                "law_error": law_error,
                "seed": seed,
            },
        ),
    )


def _predicted(
    program: Program,
    machine: Machine,
    axes: Mapping[str, Array],
    points: Mapping[str, Array],
    *,
    law_error: bool,
    seed: int,
) -> PredictedConfigurations:
    """Predict the configurations, with intervals as `predict` gives them."""
    shape = axes["p"].shape
    parts = Breakdown(
        **{
            name: np.broadcast_to(x, shape)
            for name, x in program.times(machine, points).components()
        }
    )
    time = parts.time
    require_times(time, axes)
    sets = sets_of(program, machine, {}, SAMPLES, seed)
    lower, upper = sampled_ends(program, machine, points, time, sets)
    errors = law_errors(program, machine, points) if law_error else ()
    if errors:
        lower, upper = widened(time, lower, upper, law_half_width(program, machine, points))
    return PredictedConfigurations(
        parts=parts,
        time=time,
        lower=lower,
        upper=upper,
        warnings=(
            *warnings_of(program, machine, axes),
            *doubts_of_law(errors, program, machine, uncertain=lower is not None, advises=False),
        ),
    )


def _seconds(
    program: Program,
    machine: Machine,
    measurements: Measurements,
    points: Mapping[str, Array],
    group: NDArray[np.intp],
) -> Array:
    """Measured times, (runs,) [s]: of speedups those over the described time of one processor."""
    if not measurements.measure.is_relative:
        require_times_of_runs("runs", measurements.measure)
        return measurements.time
    ones = np.ones_like(points["p"])
    alone = program.alone.times(machine, {**points, "p": ones, "d": ones}).time
    return np.asarray(measurements.time * np.broadcast_to(alone, ones.shape)[group])


def _comparisons(
    axes: Mapping[str, Array],
    predicted: PredictedConfigurations,
    fitted: Array | None,
    measured: Iterable[tuple[Sequence[float], Mapping[str, float]]],
) -> Iterator[Comparison[Configuration, None]]:
    """Give every configuration with its prediction, its runs and the parts of their time."""
    is_split = fitted is not None and bool(fitted.any())
    components = dict(predicted.parts.components())
    every = {
        first: sum(components[x] for x in (first, *more)) for first, *more in PARTS_OF.values()
    }
    parts = {name: np.asarray(x) for name, x in every.items() if np.any(x > 0)}
    for i, (times, observed) in enumerate(measured):
        case = Configuration(tuple((name, whole(float(x[i]))) for name, x in axes.items()))
        trials = tuple(
            Trial(
                case=case,
                purpose="comparison",
                turn=1,
                launch=1,
                repetition=number,
                seconds=time,
                observed=None,
            )
            for number, time in enumerate(times, 1)
        )
        lower, upper = (
            None if x is None else float(x[i]) for x in (predicted.lower, predicted.upper)
        )
        is_fitted = fitted is not None and bool(fitted[i])
        yield Comparison(
            case=case,
            kind=MEASURED if not is_split else FITTED if is_fitted else NEW,
            predictions={
                1: Predicted(
                    time=float(predicted.time[i]),
                    lower=lower,
                    upper=upper,
                    parts={name: float(x[i]) for name, x in parts.items()},
                )
            },
            counted=Counted(counting=trials, others=(), disturbed=0),
            labels={(name, ""): axis_value(float(x[i]), "count") for name, x in axes.items()},
            observed={name: x for name, x in observed.items() if name in parts},
            was_fitted=is_fitted,
        )


def _parts_at(measurements: Measurements, group: NDArray[np.intp]) -> list[dict[str, float]]:
    """Medians of the parts of the time of each configuration, where the table has them [s]."""
    parts = {first: measurements.parts.get(column) for column, (first, *_) in PARTS_OF.items()}
    return [
        {
            name: float(np.median(x[group == i]))
            for name, x in parts.items()
            if x is not None and np.isfinite(x[group == i]).all()
        }
        for i in range(int(group.max()) + 1)
    ]


def fitted_at(program: Program, machine: Machine, axes: Mapping[str, Array]) -> Array | None:
    """Which configurations a description was fitted to, (configurations,); None: not known."""
    records = [x for x in (program.fit, machine.fit) if x is not None]
    if not records:
        return np.zeros(axes["p"].shape, dtype=bool)
    shape = axes["p"].shape
    places = {name: np.broadcast_to(x, shape) for name, x in axes.items()}
    known = [x.is_fitted_at(places, program.name, machine.name) for x in records]
    if any(x is None for x in known):
        return None
    return np.asarray(np.any([x for x in known if x is not None], axis=0))


def _runs(x: Comparison[Configuration, None], callpath: str) -> Iterator[dict[str, Any]]:
    """Give every run of a configuration with the keys of the JSON document."""
    for trial in x.runs:
        yield {
            "callpath": callpath,
            "key": tuple(x.case.columns),
            "purpose": trial.purpose,
            **x.case.columns,
            "repetition": trial.repetition,
            "time_s": trial.seconds,
            "disturbed": False,
            "counts": True,
            "predicted_s": x.predicted,
            "lower_s": x.lower,
            "upper_s": x.upper,
            "inside": x.holds(trial.seconds),
        }


def _facts(
    program: Program, machine: Machine, comparisons: tuple[Comparison[Configuration, None], ...]
) -> Iterator[Fact]:
    """Say which configurations were fitted, and how well."""
    fitted = [x for x in comparisons if x.was_fitted]
    if fitted:
        accuracy = accuracy_of(fitted)
        assert accuracy is not None
        where = {name: [x.case.columns[name] for x in fitted] for name in fitted[0].case.columns}
        yield Fact(
            "fitted",
            f"{len(fitted)} of {counted(len(comparisons), RULE.cases)} were used to fit the "
            f"description ({ranges_in_words(where)}): median error "
            f"{error_in_words(accuracy.median)}, worst {error_in_words(accuracy.worst)}",
        )
    elif program.fit is None and machine.fit is None:
        yield Fact("fitted", "none: the descriptions were not fitted to runs", is_detail=True)


def _missed(comparisons: Sequence[Comparison[Configuration, None]]) -> Iterator[str]:
    """Name counts at which every configuration lies outside its interval, on one side."""
    by_p: dict[float, list[Comparison[Configuration, None]]] = {}
    for x in comparisons:
        by_p.setdefault(x.case.columns["p"], []).append(x)
    for p, here in by_p.items():
        errors = [error for x in here if (error := x.error()) is not None]
        is_one_side = min(errors) > 0 or max(errors) < 0
        if len(here) > 1 and is_one_side and all(x.is_inside is False for x in here):
            ends = " to ".join(error_in_words(x, sign=True) for x in (min(errors), max(errors)))
            yield f"at p = {p:g} all {len(here)} are outside, by {ends}"


def _factor(comparisons: Sequence[Comparison[Configuration, None]]) -> Iterator[str]:
    """Warn where all times differ from the predicted ones by one factor."""
    ratios = [log(x.measured / x.predicted) for x in comparisons if x.measured]
    if len(ratios) >= FEWEST and abs(mean(ratios)) > log(ONE_FACTOR) > 3 * pstdev(ratios):
        yield RankedWarning(
            f"All times are about {exp(mean(ratios)):.3g} times the predicted ones: check the "
            "unit of the table, the cycles of the program and the rates of the machine.",
            kind="one factor",
            rank=Rank.SERIOUS,
        )


def _unknown(program: Program, machine: Machine, fitted: Array | None) -> Iterator[str]:
    """Warn where it is unknown which runs a description was fitted to."""
    if fitted is None:
        runs = next(x.runs for x in (program.fit, machine.fit) if x is not None)
        yield RankedWarning(
            f"The description was fitted to {runs}, and does not say to which: all runs are "
            "compared as if they were new. Fit it again to distinguish them.",
            kind="fitted unknown",
            rank=Rank.SERIOUS,
        )


def _doubts_of_runs(
    machine: Machine,
    measurements: Measurements,
    comparisons: tuple[Comparison[Configuration, None], ...],
) -> Iterator[str]:
    """Say which runs were not compared, and what they may be of."""
    stopped = measurements.cut_off
    if stopped is not None:
        which = "1 run that was" if len(stopped) == 1 else f"{len(stopped)} runs that were"
        yield RankedWarning(f"Left out: {which} stopped before the end.", kind="stopped")
    names = {str(x) for x in measurements.labels.get("machine", ())}
    if names and machine.name and names != {machine.name}:
        yield RankedWarning(
            f"The runs are of {shown(*names)}, the description is of {shown(machine.name)}. "
            "Check that they are one machine.",
            kind="another machine",
            rank=Rank.SERIOUS,
        )
    if measurements.measure.is_relative:
        first = comparisons[0]
        place = ", ".join(f"{name} = {value:g}" for name, value in first.case.columns.items())
        yield (
            "The table has speedups: measured times are the described time of one processor and "
            f"one disk over them, such as {format_quantity(first.measured or 0.0, 'time')} at "
            f"{place}."
        )
