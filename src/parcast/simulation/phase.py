"""A phase at one point of a grid, to be simulated: what the simulators of all laws have in common.

A law that can be simulated names its simulator by place, `Phase.simulator`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from parcast.aliases import Array
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import Phase, laws
from parcast.errors import ParameterError
from parcast.places import load
from parcast.prediction.grid import Grid
from parcast.queueing.simulation.cycle import Law
from parcast.queueing.simulation.rounds import Ended
from parcast.units import shown


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


class Task(ABC):
    """A phase at one point, ready to be simulated, also in another process."""

    @abstractmethod
    def run(self, effort: Effort, where: Where) -> Simulated:
        """Simulate it."""


class Simulator(ABC):
    """How the phases of a law are simulated."""

    @abstractmethod
    def described(self, phase: Any) -> Mapping[str, Law]:
        """How its times vary as described, by the names that `laws` of `simulate` have."""

    @abstractmethod
    def tasks(
        self,
        phase: Any,
        machine: Machine,
        at: Mapping[str, Array],
        shape: tuple[int, ...],
        laws: Mapping[str, Law],
    ) -> list[Task]:
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
        grid: Grid,  # noqa: ARG002 - the same
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
                hint="Simulate the other phases alone, or use predict.",
            )
        simulator: Simulator = load(phase.simulator)()
        found.append(simulator)
    return found


def spread(values: Sequence[float]) -> str:
    """Write the least and the largest of some numbers."""
    least, most = min(values), max(values)
    return f"{least:,.10g}" if least == most else f"{least:,.10g} to {most:,.10g}"
