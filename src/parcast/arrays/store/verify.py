"""Checking a store: every byte that has a checksum, every file that must be there, leftovers."""

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Final

from parcast.arrays.geometry import Box
from parcast.arrays.store.chunk_file import ChunkReader, length_expected, subchunks_of
from parcast.arrays.store.codecs import DamageError
from parcast.arrays.store.grid import Index
from parcast.arrays.store.layout import METADATA, Layout, label_of
from parcast.arrays.store.nodes import Node, read_nodes
from parcast.arrays.store.npy import open_npy
from parcast.arrays.store.place import Place, pending_metadata, writer_at
from parcast.arrays.store.verification import StoreFault, Verification
from parcast.errors import FileProblems, ParameterError

SWEEP: Final = "The next write removes it."


class _Check:
    """What was found of a store so far."""

    def __init__(self, place: Place, path: str) -> None:
        """Begin to check what lies at a place, which messages call by a path."""
        self.place, self.root, self._path = place, place.target, path
        self.faults: list[StoreFault] = []
        self.chunks = self.subchunks = self.size = self.filled = 0
        self.unchecked: list[str] = []

    def array(self, name: str, node: Node) -> None:
        """Check one array."""
        if node.layout is None:
            if node.is_damaged:
                self.add("damaged metadata", node.path, node.refusal, name)
            else:
                self.unchecked.append(f"{label_of(name)} {node.refusal}")
            return
        layout = node.layout
        if not any(codec.name == "crc32c" for codec in layout.chain.then):
            self.unchecked.append(f"bytes of {label_of(name)}: it was written without checksums")
        files = (x for x in _files_in(self.root / name) if x != METADATA)
        there = {index for x in files if (index := self._file(layout, x)) is not None}
        if not layout.is_whole:
            self.filled += prod(layout.grid.cells) - len(there)
        for index in layout.grid.indices() if layout.is_whole else sorted(there):
            self._chunk(layout, index)

    def named(self, path: Path) -> str:
        """Name a file in or beside the store as its user does."""
        if path.parent == self.root.parent and path != self.root:
            return os.path.join(os.path.dirname(self._path), path.name)
        return os.path.normpath(os.path.join(self._path, path.relative_to(self.root)))

    def add(self, kind: str, path: Path, message: str, array: str | None = None) -> None:
        """Note a fault of a file that is no storage chunk."""
        file = self.named(path)
        self.faults.append(StoreFault(kind=kind, array=array, file=file, message=message))

    def _chunk(self, layout: Layout, index: Index) -> None:
        """Check the file of one storage chunk."""
        path = self.root / layout.name / layout.key(index)
        try:
            reader = ChunkReader(layout, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        except FileNotFoundError:
            self._fault("missing chunk", layout, index, "is missing")
            return
        except OSError as failure:
            self._fault("unreadable chunk", layout, index, f"cannot be read: {failure.strerror}")
            return
        self.chunks += 1
        self.size += reader.size
        try:
            reader.index()
            if layout.is_whole and reader.size != length_expected(reader, layout):
                wanted = length_expected(reader, layout)
                message = f"must have {wanted} bytes, got {reader.size}"
                self._fault("wrong length", layout, index, message, is_lost=False)
            self._subchunks(reader, layout, index)
        except DamageError as failure:
            wanted_size = _least_size(layout, index)
            is_short = wanted_size is not None and reader.size < wanted_size
            kind = "truncated chunk" if is_short else "damaged chunk"
            self._fault(kind, layout, index, str(failure))
        except OSError as failure:
            self._fault("unreadable chunk", layout, index, f"cannot be read: {failure.strerror}")
        finally:
            reader.close()

    def _subchunks(self, reader: ChunkReader, layout: Layout, index: Index) -> None:
        """Check the subchunks of one storage chunk."""
        whole = layout.grid.box(index)
        cells = [*layout.inner.indices()]
        for number, box in subchunks_of(layout, index, whole):
            at = cells[number], box & whole
            if not reader.has(number):
                if layout.is_whole:
                    message = "has no entry for it in its index"
                    self._fault("missing subchunk", layout, index, message, at=at)
                continue
            self.subchunks += 1
            try:
                reader.decoded(number)
            except DamageError as failure:
                self._fault("damaged subchunk", layout, index, str(failure), at=at)

    def _fault(
        self,
        kind: str,
        layout: Layout,
        index: Index,
        message: str,
        *,
        at: tuple[Index, Box] | None = None,
        is_lost: bool = True,
    ) -> None:
        """Note a fault of a storage chunk, or of one of its subchunks and its box."""
        cell, lost = at or (None, layout.grid.box(index) if is_lost else None)
        self.faults.append(
            StoreFault(
                kind=kind,
                array=layout.name,
                chunk=index,
                subchunk=cell if layout.is_sharded else None,
                file=self.named(self.root / layout.name / layout.key(index)),
                message=f"{message}.",
                lost=lost,
            )
        )

    def _file(self, layout: Layout, found: str) -> Index | None:
        """Give the storage chunk of a file below an array; note a file that belongs to none."""
        index = _index_of(layout, found)
        cells = layout.grid.cells
        beyond = [i >= n for i, n in zip(index or (), cells, strict=index is not None)]
        if index is not None and not any(beyond):
            return index
        path = self.root / layout.name / found
        if beyond and not any(beyond[1:]):
            message = "lies beyond the array; no reader reads it. Append again, or delete it."
            self.add("interrupted append", path, message, layout.name)
        else:
            message = "belongs to no chunk of the array. Delete it if it is not needed."
            self.add("unexpected file", path, message, layout.name)
        return None

    def leftovers(self) -> None:
        """Note what interrupted writes have left beside the store."""
        place = self.place
        if place.journal.exists():
            arrays = len(pending_metadata(place))
            message = (
                "is that of an append that is complete: parcast reads all of it, other tools may "
                "find arrays of different lengths. The next write, or sweep, completes it."
                if arrays
                else "is that of another store. The next write, or sweep, removes it."
            )
            self.add("interrupted append", place.journal, message)
        if os.path.lexists(place.aside):
            message = (
                f"is the store that was replaced. {SWEEP}"
                if place.is_there()
                else "is the store from before a write that was interrupted. Opening it, or "
                "sweep, puts it back."
            )
            self.add("interrupted commit", place.aside, message)
        for draft in place.drafts():
            message = f"is the draft of a write that was interrupted. {SWEEP}"
            self.add("stale draft", draft, message)


def _least_size(layout: Layout, index: Index) -> int | None:
    """Length that a file of parcast has at least; None where it is compressed. [B]."""
    encoded = layout.chain.encoded_size(prod(layout.subchunk))
    if encoded is None or not layout.is_whole:
        return None
    count = sum(1 for _ in subchunks_of(layout, index, layout.grid.box(index)))
    return count * encoded + layout.index_size


def _files_in(top: Path) -> Iterator[str]:
    """Paths of the files below a folder, relative to it."""
    for folder, _, files in os.walk(top):
        for file in files:
            yield os.path.relpath(os.path.join(folder, file), top)


def _index_of(layout: Layout, key: str) -> Index | None:
    """Give the index of a storage chunk by its path; None where it is no such path."""
    numbers = key.split(layout.separator)
    if layout.prefix and numbers.pop(0) != layout.prefix:
        return None
    if not layout.prefix and not layout.shape:
        numbers = numbers[1:]
    index = tuple(int(x) for x in numbers if x.isdecimal())
    return index if len(layout.shape) == len(numbers) == len(index) else None


def verify(path: str | os.PathLike[str]) -> Verification:
    """Check a store, or the length of a .npy file: every fault, and which elements are lost.

    Nothing is changed. One subchunk is held in memory at a time.
    """
    place = Place.of(path)
    check = _Check(place, os.fspath(path))
    writer = writer_at(place)
    if not writer:
        check.leftovers()
    if not place.is_there() and not check.faults and not writer:
        raise ParameterError("path", must="exist", got=os.fspath(path), hint="Check the path.")
    arrays = _checked(check)
    return Verification(
        path=os.fspath(path),
        faults=tuple(check.faults),
        arrays=arrays,
        chunks=check.chunks,
        subchunks=check.subchunks,
        size=check.size,
        filled=check.filled,
        unchecked=tuple(check.unchecked),
        writer=writer,
    )


def _checked(check: _Check) -> int:
    """Check every array of a store, and give their number."""
    place = check.place
    if not place.is_there():
        return 0
    if place.target.suffix == ".npy" and place.target.is_file():
        return _checked_npy(check)
    try:
        nodes = read_nodes(place.target, place)
    except FileProblems as failure:
        if not (place.target / METADATA).exists():
            raise
        check.add("damaged metadata", Path(failure.path), failure.problems[0].message, "")
        return 0
    for name, node in nodes.arrays.items():
        check.array(name, node)
    for name in nodes.missing:
        check.add("missing array", place.target / name / METADATA, "is missing.", name)
    return len(nodes.arrays)


def _checked_npy(check: _Check) -> int:
    """Check the length of a .npy file."""
    try:
        with open_npy(check.root):
            check.size = check.root.stat().st_size
    except FileProblems as failure:
        message = failure.problems[0].message
        check.add("truncated file", check.root, message, "")
    check.unchecked.append("bytes of the array: a .npy file has no checksums")
    return 1
