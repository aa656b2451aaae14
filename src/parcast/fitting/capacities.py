"""Capacities W, u and B of a program from its runs, and the phase that has them.

A serial run gives W, parallel runs give u, one for each count of processors: the largest count
gives the lower bound of u and the smallest the upper one. With ``method="fit"`` all capacities and
the startup of messages are those that explain all runs best.

    W = steps / T  of the fewest processors,   u, B = 100 * most bytes / T of all runs     [D]

A fit needs a place to begin at, no more: it goes far from there where the runs ask for it. A
program to which its capacities are given, or whose machine gives them, keeps these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program, laws
from parcast.descriptions.toml_files import MachineLike, as_machine
from parcast.errors import FitFailed, ParameterError, as_whole, require_one_of
from parcast.fitting.capacity_bounds import by_source, disk_rate
from parcast.fitting.capacity_sums import (
    DISK,
    NAMES,
    FittedCapacity,
    FoundCapacities,
    TimedRuns,
    capacity,
    fitted,
    result_of,
    timed_runs,
)
from parcast.fitting.model import usual_names
from parcast.fitting.trend import trend_of_disk, trend_of_fit, trend_with_p
from parcast.importers.registry import as_measurements
from parcast.laws.counting import SteadyStatePhase
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measure import require_times_of_runs
from parcast.timings.measurements import Measurements, MeasurementsLike
from parcast.units import Dimension, format_quantity

DISK_KEY: Final = "capacities.disk"  # of a counting phase
LEAST_RESIDUAL: Final = -0.99  # fitted over measured time, less 1, of a logarithm [1]
UNKNOWN: Final = "5%"  # of a rate of the disk that was found without repetitions [D]
RATES: Final[Mapping[str, tuple[Dimension, tuple[str, ...]]]] = {  # and where machines have them
    "compute": ("operation_rate", ("compute.rate",)),
    "network": ("rate", ("network.saturation", "network.bandwidth")),
    "disk": ("rate", ("storage.bandwidth",)),
}
EXAMPLES: Final = {"compute": "100 Mflop/s", "network": "100 MB/s", "disk": "100 MB/s"}
LITTLE: Final = 100.0  # time of a run over that of its bytes, at first
DIGITS: Final = 2


def capacities(
    phase: SteadyStatePhase,
    runs: MeasurementsLike,
    machine: MachineLike | None = None,
    *,
    method: Literal["source", "fit"] = "source",
    samples: int = 400,
    seed: int = 0,
) -> FoundCapacities:
    """Find the capacities (compute, network, disk) of a counting law from measured times.

    Parameters
    ----------
    phase : SteadyStatePhase
        A phase with a counting law. Its own capacities and those of `machine` are used where the
        runs do not determine one: the disk rate, the startup time of messages.
    runs : Measurements, table or path
        Measured times with the axes p and n; `disk_s` may give the seconds that the disk took.
        Rows with the same values of the axes are repetitions.
    machine : Machine or path, optional
        The machine of the runs.
    method : {"source", "fit"}, default "source"
        "source": B from `disk_s`, W from the serial runs, u from the parallel runs of each count.
        "fit": all of them, and the startup of messages, by non-negative least squares on relative
        residuals.
    samples : int, default 400
        Number of sets of times that the intervals of "source" are computed from. [1]
    seed : int, default 0
        Seed of these sets.

    Returns
    -------
    FoundCapacities
        Values with 90 % intervals [SI]. With "fit" its phase has "+-" at `cycles`: the error of
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
    return _found(phase, runs, machine, method=method, samples=samples, seed=seed)


def _found(
    phase: SteadyStatePhase,
    runs: MeasurementsLike,
    machine: MachineLike | None,
    *,
    method: str,
    samples: int,
    seed: int = 0,
) -> FoundCapacities:
    """Determine the capacities; without `samples` they have no intervals."""
    runs = as_measurements(runs)
    require_times_of_runs("runs", runs.measure)
    machine = Machine() if machine is None else as_machine(machine)
    timed = timed_runs(runs)
    counts = counts_of_runs(phase, timed)
    if method == "fit":
        found = _fitted(phase, timed, counts)
    else:
        found = by_source(phase, machine, timed, counts, samples=samples, seed=seed)
    trend = disk_trend(timed, counts[:, NAMES.index("disk")])
    return replace(found, warnings=(*trend, *found.warnings))


