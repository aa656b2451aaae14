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

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.errors import require
from parcast.laws.counting import Counts, SteadyStatePhase, density, in_parallel, sizes
from parcast.laws.sort import MERGE, Merge, merge_steps


def square_sort_counts(
    n: ArrayLike,
    p: ArrayLike,
    *,
    alpha: ArrayLike = 1.0,
    beta: ArrayLike = 8.0,
    gamma: ArrayLike = 8.0,
    merge: Merge = "scan",
    partitions: ArrayLike | None = None,
) -> Counts:
    """Steps, bytes and messages of sorting `n` keys in n^2 steps, on `p` processors.

    Parameters
    ----------
    n : array_like, shape (...)
        Keys, at least 1. [1]
    p : array_like, broadcastable with `n`
        Processors, between 1 and `n`. [1]
    alpha : array_like, broadcastable with `n`
        Steps of a comparison while sorting; splitting and merging take one for each. [1]
    beta, gamma : array_like, broadcastable with `n`
        Bytes of a key in the network and on the disk, each way. [B]
    merge : {"scan", "tree"}, default "scan"
        Whether a key is merged by looking at `p` heads, as in the source, or by a tree.
    partitions : array_like, optional
        Parts that one processor sorts in turn and merges, between 1 and `n`; without it, it sorts
        all keys at once. [1]

    Returns
    -------
    Counts
        Of the shape of all broadcast together.

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> square_sort_counts(1000, [1, 2, 4]).steps
    array([1000000.,  253000.,   67500.])
    >>> square_sort_counts(1000, 1, partitions=[1, 4]).steps
    array([1002000.,  255000.])
    """
    n, p = sizes(n, p)
    alpha, beta = density("alpha", alpha), density("beta", beta)
    gamma = density("gamma", gamma)
    alone = np.asarray(alpha * n**2)
    if partitions is not None:
        k = np.asarray(partitions, dtype=np.float64)
        ok, must = (k >= 1) & (k <= n), "lie between 1 and n"
        k = np.broadcast_to(k, ok.shape)
        require("partitions", k, ok, must=must, hint="1 is all keys at once.")
        alone = n + k * alpha * (n / k) ** 2 + merge_steps(n, k, merge)
    shared = alpha * (n / p) ** 2
    return Counts(
        steps=in_parallel(p, n + shared + merge_steps(n, p, merge), alone),
        shared=in_parallel(p, shared, alone),
        network_bytes=in_parallel(p, 2.0 * beta * n),
        messages=in_parallel(p, 2.0 * (p - 1.0)),
        disk_bytes=np.asarray(2.0 * gamma * n),
    )


class SquareSortPhase(SteadyStatePhase):
    """An O(n^2) sorter.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "5 Mflop/s", "network": "60 kB/s", "disk": "3.5 MB/s"}
    >>> phase = SquareSortPhase(law="square_sort", capacities=own)
    >>> one, five = phase.times(Machine(), {"p": [1, 5], "n": 40_000}).time
    >>> float(round(one / five, 3))
    13.511
    """

    source_of_law: ClassVar[str] = "square_sort: Shi c. 1996, equations (3.4) and (3.5)"
    is_compact: ClassVar[bool | None] = False
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(square_sort_counts)
    law: Literal["square_sort"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="1",
        validate_default=True,
        description="Steps of a comparison while sorting; splitting and merging take one each.",
    )
    beta: Annotated[Amount, Of("size", name="beta")] = Field(
        default="8 B", validate_default=True, description="Bytes of a key sent, each way."
    )
    gamma: Annotated[Amount, Of("size", name="gamma")] = Field(
        default="8 B", validate_default=True, description="Bytes of a key on the disk, each way."
    )
    merge: Merge = Field(default="scan", description=MERGE)
    partitions: Annotated[Amount, Of("count", name="partitions")] | None = Field(
        default=None, description="Parts that one processor sorts in turn and merges."
    )
