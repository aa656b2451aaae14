"""Sorters that split, sort and merge: the programs of the laws "sort" and "square_sort".

The master reads the keys from its disk, deals them out as cards are dealt, sorts its own part as
all others do theirs, takes the parts back, merges two and two of them, and writes the result. On
one rank there is nothing to deal and to merge. Dealing takes a step for each key, merging one for
each key of every merge: n*lg(p) where p is a power of two.

"sort" sorts a part of m keys in m*lg(m) steps by NumPy's stable sort of 64-bit numbers, a merge
sort; the rate of its steps is the same within some percent from 10^5 to 10^7 keys. "square_sort"
counts comparisons: the place of a key is the number of keys that are smaller, so a part takes m^2
comparisons, whatever their order (D. E. Knuth, The Art of Computer Programming, vol. 3, section
5.2). They are done in tiles of fixed size, so that a step takes the same time whatever m.

The file of the keys is written before the run, flushed to the device and dropped from the page
cache where the system allows it, so that reading it reads the device. The sorted keys are on the
device when the run ends.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import log2
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from parcast.errors import RunFailed
from parcast.kernels.kernel import Functions, Kernel
from parcast.kernels.ledger import Ledger, wait_for
from parcast.mpi.folders import failing_for, folder_for
from parcast.units import format_quantity

Keys = NDArray[np.int64]

BLOCK: Final = 1 << 20  # keys that are made, read and written at a time
KEY: Final = 8  # [B]


def keys_of(n: int, seed: int) -> Keys:
    """Give the keys of a run: n whole numbers below 2^63, at random."""
    parts = list(key_blocks(n, seed))
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def key_blocks(n: int, seed: int) -> Iterator[Keys]:
    """Give the keys of a run, a block at a time."""
    source = np.random.default_rng(seed)
    for first in range(0, n, BLOCK):
        yield source.integers(0, 2**63 - 1, min(BLOCK, n - first), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class KeyFiles:
    """A folder of its own with the two files."""

    folder: Path
    n: int  # keys [1]
    kept: ExitStack  # removes the folder

    @property
    def input(self) -> Path:
        """The file of the keys as they come."""
        return self.folder / "keys"

    @property
    def output(self) -> Path:
        """The file of the sorted keys."""
        return self.folder / "sorted"

    @classmethod
    def written(cls, directory: Path | None, n: int, seed: int) -> Self:
        """Write the input into a new folder; where there is no room, nothing of it is left."""
        place = directory or Path(tempfile.gettempdir())
        with failing_for(place, "the keys"), ExitStack() as made:
            _require_room(place, 2 * KEY * n)
            folder = made.enter_context(folder_for("parcast-keys-", place))
            files = cls(folder, n, ExitStack())
            with files.input.open("wb", buffering=0) as stream:
                for block in key_blocks(n, seed):
                    _write_all(stream.fileno(), block)
                _flush(stream.fileno())
            files.kept.push(made.pop_all())
        return files

    def read(self) -> Keys:
        """Read the input from the device."""
        return self._keys(self.input)

    def read_output(self) -> Keys:
        """Read the output."""
        return self._keys(self.output)

    def write(self, keys: Keys) -> None:
        """Write the output through to the device."""
        with (
            failing_for(self.folder.parent, "the keys"),
            self.output.open("wb", buffering=0) as stream,
        ):
            for first in range(0, keys.size, BLOCK):
                _write_all(stream.fileno(), keys[first : first + BLOCK])
            os.fsync(stream.fileno())

    def remove(self) -> None:
        """Remove the folder and what is in it."""
        self.kept.close()

    def _keys(self, path: Path) -> Keys:
        keys = np.empty(self.n, dtype=np.int64)
        with failing_for(self.folder.parent, "the keys"), path.open("rb", buffering=0) as stream:
            for first in range(0, self.n, BLOCK):
                left = keys[first : first + BLOCK].data.cast("B")
                while left:
                    count = stream.readinto(left)
                    if not count:
                        raise RunFailed(
                            f"{path} is shorter than when it was written. Run it again."
                        )
                    left = left[count:]
        return keys


def _write_all(number: int, keys: Keys) -> None:
    """Write keys to an open file, all of them: a nearly full disk may take only a part."""
    left = keys.data.cast("B")
    while left:
        left = left[os.write(number, left) :]


def _flush(number: int) -> None:
    """Bring a file to the device, and forget what of it is in memory."""
    os.fsync(number)
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)


def _require_room(place: Path, needed: int) -> None:
    """Refuse a directory that is too full, before anything is written to it."""
    free = shutil.disk_usage(place).free
    if free < needed:
        raise RunFailed(
            f"{place} has {format_quantity(free, 'size')} free, but the files of the keys need "
            f"{format_quantity(needed, 'size')}. Use fewer keys or another directory."
        )


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


def sort_by_merging(ledger: Ledger, part: Keys) -> Keys:
    """Sort a part in place, in m*lg(m) steps."""
    part.sort(kind="stable")
    ledger.steps += merge_sort_steps(part.size)
    return part


def merge_sort_steps(m: int) -> int:
    """Steps of sorting m keys by merging, rounded. [1]."""
    return round(m * log2(m)) if m else 0


SORT: Final = sorter(
    "sort", "sort the keys of a file by merging, O(n log n)", sort_by_merging, example=4_000_000
)


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


SQUARE_SORT: Final = sorter(
    "square_sort",
    "sort the keys of a file by counting comparisons, O(n^2)",
    sort_by_counting,
    example=40_000,
)
