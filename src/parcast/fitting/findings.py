"""What a fit's coordinates mean: parameters, their intervals, and what the runs leave open.

They become a description with fitted amounts in place of the described ones.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.amount import WIDEST
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.fitting.identifiability import (
    SMALL_PART,
    Direction,
    advice,
    candidate_runs,
    in_words,
    null_directions,
    precision_of,
    rank_of,
    trade_off,
    weak_directions,
)
from parcast.fitting.model import HOLD, Model, Parameter
from parcast.fitting.result import Fit, FittedParameter
from parcast.fitting.runs import Noise, Runs
from parcast.units import NUMBER, format_quantity, in_percent

DIGITS: Final = 6
_SCALED = re.compile(rf"\s*({NUMBER}) \* \((.*)\)\s*", re.DOTALL)
_PLUS_MINUS = re.compile(r"\+/?-|\u00b1")


def fitted_text(parameter: FittedParameter) -> str:
    """Text of a fitted amount: its value with its unit, or its formula scaled, and its interval.

    >>> from math import nan
    >>> volume = FittedParameter(
    ...     name="communication.volume", dimension="size", is_of_machine=False, scale=None,
    ...     described="1.07 * (8 MB / p) +- 5%", factor=2.0, lower=1.9, upper=2.1,
    ...     determined="runs",
    ... )
    >>> fitted_text(volume)
    '2.14 * (8 MB / p) +- 5.1%'
    """
    if parameter.value is not None:
        text = format_quantity(parameter.value, parameter.dimension, digits=DIGITS)
        if parameter.dimension == "time" and parameter.value >= 60.0:
            text = f"{parameter.value:.{DIGITS}g} s"  # "2 d" would be twice the disks
    else:
        formula, factor = _PLUS_MINUS.split(parameter.described)[0].strip(), parameter.factor
        found = _SCALED.fullmatch(formula)
        if found and _is_balanced(found[2]):  # fitted before
            formula, factor = found[2], factor * float(found[1])
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
        inner = {names[long]: text for long, text in texts.items() if long in names}
        phases.append(type(phase)(**_replaced(phase.model_dump(exclude_none=True), inner)))
    return program.model_copy(update={"phase": tuple(phases)})


def fitted_machine(machine: Machine, texts: Mapping[str, str]) -> Machine:
    """Machine whose amounts of these names have these texts."""
    return Machine(**_replaced(machine.model_dump(exclude_none=True), texts))


def _replaced(keys: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Replace what stands under "table.key"."""
    for name, text in texts.items():
        *tables, key = name.split(".")
        place = keys
        for table in tables:
            place = place[table]
        place[key] = text
    return keys


OUT_OF_SIGHT: Final = 1e-2  # coordinate whose part in a sum is not seen
AT_BOUND: Final = 1e-6  # of a coordinate
FEW_FREEDOM: Final = 2.0  # degrees of freedom of the runs
POOR: Final = 0.15  # noise that no run has
SAYS_LITTLE: Final = 0.9  # of the deviation of +-: what the runs must bring it below
WIDE: Final = 20.0  # times the value: an end of an interval that says little
FAR: Final = 1e3  # times the value: as good as no end


