"""Split, sort, merge: what the two sorters have in common.

The master reads the keys from its disk, deals them out as cards are dealt, sorts its own part as
all others do theirs, takes the parts back, merges two and two of them, and writes the result. On
one rank there is nothing to deal and to merge. Dealing takes a step for each key, merging one for
each key of every merge: n*lg(p) where p is a power of two.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from parcast.kernels.kernel import Functions, Kernel
from parcast.kernels.key_files import KEY, KeyFiles, Keys, keys_of
from parcast.kernels.ledger import Ledger, wait_for


def sorter(
    name: str, title: str, sort_part: Callable[[Ledger, Keys], Keys], *, example: int
) -> Kernel:
    """Program that sorts by splitting and merging; `sort_part` sorts a part, counting steps."""
    work = partial(split_sort_merge, sort_part=sort_part)
    return Kernel(
        name=name,
        title=title,
        size="keys",
        step="comparisons",
        phase={"law": name, "merge": "tree", "beta": "8 B * (p - 1) / p"},
        functions=Functions(prepare, work, is_sorted_input, sorted_keys, key_memory, finish),
        uses_files=True,
        checked_up_to=4_000_000,
        example=example,
    )


def prepare(ledger: Ledger, n: int, seed: int) -> tuple[KeyFiles | None, int, int]:
    """Write the keys on the master's disk; give its files, n and the seed."""
    files = KeyFiles.written(ledger.directory, n, seed) if ledger.is_master else None
    return files, n, seed


def finish(state: tuple[KeyFiles | None, int, int]) -> None:
    """Remove the files."""
    if state[0] is not None:
        state[0].remove()


def split_sort_merge(
    ledger: Ledger,
    state: tuple[KeyFiles | None, int, int],
    *,
    sort_part: Callable[[Ledger, Keys], Keys],
) -> None:
    """Sort the keys of the master's disk on all ranks; `sort_part` counts its steps."""
    files, n, _ = state
    if files is None:
        part = np.empty(len(range(ledger.rank, n, ledger.size)), dtype=np.int64)
        ledger.receive(part, 0)
        ledger.send(_sorted(ledger, part, sort_part), 0)
        return
    with ledger.accessing:
        keys = files.read()
    part = keys if ledger.size == 1 else _deal(ledger, keys)
    part = _sorted(ledger, part, sort_part)
    merged = part if ledger.size == 1 else _collect(ledger, keys, part)
    with ledger.accessing:
        files.write(merged)
    ledger.disk_bytes += 2 * KEY * n


def _sorted(ledger: Ledger, part: Keys, sort_part: Callable[[Ledger, Keys], Keys]) -> Keys:
    """Sort a part, in processor seconds."""
    with ledger.computing:
        return sort_part(ledger, part)


def _deal(ledger: Ledger, keys: Keys) -> Keys:
    """Send every other rank its part; give that of this one."""
    with ledger.computing:
        parts = [np.ascontiguousarray(keys[rank :: ledger.size]) for rank in range(ledger.size)]
        ledger.steps += keys.size
    ledger.deal(parts)
    return parts[0]


def _collect(ledger: Ledger, merged: Keys, part: Keys) -> Keys:
    """Receive all parts one behind the other, over the keys as they were, and merge them."""
    bounds = [0]
    for rank in range(ledger.size):
        bounds.append(bounds[-1] + len(range(rank, merged.size, ledger.size)))
    requests = [
        ledger.begin_receive(merged[bounds[rank] : bounds[rank + 1]], rank)
        for rank in range(1, ledger.size)
    ]
    merged[: part.size] = part
    wait_for(requests)
    with ledger.computing:
        ledger.steps += merge_sorted_parts(merged, bounds)
    return merged


def merge_sorted_parts(keys: Keys, bounds: list[int]) -> int:
    """Merge parts, sorted between neighbouring bounds, in place; give the keys of all merges. [1].

    NumPy's stable sort is a merge sort that finds what is sorted already, so on two sorted parts
    it is one merge.

    >>> keys = np.array([2, 5, 1, 9, 0])
    >>> merge_sorted_parts(keys, [0, 2, 4, 5]), keys
    (9, array([0, 1, 2, 5, 9]))
    """
    steps = 0
    while len(bounds) > 2:
        for first, last in zip(bounds[0:-2:2], bounds[2::2], strict=True):
            keys[first:last].sort(kind="stable")
            steps += last - first
        bounds = [*bounds[0:-1:2], bounds[-1]]
    return steps


def is_sorted_input(
    ledger: Ledger,
    state: tuple[KeyFiles | None, int, int],
    result: None,  # noqa: ARG001 - what `work` of any program gives
) -> bool:
    """Compare the output with the keys as NumPy sorts them, on the master."""
    files, n, seed = state
    right = files is None or bool(np.array_equal(files.read_output(), sorted_keys(n, seed)))
    return ledger.all_agree(right)


def sorted_keys(n: int, seed: int) -> Keys:
    """Give the keys of a run as one processor sorts them."""
    return np.sort(keys_of(n, seed))


def key_memory(n: int, p: int) -> int:
    """Bytes that all ranks need: the keys twice, and half of them to merge. [B]."""
    return n * KEY * (2 if p == 1 else 4)
