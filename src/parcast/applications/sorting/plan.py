"""How an array is cut to be sorted within a limit of memory: chunks, shards, and what is kept.

A rank holds, at most and at the same time: results that wait to be merged, up to a budget; those
on their way; what is noted of parts; and either a chunk that it sorts or a shard that it merges.
Chunks and shards are as long as that allows, since each chunk is cut into all shards: there are
(n/c)(n/s) parts of n bytes in chunks of c and shards of s. If all were kept until the end, what is
noted of them might need more memory than they do; the parts of a shard are then merged in a tree
of more levels, which writes and reads the array once more for each. [D]
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final

from parcast.applications.sorting.npy_files import ArrayFile
from parcast.applications.sorting.order import Order
from parcast.applications.sorting.shards import SPREAD
from parcast.errors import ParameterError
from parcast.units import format_quantity

PROGRAM: Final = 76e6  # of a rank before it sorts: Python, NumPy and MPI [B]
LEAST: Final = 16e6  # to sort in [B]
KEPT: Final = 0.25  # share of the memory for results that wait [1]
WORK: Final = 0.36  # share for a chunk that is sorted, or a shard that is merged [1]
SMALLEST_CHUNK: Final = 1 << 20  # so that tasks are not drowned by messages [B]
SMALLEST_PART: Final = 8192  # so that parts may be written to files [B]
NOTED: Final = 2500.0  # of each part, on rank 0, which orders its merge: measured [B]
NOTES: Final = 0.12  # share of the memory for that [1]
MOST_LEVELS: Final = 3  # of the tree of merges
FEW_NOTES: Final = 1e6  # that are within what a program needs [B]
STEP: Final = 1.02  # of the memory, in looking for what is enough [1]
TURNS: Final = 4  # chunks, and shards, for each rank at least [1]


@dataclass(frozen=True, slots=True)
class SortPlan:
    """How a sort is cut."""

    chunk: int  # elements [1]
    chunks: int  # [1]
    shards: int  # [1]
    fan_in: int  # parts of a shard that are merged into one [1]
    kept: float  # results of a rank in memory [B]

    def spans(self, length: int) -> "Spans":
        """Chunks of an array, as items."""
        return Spans(self.chunk, self.chunks, length)


@dataclass(frozen=True, slots=True)
class Spans:
    """Chunks as pairs of their first element and the one after the last."""

    chunk: int
    chunks: int
    length: int

    def __len__(self) -> int:
        return self.chunks

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for begin in range(0, self.length, self.chunk):
            yield begin, min(begin + self.chunk, self.length)


def plan_of(source: ArrayFile, order: Order, *, memory: float, ranks: int) -> SortPlan:
    """Choose chunks and shards for a limit of the resident memory of a rank [B]."""
    if memory - PROGRAM < LEAST:
        raise ParameterError(
            "memory",
            must=f"be at least {format_quantity(PROGRAM + LEAST, 'size')}",
            got=format_quantity(memory, "size"),
            hint="It includes Python, NumPy and MPI.",
        )
    plan = _plan(source, order, memory - PROGRAM, ranks)
    if plan is not None:
        return plan
    room = memory - PROGRAM
    while _plan(source, order, room, ranks) is None:
        room *= STEP
    raise ParameterError(
        "memory",
        must=f"be at least {format_quantity(PROGRAM + room, 'size')} for "
        f"{format_quantity(float(source.size), 'size')}",
        got=format_quantity(memory, "size"),
        hint="Allow more, or sort parts of the array.",
    )


def _plan(source: ArrayFile, order: Order, room: float, ranks: int) -> SortPlan | None:
    """Choose chunks and shards for some memory [B], None if it is too little."""
    width, size = max(source.dtype.itemsize, 1), float(source.size)
    fair = max(size / (TURNS * ranks), SMALLEST_CHUNK)
    chunk = min(WORK * room / order.sorting, fair)
    shard = min(WORK * room / (order.merging * SPREAD), fair)
    rows = max(int(chunk / width), 1)
    chunks = -(-source.length // rows)
    shards = max(-(-int(size) // max(int(shard), 1)), 1)
    if chunks * shards > 1 and chunk * shard / size < SMALLEST_PART:
        return None
    for levels in range(1, MOST_LEVELS + 1):
        fan_in = max(ceil(chunks ** (1 / levels)), 2)
        if shards * fan_in * levels * NOTED <= max(NOTES * room, FEW_NOTES):
            return SortPlan(rows, chunks, shards, fan_in, KEPT * room)
    return None
