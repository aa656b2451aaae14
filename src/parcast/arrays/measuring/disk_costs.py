"""Costs of files, through the store that the library writes: one process of several at a time.

Every server writes storage chunks of its own to one draft, as in a request, with the others:
subchunks to the file cache, each flushed or not, and a flush at the end. The encoding of subchunks
is timed by itself, to the null device, and left out.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import numpy as np

from parcast.arrays.library.distribution import Array
from parcast.arrays.measuring.null_file import NOWHERE
from parcast.arrays.store.chunk_file import ChunkWriter
from parcast.arrays.store.draft import Draft
from parcast.arrays.store.durable import MANY
from parcast.arrays.store.layout import METADATA, ArraySpec, layout_of
from parcast.arrays.store.reading import open_store
from parcast.arrays.store.writing import WRITE_OUT, Part, Writer

SUBCHUNK: Final = 1 << 22  # of large files, as the library's default [B]
SMALL: Final = 1 << 14  # file of one small subchunk [B]
LONGER: Final = 1 << 17  # of many files [B]
LARGEST: Final = 1 << 26  # of a file [B]
SMALLEST: Final = 2 * WRITE_OUT  # of a large file: of it more than half is written out meanwhile
TRIAL: Final = 1 << 22  # first file, which tells how large others may be [B]
ENOUGH: Final = 0.5  # for a large file; what takes longer is not repeated as often [s]
LEAST_ROUNDS: Final = 2
_COLD: Final = np.zeros(1 << 24, np.uint8)
FEW: Final = MANY // 2  # files, which are flushed one by one
SEVERAL: Final = 3 * MANY  # which are flushed with the whole file system


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Files that each server writes at a time: arrays of one storage chunk."""

    number: int
    size: int  # of each [B]
    subchunk: int  # [B]
    is_sync: bool = False  # whether each subchunk is flushed
    by_thread: bool = False  # whether another thread writes, as with `double-buffer`
    is_read: bool = True  # whether they are read afterwards
    dimensions: int = 3  # of the arrays: the file of a chunk lies in a folder for each

    @property
    def corner(self) -> tuple[int, ...]:
        """Index of the first chunk."""
        return (0,) * self.dimensions

    def extents(self, size: int) -> tuple[int, ...]:
        """Extents of so many elements along axis 0."""
        return (size, *(1,) * (self.dimensions - 1))

    def values(self, server: int) -> Array:
        """Elements of a subchunk."""
        rng = np.random.default_rng(server)
        return rng.integers(0, 256, self.extents(self.subchunk), np.uint8)

    @property
    def subchunks(self) -> int:
        """Subchunks of a file."""
        return -(-self.size // self.subchunk)


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """What it took, the slowest server of each step [s]."""

    begin: float  # making the draft
    write: float  # copying to the file cache, with opening and closing, and flushes of subchunks
    encode: float  # of it, encoding
    flush: float
    commit: float
    catalogue: float = 0.0  # reading: opening the store
    read: float = 0.0

    @property
    def total(self) -> float:
        """Time of all steps. [s]."""
        return self.begin + self.write + self.flush + self.commit + self.catalogue + self.read


def _itself(value: Any) -> Any:
    return value


def evict() -> None:
    """Fill the caches of the processor, as a program does before it writes."""
    np.add(_COLD, 1, out=_COLD)


def timed(access: Callable[[], object]) -> float:
    """Time of an access. [s]."""
    began = perf_counter()
    access()
    return perf_counter() - began


@dataclass(frozen=True, kw_only=True, slots=True)
class Servers:
    """Which of the servers this process is, and how it meets the others."""

    number: int = 0
    count: int = 1
    together: Callable[[float], float] = float  # meets, and gives the slowest time of all [s]
    share: Callable[[Any], Any] = _itself  # gives all what server 0 gives
    by_thread: Callable[[Callable[[], object]], float] = timed  # has a thread do something [s]


def accessed(folder: Path, files: Files, servers: Servers) -> Access:
    """Write files and read them, with all servers, when the disk has nothing else to do."""
    path, is_first = folder / "measured.zarr", servers.number == 0
    evict()
    if is_first:
        os.sync()
    values = files.values(servers.number)
    servers.together(0.0)
    began = perf_counter()
    draft = Draft.create(path, specs_of(files, servers.count)) if is_first else None
    begin = perf_counter() - began
    part: Part = servers.share(draft.part if draft is not None else None)
    encode = servers.together(encoding(files, values))
    write, flush = written(files, part, values, servers)
    evict()
    began = perf_counter()
    if draft is not None:
        draft.commit()
    commit = perf_counter() - began
    servers.together(0.0)
    catalogue, read = was_read(path, files, servers) if files.is_read else (0.0, 0.0)
    if is_first:
        shutil.rmtree(path)
    return Access(
        begin=servers.together(begin),
        write=write,
        encode=encode,
        flush=flush,
        commit=servers.together(commit),
        catalogue=catalogue,
        read=read,
    )


def written(files: Files, part: Part, values: Array, servers: Servers) -> tuple[float, float]:
    """Write all files of this server and flush them; give the time of both."""

    def write() -> None:
        for number in range(files.number):
            with writer.chunk(name_of(number, servers.number), files.corner) as chunk:
                for _ in range(files.subchunks):
                    chunk.write(values)
                    if files.is_sync:
                        chunk.flush()

    run = servers.by_thread if files.by_thread else timed
    servers.together(0.0)
    with Writer(part) as writer:
        writing = servers.together(run(write))
        return writing, servers.together(run(writer.flush))


def encoding(files: Files, values: Array) -> float:
    """Encode what a server writes, to nowhere. [s]."""
    [spec] = specs_of(replace(files, number=1), 1)
    layout = layout_of(spec.name, spec.document(), is_whole=True)
    file = os.open(NOWHERE, os.O_WRONLY | os.O_CLOEXEC)
    try:
        began = perf_counter()
        for _ in range(files.number):
            chunk = ChunkWriter(layout, files.corner, file)
            for _ in range(files.subchunks):
                chunk.write(values)
        return perf_counter() - began
    finally:
        os.close(file)


def was_read(path: Path, files: Files, servers: Servers) -> tuple[float, float]:
    """Open a store twice, as client 0 and a server do, and read all files of this server.

    They come from the disk, the metadata from the file cache.
    """
    began = perf_counter()
    with open_store(path) as store:
        for name in store:
            store[name].shape  # noqa: B018 - which reads its metadata
    catalogue = servers.together(perf_counter() - began)
    if servers.number == 0:
        forget(path)
    servers.together(0.0)
    began = perf_counter()
    with open_store(path) as store:
        for number in range(files.number):
            array = store[name_of(number, servers.number)]
            for subchunk in range(files.subchunks):
                start = (subchunk * files.subchunk, *files.corner[1:])
                array.read(start, files.extents(files.subchunk))
    return catalogue, servers.together(perf_counter() - began)


def forget(path: Path) -> None:
    """Have the system take the storage chunks of a store out of its cache."""
    if not hasattr(os, "posix_fadvise"):
        return
    for file in path.rglob("*"):
        if file.name != METADATA and file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def specs_of(files: Files, servers: int) -> list[ArraySpec]:
    """Arrays of one storage chunk each, for every server as many."""
    return [
        ArraySpec(
            name=name_of(number, server),
            shape=files.extents(files.subchunks * files.subchunk),
            dtype=np.dtype(np.uint8),
            chunk=files.extents(files.subchunks * files.subchunk),
            subchunk=files.extents(files.subchunk),
        )
        for server in range(servers)
        for number in range(files.number)
    ]


def name_of(number: int, server: int) -> str:
    """Name an array of a server."""
    return f"u{server}_{number}"


def measured_files(
    folder: Path, servers: Servers, *, rounds: int
) -> list[tuple[Files, list[Access]]]:
    """Access files of all kinds, in rounds."""
    trial = accessed(folder, Files(number=1, size=TRIAL, subchunk=SUBCHUNK), servers)
    rate = TRIAL / (trial.write + trial.flush)
    size = int(min(max(rate * ENOUGH, SMALLEST), LARGEST)) // SUBCHUNK * SUBCHUNK
    kinds = [
        Files(number=1, size=SMALL, subchunk=SMALL),
        Files(number=1, size=SUBCHUNK, subchunk=SUBCHUNK),
        Files(number=1, size=size, subchunk=SUBCHUNK),
        Files(number=1, size=8 * SMALL, subchunk=SMALL, is_sync=True, is_read=False),
        Files(number=1, size=4 * SUBCHUNK, subchunk=SUBCHUNK, is_sync=True, is_read=False),
        Files(number=FEW, size=SMALL, subchunk=SMALL, by_thread=True),
        Files(number=SEVERAL, size=SMALL, subchunk=SMALL, by_thread=True),
        Files(number=SEVERAL, size=SMALL, subchunk=SMALL, by_thread=True, dimensions=1),
        *(
            Files(number=number, size=LONGER, subchunk=LONGER, by_thread=True, is_read=False)
            for number in (FEW, SEVERAL)
        ),
    ]
    found: dict[Files, list[Access]] = {files: [] for files in kinds}
    slow: set[Files] = set()
    for turn in range(rounds + 1):
        for files in kinds:
            if files in slow and turn > LEAST_ROUNDS:
                continue
            access = accessed(folder, files, servers)
            if turn:  # the first is discarded
                found[files].append(access)
            elif access.total > ENOUGH:
                slow.add(files)
    return list(found.items())


def medians(accesses: Sequence[Access]) -> Access:
    """Median of each step."""
    return Access(
        **{
            name: float(np.median([getattr(each, name) for each in accesses]))
            for name in Access.__dataclass_fields__
        }
    )
