"""Capacities W, u and B of a program from its runs, and the phase that has them.

A serial run gives W, parallel runs give u, one for each count of processors: the largest count
gives the lower bound of u and the smallest the upper one. With ``method="fit"`` all capacities and
the startup of messages are those that explain all runs best.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program, laws
from parcast.descriptions.toml_files import MachineLike, as_machine
from parcast.errors import FitFailed, ParameterError, as_whole, require_one_of
from parcast.fitting.by_p import ConstantByP
from parcast.fitting.capacity_bounds import by_source
from parcast.fitting.capacity_sums import (
    DIMENSIONS,
    NAMES,
    OF_PARTS,
    FittedCapacity,
    FoundCapacities,
    TimedRuns,
    counts_of_runs,
    fitted,
    result_of,
    timed_runs,
    without_startup,
)
from parcast.fitting.fit import varying_constants
from parcast.importers.registry import as_measurements
from parcast.laws.counting import SteadyStatePhase
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import format_quantity


def capacities(
    phase: SteadyStatePhase,
    runs: MeasurementsLike,
    machine: MachineLike | None = None,
    *,
    method: Literal["source", "fit"] = "source",
    samples: int = 400,
    seed: int = 0,
    by_p: bool = False,
) -> FoundCapacities:
    """Find the capacities (compute, network, disk) of a counting law from measured times.

    Parameters
    ----------
    phase : SteadyStatePhase
        A phase with a counting law. Its own capacities and those of `machine` are used where the
        runs do not determine one: the disk rate, the startup time of messages.
    runs : Measurements, table or path
        Measured times with the axes p and n. The columns `compute_s`, `communication_s` and
        `disk_s` may give parts of them. Rows with the same values of the axes are repetitions.
    machine : Machine or path, optional
        The machine of the runs.
    method : {"source", "fit"}, default "source"
        "source": B from `disk_s`, W from the serial runs, u from the parallel runs of each count,
        each from its part of the time where that has a column.
        "fit": all of them, and the startup of messages, by non-negative least squares on relative
        residuals.
    samples : int, default 400
        Number of sets of times that the intervals of "source" are computed from. [1]
    seed : int, default 0
        Seed of these sets.
    by_p : bool, default False
        Whether capacities that are found to depend on p become formulas of p.

    Returns
    -------
    FoundCapacities
        Values with 90% intervals [SI]. With "fit" its phase has "+-" at `cycles`: the error of
        the law at runs that were left out.

    Raises
    ------
    ParameterError
        If the law is no counting law, or a run lies outside its domain.
    FitFailed
        If the runs do not determine the capacities.

    Examples
    --------
    >>> import parcast
    >>> from parcast.laws.sorters import SquareSortPhase
    >>> law = SquareSortPhase(law="square_sort", capacities={"disk": "3.5 MB/s"})
    >>> runs = parcast.Measurements(p=[1, 2, 5], time=[320.2, 90.5, 25.0], n=40_000)
    >>> found = parcast.capacities(law, runs)
    >>> found.compute.text, {u.symbol: str(u) for u in found.network_by_p}
    ('4.99973 Mflop/s', {'u_2': '62.2 kB/s', 'u_5': '53.5 kB/s'})
    """
    if not isinstance(phase, SteadyStatePhase):
        *names, last = (law for law, kind in laws().items() if issubclass(kind, SteadyStatePhase))
        raise ParameterError(
            "phase",
            must="be of a counting law",
            got=f"{getattr(phase, 'law', type(phase))!s:.60}",
            hint=f"Use {', '.join(names)} or {last}.",
        )
    require_one_of("method", method, ("source", "fit"), '"fit" takes any runs.')
    if phase.capacities.together is not None:
        raise ParameterError(
            "capacities.together",
            must="be left out while capacities are determined: the runs cannot distinguish the "
            "processors",
            hint="Add it afterwards.",
        )
    samples = as_whole("samples", samples, least=2, hint="400 are usual.")
    return _found(phase, runs, machine, method=method, samples=samples, seed=seed, by_p=by_p)


def _found(
    phase: SteadyStatePhase,
    runs: MeasurementsLike,
    machine: MachineLike | None,
    *,
    method: str,
    samples: int,
    seed: int,
    by_p: bool,
) -> FoundCapacities:
    """Determine the capacities."""
    runs = as_measurements(runs)
    require_times_of_runs("runs", runs.measure)
    machine = Machine() if machine is None else as_machine(machine)
    timed = without_startup(phase, timed_runs(runs))
    counts = counts_of_runs(phase, timed)
    if method == "fit":
        found = _fitted(phase, timed, counts)
    else:
        found = by_source(phase, machine, timed, counts, samples=samples, seed=seed)
    varying = _varying(found, machine, runs)
    if by_p and varying:
        keys = found.phase.model_dump(exclude_none=True)
        keys["capacities"] |= {_key(x.name): x.text for x in varying}
        return replace(found, phase=type(phase)(**keys), by_p=varying, writes_by_p=True)
    one = {x.name: str(x) for x in found.found}
    said = (x.warning(" ".join(one[_key(x.name)].split())) for x in varying)
    return replace(found, warnings=(*said, *found.warnings), by_p=varying)


def _key(name: str) -> str:
    """Key of a capacity by the name of the amount."""
    return name.rpartition(".")[2]


def _varying(
    found: FoundCapacities, machine: Machine, runs: Measurements
) -> tuple[ConstantByP, ...]:
    """Capacities that differ with p, as a fit of all of them sees it."""
    keys = found.phase.model_dump(exclude_none=True)
    keys["capacities"] |= {
        x.name: format_quantity(x.value, DIMENSIONS[x.name], digits=6) for x in found.found
    }
    try:
        return varying_constants(Program(phase=(type(found.phase)(**keys),)), machine, runs)
    except (FitFailed, ParameterError):
        return ()  # too few runs, or what the capacities themselves say


def _fitted(phase: SteadyStatePhase, timed: TimedRuns, counts: Array) -> FoundCapacities:
    """All capacities at once."""
    terms, times = [counts], [timed.time]
    for part, columns in OF_PARTS.items():
        own = np.where(np.isin(np.arange(len(NAMES)), columns), counts, 0.0)
        if (seen := timed.known(part, own.sum(axis=1))).any():
            terms.append(own[seen])
            times.append(timed.parts[part][seen])
    matrix = np.concatenate(terms)
    solution = fitted(matrix, np.concatenate(times))
    values: list[FittedCapacity | None] = []
    warnings = []
    for i, name in enumerate(NAMES):
        if not (matrix[:, i] > 0).any():
            values.append(None)
            continue
        cost, ends = solution.costs[i], (solution.lower[i], solution.upper[i])
        if cost <= 0:
            values.append(None)
            warnings.append(
                f"The cost of {name} is too small to be seen in these runs. Its capacity is left "
                "as described."
            )
            continue
        values.append(_inverse(name, cost, *ends))
    left = solution.left_out[: len(timed.time)]
    left = left[np.isfinite(left)]
    error = float(np.sqrt(np.mean(left**2))) if len(left) else None
    if error is None:
        warnings.append(
            "There are as many capacities as runs, so the error of the law is unknown. Measure "
            "more runs."
        )
    return result_of(
        phase, values, by_p=[], warnings=warnings, method="fit", runs=len(timed.time), error=error
    )


def _inverse(name: str, cost: float, lower: float, upper: float) -> FittedCapacity:
    """A capacity from its cost."""
    if not np.isfinite(upper):
        lower = upper = np.nan
    if name == "latency":
        return FittedCapacity(name=name, value=float(cost), lower=float(lower), upper=float(upper))
    most = 1.0 / lower if lower > 0 else np.inf
    return FittedCapacity(
        name=name,
        value=float(1.0 / cost),
        lower=float(1.0 / upper),
        upper=float(np.nan if np.isnan(lower) else most),
    )
