"""W, u and B as the source finds them: B from the disk's time, W from serial runs, then u.

The network is slowest with all processors: u_P of the largest count is the lower bound of u, that
of the smallest the upper one.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Program
from parcast.errors import FitFailed, ParameterError
from parcast.fitting.capacity_sums import (
    COMMUNICATION,
    COMPUTE,
    DISK,
    INTERVAL,
    FittedCapacity,
    FoundCapacities,
    TimedRuns,
    capacity,
    counts_of_runs,
    result_of,
    sampled,
    timed_runs,
    without_startup,
)
from parcast.laws.counting import SteadyStatePhase
from parcast.show.warning import Rank, RankedWarning
from parcast.timings.measurements import Measurements
from parcast.units import format_quantity

SAME: Final = 0.1  # by how much W may differ between sizes without a word


def by_source(
    phase: SteadyStatePhase,
    machine: Machine,
    timed: TimedRuns,
    counts: Array,
    *,
    samples: int,
    seed: int,
) -> FoundCapacities:
    """W from serial runs, then u_P from those on P processors; `counts`, (runs, 4), as `NAMES`."""
    steps, sent, messages, disk_bytes = counts.T
    p = timed.axes["p"]
    alone = p == 1
    _require_alone(alone)
    times, parts = sampled(timed, samples, seed)
    disk, known = _disk(phase, machine, timed, disk_bytes, parts)
    in_disk = np.where(disk_bytes > 0, disk_bytes / known, 0.0)
    own = alone & timed.known(COMPUTE, steps)
    if own.any():
        w = capacity(steps[own], 0.0, parts[COMPUTE][:, own])
    else:
        w = _compute(steps[alone], in_disk[:, alone], times[:, alone])
    waiting = messages * phase.latency(machine, timed.axes)
    computing = _measured(timed, parts, COMPUTE, steps, steps / w[:, None])
    rest = computing + _measured(timed, parts, DISK, disk_bytes, in_disk) + waiting
    if (seen := timed.known(COMMUNICATION, sent)).any():  # then this is all there is
        times, rest = np.where(seen, parts[COMMUNICATION], times), np.where(seen, waiting, rest)
    warnings = list(_of_sizes(steps[alone], in_disk[0, alone], times[0, alone]))
    several = np.unique(p[(p > 1) & (sent > 0)])
    by_p, doubts = [], list[str]()
    for count in several:
        rows = (p == count) & (sent > 0)
        u = capacity(sent[rows], rest[:, rows], times[:, rows])
        note = "upper bound" if count == several[0] else ""
        note = "lower bound" if count == several[-1] and len(several) > 1 else note
        by_p.append(_from_samples("network", u, p=float(count), note=note))
        if not 0 < u[0] < np.inf:
            took, should = float(times[0, rows].sum()), float(rest[0, rows].sum())
            doubts.append(_negative(by_p[-1], took, should))
    doubts += _of_network(by_p)
    warnings += doubts
    if not by_p:
        warnings.append(
            "No run has several processors that communicate, so u is not determined. Measure "
            "runs with p > 1."
        )
    if timed.deviation is None:
        warnings.append(
            "No run was repeated, so the uncertainty of W is unknown. Repeat the runs."
        )
    has_startup = phase.capacities.latency is not None
    startup = _given("latency", phase, machine, timed) if has_startup else None
    return result_of(
        phase,
        [_from_samples("compute", w), _between(by_p), startup, disk],
        by_p=by_p,
        warnings=warnings,
        network_warnings=doubts,
        method="source",
        runs=len(p),
    )


def _require_alone(alone: NDArray[np.bool_]) -> None:
    """Refuse runs of which none is on one processor."""
    if not alone.any():
        raise FitFailed(
            "There is no run on one processor, which is needed to determine W. Measure one, "
            'or use method="fit".',
            outcome="No capacities.",
        )


def _measured(
    timed: TimedRuns, parts: Mapping[str, Array], name: str, amount: Array, counted: Array
) -> Array:
    """Seconds of a part of the time as they were measured, else as they were counted. [s]."""
    known = timed.known(name, amount)
    return np.where(known, parts[name], counted) if known.any() else counted


def _compute(steps: Array, in_disk: Array, times: Array) -> Array:
    """W of each set of times. [flop/s]."""
    if not (steps > 0).any():
        raise FitFailed(
            "The run on one processor has no steps. Measure a larger n.", outcome="No capacities."
        )
    w = capacity(steps, in_disk, times)
    if not 0 < w[0] < np.inf:
        raise FitFailed(
            f"The run on one processor took {times[0].max():g} s, but the disk alone should take "
            f"{in_disk[0].max():g} s. Check the disk's rate and the bytes of an input.",
            outcome="No capacities.",
        )
    return np.where(w > 0, w, np.inf)


def _disk(
    phase: SteadyStatePhase,
    machine: Machine,
    timed: TimedRuns,
    disk_bytes: Array,
    parts: Mapping[str, Array],
) -> tuple[FittedCapacity | None, Array]:
    """B as it is given, and as each set of times has it, shape (sets, 1). [B/s]."""
    used = disk_bytes > 0
    if not used.any():
        return None, np.full((1, 1), np.inf)
    if DISK in parts:
        used &= ~np.isnan(timed.parts[DISK])
        seconds = timed.parts[DISK][used]
        is_time = (seconds > 0) & (seconds < timed.time[used])
        if not is_time.all():
            raise ParameterError(
                "disk_s",
                must="lie between 0 and the time of the run",
                got=f"{seconds[~is_time][0]:g}",
                hint="Give the seconds that reading and writing took.",
            )
        b = capacity(disk_bytes[used], 0.0, parts[DISK][:, used])
        return _from_samples("disk", b), b[:, None]
    try:
        given = _given("disk", phase, machine, timed)
    except ParameterError:
        raise FitFailed(
            "The rate of the disk is unknown. Add a column disk_s with the seconds spent on "
            'reading and writing, or capacities.disk to the phase, or use method="fit".',
            outcome="No capacities.",
        ) from None
    return given, np.full((1, 1), given.value)


def _given(
    name: str, phase: SteadyStatePhase, machine: Machine, timed: TimedRuns
) -> FittedCapacity:
    """A capacity as it is described; of several values the mean."""
    of = phase.disk_rate if name == "disk" else phase.latency
    value = float(np.mean(of(machine, timed.axes)))
    return FittedCapacity(name=name, value=value, lower=np.nan, upper=np.nan, note="as described")


def _from_samples(
    name: str, values: Array, *, p: float | None = None, note: str = ""
) -> FittedCapacity:
    """A capacity from its value and what it might have been."""
    value = float(values[0])
    if len(values) == 1 or not 0 < value < np.inf:
        return FittedCapacity(name=name, value=value, lower=np.nan, upper=np.nan, p=p, note=note)
    # Times are linear in the inverse, which may pass 0 where the capacity passes infinity.
    tail = (1.0 - INTERVAL) / 2.0
    least, most = np.quantile(1.0 / values, [tail, 1.0 - tail])
    upper = 1.0 / least if least > 0 else np.inf
    return FittedCapacity(
        name=name,
        value=value,
        lower=float(min(1.0 / most, value)),
        upper=float(max(upper, value)),
        p=p,
        note=note,
    )


def _between(by_p: list[FittedCapacity]) -> FittedCapacity | None:
    """Rate between the bounds that were found, or None if there is none."""
    good = [each for each in by_p if 0 < each.value < np.inf]
    if not good:
        return None
    values = [each.value for each in good]
    ends = [x for each in good for x in (each.lower, each.upper) if np.isfinite(x)]
    has_interval = len(good) > 1 or bool(ends)
    return FittedCapacity(
        name="network",
        value=float(np.sqrt(min(values) * max(values))),
        lower=min(values + ends) if has_interval else np.nan,
        upper=max(values + ends) if has_interval else np.nan,
        note="between its bounds" if len(good) > 1 else f"at p = {good[0].p:g} alone",
    )


def _negative(bound: FittedCapacity, took: float, should: float) -> str:
    """Explain a u that cannot be."""
    value = format_quantity(bound.value, "rate") if np.isfinite(bound.value) else "infinite"
    return RankedWarning(
        f"{bound.symbol} is {'negative ' if bound.value < 0 else ''}({value}): p = {bound.p:g} "
        f"took {took:.3g} s, but computing and the disk alone should take {should:.3g} s. So W is "
        "underestimated: a processor is faster in the parallel run, for example because its part "
        "fits into a cache. Measure W with a smaller serial run, or fit all runs together.",
        kind="negative u",
        rank=Rank.SERIOUS,
        size=should / took,
    )


def _of_network(by_p: list[FittedCapacity]) -> Iterator[str]:
    """Doubt a network that gets faster."""
    good = [each for each in by_p if 0 < each.value < np.inf]
    if len(good) > 1 and good[-1].value > good[0].value * (1.0 + SAME):
        yield (
            f"{good[-1].symbol} is above {good[0].symbol}: the bounds of u are reversed, so "
            "something other than contention differs between these runs. Check how they were run."
        )


def _of_sizes(steps: Array, in_disk: Array, times: Array) -> Iterator[str]:
    """Doubt a W that depends on n."""
    each = steps / np.maximum(times - in_disk, 1e-300)
    low, high = float(each.min()), float(each.max())
    if high > low * (1.0 + SAME):
        yield (
            f"W is between {format_quantity(low, 'operation_rate')} and "
            f"{format_quantity(high, 'operation_rate')} for different n: caches have an effect, "
            "or the law does not count the steps that the program does. Measure near the n that "
            "you want to predict."
        )


def bounds_in_words(program: Program, machine: Machine, runs: Measurements) -> Iterator[str]:
    """Say between what the network's rate lies, as the source finds it, if the runs show it."""
    phase = program.phase[0]
    if len(program.phase) > 1 or not isinstance(phase, SteadyStatePhase):
        return
    try:
        timed = without_startup(phase, timed_runs(runs))
        counts = counts_of_runs(phase, timed)
        result = by_source(phase, machine, timed, counts, samples=0, seed=0)
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
