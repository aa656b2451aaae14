"""Capacities W, u, B and t0 of a program on a machine, from what was counted and what was timed.

W, u, B and t0 have intervals, and a phase has them; of the repetitions of a run the median counts,
with how well it is known.

    B   = disk bytes / time of reading and writing                                [S in words]
    W   = steps / (T_seq - disk bytes / B)                                        [R], from (1.2)
    u_P = network bytes(P) / (T_par(P) - T_comp(P) - T_disk)                      [R]

Of several runs 1/W and 1/u are those with the least sum of squared relative errors of the times;
of one run they are the formulas above. u_2, two processors, has the least contention and is an
upper bound of u; with all processors it is the lower one [R]. A negative u says that W was
under-estimated [S]: the parallel run took less than its computing should have.

`fitted` finds all of them at once from any runs [D].

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The formulas are reconstructed from its prose.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.aliases import Array
from parcast.descriptions.amount import NORMAL_90, WIDEST
from parcast.errors import FitFailed, require
from parcast.fitting.by_p import ConstantByP
from parcast.fitting.runs import medians, noise_of_repetitions, require_one_of_each
from parcast.laws.counting import SteadyStatePhase
from parcast.numerics import fit_non_negative
from parcast.timings.columns import PARTS
from parcast.timings.measurements import Measurements
from parcast.units import Dimension, format_interval, format_quantity

DIMENSIONS: Final[Mapping[str, Dimension]] = {
    "compute": "operation_rate",
    "network": "rate",
    "latency": "time",
    "disk": "rate",
}
SYMBOLS: Final = {"compute": "W", "network": "u", "latency": "t0", "disk": "B"}
COMPUTE, COMMUNICATION, DISK = PARTS  # columns of seconds that parts of the time took
OF_PARTS: Final = {COMPUTE: (0,), COMMUNICATION: (1, 2), DISK: (3,)}  # of NAMES
FARTHEST: Final = 10.0  # logarithm of a time from the measured one
OF_MEDIAN: Final = 1.2533  # its standard deviation over that of the mean, normal law
INTERVAL: Final = 0.9
NAMES: Final = ("compute", "network", "latency", "disk")  # of the terms of a fit
MOST_CONDITION: Final = 1e8  # of the terms, brought to one size


@dataclass(frozen=True, kw_only=True, slots=True)
class FittedCapacity:
    """One capacity with its 90% interval."""

    name: str  # "compute", "network", "latency" or "disk"
    value: float  # [flop/s], [B/s] or [s]; below 0 where the runs contradict each other
    lower: float  # NaN where nothing says how far it may be off
    upper: float  # may be infinite
    p: float | None = None  # processors that it was found with, of the network [1]
    note: str = ""  # "upper bound"

    @property
    def symbol(self) -> str:
        """What the source calls it."""
        return SYMBOLS[self.name] + (f"_{self.p:g}" if self.p is not None else "")

    @property
    def text(self) -> str:
        """As a description has it: "5.2 Mflop/s +- 3%"."""
        text = format_quantity(self.value, DIMENSIONS[self.name], digits=6)
        if self.value > 0 and 0 < self.lower < self.upper < np.inf:
            spread = float(np.sqrt(self.upper / self.lower) - 1.0)
            text += f" +- {_percentage(spread)}" if spread <= WIDEST else ""
        return text

    def __str__(self) -> str:
        """The value and its interval."""
        dimension = DIMENSIONS[self.name]
        if np.isnan(self.lower):
            return format_quantity(self.value, dimension)
        return format_interval(self.value, self.lower, self.upper, dimension)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundCapacities:
    """Capacities of a program on a machine."""

    phase: SteadyStatePhase  # with these capacities
    compute: FittedCapacity | None  # W
    network: FittedCapacity | None  # u between its bounds
    network_by_p: tuple[FittedCapacity, ...]  # u_P; empty where all runs were fitted at once
    latency: FittedCapacity | None  # t0
    disk: FittedCapacity | None  # B
    model_error: float | None  # of a run by the others, root mean square, relative [1]
    warnings: tuple[str, ...]
    method: str
    runs: int  # configurations [1]
    network_warnings: tuple[str, ...] = ()  # those of the warnings that doubt u_P
    by_p: tuple[ConstantByP, ...] = ()  # capacities that one value does not hold of
    writes_by_p: bool = False  # whether these are formulas of p in the phase

    @property
    def found(self) -> tuple[FittedCapacity, ...]:
        """All that were found, in their order."""
        every = (self.compute, self.network, self.latency, self.disk)
        return tuple(each for each in every if each is not None)

    @property
    def toml(self) -> str:
        """Line that a phase of a program file takes."""
        texts = {each.name: each.text for each in self.found}
        if self.writes_by_p:
            texts |= {x.name.rpartition(".")[2]: x.text for x in self.by_p}
        keys = ", ".join(f'{name} = "{text}"' for name, text in texts.items())
        return f"capacities = {{ {keys} }}"

    def __repr__(self) -> str:
        """Name the capacities that were found."""
        found = "".join(f", {x.name} {' '.join(str(x).split())}" for x in self.found)
        return f"FoundCapacities({self.runs} runs{found})"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each capacity, and for the network at each count. [SI]."""
        for each in (*self.found, *self.network_by_p):
            bounds = (x if np.isfinite(x) else None for x in (each.lower, each.upper))
            lower, upper = bounds
            yield {
                "name": each.name,
                "symbol": each.symbol,
                "p": each.p,
                "value": each.value if np.isfinite(each.value) else None,
                "lower": lower,
                "upper": upper,
                "note": each.note,
            }

    def __str__(self) -> str:
        """The table, the warnings, and the line for the program file."""
        every = (*self.found, *self.network_by_p)
        lines = [
            f"{each.symbol:<6} {each.name:<8} {each!s}{f'  {each.note}' if each.note else ''}"
            for each in every
        ]
        lines += [f"{x.name} by p: {x}" for x in self.by_p]
        if self.model_error is not None:
            lines.append(
                f"Runs left out are predicted with an rms error of {self.model_error:.1%}."
            )
        return "\n".join([*lines, *self.warnings, self.toml])


