"""A check that a merge is associative, by merging three results in two ways.

It is made on results of the run, in their order: the first few triples of a rank, then some.
Numbers may differ in their last digits, as sums of floats do.
"""

import cmath
import copy
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from math import isfinite
from typing import Any, Final

from parcast.errors import RunFailed, text_of
from parcast.mpi.payload import has
from parcast.units import shown

TRIPLES: Final = 8  # of a rank that are all checked, then one in as many [1]
ROUNDING: Final = 1e-9  # difference of numbers that are the same, relative to what was merged
EPSILONS: Final = 16  # the same of short types, in units of their rounding [1]


class CheckedMerge:
    """Watches the results of a rank."""

    def __init__(self, merge: Callable[[Any, Any], Any]) -> None:
        self._merge = merge
        self._last: deque[tuple[int, Any]] = deque(maxlen=3)
        self._seen = 0

    def see(self, index: int, value: Any) -> None:
        """Take note of the result of an item; RunFailed says that three show a fault."""
        self._last.append((index, copy.deepcopy(value)))
        if len(self._last) < 3:
            return
        self._seen += 1
        if self._seen <= TRIPLES or self._seen % TRIPLES == 0:
            self._check()

    def _check(self) -> None:
        """Merge three results in two ways; a merge may refuse those that are not neighbours."""
        copies = (copy.deepcopy([value for _, value in self._last]) for _ in range(2))
        try:
            a, b, c = next(copies)
            left = self._merge(self._merge(a, b), c)
            a, b, c = next(copies)
            right = self._merge(a, self._merge(b, c))
        except Exception:
            if self._last[-1][0] - self._last[0][0] == 2:
                raise
            return
        if not same(left, right, [value for _, value in self._last]):
            items = ", ".join(str(index) for index, _ in self._last)
            shown_left, shown_right = (shown(text_of(x), limit=80) for x in (left, right))
            raise RunFailed(
                f"The merge is not associative: of items {items}, merge(merge(a, b), c) is "
                f"{shown_left} and merge(a, merge(b, c)) is {shown_right}. Correct it, or return "
                "from the task what can be merged in any grouping, such as a sum and a count in "
                "place of a mean."
            )


def same(a: Any, b: Any, merged: Sequence[Any] = ()) -> bool:
    """Tell whether two results are the same but for rounding of what was `merged` to them.

    >>> same(5.6e-17, 2.8e-17), same(5.6e-17, 2.8e-17, [0.1, 0.2, -0.3])
    (False, True)
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        of = [x for x in merged if isinstance(x, Mapping)]
        return a.keys() == b.keys() and all(
            same(a[key], b[key], [x[key] for x in of if key in x]) for key in a
        )
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        alike = [x for x in merged if isinstance(x, list | tuple) and len(x) == len(a)]
        each = zip(*alike, strict=True) if alike else repeat(())
        return len(a) == len(b) and all(map(same, a, b, each))
    if has(a, "dtype") and has(b, "dtype"):
        return _same_arrays(a, b, merged)
    if isinstance(a, float | complex) and isinstance(b, float | complex | int):
        is_nan = cmath.isnan(a) and cmath.isnan(b)
        most = max((abs(x) for x in merged if isinstance(x, int | float | complex)), default=0.0)
        most = most if isfinite(most) else 0.0
        return is_nan or cmath.isclose(a, b, rel_tol=ROUNDING, abs_tol=ROUNDING * most)
    equality: Any = type(a).__eq__
    if type(a) is type(b) and equality is object.__eq__ and hasattr(a, "__dict__"):
        return same(vars(a), vars(b), [vars(x) for x in merged if type(x) is type(a)])
    return bool(a == b)


def _same_arrays(a: Any, b: Any, merged: Sequence[Any]) -> bool:
    """Tell whether two arrays are, element by element, the same but for rounding."""
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not np.issubdtype(a.dtype, np.inexact):
        return bool(np.array_equal(a, b))
    of = [np.asarray(x) for x in (a, *(x for x in merged if has(x, "dtype")))]
    each = (np.max(np.abs(x), initial=0.0, where=np.isfinite(x)) for x in of)
    rounding = max(ROUNDING, EPSILONS * float(np.finfo(a.dtype).eps))
    atol = rounding * float(max(each))
    return bool(np.allclose(a, b, rtol=0.0, atol=atol, equal_nan=True))
