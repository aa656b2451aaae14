"""Sort in O(n lg n) steps: split, sort by merging, merge. The program of the law "sort".

A part of m keys is sorted in m*lg(m) steps by NumPy's stable sort of 64-bit numbers, a merge
sort; the rate of its steps is the same within some percent from 10^5 to 10^7 keys.
"""

from math import log2
from typing import Final

from parcast.kernels.kernel import Kernel
from parcast.kernels.key_files import KeyFiles, Keys
from parcast.kernels.ledger import Ledger
from parcast.kernels.split_sort_merge import (
    finish,
    is_sorted_input,
    key_memory,
    prepare,
    sorted_keys,
    split_sort_merge,
)


def work(ledger: Ledger, state: tuple[KeyFiles | None, int, int]) -> None:
    """Sort the keys on the master's disk, on all ranks."""
    split_sort_merge(ledger, state, sort_by_merging)


def sort_by_merging(ledger: Ledger, part: Keys) -> Keys:
    """Sort a part in place, in m*lg(m) steps."""
    part.sort(kind="stable")
    ledger.steps += merge_sort_steps(part.size)
    return part


def merge_sort_steps(m: int) -> int:
    """Steps of sorting m keys by merging, rounded. [1].

    >>> [merge_sort_steps(m) for m in (0, 1, 8)]
    [0, 0, 24]
    """
    return round(m * log2(m)) if m else 0


KERNEL: Final = Kernel(
    name="sort",
    title="sort keys of a file by merging, O(n lg n)",
    size="keys",
    step="comparisons",
    law="sort",
    densities={"merge": "tree", "beta": "8 B * (p - 1) / p"},
    prepare=prepare,
    work=work,
    is_correct=is_sorted_input,
    serial=sorted_keys,
    memory=key_memory,
    checked_up_to=4_000_000,
    example=4_000_000,
    finish=finish,
    uses_files=True,
)
