"""One file a rank: every rank writes what it has into a file of its own, and sends nothing.

    T = p*t_create + max over disks of (sum of n_i/R of its files)
        + max over ranks of n_i/R_mem + t_sync                                             [R]

Files are made one after the other, by one server of metadata. A disk is shared by the files of
its host where hosts have disks, else files are dealt out over the disks in turn [D]. The costs of
small files, where they are known, hold as for servers. A restart on another number of ranks has to
put the pieces together; the law does not count that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from parcast.arrays.law.costs import Costs
from parcast.arrays.law.files import Files
from parcast.arrays.law.libraries.library import LibraryRequest, LibrarySetting, LibraryTime


@dataclass(frozen=True, slots=True)
class FilePerRank:
    """A file of each rank."""

    name = "file-per-rank"
    title = "one file a rank"
    error = 1.33  # as of ROMIO [D]
    needs = ("create", "cache_rate")

    def settings(
        self,
        request: LibraryRequest,
        counts: Sequence[int],  # noqa: ARG002 - of all libraries
        buffers: Sequence[int],
    ) -> Iterator[LibrarySetting]:
        """Give the only one: all ranks write."""
        yield LibrarySetting(request.ranks, max(buffers))

    def time(
        self,
        request: LibraryRequest,
        costs: Costs,
        setting: LibrarySetting,  # noqa: ARG002 - of all libraries
    ) -> LibraryTime:
        """Time of a request."""
        ranks, own = request.ranks, costs.libraries
        size = request.number * request.size
        disk = request.host_of(np.arange(ranks)) % request.disks
        number = np.bincount(disk, minlength=1)
        files = Files(request.operation, request.writer, number, 1, int(size.max()))
        known = costs.for_files(files)
        rate = request.disk_rates(known, len(number))
        writing = float((np.bincount(disk, size, len(number)) / rate).max())
        is_write = request.operation == "write"
        copying = float(size.max()) / own.cache_rate if is_write else 0.0
        flushing = float(np.max(known.servers.synchronise)) if is_write else 0.0
        return LibraryTime(
            file_system=ranks * own.create + writing + copying + flushing,
            communication=0.0,
            computation=0.0,
            messages=0,
        )

    def ready(self, request: LibraryRequest, setting: LibrarySetting) -> str:  # noqa: ARG002 - of all libraries
        """Say how many there are."""
        return f"{request.ranks} files"
