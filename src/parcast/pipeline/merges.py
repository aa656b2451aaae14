"""Merges by name: sums, counts, sorted arrays and the largest; and how results are sharded.

A merge takes two results, of earlier and of later items, and returns one. It must be associative;
it need not commute, as the order of the items is kept. It may change and return its first
argument.
"""

import heapq
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import chain
from numbers import Number
from types import NoneType
from typing import Any, Final, NamedTuple

from parcast.errors import Argument, ParameterError, text_of
from parcast.mpi.payload import has
from parcast.pipeline.engine.failures import Unfit
from parcast.pipeline.engine.tree import Merge
from parcast.units import shown
from parcast.words import did_you_mean

UNFIT: Final = (AttributeError, TypeError, ValueError)  # of results that a merge does not take


def add(a: Any, b: Any) -> Any:
    """Sum of numbers and arrays; strings, lists and tuples in their order."""
    try:
        return a + b
    except TypeError as error:
        given = " and ".join(dict.fromkeys(type(x).__name__ for x in (a, b)))
        raise Unfit(
            (
                f'The merge "sum", the default, cannot add results of type {given}: {error}. '
                "Return numbers, arrays, strings or lists from the task, or choose another "
                "merge; for mappings of numbers ",
                Argument("merge", "counts"),
                ".",
            )
        ) from error


def add_counts(a: Any, b: Any) -> Any:
    """Counts of both, by key, of the type of the first; tasks may have returned what they hold.

    >>> add_counts({"a": 1, "b": 2}, {"b": 3})
    {'a': 1, 'b': 5}
    """
    total = copy(a)
    try:
        for key, count in b.items():
            total[key] = total.get(key, 0) + count
    except UNFIT as error:
        raise _unfit("counts", "mappings of numbers", [a, b], error) from error
    return total


def merge_sorted(a: Any, b: Any) -> Any:
    """Sorted array, or sorted list, of two; equal elements keep their order."""
    return merge_all_sorted([a, b])


def merge_all_sorted(runs: Sequence[Any]) -> Any:
    """Sorted array, or sorted list, of several; sorting finds the runs, and merges them."""
    try:
        if not has(runs[0], "dtype"):
            return sorted(chain.from_iterable(runs))
        import numpy as np

        merged = np.concatenate(runs)
        merged.sort(kind="stable")
    except UNFIT as error:
        raise _unfit("sorted", "arrays or lists of comparable elements", runs, error) from error
    return merged


def in_order(result: Any) -> Any:
    """Sort a result that no merge has sorted, such as that of a single item."""
    if isinstance(result, list | tuple):
        return merge_all_sorted([result])
    if not has(result, "ndim") or not result.ndim or _is_sorted(result):
        return result
    return merge_all_sorted([result])


def _is_sorted(array: Any) -> bool:
    """Tell whether an array is sorted, which takes less memory than sorting it again."""
    try:
        return bool((array[:-1] <= array[1:]).all())
    except TypeError:  # records have no <=
        return False


def merge_largest(a: Sequence[Any], b: Sequence[Any], *, count: int) -> list[Any]:
    """The largest of both, in falling order; of equal ones those of earlier items come first.

    An element is a number, or a tuple that begins with its score.

    >>> merge_largest([(3, "x"), (1, "y")], [(3, "z")], count=2)
    [(3, 'x'), (3, 'z')]
    """
    try:
        return heapq.nlargest(count, [*a, *b], key=_score)
    except UNFIT as error:
        kinds = "lists of numbers, or of tuples that begin with a score"
        raise _unfit(f"top:{count}", kinds, [a, b], error) from error


def _score(element: Any) -> Any:
    return element[0] if isinstance(element, tuple) else element


def _unfit(name: str, kinds: str, results: Sequence[Any], error: Exception) -> Unfit:
    given = " and ".join(dict.fromkeys(type(x).__name__ for x in results))
    return Unfit(
        f'The merge "{name}" takes {kinds}, got {given}: {error}. Return such results from the '
        "task, or choose another merge."
    )


def shard_of(key: Hashable, shards: int) -> int:
    """Shard that a key belongs to, the same in every process and run. [1].

    >>> [shard_of(key, 4) for key in ("a", "b", 17, ("x", 1))]
    [2, 1, 2, 0]
    """
    return zlib.crc32(_text_of(key).encode("utf-8", "surrogatepass")) % shards


def _text_of(key: Any) -> str:
    """Write a key so that equal ones have the same text in every process."""
    if isinstance(key, str):
        return repr(str(key))
    if isinstance(key, Number):
        return str(hash(key)) if key == key else "nan"  # noqa: PLR0124 - NaN has many hashes
    if isinstance(key, tuple):
        return f"({', '.join(map(_text_of, key))}{',' * (len(key) == 1)})"
    if isinstance(key, frozenset):
        return f"{{{', '.join(sorted(map(_text_of, key)))}}}"
    with_address: Any = object.__repr__
    if type(key).__repr__ is with_address:
        raise TypeError(f"keys of type {type(key).__name__} have no text that is always the same")
    return repr(key)


def split_counts(counts: Mapping[Any, Any], shards: int) -> list[dict[Any, Any]]:
    """Counts of each shard, by the keys."""
    parts: list[dict[Any, Any]] = [{} for _ in range(shards)]
    try:
        for key, count in counts.items():
            parts[shard_of(key, shards)][key] = count
    except UNFIT as error:
        raise _unfit("counts", "mappings of numbers", [counts], error) from error
    return parts


def split_sum(total: Any, shards: int) -> list[Any]:
    """Parts of an array along its first axis, of nearly equal length."""
    if not has(total, "ndim") or not total.ndim:  # parts of lists would be joined in another order
        raise Unfit(
            (
                f"Sums of type {type(total).__name__} have no parts for ",
                Argument("shards", shards),
                ". Return arrays from the task, define split(result, shards), or leave it out.",
            )
        )
    import numpy as np

    return np.array_split(total, shards)


class KnownMerge(NamedTuple):
    """A merge, and what goes with it."""

    merge: Merge
    zero: Callable[[], Any] = NoneType  # makes the result of no item
    split: Callable[[Any, int], Sequence[Any]] | None = None  # a result into shards
    finish: Callable[[Any], Any] | None = None  # of a completed reduction


NAMED: Final[Mapping[str, KnownMerge]] = {
    "sum": KnownMerge(Merge(add), int, split_sum),
    "counts": KnownMerge(Merge(add_counts), dict, split_counts),
    "sorted": KnownMerge(Merge(merge_sorted, merge_all_sorted), list, finish=in_order),
}


def known_merge(merge: object) -> KnownMerge:
    """Give the merge of a function or of a name: "sum", "counts", "sorted" or "top:10"."""
    if isinstance(merge, Merge):
        return KnownMerge(merge)
    if callable(merge):
        return KnownMerge(Merge(merge))
    if isinstance(merge, str) and merge in NAMED:
        return NAMED[merge]
    head, _, number = str(merge).partition(":")
    if head == "top" and number.isdigit() and int(number) > 0:
        two = partial(merge_largest, count=int(number))
        return KnownMerge(Merge(two), list, finish=partial(two, []))
    hint = did_you_mean(head, [*NAMED, "top:10"]).lstrip()
    raise ParameterError(
        "merge",
        must='be a function of two results, "sum", "counts", "sorted" or "top:10"',
        got=shown(text_of(merge)),
        hint=f"{hint} Define for example: lambda a, b: a + b.".lstrip(),
    )
