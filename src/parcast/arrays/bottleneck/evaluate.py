"""Evaluate a request as it is, with infinitely fast disks [S], and with such a network too [S].

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

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from parcast.aliases import Array
from parcast.arrays.bottleneck.result import MODES, Imbalance, Limit, RequestSimulation
from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.geometry.overlaps import Overlaps
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.request import Options, RequestTime, request_times, tables_of
from parcast.errors import Argument
from parcast.show.warning import minor
from parcast.units import format_quantity

USED: Final = 0.9  # of the rate of a disk, from which it is what limits [1]
GAIN: Final = 1.25  # by a free network, from which communication is what limits [1]
EXCESS: Final = 1.25  # over the least of the servers, above which one is out of balance [1]
REASONS: Final = ("messages", "subchunks", "bytes")


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
