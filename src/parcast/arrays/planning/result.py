"""What a plan of a request answers: all plans, the best first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from parcast.arrays.geometry.choices import Objective
from parcast.arrays.geometry.subchunks import MOST
from parcast.arrays.law.bottleneck import LIMITS, Limit, RequestSimulation
from parcast.arrays.law.request import Options
from parcast.arrays.planning.settings import Settings, settings_of
from parcast.deciding.alternatives import Ways
from parcast.deciding.decision import Decision
from parcast.importers.darshan_io import JobIo
from parcast.show.outline import document_of
from parcast.units import format_quantity
from parcast.words import counted

OWN: Final = "parcast"  # its library, among others


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

    _outline = """
        servers mesh=_mesh schema time_s utilisation throughput_B_per_s *_overlapping *_messages
        balance servers_out_of_balance=unbalanced aligned=is_aligned limited_by *_shares
    """

    servers: int  # how many there are [1]
    mesh: tuple[int, ...]  # of the servers; (): they have whole storage chunks
    schema: str  # `B**`; empty where they have whole storage chunks
    time: float  # [s]
    utilisation: float  # mean share of the rate of the file systems that is used [1]
    throughput: float  # throughput of all servers together [B/s]
    overlapping: tuple[int, int]  # least and most clients that a subchunk overlaps
    messages: tuple[int, int]  # least and most of a server
    balance: float  # longest intermediate phase over the shortest [1]
    is_aligned: bool  # whether every overlap is all that a client has
    limited_by: Limit  # `file system`, `communication` or `computation`
    parts: Mapping[Limit, float]  # share of the time that each of the three takes [1]
    unbalanced: int  # servers with over 25% more time or messages than the least [1]
    request: Planned = field(repr=False)

    @property
    def _mesh(self) -> list[int]:
        """Mesh of the servers: `[3, 1, 2]`, in CSV `3x1x2`."""
        return list(self.mesh)

    @property
    def _overlapping(self) -> dict[str, int]:
        """`overlapping_clients_least` and `overlapping_clients_most` of a subchunk [1]."""
        return _ends("overlapping_clients", self.overlapping)

    @property
    def _messages(self) -> dict[str, int]:
        """`messages_least` and `messages_most` of a server to clients [1]."""
        return _ends("messages", self.messages)

    @property
    def _shares(self) -> dict[str, float]:
        """`share_file_system`, `share_communication` and `share_computation` of the time [1]."""
        return {f"share_{name.replace(' ', '_')}": self.parts[name] for name in LIMITS}


def _ends(name: str, ends: tuple[int, int]) -> dict[str, int]:
    """Name the least and the most."""
    return {f"{name}_least": ends[0], f"{name}_most": ends[1]}


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSetting:
    """A setting that a run has today, and what a request takes with it by the law."""

    _outline = "setting buffer_bytes *plan"

    setting: str  # names and numbers, as they were given
    plan: ServerPlan  # what a request takes with it
    buffer: int  # what a server writes or reads at a time, at most [B]


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryPlan:
    """What a request takes with a library, and what to set there."""

    _outline = """
        library setting time_s lower_s upper_s limited_by may_be_fastest messages estimated
    """

    library: str  # `parcast`, `romio`, `pio-box`, `pio-subset` or `file-per-rank`
    title: str  # name in answers
    setting: str  # ready to use
    time: float  # [s]
    lower: float  # lower end of the 90% interval [s]
    upper: float  # upper end of the 90% interval [s]
    limited_by: str  # `file system`, `communication` or `computation`
    messages: int | None  # of data, between ranks; None for parcast, whose plan has them
    estimated: tuple[str, ...] = ()  # costs that were not given and widen the interval
    may_be_fastest: bool = False  # whether its interval meets that of the fastest


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestPlan(Decision):
    """Plans of a request, the best first by the objective."""

    _schema = "parcast/array-io-plan/1"
    _outline = """
        shape size_bytes arrays=number clients operation=options.operation
        writer=options.writer objective within machine storage_chunk=storage buffer_bytes best
        limited_by=simulation.limited_by servers=simulation.rows reasons settings=_settings
        warnings plans now?=_now compared? libraries? inputs call=_of_fields
    """
    _said = "parcast.arrays.planning.sheet:said_of"
    _below = "parcast.arrays.planning.picture:draw_parts"

    shape: tuple[int, ...]  # extents of an array
    size: int  # bytes of all arrays [B]
    number: int  # equal arrays [1]
    clients: int  # ranks that hold them [1]
    objective: Objective  # what is least
    within: float  # of the least time, for the fewest servers [1]
    plans: tuple[ServerPlan, ...]  # the best first
    simulation: RequestSimulation  # of the best plan
    options: Options
    reasons: tuple[str, ...] = ()  # why the best is the best, in sentences
    storage: tuple[int, ...] | None = None  # extents of the storage chunks, if there are any
    buffer: int = MOST  # what a server writes or reads at a time, at most [B]
    machine: str = ""  # whose costs they are
    notes: tuple[str, ...] = ()  # warnings about what was given
    now: JobIo | None = None  # what the job does, as Darshan has measured it
    compared: ComparedSetting | None = None  # a setting beside the best
    libraries: tuple[LibraryPlan, ...] = ()  # other libraries beside the best, the fastest first
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
    def chosen(self) -> int | None:
        """Place of the best plan; None if the job is faster now."""
        return None if self.is_slower_than_now else 0

    @property
    def is_slower_than_now(self) -> bool:
        """Whether the best plan is slower than what the job does, as Darshan has measured it."""
        if self.now is None:
            return False
        from parcast.arrays.planning.now import measured_rate

        return self.best.throughput < measured_rate(self.now, self.options.operation)

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
            row = document_of(plan)
            yield row | {"mesh": "x".join(map(str, plan.mesh))}

    @property
    def _settings(self) -> dict[str, dict[str, Any]]:
        """Settings of other libraries, by their names there."""
        return {name: dict(each.values) for name, each in self.settings.items()}

    @property
    def _now(self) -> dict[str, Any]:
        """What the job does now, as Darshan has measured it."""
        from parcast.arrays.planning.now import now_document

        return {} if self.now is None else now_document(self.now, self.options.operation)
