"""SPMD phases simulated by the engine of `queueing`: joined cycles, whole runs or a long run."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from parcast.aliases import Array
from parcast.errors import ParameterError
from parcast.laws.spmd.demands import Demands, OtherJobs, background, with_servers
from parcast.laws.spmd.law import SpmdPhase
from parcast.laws.spmd.tables import Variability
from parcast.prediction.grid import ConfigurationGrid
from parcast.queueing.simulation.cycle import Cycle, Law, sampler
from parcast.queueing.simulation.rounds import Ended, MeanEstimate
from parcast.queueing.simulation.simulate import (
    JoinedCycles,
    SteadyCycles,
    WholeRuns,
    simulate_joined,
    simulate_runs,
    simulate_steady,
)
from parcast.show.warning import Rank, RankedWarning
from parcast.simulation.phase import (
    NOTHING,
    PhaseEffort,
    Points,
    PointTask,
    Simulated,
    Simulator,
    Where,
    point_of,
    points_of,
    spread,
)

Way: TypeAlias = Literal["joined", "run", "part of a run", "long run", "nothing"]

FEW_CYCLES: Final = 100  # of a program: its whole run is simulated
FEW_SERVICES: Final = 50_000  # of all groups in a run: the same, however many cycles
REPLICATIONS: Final = 64  # at first
LONGER: Final = (1, 4, 16)  # times FEW_CYCLES, until the warm-up is over


@dataclass(frozen=True, kw_only=True, slots=True)
class SpmdTask(PointTask):
    """A phase at one point: what each group does in a cycle, and how many cycles there are."""

    cycle: Cycle | None  # None: there are no cycles
    cycles: float  # N [1]
    away: float  # communication that nobody delays, in a burst, f [s]

    def run(self, effort: PhaseEffort, where: Where) -> Simulated:
        """Simulate the cycles where all groups join, else a run or a long run.

        A run of few cycles goes from the common start to the end of the last group.
        """
        cycle = self.cycle
        if cycle is None:
            return NOTHING
        if cycle.io_kind == "synchronous":
            return _joined(self, cycle, effort, where)
        services = self.cycles * cycle.jobs * (cycle.bursts + 1)
        is_whole = self.cycles == int(self.cycles)
        if is_whole and (self.cycles <= FEW_CYCLES or services <= FEW_SERVICES):
            return _run(self, cycle, int(self.cycles), effort, where)
        if cycle.heavy or cycle.jobs % cycle.disks:  # the program ends with the slowest
            return _run(self, cycle, FEW_CYCLES, effort, where)
        return _long_run(self, cycle, effort, where)


class SpmdSimulator(Simulator):
    """How SPMD phases are simulated."""

    def described(self, phase: SpmdPhase) -> Mapping[str, Law]:
        """How times vary as described."""
        return {
            "compute": _law(phase.compute.variability),
            "communication": _law(phase.communication.variability),
            "io": _law(phase.io.variability),
        }

    def tasks(self, phase: SpmdPhase, points: Points) -> list[PointTask]:
        """Tasks of a phase at every point."""
        machine, at, shape, laws = points
        demands = phase.demands(machine, at)
        io = np.broadcast_to(phase.io_service(demands), shape)
        cycles = np.broadcast_to(phase.cycles(with_servers(machine, at)), shape)
        demands = Demands(
            **{x.name: np.broadcast_to(getattr(demands, x.name), shape) for x in fields(demands)}
        )
        idle = (cycles > 0) & (demands.computing + demands.delay + demands.queue + io <= 0)
        if idle.any():
            raise ParameterError(
                "a cycle",
                must="take time",
                got=f"services that are all 0 at p = {demands.p[idle].flat[0]:g}",
                hint="Give compute, communication or io.",
            )
        places = np.ndindex(shape)
        others = background(machine, at)
        if others is not None:
            others = OtherJobs(*(np.broadcast_to(x, shape) for x in others))
        return [
            task_of(phase, demands, cycles, place=place, laws=laws, others=others)
            for place in places
        ]

    def ways(self, tasks: Sequence[SpmdTask], simulated: Sequence[Simulated]) -> Iterator[str]:
        """Give a sentence for each way that a phase was simulated."""
        for way in dict.fromkeys(one.way for one in simulated):
            here = [(task, x) for task, x in zip(tasks, simulated, strict=True) if x.way == way]
            yield _way(way, spread([task.cycles for task, _ in here]), [x for _, x in here])

    def remarks(self, phase: SpmdPhase) -> Iterator[str]:
        """Tell of what is simulated otherwise than computed."""
        if phase.reading == "published":
            yield (
                'The published reading concerns the formulas only (reading = "published"): the '
                "simulation is of the described program, with p/c groups."
            )

    def warnings(
        self,
        tasks: Sequence[SpmdTask],  # noqa: ARG002 - of other laws as well
        simulated: Sequence[Simulated],
        grid: ConfigurationGrid,
    ) -> Iterator[str]:
        """Tell of parts of runs, and of runs that were too short."""
        stretched = sum(one.way == "part of a run" for one in simulated)
        if stretched:
            yield (
                f"Clusters or groups are unequal at {points_of(stretched, grid.shape)}: only a "
                "part of the run was simulated there and scaled up, so its start and end weigh "
                "too much."
            )
        cold = [k for k, one in enumerate(simulated) if not one.warmed_up]
        if cold:
            text = (
                "The times had not settled after half of the cycles at "
                f"{points_of(len(cold), grid.shape)}, first at {point_of(grid, cold[0])}: the "
                "interval may be too narrow. Request a higher precision."
            )
            yield RankedWarning(text, rank=Rank.SERIOUS)


def uniform(rng: np.random.Generator, size: int) -> Array:
    """Draw times of mean 1 that are uniform on [0, 2]."""
    return np.asarray(2.0 * rng.random(size))


@dataclass(frozen=True, kw_only=True, slots=True)
class Interrupted:
    """Times of mean 1 of bursts beside other jobs that come and go; they may be there at first."""

    law: Law  # of the burst alone
    work: float  # of the burst alone, on average [s]
    share: float  # of the time with other jobs [1]
    loss: float  # of the processor while they are there [1]
    duration: float  # mean time with other jobs in a row [s]

    def __call__(self, rng: np.random.Generator, size: int) -> Array:
        """Draw times: work is done at either of two rates, for exponential times in turn."""
        left = self.work * sampler("cpu_law", self.law)(rng, size)
        mean = self.work / (1.0 - self.share * self.loss)
        time_spent, is_busy = np.zeros(size), rng.random(size) < self.share
        free = self.duration * (1.0 - self.share) / self.share
        going = np.arange(size)
        while going.size:
            busy = is_busy[going]
            lasts = np.where(busy, self.duration, free) * rng.standard_exponential(going.size)
            rate = np.where(busy, 1.0 - self.loss, 1.0)
            used = np.minimum(lasts, left[going] / rate)
            time_spent[going] += used
            left[going] -= used * rate
            is_busy[going] = ~busy
            going = going[used == lasts]
        return time_spent / mean


def interrupted(
    demands: Demands, law: Law, others: OtherJobs | None, place: tuple[int, ...]
) -> Law:
    """Law of the computing at a point, beside other jobs if they stay for a while."""
    if others is None or not demands.interruption[place]:
        return law
    share, loss, duration = (float(x[place]) for x in others)
    work = float(demands.computing[place]) * (1.0 - share * loss)
    return Interrupted(law=law, work=work, share=share, loss=loss, duration=duration)


def _law(variability: Variability) -> Law:
    """Law by the name that a description gives it."""
    return uniform if variability == "uniform" else variability


def _way(way: str, count: str, simulated: Sequence[Simulated]) -> str:
    """Say how a phase was simulated, and how much of it."""
    much = f"{spread([one.cycles for one in simulated])} cycles of every group"
    if way == "nothing":
        return "no cycles"
    if way == "joined":
        return f"{much}, each ending when all have joined; time: mean cycle x {count}"
    if way == "run":
        return f"{much}, in complete runs of {count} cycles until the last group has finished"
    runs = spread([one.run_cycles for one in simulated])
    if way == "part of a run":
        return (
            f"{much}, in runs of {runs} cycles until the last group has finished, scaled to the "
            f"{count} cycles of the program"
        )
    dropped = spread([one.warm_up for one in simulated])
    return (
        f"{much} in steady state, the first {dropped} of {runs} dropped as warm-up; time: mean "
        f"cycle x {count}, without start and end of the program"
    )


def task_of(
    phase: SpmdPhase,
    demands: Demands,
    cycles: Array,
    *,
    place: tuple[int, ...],
    laws: Mapping[str, Law],
    others: OtherJobs | None = None,
) -> SpmdTask:
    """Task of a phase at one point; `cycles` have the shape of the grid."""
    count = float(cycles[place])
    groups = round(float(demands.groups[place]))
    uncontended = float((demands.transfer - demands.shared)[place])
    clustered = phase.io.kind == "clustered"
    cycle = Cycle(
        jobs=groups,
        io_kind=phase.io.kind,
        bursts=float(demands.bursts[place]),
        burst_count=phase.bursts,
        group=round(float(demands.group[place])),
        **_computing(demands, place),
        startup=float(demands.startup[place]),
        transfer=uncontended,
        service=float(demands.queue[place]),
        io=float(np.broadcast_to(phase.io_service(demands), demands.p.shape)[place]),
        disks=min(round(float(demands.d[place])), groups) if clustered else 1,
        cpu_law=interrupted(demands, laws["compute"], others, place),
        service_law=laws["communication"],
        io_law=laws["io"],
    )
    return SpmdTask(
        cycle=cycle if count > 0 else None, cycles=count, away=float(demands.delay[place])
    )


def _computing(demands: Demands, place: tuple[int, ...]) -> dict[str, Any]:
    """Computing times of a burst at a point, as `Cycle` has them."""
    if demands.imbalance[place] == 1.0:
        return {"cpu": float(demands.computing[place])}
    return {
        "cpu": float(demands.light_computing[place]),
        "heavy": round(float(demands.heavy[place])),
        "heavy_cpu": float(demands.heavy_computing[place]),
    }


def _joined(task: SpmdTask, cycle: Cycle, effort: PhaseEffort, where: Where) -> Simulated:
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


def _run(
    task: SpmdTask, cycle: Cycle, cycles: int, effort: PhaseEffort, where: Where
) -> Simulated:
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


def _long_run(task: SpmdTask, cycle: Cycle, effort: PhaseEffort, where: Where) -> Simulated:
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
    task: SpmdTask,
    cycle: Cycle,
    cycles: int,
    result: JoinedCycles | WholeRuns | SteadyCycles,
    waiting: float = 0.0,
) -> Array:
    """Parts of so many cycles, in the order of `Breakdown`, of the mean group [s].

    The simulated delay is that of the slowest processor; the mean processor's computing is known.
    """
    bursts = cycles * cycle.bursts
    delay = result.delay.value
    away = min(bursts * task.away, delay) if cycle.mean_cpu > 0 else delay
    computing = delay - away
    own = computing if cycle.group == 1 else min(bursts * cycle.mean_cpu, computing)
    return np.array(
        [own, away + result.communication.value, result.io.value, computing - own + waiting]
    )


def _scaled(
    parts: Array,
    factor: float,
    estimate: MeanEstimate,
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
        ended_by=ended_by,
    )
