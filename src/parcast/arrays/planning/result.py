"""What a plan of a request answers: all plans, the best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from parcast.arrays.bottleneck.result import LIMITS, Limit, RequestSimulation
from parcast.arrays.geometry.choices import Objective
from parcast.arrays.geometry.subchunks import MOST
from parcast.arrays.law.request import Options
from parcast.arrays.planning.settings import Settings, settings_of
from parcast.deciding.alternatives import Ways
from parcast.deciding.decision import Decision
from parcast.units import format_quantity
from parcast.words import counted

if TYPE_CHECKING:
    from parcast.importers.darshan_io import JobIo

SCHEMA: Final = "parcast/array-io-plan/1"


class Planned(NamedTuple):
    """The request that a plan is for."""

    shape: tuple[int, ...]
    number: int  # of equal arrays
    itemsize: int  # [B]
    clients: int
    options: Options
    storage: tuple[int, ...] = ()  # extents of the storage chunks, if servers have whole ones
    inner: tuple[int, ...] = ()  # and of the inner chunks of each

    @property
    def buffer(self) -> int:
        """What a server writes or reads at a time, at most. [B]."""
        return prod(self.inner) * self.itemsize if self.storage else self.options.buffer


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerPlan:
    """Servers, how arrays are distributed over them, and what a request takes by the law."""

    servers: int
    mesh: tuple[int, ...]  # of the servers; (): they have whole storage chunks
    schema: str  # "B**"; "" where they have whole storage chunks
    time: float  # [s]
    utilisation: float  # mean share of the rate of the file systems that is used [1]
    throughput: float  # of all servers together [B/s]
    overlapping: tuple[int, int]  # least and most clients that a subchunk overlaps
    messages: tuple[int, int]  # least and most of a server
    balance: float  # longest intermediate phase over the shortest [1]
    is_aligned: bool  # whether every overlap is all that a client has
    limited_by: Limit
    parts: Mapping[Limit, float]  # share of the time that each of the three takes [1]
    unbalanced: int  # servers that are out of balance
    request: Planned = field(repr=False)

    def row(self) -> dict[str, Any]:
        """All figures, with the keys of the JSON document."""
        return {
            "servers": self.servers,
            "mesh": list(self.mesh),
            "schema": self.schema,
            "time_s": self.time,
            "utilisation": self.utilisation,
            "throughput_B_per_s": self.throughput,
            "overlapping_clients_least": self.overlapping[0],
            "overlapping_clients_most": self.overlapping[1],
            "messages_least": self.messages[0],
            "messages_most": self.messages[1],
            "balance": self.balance,
            "servers_out_of_balance": self.unbalanced,
            "aligned": self.is_aligned,
            "limited_by": self.limited_by,
            **{f"share_{name.replace(' ', '_')}": self.parts[name] for name in LIMITS},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSetting:
    """A setting that a run has today, and what a request takes with it by the law."""

    setting: str  # names and numbers, as they were given
    plan: ServerPlan
    buffer: int  # that a server writes or reads at a time, at most [B]

    def row(self) -> dict[str, Any]:
        """All figures, with the keys of the JSON document."""
        return {"setting": self.setting, "buffer_bytes": self.buffer, **self.plan.row()}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestPlan(Decision):
    """Plans of a request, the best first by the objective."""

    _said: ClassVar[str] = "parcast.arrays.planning.sheet:said_of"
    _below: ClassVar[str] = "parcast.arrays.planning.picture:draw_parts"

    shape: tuple[int, ...]
    size: int  # of all arrays [B]
    number: int  # of equal arrays
    clients: int
    objective: Objective
    within: float  # of the least time, for the fewest servers [1]
    plans: tuple[ServerPlan, ...]
    simulation: RequestSimulation  # of the best plan
    options: Options
    reasons: tuple[str, ...] = ()  # why the best is the best, in sentences
    storage: tuple[int, ...] | None = None  # extents of the storage chunks, if servers have those
    buffer: int = MOST  # that a server writes or reads at a time, at most [B]
    machine: str = ""  # whose costs they are
    notes: tuple[str, ...] = ()  # warnings about what was given
    now: JobIo | None = None  # what the job does, as Darshan has measured it
    compared: ComparedSetting | None = None  # a setting beside the best
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what the best plan is."""
        best = self.best
        servers = counted(best.servers, "server")
        return f"RequestPlan({servers}, {best.time:.4g} s; {counted(len(self.plans), 'plan')})"

    @property
    def best(self) -> ServerPlan:
        """The recommended plan."""
        return self.plans[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know."""
        return (*self.notes, *self.simulation.warnings)

    @property
    def ways(self) -> Ways:
        """The plans, as arrays."""
        time = np.array([plan.time for plan in self.plans])
        return Ways(
            title=self.title,
            asked="servers",
            cost=np.array([float(plan.servers) for plan in self.plans]),
            time=time,
            lower=time,
            upper=time,
            fits=np.ones(len(time), dtype=bool),
        )

    @property
    def chosen(self) -> int:
        """Place of the best plan."""
        return 0

    @property
    def title(self) -> str:
        """Name the request."""
        kind = "Write" if self.options.operation == "write" else "Read"
        arrays = f"{counted(self.number, 'array')} of {'x'.join(map(str, self.shape))}"
        size = format_quantity(self.size, "size")
        return f"{kind} of {arrays} ({size}) by {counted(self.clients, 'client')}"

    @property
    def sources(self) -> tuple[str, ...]:
        """Whose the costs are."""
        return (f"Costs: {self.machine}",) if self.machine else ()

    @property
    def settings(self) -> dict[str, Settings]:
        """The best plan as settings of other libraries and models, by the name of each."""
        return settings_of(self.best.servers, self.clients, self.buffer)

    @property
    def fastest(self) -> ServerPlan:
        """The plan of the least time."""
        return min(self.plans, key=lambda plan: plan.time)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each plan, the best first."""
        for plan in self.plans:
            row = plan.row()
            yield row | {"mesh": "x".join(map(str, plan.mesh))}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document; `now` and `compared` where they were asked for."""
        from parcast.arrays.planning.now import now_document

        more: dict[str, Any] = {}
        if self.now is not None:
            more["now"] = now_document(self.now, self.options.operation)
        if self.compared is not None:
            more["compared"] = self.compared.row()
        return {
            "schema": SCHEMA,
            "shape": list(self.shape),
            "size_bytes": self.size,
            "arrays": self.number,
            "clients": self.clients,
            "operation": self.options.operation,
            "writer": self.options.writer,
            "objective": self.objective,
            "within": self.within,
            "machine": self.machine,
            "storage_chunk": None if self.storage is None else list(self.storage),
            "buffer_bytes": self.buffer,
            "best": self.best.row(),
            "limited_by": self.simulation.limited_by,
            "servers": list(self.simulation.rows()),
            "reasons": list(self.reasons),
            "settings": {name: dict(each.values) for name, each in self.settings.items()},
            "warnings": list(self.warnings),
            "plans": [plan.row() for plan in self.plans],
            **more,
            "inputs": dict(self.inputs),
        }
