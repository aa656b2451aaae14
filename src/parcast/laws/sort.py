"""The O(n lg n) sorter on P processors: split, sort in parallel, merge.

    T(1) = alpha*n*lg(n)/W + 2*gamma*n/B                                              [R], (3.1)
    T(P) = [n + alpha*(n/P)*lg(n/P) + n*P]/W + 2*gamma*n/B + 2*beta*n/u               [R], (3.2)

A master reads n keys from its disk and deals them out; each processor sorts its part; the master
gets the parts back, merges them and writes the result. The merge looks at the heads of all P
parts for each key, so it takes n*P steps, and with P = n the whole is an insertion sort. Use it to
see whether a parallel sort pays: mostly the disk and the network say no. Merging by a tree takes
n*lg(P) steps: ``merge = "tree"`` [D].

A sort of O(n lg n) is search-space compact (`parcast.laws.compactness`): it has no superlinear
speedup.

Merge sort on one processor: the sequential program that sorters are compared with.

    T = alpha * n * lg(n) / W + 2 * gamma * n / B          [R], (1.1) and (1.2) of [1]_

n keys are read from a disk, sorted and written back. Use it to see whether the processor or the
disk holds a sort back, and to measure W and B (`parcast.fitting.capacity_sums`). It assumes that
the keys fit into memory and that reading and computing do not overlap.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose; they agree with what it says of its
   figure.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of
from parcast.descriptions.machine import Machine
from parcast.laws.counting import Counts, SteadyStatePhase, density, in_parallel, sizes


def merge_sort_counts(n: ArrayLike, *, alpha: ArrayLike = 1.0, gamma: ArrayLike = 8.0) -> Counts:
    """Steps and bytes of sorting `n` keys on one processor.

    Parameters
    ----------
    n : array_like, shape (...)
        Keys, at least 1. [1]
    alpha : array_like, broadcastable with `n`
        Steps of a comparison. [1]
    gamma : array_like, broadcastable with `n`
        Bytes of a key on the disk, each way. [B]

    Returns
    -------
    Counts
        Of the shape of `n`, `alpha` and `gamma` broadcast together.

    Raises
    ------
    ParameterError
        If any lies outside its domain, is NaN or is infinite.

    Examples
    --------
    >>> counts = merge_sort_counts([1024, 4096])
    >>> counts.steps, counts.disk_bytes
    (array([10240., 49152.]), array([16384., 65536.]))
    """
    n, _ = sizes(n, 1.0)
    alpha, gamma = density("alpha", alpha), density("gamma", gamma)
    return Counts(steps=alpha * n * np.log2(n), disk_bytes=np.asarray(2.0 * gamma * n))


def _on_one(n: ArrayLike, _: ArrayLike, **densities: ArrayLike) -> Counts:
    """Count the same on any number of processors."""
    return merge_sort_counts(n, **densities)


class MergeSortPhase(SteadyStatePhase):
    """A merge sort on one processor, whatever the processors.

    Examples
    --------
    >>> own = {"compute": "5.2 Mflop/s", "disk": "2.5 MB/s"}
    >>> phase = MergeSortPhase(law="merge_sort", capacities=own)
    >>> phase.times(Machine(), {"p": 1, "n": [10_000, 640_000]}).time.round(2)
    array([0.09, 6.47])
    """

    source_of_law: ClassVar[str] = "merge_sort: Shi c. 1996, equations (1.1) and (1.2)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(_on_one)
    law: Literal["merge_sort"] = Field(description="Timing law of the phase.")
    alpha: Annotated[Amount, Of("count", name="alpha")] = Field(
        default="1", validate_default=True, description="Steps of a comparison."
    )
    gamma: Annotated[Amount, Of("size", name="gamma")] = Field(
        default="8 B", validate_default=True, description="Bytes of a key on the disk, each way."
    )

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        yield from super().warnings(machine)
        yield "This sort is sequential: more processors do not change its time."


Merge = Literal["scan", "tree"]
MERGE = "How parts are merged: scan looks at the heads of all (n*p steps), tree at two (n*lg(p))."


def sort_counts(
    n: ArrayLike,
    p: ArrayLike,
    *,
    alpha: ArrayLike = 1.0,
    beta: ArrayLike = 8.0,
    gamma: ArrayLike = 8.0,
    merge: Merge = "scan",
) -> Counts:
    """Steps, bytes and messages of sorting `n` keys on `p` processors.

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
    >>> sort_counts(4096, [1, 4]).steps
    array([49152., 30720.])
    """
    alone = merge_sort_counts(n, alpha=alpha, gamma=gamma)
    n, p = sizes(n, p)
    alpha, beta = density("alpha", alpha), density("beta", beta)
    shared = alpha * (n / p) * np.log2(n / p)
    return Counts(
        steps=in_parallel(p, n + shared + merge_steps(n, p, merge), alone.steps),
        shared=in_parallel(p, shared, alone.steps),
        network_bytes=in_parallel(p, 2.0 * beta * n),
        messages=in_parallel(p, 2.0 * (p - 1.0)),
        disk_bytes=alone.disk_bytes,
    )


def merge_steps(n: Array, p: Array, merge: Merge) -> Array:
    """Steps of merging `p` parts of `n` keys in all. [1]."""
    return np.asarray(n * (p if merge == "scan" else np.log2(p)))


class SortPhase(SteadyStatePhase):
    """An O(n lg n) sorter.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "1 Mflop/s", "network": "100 MB/s", "disk": "10 MB/s"}
    >>> phase = SortPhase(law="sort", capacities=own)
    >>> one, three = phase.times(Machine(), {"p": [1, 3], "n": 1e18}).time
    >>> float(round(one / three, 3))
    2.44
    """

    source_of_law: ClassVar[str] = "sort: Shi c. 1996, equations (3.1) and (3.2)"
    law_counts: ClassVar[Callable[..., Counts]] = staticmethod(sort_counts)
    law: Literal["sort"] = Field(description="Timing law of the phase.")
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