def findings(
    model: Model,
    runs: Runs,
    noise: Noise,
    found: Array,
    *,
    ends: tuple[Array, Array] | None,
    holds_scale: bool,
    has_converged: bool,
    starts: int,
    reached: int,
) -> Fit:
    """Say what the coordinates `found` mean.

    Parameters
    ----------
    model : Model
    runs : Runs
    noise : Noise
    found : ndarray, shape (parameters,)
        Coordinates of the parameters.
    ends : pair of ndarray, optional
        Of the interval of every coordinate; infinite where it has none.
    holds_scale : bool
        Whether the time alone is held.
    has_converged : bool
    starts, reached : int
        Starts, and those that ended here. [1]

    Returns
    -------
    Fit
    """
    parameters = model.parameters
    names = [x.name for x in parameters]
    logs, jacobian = model.logs(found[None])
    at_bound = np.array([_is_at_bound(x, c) for x, c in zip(parameters, found, strict=True)])
    # By the logarithm of the parameter; what is on a bound is not free.
    by_log = np.where([x.is_rate for x in parameters], -found, found)
    relative = jacobian[0] * by_log
    deviations = np.array([x.sigma for x in parameters])
    rows = relative / noise.level
    if holds_scale:
        held = model.logs_alone(found[None])[1][0, :1] * by_log / (noise.level * HOLD)
        rows = np.vstack([rows, held])
    directions = _directions(
        model, found, at_bound=at_bound, rows=rows, relative=relative, deviations=deviations
    )
    precision = precision_of(rows, deviations)
    told = [
        _told(
            x,
            found[i],
            i,
            ends=ends,
            is_at_bound=bool(at_bound[i]),
            directions=directions,
            precision=precision,
        )
        for i, x in enumerate(parameters)
    ]
    texts = {x.name: fitted_text(x) for x in told}
    of_machine = {x.name for x in told if x.is_of_machine}
    seen = _in_sight(found, at_bound)
    scales = {
        x.name: (x.amount.dimension, x.value and x.value * float(x.factor(seen[i])))
        for i, x in enumerate(parameters)
    }
    candidates, candidate_rows = candidate_runs(model, found)
    candidate_rows = candidate_rows * by_log / noise.level
    open_directions = [*directions, *_one_sided(told, directions, precision, relative)]
    return Fit(
        parameters=tuple(told),
        program=fitted_program(
            model.program, {x: text for x, text in texts.items() if x not in of_machine}
        ),
        machine=fitted_machine(
            model.machine, {x: text for x, text in texts.items() if x in of_machine}
        ),
        axes=runs.axes,
        measured=1.0 / runs.measured if model.is_speedup else runs.measured,
        fitted=np.exp(-logs[0] if model.is_speedup else logs[0]),
        quantity="speedup" if model.is_speedup else "time",
        noise=noise.level,
        freedom=noise.freedom,
        rank=rank_of(_away_from_bounds(model, found, at_bound)),
        singular_values=np.linalg.svd(relative, compute_uv=False),
        undetermined=tuple(in_words(x, names, scales, _why(x, model)) for x in open_directions),
        advice=tuple(advice(open_directions, precision, candidates, candidate_rows)),
        warnings=tuple(
            _warnings(told, noise, holds_scale=holds_scale, has_converged=has_converged)
        ),
        has_converged=has_converged,
        starts=starts,
        reached=reached,
        law=", then ".join(dict.fromkeys(phase.law for phase in model.program.phase)),
        sources=tuple(dict.fromkeys(phase.source_of_law for phase in model.program.phase)),
    )


def _is_at_bound(parameter: Parameter, coordinate: float) -> bool:
    """Whether a coordinate is where it may go no further."""
    return coordinate < AT_BOUND or coordinate >= parameter.upper * (1.0 - AT_BOUND)


def _away_from_bounds(model: Model, found: Array, at_bound: NDArray[np.bool_]) -> Array:
    """Jacobian where nothing is on a bound, for what no value of the parameters can change."""
    inside = _in_sight(found, at_bound)
    return np.asarray(model.logs(inside[None])[1][0] * inside)


def _in_sight(found: Array, at_bound: NDArray[np.bool_]) -> Array:
    """Coordinates, described ones in place of those that are as good as nothing."""
    return np.where(at_bound | (found < OUT_OF_SIGHT), 1.0, found)


def _directions(
    model: Model,
    found: Array,
    *,
    at_bound: NDArray[np.bool_],
    rows: Array,
    relative: Array,
    deviations: Array,
) -> tuple[Direction, ...]:
    """Directions that are open by algebra, then those that are by these runs."""
    names = [x.name for x in model.parameters]
    signs = np.where([x.is_rate for x in model.parameters], -1.0, 1.0)
    jacobian = _away_from_bounds(model, found, at_bound) * signs
    if len(rows) > len(jacobian):  # the row that holds the time alone
        jacobian = np.vstack([jacobian, rows[-1:]])
    algebra = null_directions(jacobian, deviations, names)
    free = np.flatnonzero(~at_bound)
    weak = weak_directions(
        rows[:, free], relative[:, free], deviations[free], [names[i] for i in free]
    )
    named = {name for direction in algebra for name in direction.names}
    others = []
    for direction in weak:
        if not set(direction.names) & named:
            parts = np.zeros(len(names))
            parts[free] = direction.parts
            others.append(replace(direction, parts=parts))
    return (*algebra, *others)


