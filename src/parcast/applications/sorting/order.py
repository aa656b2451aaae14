"""The order of a sort: what is compared, and how arrays are sorted and merged by it.

The sort is stable, and NaN comes last, as in `numpy.sort(array, kind="stable")`. Elements that
compare equal may still differ in their bytes: zeros of both signs, NaNs, and records that are
sorted by some of their fields. Numbers are sorted by the fastest algorithm of NumPy, which is not
stable and ten times as fast; zeros and NaNs are then put into the order in which they came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from parcast.errors import ParameterError
from parcast.words import did_you_mean

Array = np.ndarray[Any, Any]
SAME: Final = "biumM"  # kinds of which equal elements have equal bytes
FLOATS: Final = (2, 4, 8)  # sizes whose zeros and NaNs are put right [B]
INDEX: Final = 8.0  # of an element, where an order is kept [B]


@dataclass(frozen=True, slots=True)
class Order:
    """How elements are compared: as a whole, or by fields of theirs."""

    dtype: "np.dtype[Any]"
    by: tuple[str, ...] = ()  # fields; without, all of them

    def __post_init__(self) -> None:
        """Refuse fields that there are not."""
        names = self.dtype.names or ()
        for name in self.by:
            if name not in names:
                known = f"be a field of the records: {', '.join(names)}"
                hint = did_you_mean(name, names).lstrip() or "Name one of them."
                if not names:
                    known = "be left out where the elements are no records"
                    hint = "They are compared as a whole."
                raise ParameterError("by", must=known, got=repr(name), hint=hint)

    @property
    def is_indirect(self) -> bool:
        """Whether elements are sorted by their keys, and moved afterwards."""
        return self.dtype.names is not None

    @property
    def key_width(self) -> int:
        """Length of a key. [B]."""
        width: int = self.keys(np.empty(0, self.dtype)).dtype.itemsize
        return width

    @property
    def sorting(self) -> float:
        """Memory for sorting and cutting a chunk, in times its length. [1]."""
        if self.is_indirect:
            return 2.0 + (INDEX * 1.5 + 2 * self.key_width) / self.dtype.itemsize
        return 2.25 if self._is_fast else 2.75

    @property
    def merging(self) -> float:
        """Memory for merging runs, in times the length of what they are merged into. [1]."""
        if self.is_indirect:
            return 3.0 + (INDEX * 1.5 + 2 * self.key_width) / self.dtype.itemsize
        return 2.25 if self._is_fast else 2.75

    def keys(self, rows: Array) -> Array:
        """What is compared, in the byte order of this machine where it is one field."""
        if not self.by:
            return rows if rows.dtype.names else self.native(rows)
        if len(self.by) > 1:
            return rows[list(self.by)]
        keys = rows[self.by[0]]
        return keys.astype(keys.dtype.newbyteorder("="), copy=False)

    def native(self, rows: Array) -> Array:
        """Elements in the byte order of this machine; records stay as they are."""
        if rows.dtype.names is not None or rows.dtype.isnative:
            return rows
        return rows.byteswap(inplace=rows.flags.writeable).view(rows.dtype.newbyteorder())

    def sort(self, rows: Array) -> Array:
        """Sort elements, stably; their memory may be used for the result."""
        if self.is_indirect:
            order = np.argsort(self.keys(rows), kind="stable")
            return _raw(rows)[order].view(rows.dtype)
        if not self._is_fast:
            rows.sort(kind="stable")
        elif rows.dtype.kind in SAME:
            rows.sort()
        else:
            _sort_floats(rows)
        return rows

    def merge(self, runs: Sequence[Array]) -> Array:
        """Merge sorted runs into one; of equal elements those of earlier runs come first."""
        merged = np.concatenate([_raw(run) for run in runs])
        return self.sort(merged.view(runs[0].dtype))

    def merge_two(self, a: Array, b: Array) -> Array:
        """Merge two sorted runs."""
        return self.merge([a, b])

    @staticmethod
    def part(rows: Array, first: int, stop: int) -> Array:
        """Some of the elements, with memory of their own."""
        return _raw(rows)[first:stop].copy().view(rows.dtype)

    @property
    def _is_fast(self) -> bool:
        kind = self.dtype.kind
        return kind in SAME or (kind == "f" and self.dtype.itemsize in FLOATS)


def _raw(rows: Array) -> Array:
    """Records as mere bytes, which are copied with what lies between their fields."""
    return rows.view(f"V{rows.dtype.itemsize}") if rows.dtype.names is not None else rows


def _sort_floats(rows: Array) -> None:
    """Sort numbers in place, with zeros and NaNs as they came."""
    zeros, nans = rows[rows == 0], rows[np.isnan(rows)]
    rows.sort()
    if len(nans):
        rows[len(rows) - len(nans) :] = nans
    if len(zeros):
        first = int(np.searchsorted(rows, 0.0, side="left"))
        rows[first : first + len(zeros)] = zeros
