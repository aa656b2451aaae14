"""Predicted times of a program on a machine, for every requested configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from parcast.advice import ours
from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount
from parcast.descriptions.breakdown import Breakdown
from parcast.descriptions.fit_record import FitRecord, departing
from parcast.descriptions.machine import LEVEL, Machine, MissingFigure
from parcast.descriptions.program import Program
from parcast.descriptions.toml_files import MachineLike, ProgramLike, as_machine, as_program
from parcast.errors import Argument, ParameterError, as_whole
from parcast.laws.allowances import law_errors, law_half_width
from parcast.laws.compactness import superlinear_warnings
from parcast.numerics import stratified_normal
from parcast.prediction.grid import ConfigurationGrid, grid_of, require_times, uncertain_amounts
from parcast.prediction.limiting import elasticities_of
from parcast.prediction.notes import (
    doubts_of_law,
    fastest_of,
    idle_parameters,
    limits_of,
    warnings_of,
)
from parcast.prediction.result import Prediction
from parcast.saved.call import Call
from parcast.words import joined

MOST_POINTS: Final = 20_000_000  # of one grid of a simple law: about 3 GB
MOST_SAMPLED: Final = 20_000_000  # points times samples, of a simple law: a few seconds
POINTS_AT_ONCE: Final = 2_000_000  # samples x points computed together
INTERVAL: Final = 0.9
TAIL: Final = (1.0 - INTERVAL) / 2.0


def predict(
    program: ProgramLike,
    machine: MachineLike,
    *,
    p: ArrayLike,
    d: ArrayLike | None = None,
    n: ArrayLike | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    interval: bool = True,
    bounds: bool = True,
    law_error: bool = True,
    samples: int = 256,
    seed: int = 0,
) -> Prediction:
    """Predict run times of a described program on a described machine.

    Parameters
    ----------
    program : Program or path
        The program, or the path of its TOML file.
    machine : Machine or path
        The machine, or the path of its TOML file.
    p : int or array_like of one dimension
        Processor counts: whole numbers of at least 1. [1]
    d : int or array_like of one dimension, optional
        Disks or I/O servers. By default those of the machine. [1]
    n : float or array_like of one dimension, optional
        Problem sizes, where the formulas of the program use n. [1]
    vary : mapping of str to array_like, optional
        Parameters that take several values, such as {"network.bandwidth": [1e8, 1e9]}. [SI]
    interval : bool, default True
        Whether to compute the 90% interval, from uncertain parameters ("6.9 s +- 5%") and from
        how wrong the law has been.
    bounds : bool, default True
        Whether to compute the times without contention (w = 0) and on a single bus (w = 1) as
        well.
    law_error : bool, default True
        Whether the interval includes the allowance for the error of the law on this kind of
        platform, see `parcast.laws.allowances`. Without it there is an interval only if a
        parameter has a +-.
    samples : int, default 256
        Number of sets of parameters that the interval is computed from. [1]
    seed : int, default 0
        Seed of these sets.

    Returns
    -------
    Prediction
        Times [s] with their parts, speedup and efficiency [1], for every combination of the
        values. The arrays have one dimension for each axis that was given, `p` first.

    Raises
    ------
    ParameterError
        If an argument lies outside its domain, the grid is too large, a description lacks what the
        law needs, or the law has no answer at a point.
    FileProblems
        If a file cannot be read, or something in it is wrong.

    Examples
    --------
    >>> import parcast
    >>> work = {"parallel": "8 s", "serial": "1 s"}
    >>> program = parcast.Program(phase=[{"law": "spmd", "compute": work}])
    >>> parcast.predict(program, parcast.Machine(), p=[1, 2, 4]).time
    array([9., 5., 3.])
    """
    how = {"samples": as_whole("samples", samples, least=2, hint="256 are usual.")}
    how["seed"] = as_whole("seed", seed, least=0, hint="Use any such number.")
    program, machine = as_program(program), as_machine(machine)
    grid = _affordable(program, machine, {"p": p, "d": d, "n": n}, vary or {})
    axes, shape = grid.axes, grid.shape
    at = {"d": machine.servers(grid.at()), **grid.at()}
    breakdown = _full(_times(program, machine, at), shape)
    require_times(breakdown.time, axes)
    by_resource = _full(program.resource_slopes(machine, at), shape)
    elasticity = elasticities_of(by_resource, breakdown.time)
    speedup, scaling = _speedup(program, machine, at, breakdown.time)
    asked = {"interval": interval, "law_error": law_error, "bounds": bounds}
    lower = upper = allowed = None
    if interval:
        lower, upper = _sampled(program, machine, grid, at, breakdown.time, **how)
    errors = law_errors(program, machine, at) if interval and law_error else ()
    if errors:
        allowed = law_half_width(program, machine, at)
        lower, upper = widened(breakdown.time, lower, upper, allowed)
    return Prediction(
        axes=axes,
        breakdown=breakdown,
        lower=lower,
        upper=upper,
        **_bounds(program, machine, at, shape, are_asked=bounds),
        speedup=speedup,
        efficiency=speedup / at["p"],
        scaling=scaling,
        limits=limits_of(program, machine, axes, elasticity, grid.dimensions),
        fastest=tuple(fastest_of(program, machine, breakdown.time, axes, grid.dimensions)),
        warnings=(
            *warnings_of(program, machine, axes),
            *doubts_of_law(errors, program, machine, uncertain=lower is not None),
            *idle_parameters(program, breakdown.time, axes),
            *superlinear_warnings(program, at["p"], speedup),
        ),
        law=program.law,
        sources=program.sources_of_law,
        program=program.name,
        machine=machine.name,
        interval=None if lower is None else INTERVAL,
        dimensions=grid.dimensions,
        by_resource=by_resource,
        law_error=None if allowed is None else np.broadcast_to(np.expm1(allowed), shape),
        law_errors=errors,
        **_costs(machine, at, breakdown.time, lower, upper),
        call=_call(program, machine, grid, vary, **asked, **how),
    )


def _times(program: Program, machine: Machine, at: Mapping[str, Array]) -> Breakdown:
    """Time and its parts; all figures of the machine that are missing are refused together."""
    missing: dict[str, MissingFigure] = {}
    while True:
        try:
            found = program.times(machine, {**at, **dict.fromkeys(missing, np.ones(()))})
        except MissingFigure as refusal:
            if refusal.name in missing:
                raise
            missing[refusal.name] = refusal
            continue
        except ParameterError:
            if not missing:
                raise
        else:
            if not missing:
                return found
        first, *others = missing.values()
        if not others:
            raise first
        measure = ours("calibrate", "-o", "measured.toml")
        raise ParameterError(
            f"{joined([*missing])} must be given in the description of {machine.name}. Add them, "
            f"or measure them: {measure}"
        )


def _call(
    program: Program,
    machine: Machine,
    grid: ConfigurationGrid,
    vary: Mapping[str, ArrayLike] | None,
    **how: bool | int,
) -> Call:
    """What the prediction is made from, as `parcast.load` calls it again."""
    axes = {name: grid.axes.get(name) for name in ("p", "d", "n")}
    varied = {name: grid.axes[name] for name in vary or ()} or None
    given = {"program": program, "machine": machine, **axes, "vary": varied, **how}
    return Call(verb="predict", arguments=given)


def _costs(
    machine: Machine, at: Mapping[str, Array], time: Array, *ends: Array | None
) -> dict[str, Any]:
    """Cost and its interval, which is that of the time and of the price; nothing without one."""
    price = machine.price.amount
    if price is None:
        return {}
    if all(end is None for end in ends) and price.spread > 0:
        ends = (time, time)
    lower, upper = ends
    if lower is not None and upper is not None and price.spread > 0:
        lower, upper = widened(time, lower, upper, np.log1p(price.spread))
    cost = machine.cost
    return {
        "cost": cost(time, at),
        "cost_lower": None if lower is None else cost(lower, at),
        "cost_upper": None if upper is None else cost(upper, at),
        "currency": machine.price.currency,
    }


def _affordable(
    program: Program,
    machine: Machine,
    given: Mapping[str, ArrayLike | None],
    vary: Mapping[str, ArrayLike],
) -> ConfigurationGrid:
    """Grid of a question, of as many points as take some seconds."""
    purpose = " of phases that take as long as these" if program.dearness > 1 else ""
    most = MOST_POINTS // program.dearness
    return grid_of(program, machine, given, vary, most=most, purpose=purpose)


def _full(breakdown: Breakdown, shape: tuple[int, ...]) -> Breakdown:
    """Give every component the shape of the grid, without copying it."""
    return Breakdown(**{name: np.broadcast_to(x, shape) for name, x in breakdown.components()})


def _speedup(
    program: Program, machine: Machine, at: Mapping[str, Array], time: Array
) -> tuple[Array, str]:
    """Speedup over one processor and one disk, of the work where that grows with p."""
    one = {**at, "p": np.ones_like(at["p"])}
    alone = {**one, "d": np.ones(())}
    try:
        speedup = np.asarray(program.alone.times(machine, alone).time / time)
    except ParameterError as refusal:
        what = "the speedup needs the time on one processor and one disk, which cannot be computed"
        raise refusal.named(f"{what}: {refusal.name}") from None
    here, there = program.work(machine, at), program.work(machine, one)
    reference = program.work(machine, alone)
    if here is None or there is None or reference is None:
        return speedup, "strong"
    if not np.any(here > there * (1 + 1e-9)) or np.any(reference <= 0):
        return speedup, "strong"
    return speedup * here / reference, "weak"


def _sampled(
    program: Program,
    machine: Machine,
    grid: ConfigurationGrid,
    at: Mapping[str, Array],
    time: Array,
    *,
    samples: int,
    seed: int,
) -> tuple[Array, Array] | tuple[None, None]:
    """Interval from what is uncertain of the descriptions; refuse one that would take minutes."""
    sets = sets_of(program, machine, grid.axes, samples, seed)
    most = MOST_SAMPLED // program.dearness
    if sets is not None and samples * grid.points > most:
        raise ParameterError(
            "the interval",
            must=f"be computed from at most {most:,} times",
            got=f"{samples} samples of {grid.points:,} points",
            hint=(
                "Use fewer points, or ",
                Argument("interval", python="set interval=False"),
                ".",
            ),
        )
    return sampled_ends(program, machine, at, time, sets)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SampledSets:
    """Sets of the parameters that are not exactly known, and how runs differ from a fitted law."""

    factors: Mapping[str, Array]  # of each parameter, (samples,) [1]
    fits: Sequence[FitRecord]
    normal: Sequence[Array]  # two normal numbers of each sample, (samples,) each

    def columns(self, part: slice, dimensions: int) -> dict[str, Array]:
        """Entries of a point that scale the parameters, before so many axes of a grid."""
        column = (-1, *(1,) * dimensions)
        return {f"{name}*": np.reshape(x[part], column) for name, x in self.factors.items()}


def sets_of(
    program: Program, machine: Machine, axes: Mapping[str, Array], samples: int, seed: int
) -> SampledSets | None:
    """Draw sets of what is uncertain of the descriptions; None where nothing is."""
    uncertain = uncertain_amounts(program, machine, axes)
    fits = [x for x in (program.fit, machine.fit) if x is not None]
    if not (uncertain or fits):
        return None
    factors = lognormal_factors(uncertain, samples, seed)
    for fit in fits:
        factors |= fit.factors(_amounts(program, machine, axes), samples, seed)
    return SampledSets(factors=factors, fits=fits, normal=_normal(samples, seed))


def sampled_ends(
    program: Program,
    machine: Machine,
    at: Mapping[str, Array],
    time: Array,
    sets: SampledSets | None,
) -> tuple[Array, Array] | tuple[None, None]:
    """Times that 5% and 95% of the sets of parameters stay below, at every point."""
    if sets is None:
        return None, None
    samples = len(sets.normal[0])
    times = np.empty((samples, *time.shape))
    at_once = max(1, POINTS_AT_ONCE // time.size)
    for start in range(0, samples, at_once):
        part = slice(start, start + at_once)
        normal = [np.reshape(x[part], (-1, *(1,) * time.ndim)) for x in sets.normal]
        parts = program.times(machine, {**at, **sets.columns(part, time.ndim)})
        times[part] = departing(parts, sets.fits, at["p"], normal)
    lower, upper = np.quantile(times, [TAIL, 1.0 - TAIL], axis=0)
    # The middle of the sampled times may lie beside the time of the middle parameters.
    return np.minimum(lower, time), np.maximum(upper, time)


def widened(
    time: Array, lower: Array | None, upper: Array | None, allowed: Array
) -> tuple[Array, Array]:
    """Interval that also has an independent error, of half-width `allowed` of log time."""
    below = np.log(time / lower) if lower is not None else np.zeros(())
    above = np.log(upper / time) if upper is not None else np.zeros(())
    return time * np.exp(-np.hypot(below, allowed)), time * np.exp(np.hypot(above, allowed))


def lognormal_factors(
    uncertain: Mapping[str, Amount], samples: int, seed: int
) -> dict[str, Array]:
    """Factors of uncertain parameters, each (samples,): a Latin hypercube of laws around 1."""
    random = np.random.default_rng(seed)
    factors = {}
    for name, amount in uncertain.items():
        sigma = np.log1p(amount.spread) / NORMAL_90
        factors[name] = np.exp(sigma * stratified_normal(random.permutation(samples)))
    return factors


def _amounts(program: Program, machine: Machine, axes: Mapping[str, Array]) -> dict[str, Amount]:
    """Parameters that are not varied."""
    known = machine.parameters() | program.parameters()
    return {name: x for name, x in known.items() if name not in axes}


def _normal(samples: int, seed: int) -> list[Array]:
    """Two normal numbers of each sample, the same at all points: (samples,) each."""
    random = np.random.default_rng([seed, samples])
    return [stratified_normal(random.permutation(samples)) for _ in range(2)]


def _bounds(
    program: Program,
    machine: Machine,
    at: Mapping[str, Array],
    shape: tuple[int, ...],
    *,
    are_asked: bool,
) -> dict[str, Any]:
    """Times without contention and with most of it, whatever the descriptions say of it."""
    levels = {"contention_free": 0.0, "single_bus": 1.0}
    if not are_asked:
        return dict.fromkeys(levels)
    points = {name: {**at, LEVEL: np.asarray(w)} for name, w in levels.items()}
    times = {name: program.times(machine, point).time for name, point in points.items()}
    return {name: np.broadcast_to(time, shape) for name, time in times.items()}