def counts_of_runs(phase: SteadyStatePhase, timed: TimedRuns) -> Array:
    """Counts of all cycles of each run, shape (runs, 4), in the order of `NAMES`."""
    counts = phase.counted(timed.axes)
    columns = (
        counts.steps,
        counts.network_bytes,
        counts.messages,
        phase.of_one_disk(counts, timed.axes),
    )
    cycles = phase.cycles(timed.axes)
    shape = timed.time.shape
    return np.stack([np.broadcast_to(column * cycles, shape) for column in columns], axis=1)


def _fitted(phase: SteadyStatePhase, timed: TimedRuns, counts: Array) -> FoundCapacities:
    """All capacities at once."""
    terms, times = counts, timed.time
    if timed.disk is not None and (used := (counts[:, 3] > 0) & (timed.disk > 0)).any():
        only_disk = np.zeros((int(used.sum()), len(NAMES)))
        only_disk[:, 3] = counts[used, 3]
        terms, times = np.vstack([terms, only_disk]), np.append(times, timed.disk[used])
    solution = fitted(terms, times)
    values: list[FittedCapacity | None] = []
    warnings = []
    for i, name in enumerate(NAMES):
        if not (terms[:, i] > 0).any():
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
    used = solution.costs > 0
    slopes = terms[:, used] * solution.costs[used] / times[:, None]
    repetitions = None if timed.deviation is None else float(timed.deviation.mean())
    residuals = np.log1p(np.maximum(solution.residuals, LEAST_RESIDUAL))
    if trend := trend_with_p(timed.axes["p"], residuals, slopes, repetitions=repetitions):
        warnings.insert(0, trend_of_fit(trend))
    return result_of(
        phase, values, by_p=[], warnings=warnings, method="fit", runs=len(timed.time), error=error
    )


def disk_trend(timed: TimedRuns, disk_bytes: Array) -> Iterator[str]:
    """Say that the rate of the disk depends on p, if `disk_s` of the runs shows it."""
    if timed.disk is None or not (used := (disk_bytes > 0) & (timed.disk > 0)).any():
        return
    p, volume, seconds = timed.axes["p"][used], disk_bytes[used], timed.disk[used]
    rate = float(capacity(volume, 0.0, seconds))
    residuals = np.log(volume / rate / seconds)
    one = np.ones((len(p), 1))
    if trend := trend_with_p(p, residuals, one, repetitions=timed.disk_noise):
        rates = [capacity(volume[p == x], 0.0, seconds[p == x]) for x in trend.p]
        yield trend_of_disk(trend, np.array(rates), rate)


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


def with_disk_seconds(
    program: Program, runs: Measurements, *, is_free: bool = True
) -> tuple[Program, Measurements]:
    """Program whose disk has the rate that a column `disk_s` gives, and runs without the column.

    Without repetitions the rate is good to 5 %. Programs of other than one counting phase stay,
    and so does a rate that is not to be fitted.
    """
    phase = program.phase[0]
    if len(program.phase) > 1 or not isinstance(phase, SteadyStatePhase) or DISK not in runs.parts:
        return program, runs
    disk_bytes = counts_of_runs(phase, timed_runs(runs))[:, NAMES.index("disk")]
    rest = runs.without(DISK)
    if not (is_free and (disk_bytes > 0).any()):
        return program, rest
    if phase.capacities.disk is None:
        raise ParameterError(
            "capacities.disk",
            must=f"be given if the runs have a column {DISK}",
            hint="Write an initial value in the phase.",
        )
    rate = disk_rate(phase, Machine(), timed_runs(runs), disk_bytes)
    text = rate.text if "+-" in rate.text else f"{rate.text} +- {UNKNOWN}"
    keys = phase.model_dump(exclude_none=True)
    keys["capacities"] |= {"disk": text}
    return program.model_copy(update={"phase": (type(phase)(**keys),)}), rest


def disk_trend_of(program: Program, runs: Measurements) -> Iterator[str]:
    """Say what `disk_trend` does of the runs of a program of one counting phase."""
    phase = program.phase[0]
    if len(program.phase) == 1 and isinstance(phase, SteadyStatePhase) and DISK in runs.parts:
        timed = timed_runs(runs)
        yield from disk_trend(timed, counts_of_runs(phase, timed)[:, NAMES.index("disk")])


