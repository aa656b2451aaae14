"""What limits a request: its times as it is, and with infinitely fast disks and network [S].

With infinitely fast disks T_fs is the time of compression, if there is any, which shows how fast
subchunks can be assembled; without messages as well, what remains is computation. From the
throughput of servers in these modes follows what limits a request [D]:

    file system      the disk of a server is used for at least 90% of the time
    computation      otherwise, if a free network would raise the throughput by less than 25%
    communication    otherwise

A server is out of balance if its messages or its T_int exceed the least of all servers that have
a part of the arrays by more than 25% [D]. The reasons are which of its messages, subchunks and
bytes do as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.geometry.overlaps import Overlaps
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.request import Infinite, Options, RequestTime, request_times, tables_of
from parcast.errors import Argument
from parcast.show.warning import minor
from parcast.units import format_quantity

Limit = Literal["file system", "communication", "computation"]
LIMITS: Final[tuple[Limit, ...]] = ("file system", "communication", "computation")
MODES: Final[dict[Infinite, str]] = {  # keys of rows
    "none": "normal",
    "disks": "infinite_disks",
    "disks and network": "infinite_network",
}
USED: Final = 0.9  # of the rate of a disk, from which it is what limits [1]
GAIN: Final = 1.25  # by a free network, from which communication is what limits [1]
EXCESS: Final = 1.25  # over the least of the servers, above which one is out of balance [1]
REASONS: Final = ("messages", "subchunks", "bytes")


@dataclass(frozen=True, kw_only=True, slots=True)
class Imbalance:
    """A server that takes longer, or has more messages, than the one with least."""

    server: int  # its number, from 0
    ratios: Mapping[str, float]  # "time", "messages", "subchunks", "bytes" over the least [1]
    reasons: tuple[str, ...]  # of these, what explains its time; (): its costs or its overlaps


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RequestSimulation:
    """Times of a request with the disks and network as they are, and infinitely fast."""

    times: Mapping[Infinite, RequestTime]
    options: Options
    limited_by: Limit  # `file system`, `communication` or `computation`
    imbalances: tuple[Imbalance, ...]
    warnings: tuple[str, ...] = ()

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


def simulate_request(
    arrays: Overlaps | EqualArrays | Sequence[Overlaps | EqualArrays],
    costs: Costs,
    options: Options | None = None,
) -> RequestSimulation:
    """Times of a request in the three modes; arguments are those of `request_time`."""
    options = Options() if options is None else options
    times = request_times(arrays, costs, options, [*MODES])
    return RequestSimulation(
        times=times,
        options=options,
        limited_by=limit_of(*times.values()),
        imbalances=tuple(imbalances_of(times["none"])),
        warnings=tuple(_warnings(arrays, costs, times["none"], options)),
    )


def limit_of(normal: RequestTime, with_disks: RequestTime, with_network: RequestTime) -> Limit:
    """What limits a request, from its times as it is and with infinitely fast parts [D]."""
    if normal.utilisation.max() >= USED:
        return "file system"
    # Servers have the same bytes in all modes: their throughputs are to each other as the times.
    return "computation" if with_disks.time < GAIN * with_network.time else "communication"


def imbalances_of(result: RequestTime) -> Iterator[Imbalance]:
    """Servers that are out of balance, and why [D]; one without a part of the arrays is none."""
    ratios = {
        "time": _over_least(np.where(result.subchunks > 0, result.intermediate, 0.0)),
        "messages": _over_least(result.messages),
        "subchunks": _over_least(result.subchunks),
        "bytes": _over_least(result.size),
    }
    for i in np.flatnonzero((ratios["time"] > EXCESS) | (ratios["messages"] > EXCESS)):
        own = {name: float(values[i]) for name, values in ratios.items()}
        yield Imbalance(
            server=int(i),
            ratios=own,
            reasons=tuple(name for name in REASONS if own[name] > EXCESS),
        )


def _warnings(
    arrays: Overlaps | EqualArrays | Sequence[Overlaps | EqualArrays],
    costs: Costs,
    normal: RequestTime,
    options: Options,
) -> Iterator[str]:
    """Give what a reader of the times must know, in sentences."""
    if not options.contention and normal.bounded > (normal.startup + normal.intermediate).max():
        busy = format_quantity(normal.bound.time, "time")
        yield (
            f"The {normal.bound.resource} would be busy for {busy}, longer than the servers: the "
            f"time is too low. Count it with {Argument('contention', True)}."
        )
    protocol = costs.protocol
    if options.operation == "read" or options.overlap_rendezvous or protocol.nonblocking:
        return
    for table in tables_of(arrays):
        requests = table.requests
        is_alone = np.bincount(requests.subchunk)[requests.subchunk] == 1
        if np.any(is_alone & (protocol.always | (requests.size >= protocol.eager_limit))):
            text = (
                "The transfer of a subchunk that overlaps one client only is counted twice, at "
                "the client and at the server. "
                f"Count it once with {Argument('overlap_rendezvous', True)}."
            )
            is_hidden = normal.utilisation.max() >= USED  # the disks are busy for longer
            yield minor(text) if is_hidden else text
            return


def _over_least(values: Array | Ints) -> Array:
    """Ratio of each to the least that is not 0; one that is 0 is that itself."""
    some = np.asarray(values, dtype=np.float64)
    positive = some[some > 0]
    return some / positive.min() if len(positive) else np.ones_like(some)