def result_of(
    phase: SteadyStatePhase,
    values: list[FittedCapacity | None],
    *,
    by_p: list[FittedCapacity],
    warnings: list[str],
    network_warnings: Sequence[str] = (),
    method: str,
    runs: int,
    error: float | None = None,
) -> FoundCapacities:
    """Put the capacities into the phase."""
    keys = phase.model_dump(exclude_none=True)
    keys["capacities"] |= {each.name: each.text for each in values if each is not None}
    if error is not None:
        spread = float(np.expm1(NORMAL_90 * error))
        text = phase.cycles.expression.text
        keys["cycles"] = f"{text} +- {_percentage(min(spread, WIDEST))}"
    compute, network, latency, disk = values
    return FoundCapacities(
        phase=type(phase)(**keys),
        compute=compute,
        network=network,
        network_by_p=tuple(by_p),
        latency=latency,
        disk=disk,
        model_error=error,
        warnings=tuple(warnings),
        network_warnings=tuple(network_warnings),
        method=method,
        runs=runs,
    )


def _percentage(share: float) -> str:
    """Share in percent, two digits of it where it is small."""
    percent = 100.0 * share
    return f"{percent:.2g}%" if percent < 99.5 else f"{percent:.0f}%"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TimedRuns:
    """Configurations that were timed, each once."""

    axes: Mapping[str, Array]  # each of shape (runs,)
    time: Array  # median of the repetitions [s]
    parts: Mapping[str, Array]  # of it, likewise; NaN where unknown [s]
    deviation: Array | None  # of the logarithm of a median; None without repetitions [1]
    freedom: float  # degrees of it: repetitions beyond the first of each configuration [1]
    scatter: Mapping[str, float | None]  # of the logarithm of a median of each part [1]

    def known(self, part: str, amount: Array) -> NDArray[np.bool_]:
        """Runs that have an amount and whose part of the time is known."""
        if part not in self.parts:
            return np.zeros(len(self.time), dtype=bool)
        return np.asarray((amount > 0) & (self.parts[part] > 0))


