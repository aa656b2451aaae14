"""Boxes of an array, and the regular grid of storage chunks and subchunks that it is cut into."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final, TypeAlias

MOST_DIMENSIONS: Final = 32  # of an array of NumPy before 2.0

Index: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """The elements from `start` on, `count` of them in each dimension.

    >>> Box((0, 4), (2, 8)) & Box((1, 0), (5, 6))
    Box(start=(1, 4), count=(1, 2))
    """

    start: Index
    count: Index

    @property
    def stop(self) -> Index:
        """The first index after it in each dimension."""
        return tuple(s + c for s, c in zip(self.start, self.count, strict=True))

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.count)

    def __and__(self, other: "Box") -> "Box":
        """Give what lies in both; without elements where they do not touch."""
        start = tuple(map(max, self.start, other.start))
        stop = tuple(map(min, self.stop, other.stop))
        return Box(start, tuple(max(b - a, 0) for a, b in zip(start, stop, strict=True)))

    def within(self, outer: "Box") -> tuple[slice, ...]:
        """Slices that select it from an array that holds `outer`."""
        return tuple(
            slice(s - o, s - o + c)
            for s, o, c in zip(self.start, outer.start, self.count, strict=True)
        )

    def __str__(self) -> str:
        """Write it as messages do: "[0:2, 4:12]"."""
        return f"[{', '.join(f'{a}:{b}' for a, b in zip(self.start, self.stop, strict=True))}]"


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of equal shape over an array; the last in each dimension may reach beyond it."""

    shape: Index  # of the array
    cell: Index

    @property
    def cells(self) -> Index:
        """Number of cells in each dimension."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.cell, strict=True))

    def indices(self) -> Iterator[Index]:
        """Indices of all cells, in row-major order."""
        return product(*map(range, self.cells))

    def whole(self, index: Index) -> Box:
        """The box of a cell, as if the array did not end in it."""
        return Box(tuple(i * c for i, c in zip(index, self.cell, strict=True)), self.cell)

    def box(self, index: Index) -> Box:
        """The part of a cell that lies in the array."""
        return self.whole(index) & Box((0,) * len(self.shape), self.shape)

    def touching(self, box: Box) -> Iterator[Index]:
        """Indices of the cells that have elements in common with a box, in row-major order."""
        if not box.size:
            return iter(())
        return product(
            *(
                range(start // cell, -(-stop // cell))
                for start, stop, cell in zip(box.start, box.stop, self.cell, strict=True)
            )
        )


def position(index: Index, cells: Index) -> int:
    """Number a cell in row-major order.

    >>> position((1, 2), (3, 4))
    6
    """
    number = 0
    for i, n in zip(index, cells, strict=True):
        number = number * n + i
    return number
