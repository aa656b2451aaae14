"""Sorters of n keys: with a master, in O(n lg n) and O(n^2); with samples; on one processor.

    sort         T(1) = alpha*n*lg(n)/W + 2*gamma*n/B                                 [R], (3.1)
                 T(P) = [n + alpha*(n/P)*lg(n/P) + n*P]/W + 2*gamma*n/B + 2*beta*n/u  [R], (3.2)
    square_sort  T(1) = alpha*n^2/W + 2*gamma*n/B                                     [R], (3.4)
                 T(P) = [n + alpha*(n/P)^2 + n*P]/W + 2*gamma*n/B + 2*beta*n/u        [R], (3.5)
       in k parts, one after another: [n + k*alpha*(n/k)^2 + n*k]/W + 2*gamma*n/B     [R]
    sample_sort  T(1) = alpha*n*lg(n)/W
                 T(P) = [alpha*m*lg(m) + alpha*s*P*lg(s*P) + (P - 1)*lg(m) + I*m*lg(P)]/W
                        + [beta*(n/P + s + P - 1) + 8*P]*(P - 1)/u
                        + [3*(P - 1) + ceil(lg(P))]*t0 ,   m = n/P                           [D]
                 I = 1 + sqrt(P*ln(P)/6)/s                                                   [D]
    merge_sort   T = alpha*n*lg(n)/W + 2*gamma*n/B                             [R], (1.1) and (1.2)

A master reads n keys from its disk and distributes them; each processor sorts its part; the master
gets the parts back, merges them and writes the result. The merge compares the heads of all P parts
for each key, so it takes n*P steps, and with P = n the whole is an insertion sort. Merging by a
tree takes n*lg(P) steps: ``merge = "tree"`` [D].

`sort` shows whether a parallel sort pays off: usually the disk and the network prevent it. It is
search-space compact (`parcast.laws.compactness`) and has no superlinear speedup. `square_sort`,
for example with an insertion sort in it, may have one, as P parts of n/P keys take fewer steps
than one of n, n^2 > P*(n/P)^2 + n*P + n by (2.1): the sequential program is a poor one. One
processor that sorts k parts one after another is nearly as fast, and the O(n lg n) sorter much
faster. Steps are least with about sqrt(alpha*n) parts [R], the time with (2*alpha*n)^(1/3)
processors [D].

`sample_sort` is for keys that all processors have and keep: no master, no disk. Each processor
sorts its m keys and gives s samples of them, at equal distances, to one, which sorts these and
sends P - 1 splitters to all by a tree. All send the keys between two splitters to where they
belong, after their numbers of 8 B, and merge what they get [2]_. Of the keys 1/P stay. What is
merged takes I*m*lg(P) steps by a tree, and alpha*I*m*lg(I*m) where it is sorted again [D].
The processor with the most has I times the mean. Where samples are quantiles of a share, the
number of its keys below a splitter is uncertain by the distance m/s of two samples, evenly; the
sum over P shares has a standard deviation of sqrt(P/12)*m/s, a range between two such splitters
sqrt(2) times that, and the largest of P ranges is taken to be sqrt(ln(P)) standard deviations
above the mean [D]. That agrees to 0.011 with ranges of made-up keys, s = 256, P = 2 to 256. The
bound of the source is 2 for s >= P [S]. Keys of which many are equal may exceed both: give
`imbalance`.

`merge_sort` is the sequential program that sorters are compared with. It shows whether the
processor or the disk limits a sort, and measures W and B (`parcast.fitting.capacity_sums`). It
assumes that the keys fit into memory and that reading and computing do not overlap.

References
----------
.. [1] Y. Shi, "Steady-state timing models for program scalability analysis," Temple University,
   c. 1996. The equations are reconstructed from its prose; they agree with what it says of its
   figure.
.. [2] H. Shi and J. Schaeffer, "Parallel sorting by regular sampling," J. Parallel Distrib.
   Comput., vol. 14, no. 4, pp. 361-372, 1992, :doi:`10.1016/0743-7315(92)90075-X`. The terms of
   the time are this project's.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike

from parcast.aliases import Array
from parcast.descriptions.amount import Amount
from parcast.descriptions.description import Of, parameter
from parcast.descriptions.machine import Machine
from parcast.descriptions.program import LAW_KEY
from parcast.laws.counting import Count, Counts, Size, SteadyStatePhase, in_parallel, share, sizes

Merge = Literal["scan", "tree"]
Parts = Annotated[Amount, Of("count", least=1.0, most="n", hint="1 is all keys at once.")]
Imbalance = Annotated[Amount, Of("count", least=1.0, hint="1 is equal ranges.")]
COUNT = 8.0  # bytes of the number of keys in a message of `sample_sort` [B]
ALPHA = "Steps of a comparison in sorting; splitting and merging take one step per key."
BETA = "Bytes sent per key, each way."
GAMMA = "Bytes per key on the disk, each way."
MERGE = (
    "How parts are merged: scan compares the heads of all parts (n*p steps), tree those of two "
    "(n*lg(p))."
)


class SortPhase(SteadyStatePhase):
    """An O(n lg n) sorter of n keys.

    >>> own = {"compute": "1 Mflop/s", "network": "100 MB/s", "disk": "10 MB/s"}
    >>> phase = SortPhase(law="sort", capacities=own)
    >>> one, three = phase.times(Machine(), {"p": [1, 3], "n": 1e18}).time
    >>> float(round(one / three, 3))
    2.44
    """

    source = "Shi c. 1996, equations (3.1) and (3.2)"
    law: Literal["sort"] = LAW_KEY
    alpha: Count = parameter("1", ALPHA)
    beta: Size = parameter("8 B", BETA)
    gamma: Size = parameter("8 B", GAMMA)
    merge: Merge = parameter("scan", MERGE)

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, alpha: Array, beta: Array, gamma: Array, merge: Merge
    ) -> Counts:
        """Count what sorting n keys takes."""
        alone, shared = alpha * n * np.log2(n), alpha * (n / p) * np.log2(n / p)
        return _merged(n, p, alone, shared, beta=beta, gamma=gamma, merge=merge)

    def grain(self, n: float, p: float) -> tuple[float, float]:
        """The keys of a processor: each gets one piece."""
        return share(n, p), share(n, p)


class SquareSortPhase(SteadyStatePhase):
    """An O(n^2) sorter of n keys.

    >>> own = {"compute": "5 Mflop/s", "network": "60 kB/s", "disk": "3.5 MB/s"}
    >>> phase = SquareSortPhase(law="square_sort", capacities=own)
    >>> one, five = phase.times(Machine(), {"p": [1, 5], "n": 40_000}).time
    >>> float(round(one / five, 3))
    13.511
    """

    source = "Shi c. 1996, equations (3.4) and (3.5)"
    is_compact = False
    law: Literal["square_sort"] = LAW_KEY
    alpha: Count = parameter("1", ALPHA)
    beta: Size = parameter("8 B", BETA)
    gamma: Size = parameter("8 B", GAMMA)
    merge: Merge = parameter("scan", MERGE)
    partitions: Parts | None = parameter(
        None, "Parts that one processor sorts one after another and merges."
    )

    @staticmethod
    def law_counts(
        n: Array, p: Array, *, alpha: Array, partitions: Array | None, merge: Merge, **sent: Array
    ) -> Counts:
        """Count what sorting n keys takes, one processor possibly in parts."""
        alone = np.asarray(alpha * n**2)
        if partitions is not None:
            k = np.broadcast_to(partitions, np.broadcast_shapes(partitions.shape, n.shape))
            alone = n + k * alpha * (n / k) ** 2 + _merge_steps(n, k, merge)
        return _merged(n, p, alone, alpha * (n / p) ** 2, merge=merge, **sent)

    def grain(self, n: float, p: float) -> tuple[float, float]:
        """The keys of a processor: each gets one piece."""
        return share(n, p), share(n, p)


class SampleSortPhase(SteadyStatePhase):
    """A sort by samples of n keys that all processors have.

    >>> own = {"compute": "100 Mflop/s", "network": "1 GB/s"}
    >>> phase = SampleSortPhase(law="sample_sort", capacities=own)
    >>> one, four = phase.times(Machine(), {"p": [1, 4], "n": 1e7}).time
    >>> float(round(one / four, 3))
    3.624
    """

    source = "parcast, after H. Shi and Schaeffer 1992"
    law: Literal["sample_sort"] = LAW_KEY
    alpha: Count = parameter("1", "Steps of a comparison in sorting; merging takes one per key.")
    beta: Size = parameter("8 B", "Bytes of a key.")
    samples: Count = parameter("256", "Keys of each processor from which splitters are chosen.")
    imbalance: Imbalance | None = parameter(
        None,
        "Keys of the processor with the most, over their mean; by default that of samples at "
        "equal distances.",
    )

    merge: Literal["scan", "tree", "sort"] = parameter(
        "tree",
        "How the parts of a range are merged: scan compares the heads of all parts (m*p steps), "
        "tree those of two (m*lg(p)), sort sorts the range again (alpha*m*lg(m)).",
    )

    @staticmethod
    def law_counts(
        n: Array,
        p: Array,
        *,
        alpha: Array,
        beta: Array,
        samples: Array,
        imbalance: Array | None,
        merge: str,
    ) -> Counts:
        """Count what the processor with the most keys does, and what all send."""
        m = n / p
        s = np.clip(samples, 1.0, m)
        if imbalance is None:
            imbalance = 1.0 + np.sqrt(p * np.log(p) / 6.0) / s
        most, others = np.minimum(imbalance, p) * m, p - 1.0
        again = alpha * most * np.log2(most) if merge == "sort" else _merge_steps(most, p, merge)
        own = alpha * m * np.log2(m) + in_parallel(p, again)
        chosen = alpha * s * p * np.log2(s * p) + others * np.log2(m)
        sent = (beta * (m + s + others) + COUNT * p) * others
        return Counts(
            steps=in_parallel(p, own + chosen, own),
            shared=own,
            network_bytes=in_parallel(p, sent),
            messages=in_parallel(p, 3.0 * others + np.ceil(np.log2(p))),
        )

    def grain(self, n: float, p: float) -> tuple[float, float]:
        """The keys of a processor: each sorts one share."""
        return share(n, p), share(n, p)


class MergeSortPhase(SteadyStatePhase):
    """A merge sort of n keys on one processor, for any p.

    >>> own = {"compute": "5.2 Mflop/s", "disk": "2.5 MB/s"}
    >>> phase = MergeSortPhase(law="merge_sort", capacities=own)
    >>> phase.times(Machine(), {"p": 1, "n": [10_000, 640_000]}).time.round(2)
    array([0.09, 6.47])
    """

    source = "Shi c. 1996, equations (1.1) and (1.2)"
    law: Literal["merge_sort"] = LAW_KEY
    alpha: Count = parameter("1", "Steps of a comparison.")
    gamma: Size = parameter("8 B", GAMMA)

    @staticmethod
    def law_counts(n: Array, p: Array, *, alpha: Array, gamma: Array) -> Counts:  # noqa: ARG004 - the same on any p
        """Count what one processor does."""
        return Counts(steps=alpha * n * np.log2(n), disk_bytes=np.asarray(2.0 * gamma * n))

    def checked_sizes(self, n: ArrayLike, p: ArrayLike) -> tuple[Array, Array]:
        """Sizes; processors may be more than keys."""
        return sizes(n, 1.0)[0], np.asarray(p)

    def warnings(self, machine: Machine) -> Iterator[str]:
        """Give what a reader of the times must know, in sentences."""
        yield from super().warnings(machine)
        yield "This sort is sequential: more processors do not change its time."


def _merged(
    n: Array, p: Array, alone: Array, shared: Array, *, beta: Array, gamma: Array, merge: Merge
) -> Counts:
    """Counts of parts sorted in `shared` steps and merged; messages are a master's, each way."""
    return Counts(
        steps=in_parallel(p, n + shared + _merge_steps(n, p, merge), alone),
        shared=in_parallel(p, shared, alone),
        network_bytes=in_parallel(p, 2.0 * beta * n),
        messages=in_parallel(p, 2.0 * (p - 1.0)),
        disk_bytes=np.asarray(2.0 * gamma * n),
    )


def _merge_steps(n: Array, p: Array, merge: str) -> Array:
    """Steps of merging `p` parts of `n` keys in all. [1]."""
    return np.asarray(n * (p if merge == "scan" else np.log2(p)))
