"""A fit as it is written: descriptions with fitted amounts in place of the described ones.

Where the runs leave a choice, the values nearest the description are written, with the range that
the runs leave them; the table [fit] beside them says what the constants have in common.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from zlib import crc32

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import WIDEST
from parcast.descriptions.description import Description
from parcast.descriptions.fit_record import FitRecord, FittedConstant
from parcast.descriptions.law_error import replaced
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.held_out import seen_law_errors
from parcast.fitting.model import MOST
from parcast.fitting.result import Fit, FittedParameter
from parcast.fitting.runs import Noise
from parcast.fitting.sets import DIGITS as DIGITS_OF_SETS
from parcast.fitting.sets import nearest, sets_of, with_open
from parcast.fitting.solver import Task
from parcast.units import NUMBER, Dimension, format_quantity, in_percent
from parcast.words import ranges_in_words

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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Written:
    """What a fit writes."""

    parameters: tuple[FittedParameter, ...]
    program: Program
    machine: Machine
    law_error: float | None  # at counts left out, half-width of the 90 % interval [1]
    logs: Array  # of what the model gives for the runs, (runs,)


def as_written(
    task: Task,
    noise: Noise,
    coordinates: Array,
    fitted: Sequence[FittedParameter],
    *,
    undetermined: Collection[str],
    has_converged: bool,
) -> Written:
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
    return Written(
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
    task: Task, noise: Noise, doubtful: Sequence[str], texts: Mapping[str, str], sets: Array
) -> FitRecord:
    """What the description keeps of a fit, if it has converged."""
    p = task.model.points["p"]
    return FitRecord(
        runs=_runs_in_words(task),
        scatter=float(f"{noise.share:.3g}"),
        largest=float(p.max()),
        growth=GROWTH,
        unseen=_unseen(p),
        undetermined=tuple(doubtful),
        **_sets_of_record(texts, sets),
    )


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


def _runs_in_words(task: Task) -> str:
    """Say what was fitted: 3 times, p = 1 to 9, d = 1."""
    what = "speedup" if task.model.is_speedup else "time"
    count = len(task.measured)
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
