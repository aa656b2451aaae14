"""A fit as it is written: descriptions with fitted amounts in place of the described ones.

A constant that the runs do not determine counts as known to a factor of 11, the widest +- there
is: of all values that explain the runs, those nearest the description are written [D]. Each set
then is the best fit to runs and described values that were disturbed as much as they are uncertain
(randomised maximum likelihood [1]_): exact for laws that are linear in their constants, and near
enough for others. A noise that is based on few degrees of freedom is drawn as well, so that the
sets have Student's t for tails.

Constants are fitted to all other runs, from where the fit of all ended, and the runs that were
left out are predicted. A count without which the others determine less is not asked. The worst of
these errors is what the description keeps, see `parcast.descriptions.fit_record`.

Where the runs leave a choice, the values nearest the description are written, with the range that
the runs leave them; the table [fit] beside them says what the constants have in common.

References
----------
.. [1] D. S. Oliver, N. He, and A. C. Reynolds, "Conditioning permeability fields to pressure
   data," in Proc. 5th European Conf. on the Mathematics of Oil Recovery, 1996, pp. 259-269,
   :doi:`10.3997/2214-4609.201406884`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, WIDEST
from parcast.descriptions.description import Description
from parcast.descriptions.fit_record import (
    KINDS,
    FitRecord,
    FittedConstant,
    OwnLawError,
    SeenByP,
    own_law_error,
    replaced,
)
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.by_p import ConstantByP
from parcast.fitting.identifiability import WEAK
from parcast.fitting.model import LEAST, MOST
from parcast.fitting.result import Fit, FittedParameter
from parcast.fitting.runs import Noise
from parcast.fitting.solver import LOOSE, FitTask, least_squares
from parcast.laws.allowances import platform_of
from parcast.units import NUMBER, Dimension, format_interval, format_quantity, in_percent
from parcast.words import ranges_in_words, whole

SETS: Final = 100  # five of them below a 90% interval, and five above
STEPS: Final = 20
ENOUGH: Final = 3e-3  # gain of a sum of squares that does not matter here
OPEN: Final = (
    float(np.log1p(WIDEST)) / NORMAL_90
)  # deviation of a logarithm of which little is known
MOST_STEP: Final = 5.0  # of a logarithm at the start
DIGITS_OF_SETS: Final = 4
MOST_PLACES: Final = 1000  # configurations that the description lists [1]
MOST_COUNTS: Final = 16  # that are left out, spread over all
DIGITS: Final = 6
GROWTH: Final = 0.06  # of the scatter for each doubling of p beyond the runs: BTIO [D]
# Of what is not computing, the standard deviation of its logarithm for each doubling, where one
# count above 1 shows what it costs and none how it grows: that of costs as 1, log2 p, p - 1 and
# p(p - 1) from 2 to 4 and 8 processors [D].
UNSEEN: Final = 0.7
LARGEST: Final = "on its bound"  # said of a constant with the largest value that is allowed
AT_BOUND: Final = 1e-6  # of a coordinate
TAILS: Final = (0.05, 0.95)
_SCALED = re.compile(rf"\s*({NUMBER}) \* \((.*)\)\s*", re.DOTALL)
_PLUS_MINUS = re.compile(r"\+/?-|\u00b1")


def with_open(task: FitTask, names: Collection[str]) -> FitTask:
    """The same task, where some constants are known to a factor of 11."""
    parameters = tuple(
        replace(x, sigma=min(x.sigma, OPEN)) if x.name in names else x
        for x in task.model.parameters
    )
    return replace(task, model=replace(task.model, parameters=parameters))


def nearest(task: FitTask, noise: Noise, best: Array) -> Array:
    """Coordinates that explain the runs nearest the description, from the best ones."""
    is_open = np.isfinite(task.deviations)
    inside = np.clip(best, np.maximum(task.lower, 1e-3), task.upper)
    starts = np.stack([np.where(is_open, 1.0, best), inside, np.ones_like(best)])
    levels = [x.seen for x in noise.of_columns]
    solved = task.solve(levels, np.clip(starts, task.lower, task.upper))
    return np.asarray(solved.coordinates[np.argmin(solved.squares)])


def sets_of(task: FitTask, noise: Noise, coordinates: Array) -> Array:
    """Factors over those at the coordinates, of constants that explain the runs too.

    Of shape (sets, parameters). [1].
    """
    values, jacobian = task.residuals(noise.levels, coordinates[None])
    runs, known = len(task.measured), np.isfinite(task.deviations)
    seed = crc32(np.round(task.measured, 9).tobytes())
    random = np.random.default_rng(seed)
    shifts = np.zeros((SETS, values.shape[1]))
    deviation = np.sqrt(noise.freedom / special.chdtri(noise.freedom, _levels(random, 1)))
    shifts[:, :runs] = special.ndtri(_levels(random, runs)) * deviation
    own = special.ndtri(_levels(random, len(known)))
    shifts[:, -len(known) :] = np.where(known, own, 0.0)

    def residuals(x: Array) -> tuple[Array, Array]:
        return task.residuals(noise.levels, x)

    solved = least_squares(
        residuals,
        _near(task, coordinates, jacobian[0], shifts),
        lower=task.lower,
        upper=task.upper,
        tolerance=LOOSE,
        enough=ENOUGH,
        steps=STEPS,
        shifts=shifts,
    )
    ratio = np.maximum(solved.coordinates, LEAST) / np.maximum(coordinates, LEAST)
    is_rate = np.array([x.is_rate for x in task.model.parameters])
    return np.asarray(np.where(is_rate, 1.0 / ratio, ratio))


def _near(task: FitTask, coordinates: Array, jacobian: Array, shifts: Array) -> Array:
    """Coordinates of each set to start from, were logarithms linear in logarithms.

    So they begin far along a product that alone is known; steps of coordinates would creep there.
    """
    by_log = jacobian * coordinates
    steps = -shifts @ np.linalg.pinv(by_log, rcond=1e-8).T
    far = coordinates * np.exp(np.clip(steps, -MOST_STEP, MOST_STEP))
    return np.asarray(np.clip(far, task.lower, task.upper))


def _levels(random: np.random.Generator, columns: int) -> Array:
    """Probabilities of a Latin hypercube, (sets, columns)."""
    order = np.stack([random.permutation(SETS) for _ in range(columns)], axis=1)
    return np.asarray((order + 0.5) / SETS)


def seen_law_errors(
    task: FitTask, noise: Noise, best: Array, runs: str
) -> tuple[OwnLawError, ...]:
    """Errors of the program's laws at counts that were left out; nothing where too few can be.

    `runs` says in words what was fitted.
    """
    model = task.model
    kinds = np.unique(platform_of(model.machine, model.points))
    if len(kinds) != 1:  # the error on each of them is not known
        return ()
    laws = [law for phase in model.program.phase for law in phase.laws_within]
    errors = _errors(task, noise, best)
    return own_law_error(laws, KINDS[int(kinds[0])], errors, model.points["p"], runs)


def _errors(task: FitTask, noise: Noise, best: Array) -> list[float]:
    """Logarithms of predicted over measured times of counts left out, the median at each."""
    p = task.model.points["p"]
    counts = np.unique(p)
    if len(counts) > MOST_COUNTS:
        counts = counts[np.linspace(0, len(counts) - 1, MOST_COUNTS).round().astype(int)]
    open_ones = _open(task, noise, best, np.ones(len(p), dtype=bool))
    errors = []
    for count in counts:
        kept = p != count
        if not kept.any() or _open(task, noise, best, kept) > open_ones:
            continue
        coordinates = _without(task, kept).solve(noise.levels, best[None]).coordinates
        measured = np.log(task.runs.measured)
        apart = task.model.logs(coordinates)[0][0] - measured
        errors.append(float(np.median(np.abs(apart[~kept]))))
    return errors


def _without(task: FitTask, kept: NDArray[np.bool_]) -> FitTask:
    """The task of some of the runs."""
    points = {axis: column[kept] for axis, column in task.model.points.items()}
    return replace(
        task,
        model=replace(task.model, points=points),
        columns=tuple(x.select(kept) for x in task.columns),
        runs=task.runs.select(kept),
    )


def _open(task: FitTask, noise: Noise, best: Array, kept: NDArray[np.bool_]) -> int:
    """How many combinations of parameters some of the runs do not determine."""
    inside = (best > task.lower) & (best < task.upper)
    residuals, rows = task.residuals(noise.levels, best[None])
    of_runs = kept[task.rows]
    used = np.concatenate([of_runs, np.ones(residuals.shape[1] - len(of_runs), dtype=bool)])
    by_log = rows[0][used][:, inside] * best[inside]
    sizes = np.linalg.svd(by_log, compute_uv=False)
    return int(inside.sum() - np.sum(sizes > WEAK))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WrittenFit:
    """What a fit writes."""

    parameters: tuple[FittedParameter, ...]
    program: Program
    machine: Machine
    law_error: float | None  # at counts left out, half-width of the 90% interval [1]
    logs: Array  # of what the model gives for the runs, (runs,)


def as_written(
    task: FitTask,
    noise: Noise,
    coordinates: Array,
    fitted: Sequence[FittedParameter],
    *,
    undetermined: Collection[str],
    has_converged: bool,
) -> WrittenFit:
    """Settle what the runs leave open, and write everything into the descriptions.

    `undetermined` are in combinations that the runs do not determine.
    """
    model = task.model
    largest = coordinates >= np.where(task.upper < MOST, task.upper * (1.0 - AT_BOUND), np.inf)
    fitted = [
        replace(x, determined=_determined(x, y)) for x, y in zip(fitted, largest, strict=True)
    ]
    if open_ones := [x.name for x in fitted if not x.is_determined and x.determined != LARGEST]:
        task = with_open(task, open_ones)
        coordinates = nearest(task, noise, coordinates)
    sets = sets_of(task, noise, coordinates)
    low, high = np.quantile(sets, TAILS, axis=0)
    shares = np.sqrt(high / np.maximum(low, 1e-300)) - 1.0
    factors = [
        float(own.factor(np.asarray(coordinate)))
        for own, coordinate in zip(model.parameters, coordinates, strict=True)
    ]
    # What was settled, or rounding where the runs do not scatter, may lie beside the interval.
    parameters = tuple(
        replace(
            x,
            factor=factor,
            lower=min(x.lower, factor),
            upper=max(x.upper, factor),
            drawn=min(float(share), WIDEST),
        )
        for x, factor, share in zip(fitted, factors, shares, strict=True)
    )
    texts = {x.name: fitted_text(x) for x in parameters}
    doubtful = [x.name for x in parameters if not x.is_determined or x.name in undetermined]
    record = _record(task, noise, doubtful, texts, sets).model_copy(
        update={"converged": has_converged}
    )
    of_machine = {x.name for x in parameters if x.is_of_machine}
    program = _with_record(
        fitted_program(model.program, {x: texts[x] for x in texts if x not in of_machine}),
        record,
        set(texts) - of_machine,
    )
    errors = seen_law_errors(task, noise, coordinates, record.runs) if has_converged else ()
    return WrittenFit(
        parameters=parameters,
        program=program.model_copy(update={"law_error": replaced(program.law_error, errors)}),
        machine=_with_record(
            fitted_machine(model.machine, {x: texts[x] for x in texts if x in of_machine}),
            record,
            of_machine,
        ),
        law_error=errors[0].error if errors else None,
        logs=model.logs(coordinates[None])[0][0],
    )


def _record(
    task: FitTask, noise: Noise, doubtful: Sequence[str], texts: Mapping[str, str], sets: Array
) -> FitRecord:
    """What the description keeps of a fit, if it has converged."""
    p = task.model.points["p"]
    return FitRecord(
        runs=_runs_in_words(task),
        at=_places(task),
        program=task.model.program.name,
        machine=task.model.machine.name,
        scatter=float(f"{noise.share:.3g}"),
        largest=float(p.max()),
        growth=GROWTH,
        unseen=_unseen(p),
        undetermined=tuple(doubtful),
        **_sets_of_record(texts, sets),
    )


def _places(task: FitTask) -> dict[str, tuple[float, ...]]:
    """Values of each axis of the runs, disks too; none of more than a file should hold."""
    points = {**task.runs.axes, "d": task.model.points["d"]}
    few = len(task.measured) <= MOST_PLACES
    return {name: tuple(map(whole, x.tolist())) for name, x in points.items()} if few else {}


def _determined(x: FittedParameter, is_largest: object) -> str:
    """What determines a parameter; one that fits best with nothing is bound by its limit alone."""
    if x.determined != LARGEST or is_largest:
        return x.determined
    if np.isfinite(x.upper):
        return "only from above"
    return "only from below" if x.lower > 0 else "not"


def _unseen(p: Array) -> float:
    """How unsure growth is that the runs do not show; one processor alone does not communicate."""
    return 0.0 if len(np.unique(p[p > 1])) > 1 else UNSEEN


def _sets_of_record(texts: Mapping[str, str], sets: Array) -> dict[str, Any]:
    """Sets as a record keeps them, rounded, under a key of their own."""
    rounded = [tuple(float(f"{x:.{DIGITS_OF_SETS}g}") for x in column) for column in sets.T]
    constants = (
        FittedConstant(name=name, amount=text, factors=column)
        for (name, text), column in zip(texts.items(), rounded, strict=True)
    )
    key = f"{crc32(repr([texts, rounded]).encode()):08x}"
    return {"key": key, "constant": tuple(constants)}


def _runs_in_words(task: FitTask) -> str:
    """Say what was fitted: 3 times, p = 1 to 9, d = 1."""
    what = "speedup" if task.model.is_speedup else "time"
    count = len(task.runs.measured)
    return f"{count} {what}{'s' if count > 1 else ''}, {ranges_in_words(task.runs.axes)}"


def first_lines(fit: Fit) -> Iterator[str]:
    """Say above a description what the runs do not determine, a line each; none if nothing."""
    record = fit.program.fit or fit.machine.fit
    if fit.is_settled or record is None:
        return
    if not fit.has_converged:
        yield f"NOT CONVERGED, fitted to {record.runs}: the values may be wrong."
    if record.undetermined:
        yield f"NOT DETERMINED by {record.runs}:"
        yield from (f"  {name}: {_known(fit[name])}" for name in record.undetermined)
    yield "The table [fit] below holds what the runs leave open; predictions use it."


def _known(x: FittedParameter) -> str:
    """Say what the runs tell of a constant that they do not determine."""
    scale: float = 1.0 if x.scale is None else x.scale
    unit: Dimension = "count" if x.scale is None else x.dimension
    times = " times the formula" if x.scale is None else ""
    if x.determined == "only from above" and np.isfinite(x.upper):
        return f"at most {format_quantity(x.upper * scale, unit)}{times}"
    if x.determined == "only from below" and x.lower > 0:
        return f"at least {format_quantity(x.lower * scale, unit)}{times}"
    if x.determined == LARGEST:
        return "the largest value that is allowed"
    return "only together with others" if x.is_determined else "not limited by these runs"


def fitted_text(parameter: FittedParameter) -> str:
    """Text of a fitted amount, its value with its unit or its formula scaled, and its interval."""
    if parameter.value is not None:
        text = format_quantity(parameter.value, parameter.dimension, digits=DIGITS)
        if parameter.dimension == "time" and parameter.value >= 60.0:
            text = f"{parameter.value:.{DIGITS}g} s"  # "2 d" would be twice the disks
    else:
        formula, factor = _PLUS_MINUS.split(parameter.described)[0].strip(), parameter.factor
        scaled = _SCALED.fullmatch(formula)
        if scaled and _is_balanced(scaled[2]):  # fitted before
            formula, factor = scaled[2], factor * float(scaled[1])
        text = f"{factor:.{DIGITS}g} * ({formula})"
    if parameter.spread is not None and parameter.spread <= WIDEST:
        text += f" +- {in_percent(parameter.spread)}%"
    return text


def _is_balanced(text: str) -> bool:
    """Whether no bracket closes that was opened outside."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return True


