"""Sort in O(n lg n) steps: split, sort by merging, merge. The program of the law "sort".

A part of m keys is sorted in m*lg(m) steps by NumPy's stable sort of 64-bit numbers, a merge
sort; the rate of its steps is the same within some percent from 10^5 to 10^7 keys.
"""

from math import log2
from typing import Final

from parcast.kernels.key_files import Keys
from parcast.kernels.ledger import Ledger
from parcast.kernels.split_sort_merge import sorter


def sort_by_merging(ledger: Ledger, part: Keys) -> Keys:
    """Sort a part in place, in m*lg(m) steps."""
    part.sort(kind="stable")
    ledger.steps += merge_sort_steps(part.size)
    return part


def merge_sort_steps(m: int) -> int:
    """Steps of sorting m keys by merging, rounded. [1]."""
    return round(m * log2(m)) if m else 0


KERNEL: Final = sorter(
    "sort", "sort keys of a file by merging, O(n lg n)", sort_by_merging, example=4_000_000
)
