"""A sort that samples: the program of the law "sample_sort".

Every rank has its share of the keys, and in the end its range of the sorted ones. It sorts its
share and takes samples from it, at equal distances; the master sorts the samples of all and takes
p - 1 splitters from them, at equal distances again; each rank sends every other one the keys
between two splitters, and merges what it gets, two parts and two [1]_.

Of one rank the samples are quantiles, exact for its keys, so shares differ much less than with
samples at random. Those of each rank lie a p-th of their distance behind those of the rank before
[D]: at the same places they would crowd around a few keys, and with more ranks than samples two
splitters would often be the same.

Keys are 64-bit numbers in memory. A sort of m keys counts m*lg(m) steps, a merge one for each key,
finding a splitter lg(m).

References
----------
.. [1] H. Shi and J. Schaeffer, "Parallel sorting by regular sampling," J. Parallel Distrib.
   Comput., vol. 14, no. 4, pp. 361-372, 1992, :doi:`10.1016/0743-7315(92)90075-X`.
"""

from itertools import pairwise
from math import log2
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parcast.kernels.kernel import Functions, Kernel
from parcast.kernels.ledger import Ledger, shares
from parcast.kernels.sorters import (
    KEY,
    Keys,
    key_blocks,
    merge_sorted_parts,
    sort_by_merging,
    sorted_keys,
)

SAMPLES: Final = 256  # of each rank: the largest range is then 1% above the mean on 16 ranks


def prepare(ledger: Ledger, n: int, seed: int) -> tuple[int, int, Keys]:
    """Make the keys; give n, the seed and the share of this rank."""
    first, last = shares(n, ledger.size)[ledger.rank : ledger.rank + 2]
    kept, begin = [np.empty(0, dtype=np.int64)], 0
    for block in key_blocks(n, seed):
        kept.append(block[max(first - begin, 0) : max(last - begin, 0)])
        begin += block.size
    return n, seed, np.concatenate(kept)


def work(ledger: Ledger, state: tuple[int, int, Keys]) -> Keys:
    """Sort the keys of all ranks; give the range of this one."""
    n, _, part = state
    with ledger.computing:
        sort_by_merging(ledger, part)
    if ledger.size == 1:
        return part
    splitters = _splitters(ledger, part, shares(n, ledger.size))
    with ledger.computing:
        bounds = [0, *np.searchsorted(part, splitters, side="right").tolist(), part.size]
        ledger.steps += round(splitters.size * log2(max(part.size, 1)))
    mine, ends = _exchange(ledger, [part[first:last] for first, last in pairwise(bounds)])
    with ledger.computing:
        ledger.steps += merge_sorted_parts(mine, ends)
    return mine


def samples_of(part: Keys, rank: int, size: int) -> Keys:
    """Samples of a sorted share at equal distances, all of its keys if it has no more.

    >>> samples_of(np.arange(1024), rank=1, size=2)[:3]
    array([ 2,  6, 10])
    """
    count = min(SAMPLES, part.size)
    places = (np.arange(count) * size + rank) * part.size // max(count * size, 1)
    return np.ascontiguousarray(part[places])


def _splitters(ledger: Ledger, part: Keys, bounds: NDArray[np.int64]) -> Keys:
    """Keys that divide those of all ranks evenly, shape (p - 1,), from samples of all."""
    splitters = np.zeros(ledger.size - 1, dtype=np.int64)
    own = samples_of(part, ledger.rank, ledger.size)
    if ledger.is_master:
        ends = np.cumsum([0, *np.minimum(np.diff(bounds), SAMPLES)])
        samples = np.empty(ends[-1], dtype=np.int64)
        samples[: own.size] = own
        ledger.collect([samples[first:last] for first, last in pairwise(ends)])
        if samples.size:
            with ledger.computing:
                sort_by_merging(ledger, samples)
                splitters[:] = samples[shares(samples.size, ledger.size)[1:-1]]
    else:
        ledger.send(own, 0)
    ledger.broadcast(splitters, 0)
    return splitters


def _exchange(ledger: Ledger, parts: list[Keys]) -> tuple[Keys, list[int]]:
    """Send every rank its part, after its size; give those for this one, and their bounds."""
    sizes = np.array([[part.size] for part in parts])
    counts = np.empty_like(sizes)
    ledger.exchange([*sizes], [*counts])
    ends = [0, *np.cumsum(counts).tolist()]
    mine = np.empty(ends[-1], dtype=np.int64)
    ledger.exchange(parts, [mine[first:last] for first, last in pairwise(ends)])
    return mine, ends


def is_correct(ledger: Ledger, state: tuple[int, int, Keys], result: Keys) -> bool:
    """Compare the range of every rank with the keys as NumPy sorts them."""
    n, seed, _ = state
    sizes = ledger.comm.allgather(result.size)
    first = sum(sizes[: ledger.rank])
    expected = sorted_keys(n, seed)
    right = sum(sizes) == n and np.array_equal(result, expected[first:][: result.size])
    return ledger.all_agree(bool(right))


def memory(n: int, p: int) -> int:
    """Bytes that all ranks need: the keys twice, half of them to merge, and samples. [B]."""
    return n * KEY * (2 if p == 1 else 3) + 2 * KEY * SAMPLES * p


KERNEL: Final = Kernel(
    name="sample_sort",
    title="sort keys that all ranks have, by samples and an exchange of all with all",
    size="keys",
    step="comparisons",
    phase={"law": "sample_sort", "samples": SAMPLES},
    functions=Functions(prepare, work, is_correct, sorted_keys, memory),
    checked_up_to=4_000_000,
    example=4_000_000,
)