def fitted_program(program: Program, texts: Mapping[str, str]) -> Program:
    """Program whose amounts of these names have these texts."""
    phases = []
    for i, phase in enumerate(program.phase):
        label = program.label(i)
        names = {f"{label}.{name}" if label else name: name for name, _ in phase.amounts()}
        inner = {phase.place(names[x]): text for x, text in texts.items() if x in names}
        phases.append(type(phase)(**_replaced(_given(phase), inner)))
    return program.model_copy(update={"phase": tuple(phases)})


def fitted_machine(machine: Machine, texts: Mapping[str, str]) -> Machine:
    """Machine whose amounts of these names have these texts."""
    places: dict[tuple[str | int, ...], str]
    places = {tuple(name.split(".")): text for name, text in texts.items()}
    return Machine(**_replaced(_given(machine), places))


def with_formulas(
    program: Program, machine: Machine, texts: Mapping[str, str]
) -> tuple[Program, Machine]:
    """Descriptions in which constants that differ with p are formulas of it."""
    ours = program.parameters()
    of_machine = {name: text for name, text in texts.items() if name not in ours}
    of_program = {name: text for name, text in texts.items() if name in ours}
    return (
        fitted_program(program, of_program) if of_program else program,
        fitted_machine(machine, of_machine) if of_machine else machine,
    )


