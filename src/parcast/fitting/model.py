"""Times of a program as a function of what a fit may change, with their Jacobian.

Amounts of a program and a machine change by a factor: 1 is what the description says, and a
formula is scaled as a whole. The coordinate of an amount is its factor, of a rate the inverse of
it: times are nearly linear in these, so that a step of the fit goes far, and none at all (0) is a
place like any other [D]. Laws that know their derivatives give them; those of other laws, plugins
among them, are taken by differences.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, Amount, Point
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program, Slopes
from parcast.errors import ParameterError
from parcast.units import shown

LEAST: Final = 1e-9  # of what is described: stands for none at all
MOST: Final = 1e6  # times what is described
MOST_AT_ONCE: Final = 1_000_000  # times that are evaluated at once for differences
INSEPARABLE: Final = (
    "cycles",
    "bursts_per_io",
    "group",
    "heavy",
)  # from the demands they multiply
RATES: Final = ("rate", "operation_rate")
TABLES: Final = ("compute.", "communication.", "io.", "capacities.")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Parameter:
    """An amount that the fit may scale."""

    name: str  # under which a point replaces it
    amount: Amount
    is_of_machine: bool
    is_rate: bool  # its coordinate is the inverse of its factor
    value: float | None  # as described; None where it is a formula [SI]
    lower: float  # bounds of its coordinate [1]
    upper: float
    sigma: float  # standard deviation of its logarithm that +- says; infinite without [1]
    powers: Array | None = None  # of its factor at each run, where it is one at some p alone

    def factor(self, coordinate: Array) -> Array:
        """Factor at a coordinate, and the coordinate of a factor. [1]."""
        return 1.0 / coordinate if self.is_rate else coordinate

    def by_coordinate(self, slope: Array, coordinate: Array) -> Array:
        """Turn a derivative by the logarithm of the amount into that by the coordinate."""
        return -slope / coordinate if self.is_rate else slope / coordinate


def parameters_of(
    program: Program,
    machine: Machine,
    points: Point,
    *,
    free: Iterable[str] | None,
    fixed: Iterable[str] | None,
) -> tuple[Parameter, ...]:
    """Parameters that a fit changes: those `free`, less those `fixed`.

    Without `free` all that the phases' tables give, and laws name, and that are not 0 anywhere.
    """
    ours, theirs = program.parameters(), machine.parameters()
    known = ours | theirs
    for argument, names in (("free", free), ("fixed", fixed)):
        for name in names or ():
            _require_known(argument, name, known)
    chosen = usual_names(program) if free is None else list(free)
    bounds = program.bounds()
    parameters = []
    for name in dict.fromkeys(chosen):
        if name in set(fixed or ()) or name in points:
            continue
        amount = known[name]
        if name.endswith(INSEPARABLE):
            raise ParameterError(
                "free",
                must="name amounts that can be fitted",
                got=f"{name}, which only multiplies other amounts",
                hint="Fit those instead.",
            )
        values = amount(_for_amount(points))
        if not np.all(values > 0):
            if free is None:
                continue
            raise ParameterError(
                "free",
                must="name amounts above 0 at every run",
                got=f"{name} = {amount}",
                hint="Write an initial value above 0 in the description.",
            )
        bound = 1.0 if name.endswith(".contention") else bounds.get(name)
        described = program if name in ours else machine
        is_open = described.fit is not None and described.fit.leaves_open(amount, name)
        parameters.append(
            _parameter(
                name, amount, values, bound, is_of_machine=name not in ours, is_open=is_open
            )
        )
    if not parameters:
        raise ParameterError(
            "free",
            must="leave at least one amount to fit",
            got="none",
            hint=f"Available: {', '.join(known) or 'none'}.",
        )
    return tuple(parameters)


def _parameter(
    name: str,
    amount: Amount,
    values: Array,
    bound: float | None,
    *,
    is_of_machine: bool,
    is_open: bool,
) -> Parameter:
    """Bounds and what is known of an amount before the runs, which is nothing where it is open."""
    most = float(np.max(values))
    return Parameter(
        name=name,
        amount=amount,
        is_of_machine=is_of_machine,
        is_rate=amount.dimension in RATES,
        value=None if amount.expression.axes else most,
        lower=LEAST,
        upper=MOST if bound is None else bound / most,
        sigma=float(np.log1p(amount.spread)) / NORMAL_90
        if amount.spread and not is_open
        else np.inf,
    )


def scaled(parameters: Iterable[Parameter], coordinates: Array) -> dict[str, Array]:
    """Entries of a point that scale the amounts; one more axis of length 1 comes last."""
    at: dict[str, Array] = {}
    for i, parameter in enumerate(parameters):
        factor, key = parameter.factor(coordinates[..., i])[..., None], f"{parameter.name}*"
        at[key] = at.get(key, 1.0) * (
            factor if parameter.powers is None else factor**parameter.powers
        )
    return at


def usual_names(program: Program) -> list[str]:
    """Amounts of a program that are fitted unless something else is said."""
    tables = tuple(f".{table}" for table in TABLES)
    named, known = program.fitted(), program.priced()
    return [
        name
        for name in program.parameters()
        if name not in known
        and (
            name in named
            or (any(table in f".{name}" for table in tables) and not name.endswith(INSEPARABLE))
        )
    ]


def _for_amount(points: Point) -> Point:
    """Points where formulas of communication need not be good for a lone processor."""
    return {**points, "p": np.maximum(points["p"], 2.0)}


def _require_known(argument: str, name: str, known: Mapping[str, Amount]) -> None:
    """Refuse a name that no description gives, and suggest the nearest."""
    if name in known:
        return
    near = difflib.get_close_matches(name.casefold(), list(known), n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}?" if near else f"Available: {', '.join(known) or 'none'}."
    raise ParameterError(
        argument, must="name amounts in the descriptions", got=shown(repr(name)), hint=hint
    )


HOLD: Final = 0.05  # of the noise: how far a time alone that is held may be from its value
STEP: Final = 1e-4  # of a logarithm, for differences


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Model:
    """What the fit compares with the runs: logarithms of times or of inverse speedups."""

    program: Program
    machine: Machine
    parameters: tuple[Parameter, ...]
    points: Point  # axes of the runs, each of shape (runs,)
    is_speedup: bool

    def at(self, points: Point) -> "Model":
        """The same at other points."""
        return Model(
            program=self.program,
            machine=self.machine,
            parameters=self.parameters,
            points=points,
            is_speedup=self.is_speedup,
        )

    def logs(
        self, coordinates: Array, alone: tuple[Array, Array] | None = None
    ) -> tuple[Array, Array]:
        """Logarithms of what was measured, (sets, runs), and their Jacobian.

        `alone` is what `logs_alone` gives, where that is known.
        """
        logs, jacobian = self._log_times(coordinates, self.points)
        if self.is_speedup:
            base, slopes = self.logs_alone(coordinates) if alone is None else alone
            logs, jacobian = logs - base, jacobian - slopes
        return logs, jacobian

    def logs_alone(self, coordinates: Array) -> tuple[Array, Array]:
        """The same for one processor and one disk, at the other axes of every run."""
        one = np.ones_like(self.points["p"])
        alone = replace(self, program=self.program.alone)
        return alone._log_times(coordinates, {**self.points, "p": one, "d": one})

    def _log_times(self, coordinates: Array, points: Point) -> tuple[Array, Array]:
        """Logarithms of times and their Jacobian."""
        at = {**points, **scaled(self.parameters, coordinates)}
        names = {x.name: x.is_of_machine for x in self.parameters}
        time, slopes = program_slopes(self.program, self.machine, at, names)
        time = np.broadcast_to(time, (len(coordinates), len(points["p"])))
        return np.log(time), self._by_coordinates(slopes, coordinates, time.shape) / time[
            ..., None
        ]

    def parts(self, coordinates: Array) -> tuple[Array, Array]:
        """Time of every component, (components, sets, runs), and its derivatives. [s]."""
        at = {**self.points, **scaled(self.parameters, coordinates)}
        shape = (len(coordinates), len(self.points["p"]))

        def times(at: Point) -> Array:
            parts = (part for _, part in self.program.times(self.machine, at).components())
            *each, _ = np.broadcast_arrays(*parts, np.empty(shape))
            return np.stack(each, axis=-1)

        now = times(at)
        slopes = {
            name: np.moveaxis(slope, -1, 0) if slope.ndim else slope
            for name, slope in differences(times, at, self.names, now).items()
        }
        now = np.moveaxis(now, -1, 0)
        return now, self._by_coordinates(slopes, coordinates, now.shape)

    @property
    def names(self) -> list[str]:
        """Names of the amounts, each once."""
        return list(dict.fromkeys(x.name for x in self.parameters))

    def _by_coordinates(
        self, slopes: Mapping[str, Array], coordinates: Array, shape: tuple[int, ...]
    ) -> Array:
        """Turn derivatives by logarithms of amounts into those by coordinates."""
        jacobian = np.zeros((*shape, len(self.parameters)))
        for i, parameter in enumerate(self.parameters):
            slope = slopes.get(parameter.name, np.zeros(()))
            own = slope if parameter.powers is None else slope * parameter.powers
            jacobian[..., i] = parameter.by_coordinate(own, coordinates[:, i, None])
        return jacobian


def program_slopes(
    program: Program, machine: Machine, at: Point, amounts: Mapping[str, bool]
) -> tuple[Array, Slopes]:
    """Time of all phases, and its derivative by the logarithm of each of some amounts. [s].

    `amounts` say of each name whether it is of the machine; the point has a factor of each.
    """
    time: Array = np.zeros(())
    total: Slopes = {}
    for i, phase in enumerate(program.phase):
        label = program.label(i)
        here = program.at_phase(i, at)
        own = {f"{label}.{name}" if label else name for name, _ in phase.amounts()}
        names = {
            name: name if is_of_machine else name.removeprefix(f"{label}.")
            for name, is_of_machine in amounts.items()
            if is_of_machine or name in own
        }
        phase_time, slopes = _phase_slopes(phase, machine, here, list(names.values()))
        time = time + phase_time
        for name, inner in names.items():
            total[name] = total.get(name, np.zeros(())) + slopes.get(inner, np.zeros(()))
    return time, total


def _phase_slopes(
    phase: Phase, machine: Machine, at: Point, names: Sequence[str]
) -> tuple[Array, Slopes]:
    """Time of a phase and its derivatives, by what its law knows or by differences. [s]."""
    known = phase.slopes(machine, at)
    time, slopes = known if known is not None else (phase.times(machine, at).time, {})
    unknown = [name for name in names if name not in slopes]
    return time, slopes | differences(lambda x: phase.times(machine, x).time, at, unknown, time)


def differences(
    times: Callable[[Point], Array], at: Point, names: Sequence[str], now: Array
) -> Slopes:
    """Derivatives of times by the logarithms of amounts, of which the point has factors. [s].

    Many are evaluated at a time: the first axes of the factors are the names and two steps.
    """
    slopes: Slopes = {}
    rank = max(np.ndim(x) for x in at.values())
    few = max(1, MOST_AT_ONCE // (2 * max(now.size, 1)))
    for i in range(0, len(names), few):
        some = names[i : i + few]
        # Backwards only: a level of contention may be 1 already.
        steps = np.exp(-STEP * np.multiply.outer(np.eye(len(some)), [1.0, 2.0]))
        steps = steps.reshape(len(some), len(some), 2, *(1,) * rank)
        factors = {f"{x}*": at[f"{x}*"] * step for x, step in zip(some, steps, strict=True)}
        grid = (len(some), 2, *(1,) * (rank - now.ndim), *now.shape)
        shifted = np.broadcast_to(times({**at, **factors}), grid)
        for name, (once, twice) in zip(
            some, shifted.reshape(len(some), 2, *now.shape), strict=True
        ):
            slope = (3.0 * now - 4.0 * once + twice) / (2.0 * STEP)
            slopes[name] = np.zeros(()) if np.all(once == now) else slope
    return slopes
