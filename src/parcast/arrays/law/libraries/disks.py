"""What disks add to the rounds of an exchange: writing behind, at a flush, or in each round.

    arrival_k = sum over j <= k of (exchange_j + s_j/R_mem)
    behind:    the disk has written all at max over k of arrival_k + (what comes from k on)/R  [R]
    at flush:  at arrival_K + (all of it)/R                                                [D]
    sync:      each round takes s_k/R more; a read as well                                 [D]

Of equal arrays, which follow one another, the maximum lies in the first or in the last one.
"""

import numpy as np

from parcast.aliases import Array
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.law.costs import Costs
from parcast.arrays.law.libraries.library import LibraryRequest


def disk_time(
    request: LibraryRequest, costs: Costs, sizes: Ints, exchange: Array, *, around: float = 0.0
) -> float:
    """Time that all arrays take beside their exchange [s].

    `sizes` are what each writer writes in each round [B], `exchange` the time of a round before
    it, `around` that of an array beside its rounds [s].
    """
    number, own = request.number, costs.libraries
    rate = request.disk_rates(costs, len(sizes))[:, None]
    if request.operation == "read" or request.writer == "sync":
        return float(number * (sizes / rate).max(axis=0).sum())
    copying = sizes.max(axis=0) / own.cache_rate
    writing = sizes / rate
    all_of = writing.sum(axis=1)
    if not own.writes_behind:
        return float(number * (copying.sum() + all_of.max()))
    arrival = np.cumsum(exchange + copying)
    cycle = around + float(arrival[-1])
    rest = all_of[:, None] - (np.cumsum(writing, axis=1) - writing)  # from each round on
    own_end = (around + arrival + rest).max(axis=1)
    first = own_end + (number - 1) * all_of
    last = own_end + (number - 1) * cycle
    end = max(float(np.maximum(first, last).max()), number * cycle)
    return end - number * (cycle - float(copying.sum()))