def written_by_p(fit: Fit, found: Sequence[ConstantByP], described: Program) -> Fit:
    """A fit of formulas of p, each with the widest interval of its values.

    The sets of constants leave these out, so that their intervals count. As every count went into
    the formulas, none was left out: the error of the law stays as it was `described`.
    """
    spreads = {x.name: x.spread for x in found}
    parameters = tuple(
        replace(x, factor=1.0, lower=1.0 / (1.0 + spreads[x.name]), upper=1.0 + spreads[x.name])
        if x.name in spreads
        else x
        for x in fit.parameters
    )
    program, machine = with_formulas(fit.program, fit.machine, {x.name: x.text for x in found})
    of_program, of_machine = (
        _seen(x.fit, x.parameters(), found) for x in (fit.program, fit.machine)
    )
    return replace(
        fit,
        parameters=parameters,
        program=program.model_copy(update={"fit": of_program, "law_error": described.law_error}),
        machine=machine.model_copy(update={"fit": of_machine}),
        law_error=None,
        by_p=tuple(found),
        writes_by_p=True,
    )


def _seen(
    record: FitRecord | None, amounts: Collection[str], found: Sequence[ConstantByP]
) -> FitRecord | None:
    """What a description keeps of a fit, and where formulas of p among its amounts were seen."""
    own = {x.name: x for x in found if x.name in amounts}
    if record is None or not own:
        return record
    seen = tuple(
        SeenByP(name=name, amount=x.text, least=float(x.p[0]), largest=float(x.p[-1]))
        for name, x in own.items()
    )
    constants = tuple(x for x in record.constant if x.name not in own)
    return record.model_copy(update={"constant": constants, "by_p": seen})


