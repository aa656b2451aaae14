"""Which costs hold for the files of a request: those of few large ones, or others [D].

    few large files         the system writes them to disk while more is written, in partitions
    files of a partition    they leave the file cache when they are flushed: 1/R contains the copy
    or less                 into the cache, with a rate for one file of a server, one for at most
                            64, and one for more
    more than 64            the file system is flushed as a whole: t_sync is another, t_file too
    writer sync             each subchunk is flushed: 1/R contains the copy, t_file the first
                            flush of a new file
    reads                   files and metadata are opened, not made

Folders are flushed as well, and count where there are more of them than files.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from parcast.arrays.geometry.batches import EqualArrays
from parcast.arrays.geometry.boxes import Ints
from parcast.arrays.geometry.choices import MANY, Operation, Writer
from parcast.arrays.law.declared import DeclaredCost, other

OTHERS: Final[dict[str, DeclaredCost]] = {  # costs of other files than few large ones
    "single_write_rate": other(
        "rate", "R for a single small file of a server; the copy into the cache is in it."
    ),
    "few_write_rate": other("rate", "R for few small files of a server."),
    "many_write_rate": other(
        "rate", "R for many small files: more than 64, or in more than 64 folders."
    ),
    "many_open_file": other("time", "t_file for many files of a server."),
    "many_synchronise": other("time", "t_sync for many files of a server."),
    "sync_write_rate": other("rate", "R with the writer sync; the copy into the cache is in it."),
    "sync_open_file": other("time", "t_file with the writer sync."),
    "read_open_file": other("time", "t_file of a read."),
    "read_metadata": other("time", "t_meta of a read."),
    "read_begin": other("time", "t_begin of a read."),
}


class Files(NamedTuple):
    """The files of a request, as far as their costs depend on it."""

    operation: Operation  # `write` or `read`
    writer: Writer
    number: Ints  # that each server has [1]
    arrays: int  # that have folders [1]
    size: int  # of the largest file, before compression [B]

    def are_small(self, partition: int) -> bool:
        """Whether none is longer than a partition [B]: they are written out when flushed."""
        return self.operation == "write" and self.writer != "sync" and self.size <= partition

    def others(self, partition: int) -> dict[str, str]:
        """Costs of servers that differ from those of few large files: which of `OTHERS`."""
        if self.operation == "read":
            return {name: f"read_{name}" for name in ("open_file", "metadata", "begin")}
        most = int(self.number.max(initial=0))
        is_few = max(most, min(most, self.arrays) + 1) <= MANY
        found = {} if is_few else {x: f"many_{x}" for x in ("open_file", "synchronise")}
        if self.writer == "sync":
            return found | {x: f"sync_{x}" for x in ("open_file", "write_rate")}
        if self.are_small(partition):
            kind = "single" if most == 1 else "few" if is_few else "many"
            found["write_rate"] = f"{kind}_write_rate"
        return found


def files_of(
    groups: Sequence[EqualArrays],
    *,
    operation: Operation,
    writer: Writer,
    arrays: int,
    arrays_a_file: int = 1,
) -> Files:
    """Count the files of a request, of which `arrays_a_file` arrays share each."""
    number = np.zeros(groups[0].overlaps.subchunks.servers, dtype=np.int64)
    largest = 0
    for table, count in groups:
        subchunks = table.subchunks
        of_server = np.bincount(subchunks.server[subchunks.opens], minlength=len(number))
        number += -(-count // arrays_a_file) * of_server
        sizes = np.bincount(np.cumsum(subchunks.opens) - 1, subchunks.stored)
        largest = max(largest, int(sizes.max(initial=0)))
    return Files(operation, writer, number, arrays, largest * arrays_a_file)
