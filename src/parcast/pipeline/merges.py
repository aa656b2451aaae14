"""Merges by name: sums, counts, sorted arrays and the largest; and how results are sharded.

A merge takes two results, of earlier and of later items, and returns one. It must be associative;
it need not commute, as the order of the items is kept. It may change and return its first
argument.
"""

import heapq
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from parcast.errors import ParameterError
from parcast.pipeline.engine.tree import Merge
from parcast.units import shown
from parcast.words import did_you_mean


def add(a: Any, b: Any) -> Any:
    """Sum of numbers and arrays; strings, lists and tuples in their order."""
    return a + b


def add_counts(a: Any, b: Any) -> Any:
    """Counts of both, by key: adds the second mapping to the first.

    >>> add_counts({"a": 1, "b": 2}, {"b": 3})
    {'a': 1, 'b': 5}
    """
    for key, count in b.items():
        a[key] = a.get(key, 0) + count
    return a


def merge_sorted(a: Any, b: Any) -> Any:
    """Sorted array, or sorted list, of two sorted ones; equal elements keep their order."""
    return merge_all_sorted([a, b])


def merge_all_sorted(runs: Sequence[Any]) -> Any:
    """Sorted array, or sorted list, of several sorted ones."""
    if not hasattr(runs[0], "dtype"):
        return list(heapq.merge(*runs))
    import numpy as np

    merged = np.concatenate(runs)
    merged.sort(kind="stable")  # which finds the runs, and merges them
    return merged


def merge_largest(a: Sequence[Any], b: Sequence[Any], *, count: int) -> list[Any]:
    """The largest of both, in falling order; of equal ones those of earlier items come first.

    An element is a number, or a tuple that begins with its score.

    >>> merge_largest([(3, "x"), (1, "y")], [(3, "z")], count=2)
    [(3, 'x'), (3, 'z')]
    """
    return heapq.nlargest(count, [*a, *b], key=_score)


def _score(element: Any) -> Any:
    return element[0] if isinstance(element, tuple) else element


NAMED: Final[Mapping[str, Merge]] = {
    "sum": Merge(add),
    "counts": Merge(add_counts),
    "sorted": Merge(merge_sorted, merge_all_sorted),
}


def merge_named(merge: object) -> Merge:
    """Give the merge of a function or of a name: "sum", "counts", "sorted" or "top:10"."""
    if isinstance(merge, Merge):
        return merge
    if callable(merge):
        return Merge(merge)
    if isinstance(merge, str) and merge in NAMED:
        return NAMED[merge]
    head, _, number = str(merge).partition(":")
    if head == "top" and number.isdigit() and int(number) > 0:
        return Merge(partial(merge_largest, count=int(number)))
    hint = did_you_mean(head, [*NAMED, "top:10"]).lstrip()
    raise ParameterError(
        "merge",
        must='be a function of two results, "sum", "counts", "sorted" or "top:10"',
        got=shown(repr(merge)),
        hint=f"{hint} Define for example: lambda a, b: a + b.".lstrip(),
    )


def shard_of(key: Hashable, shards: int) -> int:
    """Shard that a key belongs to, the same in every process and run. [1].

    >>> [shard_of(key, 4) for key in ("a", "b", 17, ("x", 1))]
    [2, 1, 2, 0]
    """
    return zlib.crc32(repr(key).encode("utf-8", "surrogatepass")) % shards


def split_counts(counts: Mapping[Any, Any], shards: int) -> list[dict[Any, Any]]:
    """Counts of each shard, by the keys."""
    parts: list[dict[Any, Any]] = [{} for _ in range(shards)]
    for key, count in counts.items():
        parts[shard_of(key, shards)][key] = count
    return parts


def split_sum(total: Any, shards: int) -> list[Any]:
    """Parts of an array along its first axis, of nearly equal length."""
    import numpy as np

    return np.array_split(total, shards)


SPLITS: Final[Mapping[str, Callable[[Any, int], Sequence[Any]]]] = {
    "counts": split_counts,
    "sum": split_sum,
}
