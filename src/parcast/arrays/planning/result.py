"""What a plan of a request answers: all plans, the best first."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

from parcast.arrays.law import Options
from parcast.arrays.simulation.result import RequestSimulation
from parcast.show.result import Result

SCHEMA: Final = "parcast/array-io-plan/1"
Objective = Literal["time", "utilisation", "fewest"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
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
            "aligned": self.is_aligned,
        }


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestPlan(Result):
    """Plans of a request, the best first by the objective."""

    _sheet: ClassVar[str] = "parcast.arrays.planning.sheet:sheet_of"

    shape: tuple[int, ...]
    size: int  # of all arrays [B]
    number: int  # of equal arrays
    clients: int
    objective: Objective
    within: float  # of the least time, for the fewest servers [1]
    plans: tuple[Plan, ...]
    simulation: RequestSimulation  # of the best plan
    options: Options
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line what the best plan is."""
        best = self.best
        return f"RequestPlan({best.servers} servers, {best.time:.4g} s; {len(self.plans)} plans)"

    @property
    def best(self) -> Plan:
        """The recommended plan."""
        return self.plans[0]

    @property
    def fastest(self) -> Plan:
        """The plan of the least time."""
        return min(self.plans, key=lambda plan: plan.time)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row for each plan, the best first."""
        for plan in self.plans:
            row = plan.row()
            yield row | {"mesh": "x".join(map(str, plan.mesh))}

    def to_document(self) -> dict[str, Any]:
        """Everything as one JSON document."""
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
            "best": self.best.row(),
            "limited_by": self.simulation.limited_by,
            "warnings": list(self.simulation.warnings),
            "plans": [plan.row() for plan in self.plans],
            "inputs": dict(self.inputs),
        }
