"""The O(n^2) sorter on P processors: split, sort in parallel, merge, and faster than P times.

    T(1) = alpha*n^2/W + 2*gamma*n/B                                                  [R], (3.4)
    T(P) = [n + alpha*(n/P)^2 + n*P]/W + 2*gamma*n/B + 2*beta*n/u                     [R], (3.5)
    serial in k parts: [n + k*alpha*(n/k)^2 + n*k]/W + 2*gamma*n/B                    [R]

As `parcast.laws.sort` with an insertion sort or the like in it. P parts of n/P keys take
fewer steps than one of n, n^2 > P*(n/P)^2 + n*P + n by (2.1), so speedup may be superlinear: the
sequential program is a bad one. One processor that sorts k parts in turn is nearly as fast, and
the O(n lg n) sorter much faster. Steps are least with about sqrt(n) parts.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose.
"""

from typing import Annotated, ClassVar, Literal

import numpy as np

from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of, parameter
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, in_parallel
from parcast.laws.sort import ALPHA, BETA, GAMMA, MERGE, Merge, merge_steps

Parts = Annotated[Amount, Of("count", least=1.0, most="n", hint="1 is all keys at once.")]


class SquareSortPhase(SteadyStatePhase):
    """An O(n^2) sorter of n keys.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "5 Mflop/s", "network": "60 kB/s", "disk": "3.5 MB/s"}
    >>> phase = SquareSortPhase(law="square_sort", capacities=own)
    >>> one, five = phase.times(Machine(), {"p": [1, 5], "n": 40_000}).time
    >>> float(round(one / five, 3))
    13.511
    >>> phase.counts(1000, [1, 2, 4]).steps
    array([1000000.,  253000.,   67500.])
    """

    source: ClassVar[str] = "Shi c. 1996, equations (3.4) and (3.5)"
    is_compact: ClassVar[bool | None] = False
    law: Literal["square_sort"] = LAW_KEY
    alpha: Count = parameter("1", ALPHA)
    beta: Size = parameter("8 B", BETA)
    gamma: Size = parameter("8 B", GAMMA)
    merge: Merge = parameter("scan", MERGE)
    partitions: Parts | None = parameter(
        None, "Parts that one processor sorts in turn and merges."
    )

    @staticmethod
    def law_counts(
        n: Array,
        p: Array,
        *,
        alpha: Array,
        beta: Array,
        gamma: Array,
        merge: Merge,
        partitions: Array | None,
    ) -> Counts:
        """Count what sorting n keys takes; messages are those of a master, each way."""
        alone = np.asarray(alpha * n**2)
        if partitions is not None:
            k = np.broadcast_to(partitions, np.broadcast_shapes(partitions.shape, n.shape))
            alone = n + k * alpha * (n / k) ** 2 + merge_steps(n, k, merge)
        shared = alpha * (n / p) ** 2
        return Counts(
            steps=in_parallel(p, n + shared + merge_steps(n, p, merge), alone),
            shared=in_parallel(p, shared, alone),
            network_bytes=in_parallel(p, 2.0 * beta * n),
            messages=in_parallel(p, 2.0 * (p - 1.0)),
            disk_bytes=np.asarray(2.0 * gamma * n),
        )