def _told(
    parameter: Parameter,
    coordinate: float,
    i: int,
    *,
    ends: tuple[Array, Array] | None,
    is_at_bound: bool,
    directions: Sequence[Direction],
    precision: Array,
) -> FittedParameter:
    """One parameter with its interval, and what determines it."""
    factor = float(parameter.factor(np.asarray(coordinate)))
    is_weak = any(abs(direction.parts[i]) > SMALL_PART for direction in directions)
    lower = upper = np.nan
    has_ends = (not is_weak, not is_weak)
    if ends is not None:
        lower, upper, has_ends = _interval(parameter, factor, ends[0][i], ends[1][i])
    determined = {
        (False, False): "not",
        (False, True): "only from above",
        (True, False): "only from below",
        (True, True): _known_from(parameter, i, precision),
    }[has_ends]
    if is_at_bound:
        determined = "on its bound"
    return FittedParameter(
        name=parameter.name,
        dimension=parameter.amount.dimension,
        is_of_machine=parameter.is_of_machine,
        described=parameter.amount.text,
        scale=parameter.value,
        factor=factor,
        lower=lower,
        upper=upper,
        determined=determined,
    )


def _interval(
    parameter: Parameter, factor: float, low: float, high: float
) -> tuple[float, float, tuple[bool, bool]]:
    """Ends of the interval as factors, and whether they say anything.

    Ends far away are none; a level of contention ends at 1 whatever the runs say.
    """
    lower, upper = low if low > 0 else 0.0, high
    if parameter.is_rate:
        lower, upper = 1.0 / upper, 1.0 / lower if lower > 0 else np.inf
    says = (factor / WIDE < lower, upper < factor * WIDE)
    lower = lower if lower > factor / FAR else 0.0
    upper = upper if upper < max(factor, 1.0) * FAR else np.inf
    if parameter.name.endswith(".contention"):
        upper = min(upper, parameter.upper)
    return float(lower), float(upper), says


def _known_from(parameter: Parameter, i: int, precision: Array) -> str:
    """Whether a parameter is known from the runs, from its +-, or from both."""
    if not np.isfinite(parameter.sigma):
        return "runs"
    now = np.sqrt(np.linalg.pinv(precision, hermitian=True)[i, i])
    return "+- alone" if now > SAYS_LITTLE * parameter.sigma else "runs and +-"


def _one_sided(
    told: Sequence[FittedParameter],
    directions: Sequence[Direction],
    precision: Array,
    relative: Array,
) -> Iterator[Direction]:
    """Parameters that no weak direction names and that the runs still leave open."""
    named = {name for direction in directions for name in direction.names}
    for i, x in enumerate(told):
        if not x.is_determined and x.determined != "on its bound" and x.name not in named:
            found = trade_off(i, precision, relative, [x.name for x in told])
            named |= set(found.names)
            yield found


def _why(direction: Direction, model: Model) -> str:
    """Say what all runs have in common that leaves a direction open, where it is plain."""
    tables = {name.split(".")[-2] for name in direction.names}
    disks = model.points["d"]
    if tables == {"io"} and np.ptp(disks) == 0:
        return f"because all runs have d = {disks[0]:g}"
    serial = any(name.endswith("compute.serial") for name in direction.names)
    if len(direction.names) == 2 and serial and "communication" in tables:
        amounts = model.program.parameters().items()
        groups = [x(model.points) for name, x in amounts if name.endswith("communication.group")]
        if all(np.all(group == 1) for group in groups):
            return "because all runs have c = 1"
    return ""


def _warnings(
    told: Sequence[FittedParameter], noise: Noise, *, holds_scale: bool, has_converged: bool
) -> Iterator[str]:
    """Say what the reader must know."""
    if not has_converged:
        yield (
            "The fit has not converged: these values are on the way to better ones. Take more "
            "starts, or leave some parameters as they are."
        )
    for x in told:
        if x.determined == "on its bound":
            end = ""
            if x.scale is not None and np.isfinite(x.upper):
                end = f", and {format_quantity(x.upper * x.scale, x.dimension)} at most"
            side = f"nothing{end}" if x.factor < 1.0 else "as much as it may be"
            yield f"{x.name} is on its bound: the runs want it to be {side}."
    if noise.level > POOR:
        yield (
            f"The law misses these runs by {in_percent(noise.level)} %: either it is not the law "
            "of this program, or what is left as described, or written with +-, is wrong."
        )
    if noise.from_runs < FEW_FREEDOM and noise.level <= POOR:
        yield (
            f"Too few runs to see how far they scatter about the law: {in_percent(noise.level)} % "
            "is assumed."
        )
    if holds_scale:
        yield (
            "Speedups do not tell the scale of times: one processor and one disk are held to "
            "take as long as described."
        )
