"""One phase at one point of a grid, simulated: which way, how long, and where its time goes."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, TypedDict

import numpy as np

from parcast.aliases import Array
from parcast.laws.spmd.demands import Demands
from parcast.laws.spmd.law import SpmdPhase
from parcast.queueing.simulation.cycle import Cycle, Law
from parcast.queueing.simulation.rounds import Ended, Estimate
from parcast.queueing.simulation.simulate import (
    JoinedCycles,
    Runs,
    SteadyCycles,
    simulate_joined,
    simulate_runs,
    simulate_steady,
)

Way: TypeAlias = Literal["joined", "run", "part of a run", "long run", "nothing"]

FEW_CYCLES: Final = 100  # of a program: its whole run is simulated
FEW_SERVICES: Final = 50_000  # of all groups in a run: the same, however many cycles
REPLICATIONS: Final = 64  # at first
LONGER: Final = (1, 4, 16)  # times FEW_CYCLES, until the warm-up is over


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A phase at one point: what each group does in a cycle, and how many cycles there are."""

    cycle: Cycle | None  # None: there are no cycles
    cycles: float  # N [1]
    away: float  # communication that nobody delays, in a burst, f [s]


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """How much to simulate, of one phase at one point."""

    precision: float | None  # half width of the interval over the time [1]
    replications: int | None
    most_seconds: float | None
    seed: int


class Where(TypedDict):
    """Where a phase is simulated, and what is called with the share that is done."""

    executor: Executor | None
    progress: Callable[[float], object] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated:
    """The time of all cycles of a phase at one point, and where it goes [s]."""

    time: float
    half_width: float  # of its 90 % interval
    compute: float
    communication: float
    io: float
    synchronisation: float
    way: Way
    run_cycles: int  # of a simulated run [1]
    cycles: int  # that every group went through, all replications [1]
    warm_up: int  # cycles dropped at the beginning of each replication [1]
    warmed_up: bool
    ended_by: Ended


NOTHING: Final = Simulated(
    time=0.0,
    half_width=0.0,
    compute=0.0,
    communication=0.0,
    io=0.0,
    synchronisation=0.0,
    way="nothing",
    run_cycles=0,
    cycles=0,
    warm_up=0,
    warmed_up=True,
    ended_by="precision",
)


def task_of(
    phase: SpmdPhase,
    demands: Demands,
    cycles: Array,
    *,
    place: tuple[int, ...],
    laws: Mapping[str, Law],
) -> Task:
    """Task of a phase at one point; `cycles` have the shape of the grid."""
    count = float(cycles[place])
    groups = round(float(demands.groups[place]))
    uncontended = float(((1.0 - demands.contention) * demands.transfer)[place])
    clustered = phase.io.kind == "clustered"
    cycle = Cycle(
        jobs=groups,
        io_kind=phase.io.kind,
        bursts=float(demands.bursts[place]),
        burst_count=phase.bursts,
        group=round(float(demands.group[place])),
        cpu=float(demands.computing[place]),
        startup=float(demands.startup[place]),
        transfer=uncontended,
        service=float(demands.queue[place]),
        io=float(np.broadcast_to(phase.io_service(demands), demands.p.shape)[place]),
        disks=min(round(float(demands.d[place])), groups) if clustered else 1,
        cpu_law=laws["compute"],
        service_law=laws["communication"],
        io_law=laws["io"],
    )
    return Task(cycle=cycle if count > 0 else None, cycles=count, away=float(demands.delay[place]))


def run_task(
    task: Task,
    effort: Effort,
    executor: Executor | None = None,
    progress: Callable[[float], object] | None = None,
) -> Simulated:
    """Simulate a phase at one point: its cycles where all groups join, else a run or a long run.

    A run of few cycles goes from the common start to the end of the last group. `progress` is
    called with the share done.
    """
    where = Where(executor=executor, progress=progress)
    cycle = task.cycle
    if cycle is None:
        return NOTHING
    if cycle.io_kind == "synchronous":
        return _joined(task, cycle, effort, where)
    services = task.cycles * cycle.jobs * (cycle.bursts + 1)
    is_whole = task.cycles == int(task.cycles)
    if is_whole and (task.cycles <= FEW_CYCLES or services <= FEW_SERVICES):
        return _run(task, cycle, int(task.cycles), effort, where)
    if cycle.jobs % cycle.disks:  # the larger clusters are slower, and the program ends with them
        return _run(task, cycle, FEW_CYCLES, effort, where)
    return _long_run(task, cycle, effort, where)


