"""A check that a merge is associative, by merging three results in two ways.

It is made on results of the run, in their order: the first few triples of a rank, then some.
Numbers may differ in their last digits, as sums of floats do.
"""

import cmath
import copy
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from parcast.errors import RunFailed
from parcast.units import shown

TRIPLES: Final = 8  # of a rank that are all checked, then one in as many [1]
ROUNDING: Final = 1e-9  # relative difference of numbers that are the same


class Checked:
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
        if not same(left, right):
            items = ", ".join(str(index) for index, _ in self._last)
            raise RunFailed(
                f"The merge is not associative: of items {items}, merge(merge(a, b), c) is "
                f"{shown(repr(left), limit=80)} and merge(a, merge(b, c)) is "
                f"{shown(repr(right), limit=80)}. Correct it, or return from the task what can be "
                "merged in any grouping, such as a sum and a count in place of a mean."
            )


def same(a: Any, b: Any) -> bool:
    """Tell whether two results are the same but for rounding."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "dtype") and hasattr(b, "dtype"):
        return _same_arrays(a, b)
    if isinstance(a, float | complex) and isinstance(b, float | complex | int):
        is_nan = cmath.isnan(a) and cmath.isnan(b)
        return is_nan or cmath.isclose(a, b, rel_tol=ROUNDING)
    equality: Any = type(a).__eq__
    if type(a) is type(b) and equality is object.__eq__ and hasattr(a, "__dict__"):
        return same(vars(a), vars(b))
    return bool(a == b)


def _same_arrays(a: Any, b: Any) -> bool:
    """Tell whether two arrays are, element by element, the same but for rounding."""
    import numpy as np

    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not np.issubdtype(a.dtype, np.inexact):
        return bool(np.array_equal(a, b))
    scale = float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
    return bool(np.allclose(a, b, rtol=0.0, atol=ROUNDING * scale, equal_nan=True))
