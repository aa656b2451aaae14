"""How an array is cut to be sorted within a limit of memory: chunks, shards, and what is kept.

A rank holds, at most and at the same time: results that wait to be merged, up to a budget; those
on their way; and either a chunk that it sorts or a shard that it merges. Chunks and shards are as
long as that allows, since each chunk is cut into all shards: there are (n/c)(n/s) parts, of c s/n
bytes each for n bytes in chunks of c and shards of s, and parts cost a file each. [D]
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from parcast.errors import ParameterError
from parcast.pipeline.sorting.npy_files import ArrayFile
from parcast.pipeline.sorting.order import Order
from parcast.pipeline.sorting.shards import SPREAD
from parcast.units import format_quantity

PROGRAM: Final = 72e6  # of a rank before it sorts: Python, NumPy and MPI [B]
LEAST: Final = 16e6  # to sort in [B]
KEPT: Final = 0.25  # share of the memory for results that wait [1]
WORK: Final = 0.36  # share for a chunk that is sorted, or a shard that is merged [1]
SMALLEST_CHUNK: Final = 1 << 20  # so that tasks are not drowned by messages [B]
SMALLEST_PART: Final = 8192  # so that parts may be written to files [B]
TURNS: Final = 4  # chunks, and shards, for each rank at least [1]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a sort is cut."""

    chunk: int  # elements [1]
    chunks: int  # [1]
    shards: int  # [1]
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
        """Count the chunks."""
        return self.chunks

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Give the chunks."""
        for begin in range(0, self.length, self.chunk):
            yield begin, min(begin + self.chunk, self.length)


def plan_of(source: ArrayFile, order: Order, *, memory: float, ranks: int) -> Plan:
    """Choose chunks and shards for a limit of the resident memory of a rank [B]."""
    room = memory - PROGRAM
    if room < LEAST:
        raise ParameterError(
            "memory",
            must=f"be at least {format_quantity(PROGRAM + LEAST, 'size')}",
            got=format_quantity(memory, "size"),
            hint="It includes Python, NumPy and MPI.",
        )
    width, size = max(source.dtype.itemsize, 1), float(source.size)
    fair = max(size / (TURNS * ranks), SMALLEST_CHUNK)
    chunk = min(WORK * room / order.sorting, fair)
    shard = min(WORK * room / (order.merging * SPREAD), fair)
    rows = max(int(chunk / width), 1)
    chunks = -(-source.length // rows)
    shards = max(-(-int(size) // max(int(shard), 1)), 1)
    if chunks * shards > 1 and chunk * shard / max(size, 1.0) < SMALLEST_PART:
        needed = PROGRAM + room * (SMALLEST_PART * size / (chunk * shard)) ** 0.5
        raise ParameterError(
            "memory",
            must=f"be at least {format_quantity(needed, 'size')} for "
            f"{format_quantity(size, 'size')}",
            got=format_quantity(memory, "size"),
            hint="It grows with the square root of the array.",
        )
    return Plan(rows, chunks, shards, KEPT * room)
