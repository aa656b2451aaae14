"""Pipelines simulated: runs of the schedule that the form of the law is about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parcast.descriptions.amount import Amount
from parcast.errors import ParameterError
from parcast.pipeline.law.phase import CV2, PipelinePhase
from parcast.pipeline.simulation import replications
from parcast.pipeline.simulation.replications import Estimates, simulate_pipeline
from parcast.pipeline.simulation.scenario import Scenario
from parcast.prediction.grid import ConfigurationGrid
from parcast.queueing.simulation.cycle import Law
from parcast.simulation.phase import (
    NOTHING,
    PhaseEffort,
    Points,
    PointTask,
    Simulated,
    Simulator,
    Where,
    points_of,
    spread,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PipelineTask(PointTask):
    """A phase at one point: a reduction, and how many times it is done."""

    scenario: Scenario
    cycles: float  # [1]
    startup: float  # of each, T_0 [s]

    def run(self, effort: PhaseEffort, where: Where) -> Simulated:
        """Simulate runs until their mean is known."""
        if not self.cycles:
            return NOTHING
        found = simulate_pipeline(
            self.scenario,
            replications=effort.replications,
            precision=effort.precision,
            most_seconds=effort.most_seconds,
            seed=effort.seed,
            **where,
        )
        return self._simulated(found)

    def _simulated(self, found: Estimates) -> Simulated:
        """Give the time of all cycles, and where it goes; of the ranks the mean."""
        scenario, cycles = self.scenario, self.cycles
        ranks = scenario.ranks
        cores = min(ranks, ranks if scenario.cores is None else scenario.cores)
        compute = min(found.work / cores, found.time)
        seen = min(found.overhead / cores + found.waiting / ranks, found.time - compute)
        return Simulated(
            time=cycles * (found.time + self.startup),
            half_width=cycles * found.half_width,
            compute=cycles * compute,
            communication=cycles * seen,
            io=0.0,
            synchronisation=cycles * (found.time - compute - seen + self.startup),
            way="run" if found.blocks == scenario.blocks else "part of a run",
            run_cycles=found.blocks,
            cycles=found.runs,
            ended_by=found.ended_by,
        )


class PipelineSimulator(Simulator):
    """How phases of the law "pipeline" are simulated."""

    def described(self, phase: PipelinePhase) -> Mapping[str, Law]:
        """Tasks vary with their task_cv, lengths of messages by the formula of their delay."""
        cv2 = CV2.get(phase.delay, 0.0)
        if phase.delay == "mg1" and phase.cv2 is not None:
            cv2 = _number("cv2", phase.cv2)
        cv = 0.0 if phase.task_cv is None else _number("task_cv", phase.task_cv)
        task, message = (_law(x) for x in (cv, float(np.sqrt(cv2))))
        return {"task": task, "merge": "none", "message": message, "fetch": "none"}

    def tasks(self, phase: PipelinePhase, points: Points) -> list[PointTask]:
        """Tasks of a phase at every point."""
        machine, at, shape, laws = points
        run, channel = phase.described(machine, at)
        amounts: dict[str, Any] = {
            "ranks": run.p * run.pipelines,
            "items": run.items,
            "pipelines": run.pipelines,
            "fan_in": run.fan_in,
            "batch": run.batch,
            "task": run.task,
            "merge": run.merge,
            "fetch": run.fetch,
            "overhead": run.overhead,
            "cores": run.cores,
            "service": channel.service,
            "given": channel.given,
            "latency": channel.propagation,
        }
        columns = {name: np.broadcast_to(x, shape) for name, x in amounts.items() if x is not None}
        cycles, startup = (np.broadcast_to(x, shape) for x in (phase.cycles(at), run.startup))
        fixed: dict[str, Any] = {
            "schedule": "adaptive" if phase.form == "adaptive" else "source",
            "waits": phase.form == "serial",
            "prefetch": phase.prefetch,
            "is_shared": channel.is_shared,
            **{f"{part}_law": law for part, law in laws.items()},
        }
        return [
            PipelineTask(
                scenario=_scenario({name: float(x[place]) for name, x in columns.items()}, fixed),
                cycles=float(cycles[place]),
                startup=float(startup[place]),
            )
            for place in np.ndindex(shape)
        ]

    def ways(self, tasks: Sequence[PipelineTask], simulated: Sequence[Simulated]) -> Iterator[str]:
        """Give a sentence for each way that a phase was simulated."""
        for way in dict.fromkeys(one.way for one in simulated):
            here = [(task, x) for task, x in zip(tasks, simulated, strict=True) if x.way == way]
            yield _way(way, [task for task, _ in here], [x for _, x in here])

    def remarks(self, phase: PipelinePhase) -> Iterator[str]:
        """Tell of what the law leaves out or takes as given."""
        if not phase.drain:
            yield (
                "The law is its short form (drain = false): the simulation includes the drain of "
                "the tree, and is longer by it."
            )
        if phase.interarrival is not None:
            yield (
                "The given interarrival time is that of the law; in the simulation the schedule "
                "sends the messages."
            )
        if phase.form == "adaptive" and phase.communication is not None:
            yield (
                "Each processor sends one message at a time, for the given communication time; "
                "orders take the network's latency only."
            )

    def warnings(
        self,
        tasks: Sequence[PipelineTask],
        simulated: Sequence[Simulated],
        grid: ConfigurationGrid,
    ) -> Iterator[str]:
        """Tell of runs that are extrapolated, and of batches that are not a node of the tree."""
        parts = sum(one.way == "part of a run" for one in simulated)
        if parts:
            yield (
                f"Runs of more than {replications.MOST_BLOCKS:,} batches are extrapolated "
                f"linearly, at {points_of(parts, grid.shape)}; the interval includes the error "
                "of this."
            )
        smaller = [x.scenario for x in tasks if x.scenario.block != x.scenario.batch]
        if smaller:
            one = smaller[0]
            yield (
                f"A batch is a power of the fan-in in the default schedule: {one.block} items "
                f"are simulated instead of {one.batch}, at {points_of(len(smaller), grid.shape)}."
            )


def _number(name: str, amount: Amount) -> float:
    """Value of an amount that is the same at all points."""
    if amount.expression.axes:
        raise ParameterError(
            name, must="be the same at all points to be simulated", hint="Write it as a number."
        )
    return float(amount({}))


def _law(cv: float) -> Law:
    """Law of times with a coefficient of variation."""
    return "exponential" if cv == 1 else cv or "none"


def _scenario(amounts: Mapping[str, float], fixed: Mapping[str, Any]) -> Scenario:
    """Reduction at a point, with whole numbers of what is counted."""
    names = ("ranks", "items", "pipelines", "fan_in", "batch")
    counts = {name: max(round(amounts[name]), 1) for name in names}
    return Scenario(**{**amounts, **counts, **fixed})


def _way(way: str, tasks: Sequence[PipelineTask], simulated: Sequence[Simulated]) -> str:
    """Say how a phase was simulated, and how much of it."""
    if way == "nothing":
        return "no cycles"
    source = tasks[0].scenario.schedule == "source"
    runs = spread([one.cycles for one in simulated])
    text = f"{runs} {'run' if runs == '1' else 'runs'} of the "
    text += f"{'published' if source else 'default'} schedule"
    if tasks[0].scenario.waits:
        text += ", in which processors wait for their messages"
    if way == "part of a run":
        text += f", of up to {spread([x.run_cycles for x in simulated])} batches, extrapolated to "
        text += spread([x.scenario.blocks for x in tasks])
    else:
        text += f", of {spread([x.scenario.items for x in tasks])} items"
    if not any(task.scenario.is_random for task in tasks):
        text += "; no time varies"
    cycles = spread([x.cycles for x in tasks])
    return text if cycles == "1" else f"{text}; time: mean run x {cycles}"
