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

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.description import parameter
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, in_parallel, sizes

Merge = Literal["scan", "tree"]
ALPHA = "Steps of a comparison while sorting; splitting and merging take one each."
BETA = "Bytes of a key sent, each way."
GAMMA = "Bytes of a key on the disk, each way."
MERGE = "How parts are merged: scan looks at the heads of all (n*p steps), tree at two (n*lg(p))."


class SortPhase(SteadyStatePhase):
    """An O(n lg n) sorter of n keys.

    Examples
    --------
    >>> from parcast.descriptions.machine import Machine
    >>> own = {"compute": "1 Mflop/s", "network": "100 MB/s", "disk": "10 MB/s"}
    >>> phase = SortPhase(law="sort", capacities=own)
    >>> one, three = phase.times(Machine(), {"p": [1, 3], "n": 1e18}).time
    >>> float(round(one / three, 3))
    2.44
    >>> phase.counts(4096, [1, 4]).steps
    array([49152., 30720.])
    """

    source: ClassVar[str] = "Shi c. 1996, equations (3.1) and (3.2)"
    law: Literal["sort"] = LAW_KEY
    alpha: Count = parameter("1", ALPHA)
    beta: Size = parameter("8 B", BETA)
    gamma: Size = parameter("8 B", GAMMA)
    merge: Merge = parameter("scan", MERGE)

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, alpha: Array, beta: Array, gamma: Array, merge: Merge
    ) -> Counts:
        """Count what sorting n keys takes; messages are those of a master, each way."""
        alone, shared = alpha * n * np.log2(n), alpha * (n / p) * np.log2(n / p)
        return Counts(
            steps=in_parallel(p, n + shared + merge_steps(n, p, merge), alone),
            shared=in_parallel(p, shared, alone),
            network_bytes=in_parallel(p, 2.0 * beta * n),
            messages=in_parallel(p, 2.0 * (p - 1.0)),
            disk_bytes=np.asarray(2.0 * gamma * n),
        )


def merge_steps(n: Array, p: Array, merge: Merge) -> Array:
    """Steps of merging `p` parts of `n` keys in all. [1]."""
    return np.asarray(n * (p if merge == "scan" else np.log2(p)))


class MergeSortPhase(SteadyStatePhase):
    """A merge sort of n keys on one processor, whatever the processors.

    Examples
    --------
    >>> own = {"compute": "5.2 Mflop/s", "disk": "2.5 MB/s"}
    >>> phase = MergeSortPhase(law="merge_sort", capacities=own)
    >>> phase.times(Machine(), {"p": 1, "n": [10_000, 640_000]}).time.round(2)
    array([0.09, 6.47])
    >>> counts = phase.counts([1024, 4096], 1)
    >>> counts.steps, counts.disk_bytes
    (array([10240., 49152.]), array([16384., 65536.]))
    """

    source: ClassVar[str] = "Shi c. 1996, equations (1.1) and (1.2)"
    law: Literal["merge_sort"] = LAW_KEY
    alpha: Count = parameter("1", "Steps of a comparison.")
    gamma: Size = parameter("8 B", "Bytes of a key on the disk, each way.")

    @staticmethod
    def law_counts(
        n: Array,
        p: Array,  # noqa: ARG004 - the same on any number of processors
        *,
        alpha: Array,
        gamma: Array,
    ) -> Counts:
        """Count what one processor does."""
        return Counts(steps=alpha * n * np.log2(n), disk_bytes=np.asarray(2.0 * gamma * n))

    def checked_sizes(self, n: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        """Sizes; processors may be more than keys."""
        return sizes(n, 1.0)[0], np.asarray(p)

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        yield from super().warnings(machine)
        yield "This sort is sequential: more processors do not change its time."
