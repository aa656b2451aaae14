"""Where a sorted array is cut into shards of nearly equal length, whatever it holds.

Elements are ordered by their key and, where keys are equal, by their place in the input. So no two
are equal, and quantiles of a sample cut the array into nearly equal shards even if all keys are
the same. A shard is between two bounds, each a key and a place.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from parcast.applications.sorting.npy_files import ArrayFile
from parcast.applications.sorting.order import Array, Order

SAMPLE: Final = 256  # elements for each shard: lengths then vary by some 6%
SEED: Final = 16
SPREAD: Final = 1.3  # longest shard in times the mean, at most in practice [1]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Keys and places at which an array is cut, in rising order."""

    keys: Array
    places: "np.ndarray[Any, np.dtype[np.int64]]"

    @property
    def shards(self) -> int:
        """Shards between the bounds. [1]."""
        return len(self.keys) + 1


def chosen_bounds(source: ArrayFile, order: Order, shards: int) -> Bounds:
    """Choose bounds by a sample, one element from each of many spans of equal length.

    The sample is the same in every process, as its places follow from the length alone.
    """
    count = min(source.length, shards * SAMPLE) if shards > 1 else 0
    edges = np.linspace(0, source.length, count + 1) if count else np.zeros(1)
    within = np.random.default_rng(SEED).random(count)
    places = np.floor(edges[:-1] + within * np.diff(edges)).astype(np.int64)
    places = np.minimum(places, max(source.length - 1, 0))
    keys = order.keys(order.native(source.read_each(places).copy()))
    by_key = np.argsort(keys, kind="stable")
    cuts = by_key[np.arange(1, shards) * count // shards] if count else by_key
    return Bounds(keys[cuts], places[cuts])


@dataclass(frozen=True, slots=True)
class SortedShards:
    """The task of a chunk: read it, sort it, and cut it at the bounds."""

    source: ArrayFile
    order: Order
    bounds: Bounds

    def __call__(self, span: tuple[int, int]) -> Array | list[Array]:
        """Give the elements of a span that belong to each shard, each part with its own memory."""
        rows = self.order.native(self.source.read(*span))
        earlier = self._earlier(self.order.keys(rows), *span)
        rows = self.order.sort(rows)
        if self.bounds.shards == 1:
            return rows
        cuts = self._cuts(self.order.keys(rows), earlier, span[1])
        return [self.order.part(rows, *edges) for edges in pairwise([0, *cuts, len(rows)])]

    def _earlier(self, keys: Array, start: int, stop: int) -> dict[int, int]:
        """Count, for bounds whose place is in a span, the keys before it that are equal."""
        places = self.bounds.places
        counts = {}
        for i in np.flatnonzero((places > start) & (places < stop)):
            before = np.sort(keys[: places[i] - start])
            key = self.bounds.keys[i : i + 1]
            counts[int(i)] = int(
                np.searchsorted(before, key, side="right")[0]
                - np.searchsorted(before, key, side="left")[0]
            )
        return counts

    def _cuts(self, keys: Array, earlier: dict[int, int], stop: int) -> list[int]:
        """Places of the bounds in the sorted keys of a span that ends at `stop`."""
        left = np.searchsorted(keys, self.bounds.keys, side="left")
        right = np.searchsorted(keys, self.bounds.keys, side="right")
        cuts = np.where(self.bounds.places >= stop, right, left)
        for i, count in earlier.items():
            cuts[i] = left[i] + count
        return [int(cut) for cut in cuts]


def as_they_are(parts: list[Array], _: int) -> list[Array]:
    """Split what `SortedShards` has cut already."""
    return parts