def timed_runs(runs: Measurements) -> TimedRuns:
    """Group measurements into configurations: rows that agree in all axes are one."""
    require_one_of_each(runs, "runs")
    axes = runs.axes
    table, group = np.unique(np.stack(list(axes.values())), axis=1, return_inverse=True)
    group = np.ravel(group)
    groups = [np.flatnonzero(group == i) for i in range(table.shape[1])]
    logs = np.log(runs.time)
    sizes = np.array([len(rows) for rows in groups])
    deviation, freedom = None, float((sizes - 1).sum())
    if freedom > 0:
        squares = sum(float(((logs[rows] - logs[rows].mean()) ** 2).sum()) for rows in groups)
        noise = np.sqrt(squares / freedom)
        deviation = np.where(sizes > 2, OF_MEDIAN, 1.0) * noise / np.sqrt(sizes)
    return TimedRuns(
        axes=dict(zip(axes, table, strict=True)),
        time=np.array([np.median(runs.time[rows]) for rows in groups]),
        parts={name: medians(x, group) for name, x in runs.parts.items()},
        deviation=deviation,
        freedom=freedom,
        scatter={name: noise_of_repetitions(x, group) for name, x in runs.parts.items()},
    )


def without_startup(phase: SteadyStatePhase, timed: TimedRuns) -> TimedRuns:
    """The same runs without the startup of the access to files that a phase describes."""
    if phase.capacities.disk_startup is None:
        return timed
    counts = phase.counted(timed.axes)
    startup = phase.disk_startup(counts, timed.axes) * phase.cycles(timed.axes)
    time = timed.time - startup
    ok, hint = time > 0, "Check its unit, or leave it out."
    require("capacities.disk_startup", startup, ok, must="be below the time of a run", hint=hint)
    parts = {name: x - startup if name == DISK else x for name, x in timed.parts.items()}
    return replace(timed, time=time, parts=parts)


def counts_of_runs(phase: SteadyStatePhase, timed: TimedRuns) -> Array:
    """Counts of all cycles of each run, shape (runs, 4), in the order of `NAMES`."""
    counts = phase.counted(timed.axes)
    columns = (
        counts.steps * phase.slower(timed.axes),
        counts.network_bytes,
        counts.messages,
        phase.of_one_disk(counts, timed.axes),
    )
    cycles = phase.cycles(timed.axes)
    shape = timed.time.shape
    return np.stack([np.broadcast_to(column * cycles, shape) for column in columns], axis=1)


def sampled(timed: TimedRuns, samples: int, seed: int) -> tuple[Array, Mapping[str, Array]]:
    """Times and their parts [s] as they may have been, (samples + 1, runs), measured ones first.

    Logarithms follow Student's law: what few repetitions say of the noise is itself unsure.
    """
    if timed.deviation is None:
        return timed.time[None], {name: x[None] for name, x in timed.parts.items()}
    random = np.random.default_rng(seed)
    normal = random.normal(size=(samples + 1, 1, len(timed.time)))
    unsure = np.sqrt(timed.freedom / random.chisquare(timed.freedom, size=(samples + 1, 1, 1)))
    factors = np.exp(np.clip(normal * unsure * timed.deviation, -FARTHEST, FARTHEST))
    factors[0] = 1.0
    parts = {name: x * factors[:, 0] for name, x in timed.parts.items()}
    return timed.time * factors[:, 0], parts