def _joined(task: Task, cycle: Cycle, effort: Effort, where: Where) -> Simulated:
    """Cycles at whose end all groups join."""
    result = simulate_joined(
        cycle,
        replications=effort.replications or REPLICATIONS,
        precision=effort.precision,
        most_seconds=effort.most_seconds,
        seed=effort.seed,
        **where,
    )
    parts = _parts(task, cycle, 1, result, result.waiting.value)
    return _scaled(
        parts,
        task.cycles,
        result.cycle,
        way="joined",
        cycles=result.cycles,
        ended_by=result.ended_by,
    )


def _run(task: Task, cycle: Cycle, cycles: int, effort: Effort, where: Where) -> Simulated:
    """All cycles of the program from start to end, or a part of them."""
    result = simulate_runs(
        cycle,
        cycles=cycles,
        replications=effort.replications or REPLICATIONS,
        precision=effort.precision,
        most_seconds=effort.most_seconds,
        seed=effort.seed,
        **where,
    )
    parts = _parts(task, cycle, cycles, result, result.waiting.value)
    return _scaled(
        parts,
        task.cycles / cycles,
        result.makespan,
        way="run" if cycles == task.cycles else "part of a run",
        run_cycles=cycles,
        cycles=cycles * result.replications,
        ended_by=result.ended_by,
    )


def _long_run(task: Task, cycle: Cycle, effort: Effort, where: Where) -> Simulated:
    """Cycles far from start and end, of runs that are long enough for the warm-up to end."""
    began, left = time.monotonic(), effort.most_seconds
    for times in LONGER:
        result = simulate_steady(
            cycle,
            cycles=times * FEW_CYCLES,
            replications=effort.replications or REPLICATIONS,
            precision=effort.precision,
            most_seconds=left,
            seed=effort.seed,
            **where,
        )
        if effort.most_seconds is not None:
            left = effort.most_seconds - (time.monotonic() - began)
        if result.warmed_up or (left is not None and left <= 0):
            break
    parts = _parts(task, cycle, 1, result)
    scaled = _scaled(
        parts,
        task.cycles,
        result.cycle,
        way="long run",
        run_cycles=result.warm_up + result.cycles,
        cycles=(result.warm_up + result.cycles) * result.replications,
        ended_by=result.ended_by,
    )
    return replace(scaled, warm_up=result.warm_up, warmed_up=result.warmed_up)


def _parts(
    task: Task,
    cycle: Cycle,
    cycles: int,
    result: JoinedCycles | Runs | SteadyCycles,
    waiting: float = 0.0,
) -> Array:
    """Parts of so many cycles, in the order of `Breakdown`, of the mean group [s].

    The simulated delay is that of the slowest processor; the mean processor's computing is known.
    """
    bursts = cycles * cycle.bursts
    delay = result.delay.value
    away = min(bursts * task.away, delay) if cycle.cpu > 0 else delay
    computing = delay - away
    own = computing if cycle.group == 1 else min(bursts * cycle.cpu, computing)
    return np.array(
        [own, away + result.communication.value, result.io.value, computing - own + waiting]
    )


def _scaled(
    parts: Array,
    factor: float,
    estimate: Estimate,
    *,
    way: Way,
    cycles: int,
    ended_by: Ended,
    run_cycles: int = 1,
) -> Simulated:
    """What a program takes that repeats the parts `factor` times."""
    compute, communication, io, synchronisation = (factor * parts).tolist()
    return Simulated(
        time=factor * estimate.value,
        half_width=factor * estimate.half_width,
        compute=compute,
        communication=communication,
        io=io,
        synchronisation=synchronisation,
        way=way,
        run_cycles=run_cycles,
        cycles=cycles,
        warm_up=0,
        warmed_up=True,
        ended_by=ended_by,
    )