def one_value(x: FittedParameter) -> str:
    """A fitted constant with its interval, in words."""
    scale: float = 1.0 if x.scale is None else x.scale
    unit: Dimension = "count" if x.scale is None else x.dimension
    times = " times the formula" if x.scale is None else ""
    if not (x.lower > 0 and np.isfinite(x.upper)):
        return f"{format_quantity(x.amount, unit)}{times}"
    text = format_interval(x.amount, x.lower * scale, x.upper * scale, unit)
    return f"{' '.join(text.split())}{times}"


def _given(described: Description) -> dict[str, Any]:
    """Give the keys of a description; defaults may be keys that it must not have."""
    return described.model_dump(exclude_none=True, exclude_unset=True)


def _with_record(description: Any, record: FitRecord, names: Collection[str]) -> Any:
    """Keep of a fit what is about the constants of one description."""
    own = tuple(x for x in record.constant if x.name in names)
    kept = record.model_copy(update={"constant": own}) if own else None
    return description.model_copy(update={"fit": kept})


def _replaced(keys: dict[str, Any], texts: Mapping[tuple[str | int, ...], str]) -> dict[str, Any]:
    """Replace what stands at ("table", "key"), or at ("region", 1, "key")."""
    for (*tables, key), text in texts.items():
        place: Any = keys
        for table in tables:
            place = place[table] if isinstance(table, int) else place.setdefault(table, {})
        place[key] = text
    return keys