def capacity(amount: ArrayLike, rest: ArrayLike, time: ArrayLike) -> Array:
    """Rate of an amount, (..., runs), where `rest` [s] of each time is taken by something else.

    Negative where the rest takes more than the time, infinite where it takes all of it.
    """
    time = np.asarray(time, dtype=np.float64)
    share, left = np.asarray(amount) / time, (time - np.asarray(rest)) / time
    with np.errstate(divide="ignore"):
        return np.asarray((share**2).sum(axis=-1) / (share * left).sum(axis=-1))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FittedTerms:
    """Inverse rates that explain runs best."""

    costs: Array  # 1/W, 1/u, t0, 1/B; 0 where a term shows in no run [s], [s/B]
    lower: Array  # of their 90% intervals
    upper: Array  # infinite where the runs leave no freedom
    residuals: Array  # fitted over measured time, less 1 [1]
    left_out: Array  # the same of each run by the others; NaN where these do not determine it [1]
    condition: float  # of the terms [1]


def fitted(terms: ArrayLike, time: ArrayLike) -> FittedTerms:
    """Costs of at least 0 of steps, bytes, messages and disk bytes that explain times [s] best.

    `terms` are of shape (runs, 4); one that is 0 in all runs has the cost 0.
    """
    matrix, measured = (np.asarray(x, dtype=np.float64) for x in (terms, time))
    present = np.asarray((matrix > 0).any(axis=0))
    used = matrix[:, present]
    names = ", ".join(name for name, is_used in zip(NAMES, present, strict=True) if is_used)
    if len(used) < used.shape[1]:
        raise FitFailed(
            f"{len(used)} run{'s' if len(used) > 1 else ''} cannot determine "
            f"{used.shape[1]} capacities ({names}). Measure other n or p, or describe some of "
            "them.",
            outcome="No capacities.",
        )
    relative = used / measured[:, None]
    scaled = relative / np.linalg.norm(relative, axis=0)
    condition = float(np.linalg.cond(scaled))
    if not condition < MOST_CONDITION:
        raise FitFailed(
            f"The runs cannot distinguish the costs of {names}, which grow in proportion. "
            "Measure other n or p, or describe some of them.",
            outcome="No capacities.",
        )
    solution = fit_non_negative(used, measured)
    costs = np.zeros(matrix.shape[1])
    costs[present] = solution.coefficients
    deviation, freedom = _deviations(relative, solution.coefficients, solution.residuals)
    wide = np.zeros(matrix.shape[1])
    wide[present] = deviation * special.stdtrit(freedom, (1.0 + INTERVAL) / 2.0)
    return FittedTerms(
        costs=costs,
        lower=np.maximum(costs - wide, 0.0),
        upper=costs + wide,
        residuals=solution.residuals,
        left_out=_left_out(used, measured),
        condition=condition,
    )


def _deviations(relative: Array, costs: Array, residuals: Array) -> tuple[Array, float]:
    """Standard deviations of the costs, and their degrees of freedom."""
    freedom = len(relative) - relative.shape[1]
    if freedom < 1:
        return np.full(len(costs), np.inf), 1.0
    variance = float(residuals @ residuals) / freedom
    size = np.linalg.norm(relative, axis=0)
    inverse = np.linalg.inv((relative / size).T @ (relative / size))
    return np.sqrt(variance * np.diag(inverse)) / size, float(freedom)


def _left_out(terms: Array, time: Array) -> Array:
    """Relative error of each run by the costs that the others give."""
    from scipy.optimize import nnls  # type: ignore[import-untyped]  # SciPy ships no types

    relative = terms / time[:, None]
    relative = relative / np.linalg.norm(relative, axis=0)
    errors = np.full(len(time), np.nan)
    for i in range(len(time)):
        others = np.delete(relative, i, axis=0)
        if np.linalg.matrix_rank(others) == terms.shape[1]:
            errors[i] = relative[i] @ nnls(others, np.ones(len(others)))[0] - 1.0
    return errors
