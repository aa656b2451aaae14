"""How much of array I/O is evaluated for one question: some seconds, and 1 GB of memory.

What a request takes to evaluate follows from the sizes of its tables, which are known before these
are made: subchunks, overlaps of these with the blocks of clients, and the writes that are followed
through a cache until they repeat.
"""

from typing import Final

import numpy as np

from parcast.arrays.geometry.chunks import Chunks
from parcast.arrays.geometry.intersections import number_of_intersections
from parcast.arrays.geometry.subchunks import Subchunks
from parcast.arrays.law.costs import ServerCosts
from parcast.arrays.law.file_system import sequences_followed
from parcast.errors import ParameterError, Text

MOST_PARTS: Final = 1_500_000  # some 5 s; of one request 1 GB
EACH_TABLE: Final = 1000  # parts that take as long as all that does not depend on their number
OF_A_WRITE: Final = 0.1  # parts that take as long as a write that is followed through a cache


class Allowance:
    """What may still be evaluated; `hint` says what a question that takes more may do."""

    def __init__(self, hint: Text) -> None:
        self._left, self._hint = float(MOST_PARTS), hint

    def take(
        self,
        chunks: Chunks,
        subchunks: Subchunks,
        tables: int = 1,
        *,
        servers: ServerCosts,
        arrays: int,
    ) -> None:
        """Refuse a request of equal arrays, with so many tables, if all then take too long."""
        parts = tables * parts_of(chunks, subchunks, servers, arrays)
        self._left -= tables * EACH_TABLE + parts
        if self._left < 0:
            raise ParameterError(
                "array I/O",
                must=f"have at most {MOST_PARTS:,} subchunks, overlaps of these with clients "
                "and writes in all that is evaluated",
                got=f"more, {parts:,.0f} of them with {subchunks.servers:,} servers",
                hint=self._hint,
            )


def parts_of(chunks: Chunks, subchunks: Subchunks, servers: ServerCosts, arrays: int) -> float:
    """Size of the tables of a request before they are made [1]."""
    each = np.bincount(subchunks.server, minlength=subchunks.servers)
    table = len(each) * int(each.max())  # servers that have fewer subchunks are filled up
    edges = chunks.edges
    pairs = (
        len(chunks.client) if edges is None else number_of_intersections(subchunks.boxes, edges)
    )
    sizes = np.bincount(subchunks.server, subchunks.stored, len(each)).astype(np.int64)
    writes = table * sequences_followed(sizes, servers.partition, arrays)
    return max(len(subchunks.server), table) + pairs + OF_A_WRITE * writes
