"""What a simulation of a request answers: times in three modes, what limits it, and balance."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from parcast.arrays.law.request import Infinite, Options, RequestTime
from parcast.show.result import Result

Limit = Literal["file system", "communication", "computation"]
LIMITS: Final[tuple[Limit, ...]] = ("file system", "communication", "computation")
MODES: Final[dict[Infinite, str]] = {  # keys of rows
    "none": "normal",
    "disks": "infinite_disks",
    "disks and network": "infinite_network",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Imbalance:
    """A server that takes longer, or has more messages, than the one with least."""

    server: int  # its number, from 0
    ratios: Mapping[str, float]  # "time", "messages", "subchunks", "bytes" over the least [1]
    reasons: tuple[str, ...]  # of these, what explains its time; (): its costs or its overlaps


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestSimulation(Result):
    """Times of a request with the disks and network as they are, and infinitely fast."""

    _schema = "parcast/array-io-simulation/1"
    _outline = """
        operation=options.operation writer=options.writer time_s closing_s=_closing limited_by
        shares times=_in_modes contention=_contention imbalances warnings servers=rows inputs
        call=_of_fields
    """
    _picture = "parcast.arrays.bottleneck.picture:figure_of"

    times: Mapping[Infinite, RequestTime]
    options: Options
    limited_by: Limit  # `file system`, `communication` or `computation`
    imbalances: tuple[Imbalance, ...]
    warnings: tuple[str, ...] = ()
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Say in one line how long it takes and why."""
        return f"RequestSimulation({self.time:.4g} s, limited by {self.limited_by})"

    @property
    def normal(self) -> RequestTime:
        """Times with the disks and the network as they are."""
        return self.times["none"]

    @property
    def time(self) -> float:
        """Time of the request [s]."""
        return self.normal.time

    @property
    def shares(self) -> dict[Limit, float]:
        """Share of the time that vanishes without each in turn, computation last. [1]."""
        times = [self.times[mode].time for mode in MODES]
        gains = [times[0] - times[1], times[1] - times[2], times[2]]
        whole = times[0] or 1.0  # a request of nothing may take no time
        return {limit: gain / whole for limit, gain in zip(LIMITS, gains, strict=True)}

    @property
    def _in_modes(self) -> dict[str, float]:
        """Time of the request in each mode [s]."""
        return {name: self.times[mode].time for mode, name in MODES.items()}

    @property
    def _contention(self) -> dict[str, Any]:
        """Whether it is `counted`, the `resource` that is longest busy, and for how long."""
        bound = self.normal.bound
        return {
            "counted": self.options.contention,
            "resource": bound.resource,
            "busy_s": bound.time,
            "determines_time": self.normal.is_bound,
        }

    @property
    def _closing(self) -> float:
        """Time of the client that closes last [s]."""
        return float(self.normal.closing.max())

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each server."""
        normal = self.normal
        rates = {name: self.times[mode].throughput for mode, name in MODES.items()}
        for i in range(len(normal.startup)):
            yield {
                "server": i,
                "messages": int(normal.messages[i]),
                "subchunks": int(normal.subchunks[i]),
                "size_bytes": int(normal.size[i]),
                "stored_bytes": int(normal.stored[i]),
                "startup_s": float(normal.startup[i]),
                "assembly_s": float(normal.assembly[i]),
                "delay_s": float(normal.delay[i]),
                "file_system_s": float(normal.file_system[i]),
                "intermediate_s": float(normal.intermediate[i]),
                **{f"throughput_{name}_B_per_s": float(rate[i]) for name, rate in rates.items()},
                "utilisation": float(normal.utilisation[i]),
            }
