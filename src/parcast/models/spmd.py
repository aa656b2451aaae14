"""SPMD programs: processors that compute, communicate and do I/O in cycles.

A cycle is `bursts_per_io` bursts of computing and communicating, then one I/O. The processors,
the network and the disks are a closed queueing network (`spmd_networks`), the demands on it come
from the descriptions of program and machine (`spmd_demands`).

The law says "in every cycle n bursts" where the published equation (16) has a geometric number
of bursts with mean n [1]_: real programs write every n-th step. `bursts = "geometric"` is the
published reading, and `reading = "published"` takes the equations of a cycle as printed, see
`docs/reference/spmd.md`.

References
----------
.. [1] P. Cremonesi and C. Gennaro, "Integrated performance models for SPMD applications and MIMD
   architectures," IEEE Trans. Parallel Distrib. Syst., vol. 13, no. 12, pp. 1320-1332, 2002,
   :doi:`10.1109/TPDS.2002.1158268`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from parcast.amounts import Amount, Point
from parcast.breakdown import Array, Breakdown
from parcast.description import Description, Of
from parcast.errors import ParameterError
from parcast.machine import Machine
from parcast.models.spmd_cycle import Cycle, io_service
from parcast.models.spmd_demands import Demands, demands
from parcast.models.spmd_networks import cycle
from parcast.program import Phase
from parcast.queueing.service_laws import ServiceLaw, exponential_service, gamma_service
from parcast.queueing.time_laws import (
    TimeLaw,
    deterministic_times,
    exponential_times,
    gamma_times,
    uniform_times,
)
from parcast.units import quantity, shown

NAMED_LAWS = {
    "none": deterministic_times,
    "exponential": exponential_times,
    "uniform": uniform_times,
}
WIDEST_CV = 20.0
MANY_BURSTS = 20


def _variability(value: object) -> object:
    """Check a variability: a name, or a coefficient of variation."""
    if isinstance(value, str) and value in NAMED_LAWS:
        return value
    number = quantity(value, "fraction", name="variability") if _is_number(value) else -1.0
    if not 0 <= number <= WIDEST_CV:
        raise ParameterError(
            'variability must be "none", "exponential", "uniform" or a coefficient of variation '
            f"between 0 and {WIDEST_CV:g}, got {shown(repr(value))}. Write such as 0.05."
        )
    return number


def _is_number(value: object) -> bool:
    text = str(value).strip()
    return not isinstance(value, bool) and bool(text) and (text[0].isdigit() or text[0] == ".")


Variability = Annotated[
    Literal["none", "exponential", "uniform"] | float,
    BeforeValidator(_variability),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["none", "exponential", "uniform"], "type": "string"},
                {"type": "number", "minimum": 0, "maximum": WIDEST_CV},
                {"type": "string", "pattern": "^[0-9.]", "examples": ["5 %"]},
            ]
        }
    ),
]


def _law_of(variability: str | float) -> TimeLaw:
    """Law of times that vary so; a coefficient of variation is that of a gamma law."""
    if isinstance(variability, str):
        return NAMED_LAWS[variability]()
    return gamma_times(variability)


class Computing(Description):
    """Computing of one burst."""

    parallel: Annotated[Amount, Of("time", "operations", name="compute.parallel")] | None = Field(
        default=None, description="Work that the processors share, on one of them."
    )
    serial: Annotated[Amount, Of("time", "operations", name="compute.serial")] | None = Field(
        default=None, description="Work that every processor does."
    )
    variability: Variability = Field(
        default="none",
        description="How the time of a burst varies: none, exponential, uniform (on [0, 2 means]) "
        "or a coefficient of variation, then of a gamma law.",
    )

    @cached_property
    def law(self) -> TimeLaw:
        """Law of the times."""
        return _law_of(self.variability)


class _Served(Description):
    """What is served by a queue."""

    variability: Variability = Field(
        default="exponential",
        description="How the time of a service varies; as that of computing.",
    )

    @property
    def cv(self) -> float:
        """Coefficient of variation of the services [1]."""
        return float(_law_of(self.variability).cv)

    @cached_property
    def service_law(self) -> ServiceLaw:
        """Law of the services."""
        return exponential_service() if self.cv == 1.0 else gamma_service(self.cv)


class Communication(_Served):
    """Communication of one burst and processor."""

    messages: Annotated[Amount, Of("count", name="communication.messages")] | None = Field(
        default=None, description="Messages sent, each of which costs the network's latency."
    )
    volume: Annotated[Amount, Of("size", name="communication.volume")] | None = Field(
        default=None, description="Bytes sent, at the network's bandwidth."
    )
    startup: Annotated[Amount, Of("time", name="communication.startup")] | None = Field(
        default=None,
        description="Time that does not depend on the network, beside that of messages.",
    )
    transfer: Annotated[Amount, Of("time", name="communication.transfer")] | None = Field(
        default=None, description="Time of the transfer, where it is known instead of the volume."
    )
    contention: Annotated[Amount, Of("fraction", name="communication.contention")] | None = Field(
        default=None, description="Level of contention, in place of the machine's."
    )
    group: Annotated[Amount, Of("count", name="communication.group")] = Field(
        default="1",
        validate_default=True,
        description="Processors that communicate synchronously, c; 1 is fully asynchronous.",
    )
    traffic: Literal["group", "processor"] = Field(
        default="group",
        description="Whether the transfer of a synchronous exchange loads the shared network once "
        "for its group, as published, or once for each processor.",
    )

    @model_validator(mode="after")
    def _certain_group(self) -> "Communication":
        if self.group.spread > 0:
            raise ParameterError(
                "group must be certain, as it counts processors. Leave out its +-."
            )
        return self


class InputOutput(_Served):
    """I/O of one cycle, all processors together."""

    kind: Literal["synchronous", "striped", "clustered"] = Field(
        default="synchronous",
        description="synchronous: all processors join, then write (SIO); striped: each writes to "
        "all disks when it is ready (BUS-AIO); clustered: each to one of the disks (CLU-AIO).",
    )
    volume: Annotated[Amount, Of("size", name="io.volume")] | None = Field(
        default=None, description="Bytes, at the bandwidth of the servers."
    )
    startup: Annotated[Amount, Of("time", name="io.startup")] | None = Field(
        default=None, description="Time that does not depend on the number of disks."
    )
    transfer: Annotated[Amount, Of("time", name="io.transfer")] | None = Field(
        default=None, description="Time of the transfer with one disk, instead of the volume."
    )

    @property
    def is_there(self) -> bool:
        """Whether anything is read or written."""
        return any(x is not None for x in (self.volume, self.startup, self.transfer))


class SpmdPhase(Phase):
    """A phase of an SPMD program.

    Examples
    --------
    >>> phase = SpmdPhase(law="spmd", compute={"parallel": "8 s"}, bursts_per_io=5)
    >>> phase.cycle(Machine(), {"p": [1.0, 4.0]}).time
    array([40., 10.])
    """

    source_of_law: ClassVar[str] = (
        "spmd: Cremonesi and Gennaro 2002, doi:10.1109/TPDS.2002.1158268"
    )
    law: Literal["spmd"] = Field(description="Timing law of the phase.")
    bursts_per_io: Annotated[Amount, Of("count", name="bursts_per_io")] = Field(
        default="1", validate_default=True, description="Bursts in a cycle, before its I/O."
    )
    bursts: Literal["fixed", "geometric"] = Field(
        default="fixed",
        description="Whether every cycle has that many bursts, or a geometric number with "
        "that mean.",
    )
    reading: Literal["corrected", "published"] = Field(
        default="corrected",
        description="published: the equations as printed, contradictions included.",
    )
    compute: Computing = Computing()
    communication: Communication = Communication()
    io: InputOutput = InputOutput()

    @model_validator(mode="before")
    @classmethod
    def _published_is_geometric(cls, keys: object) -> object:
        if isinstance(keys, Mapping) and keys.get("reading") == "published":
            return {"bursts": "geometric", **keys}
        return keys

    def demands(self, machine: Machine, at: Point) -> Demands:
        """What a cycle asks for at every point of a grid."""
        return demands(self, machine, at)

    def solve(self, asked: Demands) -> Cycle:
        """Time of one cycle that asks for `asked`, with its derivatives."""
        burst = asked.computing + asked.delay + asked.queue
        idle = (burst <= 0) & (io_service(self, asked) <= 0)
        if not idle.any():
            return cycle(self, asked)
        # Nothing to do, as a lone processor has where a phase only communicates.
        solved = cycle(self, replace(asked, serial=np.where(idle, 1.0, asked.serial)))
        busy = np.asarray(~idle, dtype=np.float64)
        return replace(solved, breakdown=solved.breakdown * busy)

    def cycle(self, machine: Machine, at: Point) -> Breakdown:
        """Time of one cycle at every point of a grid [s]."""
        return self.solve(self.demands(machine, at)).breakdown

    def work(self, machine: Machine, at: Point) -> Array:
        """Work of all cycles that processors share, on one of them [s]."""
        parallel = self.compute.parallel
        if parallel is None:
            return np.zeros(())
        work = parallel(at)
        if parallel.dimension == "operations":  # at the rate of a lone processor
            alone = {**at, "p": np.ones_like(np.asarray(at["p"], dtype=np.float64))}
            work = work / machine.need("compute.rate", alone, why=parallel.name)
        return self.cycles(at) * self.bursts_per_io(at) * work

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        network = machine.network
        talks = any(
            x is not None for x in (self.communication.volume, self.communication.transfer)
        )
        knows = (network.saturation, network.contention, self.communication.contention)
        if talks and all(x is None for x in knows):
            yield (
                "No saturation rate of the network is known, so every pair has a link of its own; "
                "the times on a single bus say how much that may matter."
            )
        joins = self.io.kind == "synchronous" and self.bursts == "geometric"
        if joins and self.is_exponential and not self.has_many_bursts:
            yield (
                "Geometric bursts of exponential times are solved by equation (16), which is up "
                "to 29 % too high with few bursts in a cycle."
            )

    @property
    def is_exponential(self) -> bool:
        """Whether computing and communication have exponential times, as equation (16) assumes."""
        return (float(self.compute.law.cv), self.communication.cv) == (1.0, 1.0)

    @property
    def has_many_bursts(self) -> bool:
        """Whether a cycle is known to have so many bursts that equation (16) is right to 1 %."""
        bursts = self.bursts_per_io
        return not bursts.expression.axes and float(bursts({})) >= MANY_BURSTS

    def io_service(self, asked: Demands) -> Array:
        """Service time of one I/O request [s]."""
        return io_service(self, asked)
