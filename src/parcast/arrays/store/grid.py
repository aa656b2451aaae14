"""The regular grid of storage chunks and subchunks that an array is cut into."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Final, TypeAlias

from parcast.arrays.geometry.boxes import Box, Point

FEW: Final = 1 << 16  # numbers that may be in memory at a time
MOST_DIMENSIONS: Final = 32  # of an array of NumPy before 2.0

Index: TypeAlias = Point


@dataclass(frozen=True, slots=True)
class CellGrid:
    """Cells of equal shape over an array; the last in each dimension may reach beyond it."""

    shape: Index  # of the array
    cell: Index
    cells: Index = field(init=False)  # number of them in each dimension

    def __post_init__(self) -> None:
        """Count the cells."""
        cells = tuple(-(-n // c) for n, c in zip(self.shape, self.cell, strict=True))
        object.__setattr__(self, "cells", cells)

    def indices(self, first: int = 0) -> Iterator[Index]:
        """Indices of all cells, in row-major order, from one of the first dimension on."""
        ranges = [range(n) for n in self.cells]
        return _product([range(first, x.stop) for x in ranges[:1]] + ranges[1:])

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
        return _product(
            [
                range(start // cell, -(-stop // cell))
                for start, stop, cell in zip(box.start, box.stop, self.cell, strict=True)
            ]
        )


def _product(ranges: list[range]) -> Iterator[Index]:
    """Give all tuples of numbers, the last ones first; `itertools.product` holds whole ranges."""
    if all(each.stop - each.start <= FEW for each in ranges):
        return product(*ranges)
    return ((i, *rest) for i in ranges[0] for rest in _product(ranges[1:]))


def index_at(number: int, cells: Index) -> Index:
    """Give the index of the cell with a number in row-major order.

    >>> index_at(6, (3, 4))
    (1, 2)
    """
    index = []
    for n in reversed(cells):
        number, i = divmod(number, n)
        index.append(i)
    return tuple(reversed(index))


def position(index: Index, cells: Index) -> int:
    """Number a cell in row-major order.

    >>> position((1, 2), (3, 4))
    6
    """
    number = 0
    for i, n in zip(index, cells, strict=True):
        number = number * n + i
    return number
