"""Times of an SPMD phase some of whose processors compute more than the others.

h of the p processors have b times the mean share of the work that is shared (`compute.imbalance`
is b, `compute.heavy` is h), so that the others have what is left of it [D]::

    u_heavy = b S_par/p + S_ser        u_light = S_par/p (p - h b)/(p - h) + S_ser

Groups of c processors that communicate synchronously hold heavy or light ones only, if h is a
multiple of c; if h is less than c, one group holds all heavy ones, and its burst is the largest of
both kinds. K_1 light and K_2 heavy groups are two classes of customers of the networks of
`parcast.laws.spmd.networks`. With C_1 and C_2 their cycles while all are there, and C_2' that of
the heavy ones alone [D]::

    synchronous  T = n E(K_1, K_2) + y           bursts geometric: the chain of `class_departures`
                 T = `two_class_time` + y        bursts fixed
    striped,     T = w C_2 + (1 - w) C_2'        w = C_1/C_2: of N cycles the light ones do theirs
    clustered                                    in N C_1, and leave the queues to the others

C by `class_means`, exact for exponential services. Groups are dealt to the d clusters in turn, the
heavy ones first; T is that of the cluster with the most. Start and end of a run are those of equal
jobs, `makespan_excess`, as many as may be last: the heavy ones, and of the light ones as many as
the chance that theirs is late bears to that of a heavy one [D].

Derivatives are taken by differences.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
from scipy import special  # type: ignore[import-untyped]  # SciPy ships no types

from parcast.advice import SIMULATE
from parcast.aliases import Array
from parcast.descriptions.breakdown import STEP, Breakdown
from parcast.descriptions.program import Slopes
from parcast.errors import ParameterError, require
from parcast.laws.spmd.demands import DEMANDED, HEAVY, Demands, io_service, time_law
from parcast.laws.spmd.networks import cycle, ends_apart, run_of
from parcast.laws.spmd.tables import SpmdTables
from parcast.queueing.dual_numbers import dual
from parcast.queueing.fixed_cycles import MOST_SERVICE_CV
from parcast.queueing.job_classes import (
    ClassMeans,
    ClassNetworks,
    class_departures,
    class_means,
)
from parcast.queueing.makespan import Circulation, makespan_excess
from parcast.queueing.order import deviation_of_maximum, expected_maximum
from parcast.queueing.unequal_cycles import TwoClasses, largest_sum, one_queue, two_class_time

LARGEST_GROUP_IS: Final = "uniform"  # a law whose mixed groups are not known
ALONE: Final = 1e-12  # of a time, for a group that has no delay


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Groups:
    """Light and heavy groups of processors; arrays (2, points)."""

    number: Array  # K_1 and K_2 [1]
    computing: Array  # of a burst of the group: of its slowest processor [s]
    cv: Array  # of that [1]

    def delay(self, demand: Demands) -> Array:
        """Delay of a burst, z [s]."""
        return self.computing + demand.delay


def imbalanced_run(phase: SpmdTables, demand: Demands, cycles: Array) -> Breakdown:
    """Time of so many cycles, in a shape that all that is asked for broadcasts to [s]."""
    io = io_service(phase, demand)
    given = {x.name: getattr(demand, x.name) for x in fields(demand)}
    columns = np.broadcast_arrays(*given.values(), cycles, io)
    shape = columns[0].shape
    *flattened, number, _ = (column.ravel() for column in columns)
    flat = Demands(**dict(zip(given, flattened, strict=True)))
    some = flat.imbalance > 1.0
    parts = np.zeros((4, some.size))
    for here, solver in ((~some, _balanced), (some, _imbalanced)):
        if here.any():
            chosen = Demands(**{name: getattr(flat, name)[here] for name in given})
            solved = solver(phase, chosen, number[here])
            parts[:, here] = [np.broadcast_to(part, here.sum()) for _, part in solved.components()]
    compute, communication, waiting_io, waiting = parts.reshape(4, *shape)
    return Breakdown(
        compute=compute, communication=communication, io=waiting_io, synchronisation=waiting
    )


def _balanced(phase: SpmdTables, demand: Demands, cycles: Array) -> Breakdown:
    """Points where nobody computes more than the others."""
    return run_of(phase, demand, cycle(phase, demand), cycles).breakdown


def imbalanced_slopes(phase: SpmdTables, demand: Demands, cycles: Array) -> Slopes:
    """Derivatives of the time by the logarithm of each field of `Demands`, by differences [s]."""
    slopes = {}
    for name in DEMANDED:
        value = getattr(demand, name)
        if not np.any(value):
            slopes[name] = np.zeros(())
            continue
        more, less = (
            imbalanced_run(phase, replace(demand, **{name: value * np.exp(step)}), cycles).time
            for step in (STEP, -STEP)
        )
        slopes[name] = np.asarray((more - less) / (2.0 * STEP))
    return slopes


def approximations(phase: SpmdTables, demand: Demands) -> Iterator[str]:
    """Say where imbalanced processors are not solved exactly."""
    queues = (demand.imbalance > 1.0) & (demand.queue > 0)
    if phase.io.kind == "synchronous" and phase.bursts == "fixed" and queues.any():
        yield (
            "Imbalanced processors that queue for the network before they join are solved by an "
            "approximation: against simulations 1.0% off on average, 7.7% at worst. Check it: "
            f"{SIMULATE}"
        )


def groups_of(phase: SpmdTables, demand: Demands) -> Groups:
    """Light and heavy groups, and how long the slowest processor of each computes."""
    heavy, c = demand.heavy, demand.group
    mixed = heavy < c
    uneven = ~mixed & (np.mod(heavy, c) != 0)
    require(
        HEAVY,
        heavy,
        ~uneven,
        must="be a multiple of communication.group, or less than it",
        hint=f"Groups that differ in three ways are simulated only: {SIMULATE}",
    )
    number = np.where(mixed, 1.0, heavy / c)
    times = np.stack([demand.light_computing, demand.heavy_computing])
    law = time_law(phase, times, demand.interruption)
    slowest = np.broadcast_to(expected_maximum(c, law), times.shape)
    computing, spread = slowest * times, deviation_of_maximum(c, law) / slowest
    if (mixed & (c > 1)).any():
        _require_known_groups(phase)
        of = TwoClasses(
            jobs=np.stack([np.maximum(c - heavy, 0.0), np.minimum(heavy, c)]),
            delay=times,
            steady=np.zeros_like(c),
            delay_cv=np.broadcast_to(law.cv, times.shape),
            service=np.zeros_like(c),
            service_cv=np.zeros_like(c),
        )
        mean, square = (largest_sum(of, np.ones_like(c), power) for power in (1, 2))
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        computing[1] = np.where(mixed, mean, computing[1])
        part = np.divide(deviation, mean, out=np.zeros_like(mean), where=mean > 0)
        spread[1] = np.where(mixed, part, spread[1])
    return Groups(
        number=np.stack([demand.groups - number, number]), computing=computing, cv=spread
    )


def _require_known_groups(phase: SpmdTables) -> None:
    if phase.compute.variability == LARGEST_GROUP_IS:
        raise ParameterError(
            "compute.variability",
            must='not be "uniform" where a group of communication.group has light and heavy '
            "processors",
            hint="Give a coefficient of variation, such as 0.5.",
        )


def _imbalanced(phase: SpmdTables, demand: Demands, cycles: Array) -> Breakdown:
    """Points where h processors compute more than the others; all arrays (points,)."""
    groups = groups_of(phase, demand)
    if phase.io.kind == "synchronous":
        return _joined(phase, demand, groups) * cycles
    return _apart(phase, demand, groups, cycles)


def _joined(phase: SpmdTables, demand: Demands, groups: Groups) -> Breakdown:
    """One cycle at whose end all groups join."""
    n, x = demand.bursts, demand.queue
    z = np.maximum(groups.delay(demand), ALONE * (groups.delay(demand)[1] + x))
    if phase.bursts == "geometric":
        is_known = phase.is_exponential and not demand.interruption.any()
        _require(phase, "compute", is_known=is_known)
        until_join = n * class_departures(groups.number, delay=z, service=x)
    else:
        tame = phase.communication.cv <= MOST_SERVICE_CV
        _require(phase, "communication", is_known=tame or not x.any())
        jobs = TwoClasses(
            jobs=groups.number,
            delay=np.maximum(groups.computing, ALONE * z),
            steady=np.broadcast_to(demand.delay, n.shape),
            delay_cv=groups.cv,
            service=x,
            service_cv=np.full_like(x, min(phase.communication.cv, MOST_SERVICE_CV)),
        )
        until_join = two_class_time(jobs, n)
    response = one_queue(groups.number, z, x).response_shared[0]
    waiting = n * np.maximum(_mean(response, groups) - x, 0.0)
    compute, sending = n * demand.computing, n * (demand.delay + x)
    waiting = np.minimum(waiting, np.maximum(until_join - compute - sending, 0.0))
    return Breakdown(
        compute=compute,
        communication=sending + waiting,
        io=io_service(phase, demand),
        synchronisation=np.maximum(until_join - compute - sending - waiting, 0.0),
    )


def _mean(of_class: Array, groups: Groups) -> Array:
    """Mean over all groups of what is said of both classes."""
    return np.asarray((groups.number * of_class).sum(axis=0) / groups.number.sum(axis=0))


def _require(phase: SpmdTables, table: str, *, is_known: bool) -> None:
    """Refuse a law of times that two classes are not solved for."""
    if not is_known:
        given = (
            phase.compute.variability if table == "compute" else phase.communication.variability
        )
        raise ParameterError(
            f"{table}.variability",
            must='be "exponential"' if table == "compute" else f"be at most {MOST_SERVICE_CV:g}",
            got=str(given),
            hint=f"With compute.imbalance anything else is simulated only: {SIMULATE}",
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DealtGroups:
    """Groups dealt to clusters in turn, heavy ones first: the three kinds of clusters."""

    customers: Array  # light and heavy groups of one, shape (3, 2, points) [1]
    count: Array  # clusters of a kind, shape (3, points) [1]


def dealt(groups: Groups, clusters: Array) -> DealtGroups:
    """Clusters of each kind, those with the most groups first."""
    total, heavy = groups.number.sum(axis=0), groups.number[1]
    more, heavier = np.mod(total, clusters), np.mod(heavy, clusters)
    ends = np.minimum(more, heavier), np.maximum(more, heavier)
    each = np.floor(total / clusters), np.floor(heavy / clusters)
    kinds = []
    for all_more, has_more in (
        (1.0, 1.0),
        (more > heavier, heavier > more),
        (0.0, 0.0),
    ):
        of_heavy = each[1] + has_more
        kinds.append(np.stack([each[0] + all_more - of_heavy, of_heavy]))
    count = np.stack([ends[0], ends[1] - ends[0], clusters - ends[1]])
    customers = np.where(count[:, None] > 0, np.stack(kinds), 0.0)
    return DealtGroups(customers=customers, count=count)


def _apart(phase: SpmdTables, demand: Demands, groups: Groups, cycles: Array) -> Breakdown:
    """Cycles of groups that never join, from their start to the end of the last one's."""
    n, x, y = demand.bursts, demand.queue, io_service(phase, demand)
    for served, service, table in (
        (phase.communication, x, "communication"),
        (phase.io, y, "io"),
    ):
        if served.cv != 1.0 and np.any(service > 0):
            raise ParameterError(
                f"{table}.variability",
                must=f'be "exponential" for {phase.io.kind} I/O with compute.imbalance',
                got=str(served.variability),
                hint=f"Anything else is simulated only: {SIMULATE}",
            )
    y = np.broadcast_to(y, n.shape)
    z = groups.delay(demand)
    z = np.maximum(z, ALONE * (z[1] + x + y))
    clusters = demand.d if phase.io.kind == "clustered" else np.ones_like(n)
    among = dealt(groups, clusters)

    def means(classes: slice) -> ClassMeans:
        return class_means(
            ClassNetworks(
                customers=among.customers[:, classes],
                count=among.count,
                delay=n * z[classes],
                own=y,
                shared=n * x,
            )
        )

    together, alone = means(slice(2)), means(slice(1, 2))
    points = np.arange(n.size)
    first = np.argmax(among.count > 0, axis=0)  # the kind of clusters with the most
    there = among.count[:, None] > 0

    def of_first(table: Array) -> Array:
        return np.asarray(np.moveaxis(table, -1, 0)[points, first].T)

    light = np.where(there[:, 0], together.cycle[:, 0], 0.0).max(axis=0)
    heavy, later = of_first(together.cycle[:, 1]), of_first(alone.cycle[:, 0])
    share = np.where(light > 0, np.minimum(light / heavy, 1.0), 1.0)
    time = share * heavy + (1.0 - share) * later
    at_queues = []
    for name in ("response_shared", "response_own"):
        now, then = getattr(together, name), of_first(getattr(alone, name)[:, 0])
        lighter = now[:, 0].max(axis=0)
        of_heavy = share * of_first(now[:, 1]) + (1.0 - share) * then
        at_queues.append(_mean(np.stack([lighter, of_heavy]), groups))
    compute, sending = n * demand.computing, n * demand.delay + at_queues[0]
    waiting = np.maximum(time - compute - sending - at_queues[1], 0.0)
    run = (
        Breakdown(compute=compute, communication=sending, io=at_queues[1], synchronisation=waiting)
        * cycles
    )
    late = (heavy - np.where(light > 0, light, heavy), of_first(among.customers))
    full = among.customers.sum(axis=1) == of_first(among.customers).sum(axis=0)
    count = np.stack([(among.count * full).sum(axis=0), of_first(among.count)])
    excess = _excess(phase, demand, groups, (cycles, time, *late, count))
    return replace(run, synchronisation=run.synchronisation + excess)