def bounds_in_words(program: Program, machine: Machine, runs: Measurements) -> Iterator[str]:
    """Say between what the network's rate lies, as the source finds it, if the runs show it."""
    phase = program.phase[0]
    if len(program.phase) > 1 or not isinstance(phase, SteadyStatePhase):
        return
    try:
        result = _found(phase, runs, machine, method="source", samples=0)
    except (FitFailed, ParameterError):
        return
    good = [each for each in result.network_by_p if 0 < each.value < np.inf]
    if len(good) > 1:
        ordered = good[0].value >= good[-1].value
        meaning = "these are its upper and lower bound" if ordered else "no contention is visible"
        yield RankedWarning(
            f"With W = {result.compute} from the runs on one processor, the network's rate is "
            f"{good[0]} at p = {good[0].p:g} and {good[-1]} at p = {good[-1].p:g}: {meaning}.",
            rank=Rank.MINOR,
        )
    yield from result.network_warnings


def with_guesses(
    program: Program,
    machine: Machine,
    runs: Measurements,
    *,
    free: Collection[str] | None,
    fixed: Collection[str] = (),
) -> tuple[Program, dict[str, str]]:
    """Program with first guesses of the capacities that its laws need, and their texts by name.

    What the machine gives is kept, unless the program would leave nothing to fit.
    """
    has_own = bool(usual_names(program))
    phases: list[Phase] = []
    guesses: dict[str, str] = {}
    for i, phase in enumerate(program.phase):
        before = f"{label}.capacities." if (label := program.label(i)) else "capacities."
        texts = {}
        for key, text in _lacking(phase, runs):
            name = before + key
            is_fitted = name not in fixed and (free is None or name in free)
            if is_fitted and not (_has(machine, key) and free is None and has_own):
                texts[key] = guesses[name] = text
            elif not _has(machine, key):
                raise ParameterError(
                    name,
                    must="be described, as it is not fitted",
                    hint=f'Write it in the phase, such as capacities = {{ {key} = "{EXAMPLES[key]}'
                    '" }.',
                )
        phases.append(_with_capacities(phase, texts))
    if not guesses:
        return program, {}
    return program.model_copy(update={"phase": tuple(phases)}), guesses


def guesses_in_words(guesses: Mapping[str, str]) -> Iterator[str]:
    """Say what was guessed, where anything was."""
    if guesses:
        texts = ", ".join(f"{name} = {text}" for name, text in guesses.items())
        yield RankedWarning(
            f"Not described, so the fit started from estimates based on the runs: {texts}.",
            rank=Rank.MINOR,
        )


def _has(machine: Machine, key: str) -> bool:
    """Whether a machine gives a capacity."""
    given = machine.parameters()
    return any(name in given for name in RATES[key][1])


def _with_capacities(phase: Phase, texts: Mapping[str, str]) -> Phase:
    """Give a phase with capacities beside those it has."""
    if not texts:
        return phase
    keys: dict[str, Any] = phase.model_dump(exclude_none=True)
    keys["capacities"] |= texts
    return type(phase)(**keys)


def _lacking(phase: Phase, runs: Measurements) -> Iterator[tuple[str, str]]:
    """Guess each capacity that a phase needs and does not give."""
    if not isinstance(phase, SteadyStatePhase):
        return
    lacking = [key for key in RATES if getattr(phase.capacities, key) is None]
    if not lacking:
        return
    try:
        timed = timed_runs(runs)
        counts = counts_of_runs(phase, timed)
    except ParameterError:
        return  # the fit itself says what is wrong with these runs
    rates = counts / timed.time[:, None]
    for key in lacking:
        rate = _rate(key, rates[:, NAMES.index(key)], timed.axes["p"])
        if rate > 0:
            yield key, format_quantity(rate, RATES[key][0], DIGITS)


def _rate(key: str, rates: Array, p: Array) -> float:
    """Guess a capacity from what each run did in a second of its time; 0 if nothing was done."""
    if key != "compute":
        return LITTLE * float(rates.max())
    did = rates > 0
    return float(np.median(rates[did & (p == p[did].min())])) if did.any() else 0.0
