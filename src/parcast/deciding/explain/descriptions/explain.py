"""Explain the time of a described program: what it follows, and what would shorten it most."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.deciding.explain.descriptions.changes import (
    Change,
    changes_of,
    freed,
    pairs_of,
    times_of,
)
from parcast.deciding.explain.descriptions.elasticities import (
    SMALLEST,
    elasticities,
    ends_of,
    sampled_elasticities,
)
from parcast.deciding.explain.descriptions.extremes import used, without_end
from parcast.deciding.explain.descriptions.result import (
    AmountEffect,
    DescriptionsExplained,
    Extreme,
    IntervalEstimate,
    LimitedFrom,
    ResourceUse,
    Upgrade,
    estimates,
)
from parcast.deciding.explain.laws.facts import (
    SpeedupFacts,
    is_weak,
    phase_facts,
    speedup_facts,
)
from parcast.descriptions.breakdown import RESOURCES, STEP
from parcast.descriptions.machine import LEVEL, Machine
from parcast.descriptions.program import Program
from parcast.errors import ParameterError
from parcast.laws.allowances import law_errors, law_half_width
from parcast.laws.spmd.demands import with_servers
from parcast.prediction.grid import grid_of, require_times
from parcast.prediction.limiting import AlongCounts, shares_and_slopes
from parcast.prediction.notes import doubts_of_law, warnings_of
from parcast.prediction.predict import INTERVAL, SampledSets, sampled_ends, sets_of, widened
from parcast.saved.call import Call, array_of

SAMPLES: Final = 128
FEWEST_SAMPLES: Final = 16
MOST_COUNTS: Final = 1000  # explained at once
UNCHANGED: Final = Change(what=(), names=(), factors={})
AFFORDABLE: Final = 200_000  # times of a simple law, over all sets and amounts

Asked = TypeVar("Asked")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DescribedRun:
    """A program on a machine at the counts asked for, with what is not exactly known of it."""

    program: Program
    machine: Machine
    axes: Mapping[str, Array]
    at: Mapping[str, Array]  # p (counts,), d and n; of one place besides p
    sets: SampledSets | None
    law_error: bool
    names: Mapping[str, bool]  # of amounts with an elasticity: whether they are of the machine

    def half_width(self, at: Mapping[str, Array]) -> Array:
        """Half-width of log time from the error of the law; 0 where it is left out [1]."""
        at = with_servers(self.machine, at)
        if not (self.law_error and law_errors(self.program, self.machine, at)):
            return np.zeros(())
        return law_half_width(self.program, self.machine, at)

    def times(self, at: Mapping[str, Array]) -> tuple[Array, Array, Array]:
        """Times at counts, and the ends of their intervals, (counts,) each [s]."""
        at = with_servers(self.machine, at)
        shape = np.broadcast_shapes(*map(np.shape, at.values()))
        time = np.broadcast_to(self.program.times(self.machine, at).time, shape)
        low, high = sampled_ends(self.program, self.machine, at, time, self.sets)
        half = self.half_width(at)
        if low is None or high is None:
            low = high = time
        return time, *widened(time, low, high, half)

    def at_level(self, contention: float) -> Array:
        """Times at a level of contention, whatever the descriptions say of it [s]."""
        point = {**with_servers(self.machine, self.at), LEVEL: np.asarray(contention)}
        return np.broadcast_to(self.program.times(self.machine, point).time, self.at["p"].shape)

    @property
    def last(self) -> dict[str, Array]:
        """The largest count."""
        return {**self.at, "p": self.at["p"][-1:]}

    @property
    def has_interval(self) -> bool:
        """Whether anything is not exactly known."""
        return self.sets is not None or bool(np.any(self.half_width(self.at) > 0))


def explain_descriptions(
    program: Program,
    machine: Machine,
    *,
    p: ArrayLike,
    d: ArrayLike | None = None,
    n: ArrayLike | None = None,
    law_error: bool = True,
    seed: int = 0,
) -> DescriptionsExplained:
    """Explain the time of a described program at counts `p`; see `parcast.explain`."""
    run, whole = _run_of(
        program, machine, {"p": p, "d": d, "n": n}, law_error=law_error, seed=seed
    )
    at, counts = run.at, run.at["p"]
    time, lower, upper = run.times(at)
    require_times(time, {"p": counts})
    amounts, no_effect = _amounts(run)
    along = AlongCounts.up_to(program, machine, at, counts)
    resources = _resources(run, along)
    effects = {x.name: float(x.elasticity[-1]) for x in amounts}
    use = {x.resource: float(x.elasticity[-1]) for x in resources}
    point = with_servers(machine, at)
    errors = law_errors(program, machine, point) if law_error else ()
    return DescriptionsExplained(
        program=program.name,
        machine=machine.name,
        p=counts,
        d=float(np.ravel(with_servers(machine, run.last)["d"])[-1]),
        n=float(at["n"]) if "n" in at else None,
        time=time,
        lower=lower,
        upper=upper,
        interval=INTERVAL if run.has_interval else None,
        amounts=amounts,
        no_effect=no_effect,
        whole=whole,
        resources=resources,
        limiting=tuple(LimitedFrom(p=x, resource=name) for x, name in along.leading()),
        along=(along.p, along.elasticity),
        upgrades=_upgrades(run, list(effects), has_disks=use.get("io", 0.0) > 0),
        extremes=(*_limits(run, has_disks=use.get("io", 0.0) > 0), *_bounds(run, effects, use)),
        speedups=_speedups(run, effects),
        phases=phase_facts(program, float(at["n"]) if "n" in at else None, float(counts[-1])),
        contention_free=run.at_level(0.0),
        single_bus=run.at_level(1.0),
        warnings=(
            *warnings_of(program, machine, run.axes),
            *doubts_of_law(errors, program, machine, uncertain=run.has_interval),
        ),
        law=program.law,
        sources=program.sources_of_law,
        law_errors=errors,
        currency=machine.price.currency,
        call=Call(
            verb="explain-descriptions",
            arguments={
                **{"program": program, "machine": machine, "law_error": law_error, "seed": seed},
                **{name: array_of(x) for name, x in (("p", p), ("d", d), ("n", n))},
            },
        ),
    )


def _run_of(
    program: Program,
    machine: Machine,
    given: Mapping[str, ArrayLike | None],
    *,
    law_error: bool,
    seed: int,
) -> tuple[DescribedRun, tuple[str, ...]]:
    """Check what was asked; names of amounts that are whole numbers beside it."""
    grid = grid_of(program, machine, given, {}, most=MOST_COUNTS)
    for name in ("d", "n"):
        if len(grid.axes.get(name, ())) > 1:
            raise ParameterError(
                name,
                must="be one value",
                got=f"{len(grid.axes[name])} values",
                hint="Explain one after the other.",
            )
    counts = np.unique(grid.axes["p"])
    at = {name: x.reshape(()) for name, x in grid.axes.items() if name != "p"} | {"p": counts}
    names = dict.fromkeys(program.parameters(), False)
    names |= {name: True for name in machine.parameters() if name not in names}
    some = _answered(partial(_times_of_less, program, machine, at), list(names))
    whole = tuple(name for name in names if name not in some)
    names = {name: names[name] for name in some}
    each = program.dearness / 20 * len(counts) * (1 + 2 * len(names)) + 40
    samples = int(np.clip(AFFORDABLE / each, FEWEST_SAMPLES, SAMPLES))
    return DescribedRun(
        program=program,
        machine=machine,
        axes=grid.axes,
        at=at,
        sets=sets_of(program, machine, grid.axes, samples, seed),
        law_error=law_error,
        names=names,
    ), whole


def _times_of_less(
    program: Program, machine: Machine, at: Mapping[str, Array], names: Sequence[str]
) -> Array:
    """Times with a little less of each amount, which whole numbers do not have [s]."""
    less = np.exp(-STEP * np.eye(len(names)))[..., None]
    factors = {f"{name}*": factor for name, factor in zip(names, less, strict=True)}
    return program.times(machine, {**with_servers(machine, at), **factors}).time


def _answered(times: Callable[[Sequence[Asked]], Array], some: Sequence[Asked]) -> list[Asked]:
    """Keep what the law has times of, all asked together, else by halves."""
    try:
        if some and np.all(np.isfinite(times(some))):
            return list(some)
    except ParameterError:
        pass
    half = len(some) // 2
    halves = (some[:half], some[half:]) if half else ()
    return [x for part in halves for x in _answered(times, part)]


def _amounts(
    run: DescribedRun,
) -> tuple[tuple[AmountEffect, ...], tuple[str, ...]]:
    """Amounts that the time depends on, the largest effect first, and names of the others."""
    program, machine, counts, names = run.program, run.machine, run.at["p"], run.names
    known = machine.parameters() | program.parameters()
    found = elasticities(program, machine, run.at, names)
    sampled = sampled_elasticities(program, machine, run.at, names, run.sets)
    half = np.broadcast_to(run.half_width(run.at), counts.shape)
    effects, without = [], []
    for name, elasticity in found.items():
        value = np.broadcast_to(elasticity, counts.shape)
        if np.all(np.abs(value) <= SMALLEST):
            without.append(name)
            continue
        lower, upper = ends_of(value, sampled.get(name), half)
        effects.append(
            AmountEffect(
                name=name,
                of="machine" if names[name] else "program",
                text=known[name].text,
                elasticity=value,
                lower=lower,
                upper=upper,
            )
        )
    effects.sort(key=lambda x: -abs(float(x.elasticity[-1])))
    return tuple(effects), tuple(without)


def _resources(run: DescribedRun, along: AlongCounts) -> tuple[ResourceUse, ...]:
    """Use of each resource that takes any time."""
    counts = run.at["p"]
    half = np.broadcast_to(run.half_width(run.at), counts.shape)
    parts, follows = shares_and_slopes(run.program, run.machine, run.at)
    shares = {name: part / parts.time for name, part in parts.causes()}
    many_shares, many_follow = dict[str, Array](), dict[str, Array]()
    if run.sets is not None:
        point = {**run.at, **run.sets.columns(slice(None), 1)}
        many, many_follow = shares_and_slopes(run.program, run.machine, point)
        many_shares = {name: part / many.time for name, part in many.causes()}
    resources = []
    for name in used(RESOURCES, shares):
        share, follow = (np.broadcast_to(x[name], counts.shape) for x in (shares, follows))
        ends = ends_of(share, many_shares.get(name), half)
        ends_of_follow = ends_of(follow, many_follow.get(name), half)
        resources.append(
            ResourceUse(
                resource=name,
                share=share,
                share_lower=ends[0],
                share_upper=ends[1],
                elasticity=follow,
                elasticity_lower=ends_of_follow[0],
                elasticity_upper=ends_of_follow[1],
                saturated_from=along.saturated(name),
            )
        )
    return tuple(resources)


def _upgrades(run: DescribedRun, names: Sequence[str], *, has_disks: bool) -> tuple[Upgrade, ...]:
    """What saves most at the largest count, alone and in pairs."""
    times = partial(_changed, run, use_sets=True)
    single = _answered(times, changes_of(run.program, run.machine, names, has_disks=has_disks))
    if not single:
        return ()
    saved = (1.0 - _changed(run, single) / _changed(run, [UNCHANGED]))[0].tolist()
    every = [*single, *_answered(times, list(pairs_of(single, saved)))]
    return tuple(sorted(_saving(run, every), key=lambda x: (x.pair, -x.saved.value)))


def _changed(run: DescribedRun, changes: Sequence[Change], *, use_sets: bool = False) -> Array:
    """Times with changes at the largest count, (samples, changes) [s]."""
    own = run.sets.columns(slice(None), 1) if run.sets is not None and use_sets else {}
    return times_of(run.program, run.machine, run.last, changes, own)


def _saving(run: DescribedRun, changes: Sequence[Change]) -> list[Upgrade]:
    """Give changes with what they save; a factor two alone saves a half at most."""
    after = low = high = _changed(run, changes)[0]
    value, many = 1.0 - after / _changed(run, [UNCHANGED])[0], None
    if run.sets is not None:
        times = _changed(run, changes, use_sets=True)
        many = 1.0 - times / _changed(run, [UNCHANGED], use_sets=True)
        low, high = np.quantile(times, [0.05, 0.95], axis=0)
        low, high = np.minimum(low, after), np.maximum(high, after)
    half = np.broadcast_to(run.half_width(run.last), (1,))
    at_most = np.array([1.0 - 0.5 ** len(x.names) for x in changes])
    ends = ends_of(value / at_most, None if many is None else many / at_most, half)
    saved = estimates(value, *(x * at_most for x in ends))
    times_after = estimates(after, *widened(after, low, high, half))
    costs = [_cost(run, x, y) for x, y in zip(changes, times_after, strict=True)]
    return [
        Upgrade(what=x.what, names=x.names, saved=save, time=time, cost=cost)
        for x, save, time, cost in zip(changes, saved, times_after, costs, strict=True)
    ]


def _cost(run: DescribedRun, change: Change, time: IntervalEstimate) -> IntervalEstimate | None:
    """Cost of a run with a change, at today's price; None where the machine has none."""
    if run.machine.price.amount is None:
        return None
    at = {**run.last, "p": run.last["p"] * change.factors.get("p", 1.0)}
    ends = [
        float(run.machine.cost(np.array([x]), at)[0]) for x in (time.value, time.lower, time.upper)
    ]
    return IntervalEstimate(value=ends[0], lower=ends[1], upper=ends[2])