def _excess(phase: SpmdTables, demand: Demands, groups: Groups, run: tuple[Array, ...]) -> Array:
    """What start and end of a run add [s].

    `run` holds its cycles, the time of one, by how much a light group is faster, groups of both
    classes of a cluster, and the number of clusters as large and as heavy.
    """
    cycles, time, gap, sharing, count = run
    n, x, y = demand.bursts, demand.queue, io_service(phase, demand)
    varied = n * (groups.cv[1] * groups.computing[1]) ** 2 + n * x**2 + y**2
    spread = np.sqrt(cycles * varied)
    behind = np.divide(cycles * gap, spread, out=np.full_like(gap, 1e3), where=spread > 0)
    behind = np.where(gap > 0, behind, 0.0)
    level = -special.ndtri(1.0 / (groups.number[1] + 1.0))  # the largest of the heavy ones
    chance = np.exp(special.log_ndtr(-level - behind) - special.log_ndtr(-level))
    last = groups.number[1] + chance * groups.number[0]
    some = (cycles > 1) & (last > 1)
    excess = np.zeros_like(time)
    if ends_apart(phase) and some.any():
        circulation = Circulation(
            jobs=last[some],
            sharing=np.maximum((sharing[1] + chance * sharing[0])[some], 1.0),
            queues=(count[1] + chance * (count[0] - count[1]))[some],
            cycles=cycles[some],
            visits=n[some],
            delay=groups.computing[1][some],
            steady=demand.delay[some],
            first=x[some],
            second=np.broadcast_to(y, n.shape)[some],
            delay_cv=groups.cv[1][some],
            first_cv=phase.communication.cv,
            second_cv=phase.io.cv,
            geometric=phase.bursts == "geometric",
        )
        excess[some] = makespan_excess(circulation, dual(time[some]))[0]
    return excess
