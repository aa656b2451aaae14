"""Programs as regions: loops that compute and primitives that communicate, one after the other.

    loop         M(P) = E * ceil(I / P)        iterations distributed over processors    [S] (1)
    replicated   M(P) = E * I                  every processor does all of them     [S in words]
    primitive    calls * T_q(P, m)             see `parcast.laws.primitives.measured`       [R]
    halo         min(k, P - 1) * T_send(m)     messages to k neighbours, and as many back    [D]
    write, read  t0 + V / (d * B)              V bytes of all processors on d disks          [D]
    program      T(P) = sum of its regions, each the maximum over the processors             [D]

A loop that runs several times, as in every time step, has `calls` as well: M(P) is the time of one
run, because the remainder of I / P occurs in each. In a halo, a processor sends messages to its
neighbours one after another while theirs arrive; if the rate of all pairs together is limited, all
messages take at least their bytes divided by that rate. Disks are shared evenly and without a
queue.

Use it if a program is known loop by loop: iterations, the time of one, and what is sent between
the loops. It has no queues: waiting for messages or disks takes additional time, for which there
is the `spmd` law. It has no caches either: E is the same for every P.

References
----------
.. [1] J. In, C. Jin, J. Peir, S. Ranka and S. Sahni, "A framework for matching applications with
   parallel machines," c. 2000, equation (1). Shown there for one finite-difference code.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from parcast.aliases import Array
from parcast.descriptions.amount import Amount, Point
from parcast.descriptions.breakdown import COMPONENTS, Breakdown
from parcast.descriptions.description import (
    Description,
    Of,
    parameter,
    require_other_labels,
    tables,
)
from parcast.descriptions.machine import PRIMITIVES, Machine
from parcast.descriptions.program import LAW_KEY, MEASURED_ON, Phase, Slopes, measured_elsewhere
from parcast.errors import ParameterError, require
from parcast.laws.primitives.measured import WORDS, figures_of, primitive_time

LOOPS = ("loop", "replicated")
FILES = ("write", "read")
REMEDY: Final = (
    "characterise again with a file of the former that has compute.rate as MACHINE, so that the "
    "times become operations"
)
KINDS = (*LOOPS, *PRIMITIVES, "halo", *FILES)
if TYPE_CHECKING:  # made from PRIMITIVES
    Kind: TypeAlias = str
else:
    Kind = Literal[KINDS]
SLACK = 1e-9  # iterations by which I / P may exceed a whole number by rounding [D]


class Region(Description):
    """A part of a program between two points at which processors join or exchange data."""

    kind: Kind = Field(
        description="loop: iterations distributed over the processors; replicated: every "
        "processor does all iterations; a communication primitive; halo: messages to neighbours "
        "and back; write or read: files."
    )
    name: str = Field(default="", description="Name of the region.")
    iterations: Annotated[Amount, Of("count")] = parameter(
        "1", "Iterations of a loop, I.", example="1000"
    )
    iteration: Annotated[Amount, Of("time", "operations")] | None = parameter(
        None, "Time, or operations, of one iteration of a loop, E.", example="1 ms"
    )
    calls: Annotated[Amount, Of("count")] = parameter("1", "Number of runs or calls.")
    volume: Annotated[Amount, Of("size")] | None = parameter(
        None,
        "Bytes of one call: for a primitive the message as defined for it; for a halo the message "
        "to one neighbour; for files the bytes of all processors together.",
    )
    neighbours: Annotated[Amount, Of("count")] = parameter(
        "2", "Neighbours in a halo, of the processor with the most neighbours."
    )

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> "Region":
        if self.is_loop and self.iteration is None:
            raise ParameterError(
                "region",
                must="give iteration if its kind is loop or replicated",
                hint="Add the time of one iteration.",
            )
        odd = sorted(self._of_other_kinds & self.model_fields_set)
        if odd:
            raise ParameterError(
                "region",
                must=f"not give {odd[0]} if its kind is {self.kind}",
                hint="Leave it out, or make it another region.",
            )
        return self

    @property
    def _of_other_kinds(self) -> set[str]:
        """Keys that regions of its kind do not have."""
        keys = {"volume"} if self.is_loop else {"iteration", "iterations"}
        keys |= {"volume"} if self.kind == "barrier" else set()
        return keys | ({"neighbours"} if self.kind != "halo" else set())

    def amounts(self) -> Iterator[tuple[str, Amount]]:
        """Give the amounts that regions of its kind have."""
        others = self._of_other_kinds
        yield from (named for named in super().amounts() if named[0] not in others)

    @property
    def is_loop(self) -> bool:
        """Whether it computes."""
        return self.kind in LOOPS

    @property
    def component(self) -> str:
        """What its time is spent on, as `Breakdown` calls it."""
        if self.is_loop:
            return "compute"
        return "io" if self.kind in FILES else "communication"

    def work(self, machine: Machine, at: Point, *, is_alone: bool = False) -> Array:
        """Time of all its iterations on one processor; 0 of what is no loop. [s].

        `is_alone`: of a lone processor, whose rate may be another.
        """
        if self.iteration is None:
            return np.zeros(())
        one = self.iteration(at)
        if self.iteration.dimension == "operations":
            alone = {**at, "p": np.ones_like(np.asarray(at["p"], dtype=np.float64))}
            rate_at = alone if is_alone else at
            one = one / machine.need("compute.rate", rate_at, why=self.iteration.name)
        return np.asarray(one * self.iterations(at) * self.calls(at))

    def time(self, machine: Machine, at: Point) -> Array:
        """Time of the region, that of the processor with the most to do. [s]."""
        if not self.is_loop:
            return np.asarray(self.calls(at) * self._call(machine, at))
        if self.kind == "replicated":
            return self.work(machine, at)
        iterations = self.iterations(at)
        most = np.ceil(iterations / np.asarray(at["p"], dtype=np.float64) - SLACK)
        share = np.divide(most, iterations, out=np.zeros(most.shape), where=iterations > 0)
        return np.asarray(self.work(machine, at) * share)

    def _call(self, machine: Machine, at: Point) -> Array:
        """Time of one call of what is no loop. [s]."""
        volume = self.volume(at) if self.volume is not None else np.zeros(())
        if self.kind == "halo":
            return halo_time(machine, at, volume, self.neighbours(at))
        if self.kind in FILES:
            return file_time(self.kind, machine, at, volume)
        return primitive_time(self.kind, machine, at, volume)


class RegionsPhase(Phase):
    """A phase that is characterised region by region.

    >>> phase = RegionsPhase(
    ...     law="regions",
    ...     region=[
    ...         {"kind": "loop", "iterations": 100, "iteration": "10 ms"},
    ...         {"kind": "replicated", "iteration": "0.1 s"},
    ...     ],
    ... )
    >>> phase.times(Machine(), {"p": [1.0, 8.0]}).time
    array([1.1 , 0.23])
    """

    source: ClassVar[str] = "In, Jin, Peir, Ranka and Sahni c. 2000, equation (1)"
    law: Literal["regions"] = LAW_KEY
    measured_on: str = Field(default="", description=MEASURED_ON)
    region: Annotated[tuple[Region, ...], tables("region", "[[phase.region]]")] = Field(
        description="Regions, in their order."
    )

    @model_validator(mode="after")
    def _labels_differ(self) -> "RegionsPhase":
        labels = [self._label(i) for i in range(len(self.region))]
        require_other_labels(labels, "region")
        return self

    def amounts(self) -> Iterator[tuple[str, Amount]]:
        """Give every amount with its name: "cycles", "sweep.iteration", "region 2.volume"."""
        yield from super().amounts()
        for i, region in enumerate(self.region):
            for name, amount in region.amounts():
                yield f"{self._label(i)}.{name}", amount

    def only(self, components: Collection[str]) -> "RegionsPhase":
        """Give the phase with the regions of some components, by the names they have in it."""
        named = [(x, self._label(i)) for i, x in enumerate(self.region)]
        kept = (x.model_copy(update={"name": y}) for x, y in named if x.component in components)
        return self.model_copy(update={"region": tuple(kept)})

    def place(self, name: str) -> tuple[str | int, ...]:
        """Say where an amount stands: ("region", 1, "iteration")."""
        for i, region in enumerate(self.region):
            for key, _ in region.amounts():
                if name == f"{self._label(i)}.{key}":
                    return "region", i, key
        return super().place(name)

    @property
    def fits(self) -> tuple[str, ...]:
        """Times of the iterations of its loops; what it sends and calls was counted."""
        labels = (self._label(i) for i, region in enumerate(self.region) if region.is_loop)
        return tuple(f"{label}.iteration" for label in labels)

    @property
    def priced(self) -> frozenset[str]:
        """Names of all its other amounts."""
        return frozenset(name for name, _ in self.amounts()) - set(self.fits)

    def slopes(self, machine: Machine, at: Point) -> tuple[Array, Slopes]:
        """Time of all cycles [s], and its derivatives by what multiplies the time of a region.

        Iterations count as if they were shared without a remainder: their time, which rises in
        steps, has no derivative that leads anywhere.
        """
        cycles, total = self.cycles(at), np.zeros(())
        slopes: Slopes = {}
        for i, region in enumerate(self.region):
            time = region.time(machine, self._at_region(i, at)) * cycles
            total = np.asarray(total + time)
            factors = ("calls", "iteration", "iterations") if region.is_loop else ("calls",)
            slopes |= {f"{self._label(i)}.{key}": time for key in factors}
        return total, slopes

    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""
        times = dict.fromkeys(COMPONENTS, np.zeros(()))
        for i, region in enumerate(self.region):
            time = region.time(machine, self._at_region(i, at))
            times[region.component] = np.asarray(times[region.component] + time)
        return Breakdown(**times)

    def work(self, machine: Machine, at: Point) -> Array:
        """Work of all cycles that processors share, on one of them [s]."""
        shared = [
            region.work(machine, self._at_region(i, at), is_alone=True)
            for i, region in enumerate(self.region)
            if region.kind == "loop"
        ]
        return np.asarray(self.cycles(at) * sum(shared, start=np.zeros(())))

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        each = (region.iteration for region in self.region)
        if any(x is not None and x.dimension == "time" for x in each):
            yield from measured_elsewhere(self.measured_on, machine, REMEDY)
        kinds = dict.fromkeys(region.kind for region in self.region)
        called = dict.fromkeys("send" if kind == "halo" else kind for kind in kinds)
        called = {name: None for name in called if name in PRIMITIVES}
        unknown = [name for name in called if figures_of(machine, name) is None]
        if unknown:
            takes = "; ".join(f"{name}: {WORDS[name]}" for name in unknown)
            yield (
                f"{machine.name} has no [primitives] for {', '.join(unknown)}: their times are "
                f"estimated from the latency and bandwidth of its network ({takes}). Measure them "
                "for better times."
            )

    def _label(self, i: int) -> str:
        """Name of a region, or "region 2"."""
        return self.region[i].name or f"region {i + 1}"

    def _at_region(self, i: int, at: Point) -> Point:
        """Point as a region sees it: its own amounts under their own names."""
        label = f"{self._label(i)}."
        own = {key.removeprefix(label): at[key] for key in at if key.startswith(label)}
        return {**at, **own}


def halo_time(machine: Machine, at: Point, volume: Array, neighbours: Array) -> Array:
    """Time of one exchange [s] of `volume` bytes with each of `neighbours`; 0 on one processor."""
    p = np.asarray(at["p"], dtype=np.float64)
    there = np.minimum(neighbours, p - 1)
    time = there * primitive_time("send", machine, at, volume)
    if np.any(volume > 0):
        together = machine.all_pairs_rate(at, why="a region of kind halo")
        time = np.maximum(time, p * there * volume / together)
    return np.asarray(time)


def file_time(kind: str, machine: Machine, at: Point, volume: Array) -> Array:
    """Time [s] in which all processors together write or read `volume` bytes once.

    "d" is the machine's number of servers where it is not given; `read_bandwidth` of its storage,
    where it is given, prices what is read.
    """
    storage = machine.storage
    d = np.asarray(at["d"] if "d" in at else machine.servers(at), dtype=np.float64)
    require("d", d, d >= 1, must="be at least 1", hint="Count disks from 1.")
    latency = storage.latency(at) if storage.latency is not None else np.zeros(())
    if not np.any(volume > 0):
        return np.asarray(latency)
    reads = kind == "read" and storage.read_bandwidth is not None
    key = "storage.read_bandwidth" if reads else "storage.bandwidth"
    rate = machine.need(key, at, why=f"a region of kind {kind}")
    return np.asarray(latency + volume / (d * rate))
