"""Sort in O(n^2) steps: split, sort by counting comparisons, merge. The law "square_sort".

The place of a key is the number of keys that are smaller, so a part of m keys takes m^2
comparisons, whatever their order (D. E. Knuth, The Art of Computer Programming, vol. 3, section
5.2: comparison counting). They are done in tiles of fixed size, so that a step takes the same time
whatever m.
"""

from typing import Final

import numpy as np

from parcast.kernels.key_files import Keys
from parcast.kernels.ledger import Ledger
from parcast.kernels.split_sort_merge import sorter

TILE: Final = 131_072  # comparisons at once
COLUMNS: Final = 2040  # of them for one key, at most: 255 for each byte of a word
BYTES: Final = 8  # of a word


def sort_by_counting(ledger: Ledger, part: Keys) -> Keys:
    """Sort a part in m^2 steps."""
    places = smaller_keys(part)
    ledger.steps += part.size**2
    in_order = np.empty_like(part)
    in_order[places] = part
    return np.repeat(
        in_order, np.bincount(places, minlength=part.size)
    )  # equal keys share a place


def smaller_keys(keys: Keys) -> Keys:
    """Number of keys that are smaller than each, shape (m,), found by comparing it with all.

    >>> smaller_keys(np.array([7, 3, 7, 1]))
    array([2, 1, 2, 0])
    """
    places = np.zeros(keys.size, dtype=np.int64)
    wide = -(-keys.size // max(1, -(-keys.size // COLUMNS)))  # keys in a row, all tiles alike
    high = max(1, TILE // max(1, wide))
    tile = np.empty(high * (wide + BYTES), dtype=bool)
    for top in range(0, keys.size, high):
        rows = keys[top : top + high, None]
        count = places[top : top + high]
        for left in range(0, keys.size, wide):
            columns = keys[left : left + wide]
            padded = -(-columns.size // BYTES) * BYTES
            is_smaller = tile[: rows.size * padded].reshape(rows.size, padded)
            np.less(columns, rows, out=is_smaller[:, : columns.size])
            is_smaller[:, columns.size :] = False
            # Eight counts at once, each in a byte of a word, which COLUMNS keeps below 256.
            words = np.add.reduce(is_smaller.view(np.uint64), axis=1)
            count += words.view(np.uint8).reshape(-1, BYTES).sum(axis=1, dtype=np.int64)
    return places


KERNEL: Final = sorter(
    "square_sort",
    "sort keys of a file by counting comparisons, O(n^2)",
    sort_by_counting,
    example=40_000,
)
