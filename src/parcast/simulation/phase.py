"""A phase at one point of a grid, to be simulated: what the simulators of all laws have in common.

A law that can be simulated names its simulator by place, `Phase.simulator`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias, TypedDict

import numpy as np

from parcast.advice import PREDICT
from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, Program, laws
from parcast.errors import ParameterError
from parcast.places import load
from parcast.prediction.grid import ConfigurationGrid, uncertain_amounts
from parcast.prediction.notes import labelled, warnings_of
from parcast.queueing.simulation.cycle import Law
from parcast.queueing.simulation.rounds import Ended
from parcast.show.warning import Rank, RankedWarning
from parcast.units import shown
from parcast.words import axis_value


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseEffort:
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
    half_width: float  # of its 90% interval
    compute: float
    communication: float
    io: float
    synchronisation: float
    way: str  # of simulating it, one of those of the law
    run_cycles: int  # of a simulated run; of the pipeline, its blocks [1]
    cycles: int  # that every group went through, all replications [1]
    warm_up: int = 0  # cycles dropped at the beginning of each replication [1]
    warmed_up: bool = True
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
    ended_by="precision",
)


class PointTask(ABC):
    """A phase at one point, ready to be simulated, also in another process."""

    @abstractmethod
    def run(self, effort: PhaseEffort, where: Where) -> Simulated:
        """Simulate it."""


class Points(NamedTuple):
    """The points at which a phase is simulated, and how times vary there."""

    machine: Machine
    at: Mapping[str, Array]
    shape: tuple[int, ...]
    laws: Mapping[str, Law]


class Simulator(ABC):
    """How the phases of a law are simulated."""

    @abstractmethod
    def described(self, phase: Any) -> Mapping[str, Law]:
        """How its times vary as described, by the names that `laws` of `simulate` have."""

    @abstractmethod
    def tasks(self, phase: Any, points: Points) -> list[PointTask]:
        """Give the tasks of a phase at every point."""

    @abstractmethod
    def ways(self, tasks: Sequence[Any], simulated: Sequence[Simulated]) -> Iterator[str]:
        """Give a sentence for each way that a phase was simulated."""

    def remarks(self, phase: Any) -> Iterator[str]:  # noqa: ARG002 - for those that have some
        """Give what holds of a phase at all points, in sentences."""
        yield from ()

    def warnings(
        self,
        tasks: Sequence[Any],  # noqa: ARG002 - for those that have some
        simulated: Sequence[Simulated],  # noqa: ARG002 - the same
        grid: ConfigurationGrid,  # noqa: ARG002 - the same
    ) -> Iterator[str]:
        """Give what holds of its simulation at some points, in sentences."""
        yield from ()


def simulators_of(phases: Sequence[Phase]) -> list[Simulator]:
    """Give the simulator of each phase, or refuse a phase of a law that has none."""
    found = []
    for i, phase in enumerate(phases):
        if not phase.simulator:
            known = " or ".join(f'"{name}"' for name, law in laws().items() if law.simulator)
            raise ParameterError(
                "law",
                must=f"be {known} for a phase to be simulated",
                got=f"{shown(repr(phase.law))} in phase {i + 1}",
                hint=("Simulate the other phases alone, or predict it: ", PREDICT),
            )
        simulator: Simulator = load(phase.simulator)()
        found.append(simulator)
    return found


def spread(values: Sequence[float]) -> str:
    """Write the least and the largest of some numbers."""
    least, most = min(values), max(values)
    return f"{least:,.10g}" if least == most else f"{least:,.10g} to {most:,.10g}"


OfPhase: TypeAlias = tuple[Simulator, Sequence[PointTask], Sequence[Simulated]]  # at every point

ENDS = {  # what ended a simulation early, and what to do
    "most_cycles": ("The largest number of cycles", "Request a lower precision."),
    "most_seconds": ("The time limit", "Allow more time, or request a lower precision."),
}


def simulated_of(program: Program, phases: Sequence[OfPhase]) -> tuple[str, ...]:
    """Say of each phase what was simulated."""
    texts = ("; ".join(simulator.ways(tasks, found)) for simulator, tasks, found in phases)
    labels = map(program.label, range(len(program.phase)))
    return tuple(
        f"{label}: {text}" if label else text for label, text in zip(labels, texts, strict=True)
    )


def warnings_of_simulation(
    program: Program,
    machine: Machine,
    grid: ConfigurationGrid,
    phases: Sequence[OfPhase],
    *,
    replaced: Sequence[str],
    refused: tuple[int, str],
) -> Iterator[str]:
    """Give everything that a reader of the simulated times must know.

    `replaced` has other laws than described; at `refused` points the law has no answer.
    """
    axes, shape = grid.axes, grid.shape
    yield from warnings_of(program, machine, axes)
    uncertain = list(uncertain_amounts(program, machine, axes))
    for i, (simulator, *_) in enumerate(phases):
        for text in simulator.remarks(program.phase[i]):
            yield labelled(program, i, text)
    if replaced:
        yield (
            f"The given laws of {_listed(replaced)} are simulated, but the law's times are those "
            "of the variability in the description."
        )
    if uncertain:
        yield f"Uncertain parameters (+-) have their described values: {_listed(uncertain)}."
    points, why = refused
    if points:
        yield RankedWarning(
            f"The law has no answer at {points_of(points, shape)}: {why}", rank=Rank.SERIOUS
        )
    for i, (simulator, tasks, simulated) in enumerate(phases):
        for text in simulator.warnings(tasks, simulated, grid):
            yield labelled(program, i, text)
    ended = ends_of([simulated for *_, simulated in phases])
    for end, (what, remedy) in ENDS.items():
        short = [k for k, here in enumerate(ended) if here == end]
        if short:
            yield RankedWarning(
                f"{what} was reached before the requested precision at "
                f"{points_of(len(short), shape)}, first at {point_of(grid, short[0])}. {remedy}",
                rank=Rank.SERIOUS,
            )


def _listed(names: Sequence[str]) -> str:
    """Name a few."""
    more = f" and {len(names) - 4} more" if len(names) > 5 else ""
    return ", ".join(names[: 4 if more else 5]) + more


def points_of(count: int, shape: tuple[int, ...]) -> str:
    """Write a number of points."""
    total = int(np.prod(shape))
    if total == 1:
        return "the point"
    return f"{count:,} of {total:,} points"


def point_of(grid: ConfigurationGrid, k: int) -> str:
    """Name the point of a flat index."""
    axes, dimensions = grid.axes, grid.dimensions
    place = np.unravel_index(k, [len(values) for values in axes.values()])
    return ", ".join(
        f"{name} = {axis_value(float(values[i]), dimensions.get(name, 'count'))}"
        for (name, values), i in zip(axes.items(), place, strict=True)
    )


def ends_of(simulated: Sequence[Sequence[Simulated]]) -> list[str]:
    """Say of every point what ended its simulation."""
    return [_ended(ends) for ends in zip(*simulated, strict=True)]


def _ended(phases: Sequence[Simulated]) -> str:
    """What ended the simulation of the phases of a point: the least welcome."""
    ends = [one.ended_by for one in phases]
    order = ("most_seconds", "most_cycles", "replications")
    return next((end for end in order if end in ends), "precision")