def _limits(run: DescribedRun, *, has_disks: bool) -> list[Extreme]:
    """Times with processors, and disks, without end."""
    found = []
    for name in ("p", *(["d"] if has_disks else [])):
        kind, count = without_end(run.program, run.machine, run.last, name)
        time = None
        if count is not None:
            at = {**run.last, name: np.array([count])}
            [time] = estimates(*run.times(at))
        found.append(Extreme(of=name, kind=kind, time=time))
    return found


def _speedups(run: DescribedRun, names: Collection[str]) -> SpeedupFacts | None:
    """Speedups and serial fractions at the largest count, where the work is fixed."""
    one = {**run.last, "p": np.ones(1)}
    points = [with_servers(run.machine, x) for x in (one, run.last)]
    try:
        works = [run.program.work(run.machine, x) for x in points]
        if is_weak(works[1], works[0]):
            return None
        alone, time = (run.program.times(run.machine, x).time for x in points)
    except ParameterError:  # the law has no answer for one processor
        return None
    speedup = low = high = np.broadcast_to(alone / time, (1,))
    if run.sets is not None:
        own = run.sets.columns(slice(None), 1)
        many = [run.program.times(run.machine, {**x, **own}).time for x in points]
        ratios = np.broadcast_to(many[0] / many[1], (len(run.sets.normal[0]), 1))
        low, high = np.quantile(ratios, [0.05, 0.95], axis=0)
        low, high = np.minimum(low, speedup), np.maximum(high, speedup)
    low, high = widened(speedup, low, high, run.half_width(run.last))
    p = float(run.last["p"][0])
    high = np.minimum(high, np.maximum(speedup, p))
    rate = run.machine.compute.rate if "compute.rate" in names else None
    own_rate = None if rate is None else float(np.ravel(rate(points[1]))[-1])
    return speedup_facts(p, np.concatenate([speedup, low, high]), own_rate)


def _bounds(
    run: DescribedRun, effects: Mapping[str, float], use: Mapping[str, float]
) -> list[Extreme]:
    """Times with each resource infinitely fast: the most that any upgrade of it saves."""
    every = freed(run.program, run.machine, effects, use)
    with np.errstate(all="ignore"):
        changes = _answered(partial(_changed, run, use_sets=True), list(every.values()))
    if not changes:
        return []
    with np.errstate(all="ignore"):
        after = _changed(run, changes)[0]
        many = _changed(run, changes, use_sets=True)
    low, high = np.quantile(many, [0.05, 0.95], axis=0)
    half = np.broadcast_to(run.half_width(run.last), (1,))
    ends = widened(after, np.minimum(low, after), np.maximum(high, after), half)
    return [
        Extreme(of=change.what[0], kind="bound", time=time)
        for change, time in zip(changes, estimates(after, *ends), strict=True)
    ]
