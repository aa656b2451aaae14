"""Checking a store: every byte that has a checksum, every file that must be there, leftovers."""

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, Final

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store import durable
from parcast.arrays.store.chunk_file import ChunkReader, length_expected, subchunks_of
from parcast.arrays.store.codecs import DamageError
from parcast.arrays.store.durable import files_below
from parcast.arrays.store.grid import Index, index_at
from parcast.arrays.store.interrupted import Leftover
from parcast.arrays.store.layout import METADATA, ArrayLayout, label_of
from parcast.arrays.store.messages import problem
from parcast.arrays.store.nodes import GroupNode, read_nodes
from parcast.arrays.store.npy import open_npy
from parcast.arrays.store.place import (
    StorePlace,
    last_owner,
    leftovers_of,
    pending_metadata,
    writer_at,
)
from parcast.arrays.store.verification import Span, StoreFault, Verification
from parcast.arrays.store.versions import earlier_version, not_there, places_of
from parcast.errors import FileProblems
from parcast.words import counted

MOST_MISSING: Final = 10_000  # chunks that are named one by one; more, and the shape is wrong
NO_MANIFEST: Final = (
    "missing arrays and chunks: parcast did not write this store, and a chunk without a file is "
    "read as fill values"
)
NO_ARRAYS: Final = "arrays: there is none, and parcast did not write this store"


class _Check:
    """What was found of a store so far."""

    def __init__(self, place: StorePlace, path: str) -> None:
        """Begin to check what lies at a place, which messages call by a path."""
        self.place, self.root, self._path = place, place.target, path
        self._writers = {each: writer_at(each) for each in places_of(path)}
        self.writer = next(filter(None, self._writers.values()), "")  # "": nobody writes
        self.faults: list[StoreFault] = []
        self.chunks = self.subchunks = self.size = self.filled = 0
        self.unchecked: list[str] = []
        self.unchecked_chunks, self.is_checked = 0, True
        self.left: list[Leftover] = []

    def array(self, name: str, node: GroupNode) -> None:
        """Check one array."""
        if node.layout is not None:
            unchecked = _ArrayCheck(self, name, node.layout).run(node)
            if unchecked:
                what = f"{counted(unchecked, 'chunk')} of {label_of(name)}: {_why(node.layout)}"
                self.not_checked(unchecked, what)
        elif node.is_damaged:
            self.add("damaged metadata", node.path, node.refusal, name)
        else:
            unchecked = sum(file != METADATA for file in files_below(self.root / name))
            self.chunks += unchecked
            whose = f"{counted(unchecked, 'chunk')} of " if unchecked else ""
            self.not_checked(unchecked, f"{whose}{label_of(name)}: it {node.refusal}")

    def not_checked(self, chunks: int, what: str) -> None:
        """Note that so many of the chunks could not be checked."""
        self.unchecked_chunks += chunks
        self.is_checked = False
        self.unchecked.append(what)

    def named(self, path: Path) -> str:
        """Name a file in or beside the store as its user does."""
        if path.parent == self.root.parent and path != self.root:
            return os.path.join(os.path.dirname(self._path), path.name)
        return os.path.normpath(os.path.join(self._path, path.relative_to(self.root)))

    def add(self, kind: str, path: Path, message: str, array: str | None = None) -> None:
        """Note a fault of a file that is no storage chunk."""
        file = self.named(path)
        self.faults.append(StoreFault(kind=kind, array=array, file=file, message=message))

    def leftovers(self) -> None:
        """Note what interrupted writes have left beside the store."""
        for place, writer in self._writers.items():
            self.left += [] if writer else leftovers_of(place, last_owner(place))
        for each in self.left:
            self.add(each.kind, each.path, each.message)


class _ArrayCheck:
    """Checks the files of one array, and adds what it finds to `found`."""

    def __init__(self, found: _Check, name: str, layout: ArrayLayout) -> None:
        self._found, self._name, self._layout = found, name, layout
        self._folder = found.root / name
        self._beyond = 0  # subchunks of its files that lie outside of it
        self._unchecked = 0

    def run(self, node: GroupNode) -> int:
        """Check all of its files, and give the number of those that could not be checked."""
        layout, found = self._layout, self._found
        files = (x for x in files_below(self._folder) if x != METADATA)
        there = {index for x in files if (index := self._index(x)) is not None}
        missing = prod(layout.grid.cells) - len(there)
        if not layout.is_whole:
            found.filled += missing
        is_listed = layout.is_whole and missing <= MOST_MISSING
        if layout.is_whole and not is_listed:
            message = (
                f"has {len(there):,} of {missing + len(there):,} chunks. Restore its metadata or "
                "its chunks from a copy."
            )
            found.add("missing chunks", node.path, message, self._name)
        for index in layout.grid.indices() if is_listed else sorted(there):
            self._chunk(index)
        if not layout.is_whole and missing:
            found.is_checked = False
        if layout.is_whole and self._beyond and not found.writer:
            found.unchecked.append(
                f"{counted(self._beyond, 'subchunk')} beyond the shape of {label_of(self._name)}, "
                "as an interrupted append leaves them. If none was interrupted, the shape in "
                f"{METADATA} is damaged"
            )
        return self._unchecked

    def _chunk(self, index: Index) -> None:
        """Check the file of one storage chunk."""
        layout, found = self._layout, self._found
        path, whole = self._folder / layout.key(index), layout.grid.box(index)
        try:
            reader = ChunkReader(layout, durable.open_regular(path))
        except FileNotFoundError:
            self._fault("missing chunk", index, "is missing", lost=whole)
            return
        except OSError as failure:
            why = f"cannot be read: {failure.strerror}"
            self._fault("unreadable chunk", index, why, lost=whole)
            return
        found.chunks += 1
        found.size += reader.size
        try:
            reader.index()
            if layout.is_whole and reader.size != length_expected(reader, layout):
                wanted = length_expected(reader, layout)
                message = f"must have {wanted} bytes, got {reader.size}"
                self._fault("wrong length", index, message, lost=None)
            self._subchunks(reader, index)
        except DamageError as failure:
            self._without_index(reader, index, str(failure))
        except OSError as failure:
            why = f"cannot be read: {failure.strerror}"
            self._fault("unreadable chunk", index, why, lost=whole)
        finally:
            reader.close()

    def _without_index(self, reader: ChunkReader, index: Index, failure: str) -> None:
        """Note that the index of a storage chunk is damaged, and what else of it is."""
        layout = self._layout
        span = _span(reader) if layout.is_sharded else None
        kind, wanted = "damaged chunk", _least_size(layout, index)
        if wanted is not None and reader.size < wanted:
            kind, span = "truncated chunk", None
            failure = f"is cut off: it must have at least {wanted} bytes, got {reader.size}"
        lost: Box | None = layout.grid.box(index)
        if reader.assume_index(index):
            lost = _around(self._lost_of(reader, index))
        self._fault(kind, index, failure, lost=lost, span=span)

    def _lost_of(self, reader: ChunkReader, index: Index) -> Iterator[Box]:
        """Give the boxes of the subchunks of a storage chunk that cannot be read."""
        whole = self._layout.grid.box(index)
        for number, box in subchunks_of(self._layout, index, whole):
            try:
                reader.decoded(number)
            except DamageError:
                yield box & whole
            else:
                self._found.subchunks += 1

    def _subchunks(self, reader: ChunkReader, index: Index) -> None:
        """Check the subchunks of one storage chunk."""
        layout = self._layout
        whole = layout.grid.box(index)
        inside = 0
        is_checked = layout.index_has_checksum or not layout.is_sharded
        for number, box in subchunks_of(layout, index, whole):
            cell = index_at(number, layout.inner.cells)
            at: dict[str, Any] = {"cell": cell, "lost": box & whole}
            if not reader.has(number):
                if layout.is_whole:
                    message = "has no entry for it in its index"
                    self._fault("missing subchunk", index, message, **at)
                continue
            inside += 1
            self._found.subchunks += 1
            try:
                has_checksum = reader.check(number)
            except DamageError as failure:
                span = _span(reader, number)
                self._fault("damaged subchunk", index, str(failure), span=span, **at)
                continue
            is_checked = is_checked and has_checksum
        self._unchecked += not is_checked
        self._beyond += reader.count - inside

    def _fault(
        self,
        kind: str,
        index: Index,
        message: str,
        *,
        lost: Box | None,
        cell: Index | None = None,
        span: Span | None = None,
    ) -> None:
        """Note a fault of a storage chunk, or of one of its subchunks."""
        where = f" ({span})" if span is not None else ""
        self._found.faults.append(
            StoreFault(
                kind=kind,
                array=self._name,
                chunk=index,
                subchunk=cell if self._layout.is_sharded else None,
                file=self._found.named(self._folder / self._layout.key(index)),
                message=f"{message}{where}.",
                lost=lost,
                span=span,
            )
        )

    def _index(self, file: str) -> Index | None:
        """Give the storage chunk of a file below the array; note a file that belongs to none."""
        index = self._layout.index_of(file)
        cells = self._layout.grid.cells
        beyond = [i >= n for i, n in zip(index or (), cells, strict=index is not None)]
        if index is not None and not any(beyond):
            return index
        if beyond and not any(beyond[1:]):
            kind = "interrupted append"
            message = "lies beyond the array; no reader reads it. Append again, or delete it."
        else:
            kind = "unexpected file"
            message = "belongs to no chunk of the array. Delete it if it is not needed."
        self._found.add(kind, self._folder / file, message, self._name)
        return None


def _why(layout: ArrayLayout) -> str:
    """Say why chunks of an array could not be checked."""
    if layout.is_sharded and not layout.index_has_checksum:
        return "their index has no checksum"
    if layout.chain.keeps_length:
        return "no checksums; their lengths are right, changed bytes are not noticed"
    return "no checksums; they can be unpacked, changed bytes may not be noticed"


def _span(reader: ChunkReader, number: int | None = None) -> Span | None:
    """Tell which bytes of a file differ: those of a subchunk, or those of its index."""
    try:
        if number is None:
            return Span(reader.index_offset, len(reader.encoded_index()))
        return Span(int(reader.index()[number, 0]), len(reader.encoded(number)))
    except (DamageError, OSError):
        return None


def _around(boxes: Iterator[Box]) -> Box | None:
    """Give the least box around some; None where there are none."""
    around: Box | None = None
    for box in boxes:
        if around is None:
            around = box
        start = tuple(map(min, around.start, box.start))
        stop = tuple(map(max, around.stop, box.stop))
        around = Box(start, tuple(b - a for a, b in zip(start, stop, strict=True)))
    return around


def _least_size(layout: ArrayLayout, index: Index) -> int | None:
    """Length that a file of parcast has at least; None where it is compressed. [B]."""
    encoded = layout.chain.encoded_size(prod(layout.subchunk))
    if encoded is None or not layout.is_whole:
        return None
    count = sum(1 for _ in subchunks_of(layout, index, layout.grid.box(index)))
    return count * encoded + layout.index_size


def verify(path: str | os.PathLike[str]) -> Verification:
    """Check a store, or the length of a .npy file: every fault, and which elements are lost.

    Nothing is changed. One subchunk is held in memory at a time.
    """
    place = StorePlace.of(path)
    check = _Check(place, os.fsdecode(path))
    check.leftovers()
    if not place.is_there() and not check.faults and not check.writer:
        raise problem(path, not_there(path))
    arrays = _checked(check)
    return Verification(
        path=os.fsdecode(path),
        faults=tuple(check.faults),
        arrays=arrays,
        chunks=check.chunks,
        subchunks=check.subchunks,
        size=check.size,
        filled=check.filled,
        unchecked=tuple(check.unchecked),
        unchecked_chunks=check.unchecked_chunks,
        is_checked=check.is_checked,
        writer=check.writer,
        is_there=place.is_there(),
        is_complete=place.is_there() and not pending_metadata(place),
        left=tuple(check.left),
        earlier=earlier_version(path),
    )


def _checked(check: _Check) -> int:
    """Check every array of a store, and give their number."""
    place = check.place
    if not place.is_there():
        return 0
    if place.target.suffix == ".npy" and os.path.isfile(place.target):
        return _checked_npy(check)
    try:
        nodes = read_nodes(place.target, place)
    except FileProblems as failure:
        if not os.path.exists(place.target / METADATA):
            raise
        check.add("damaged metadata", Path(failure.path), failure.problems[0].message, "")
        return 0
    for name, node in nodes.arrays.items():
        check.array(name, node)
    if not nodes.is_ours:
        check.unchecked.append(NO_MANIFEST)
    if not nodes.is_ours and not nodes.arrays:
        check.not_checked(0, NO_ARRAYS)
    for name in nodes.links:
        check.not_checked(0, f"array or group {name}: it is a link, which is not followed")
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
    check.not_checked(0, "bytes of the array: a .npy file has no checksums")
    return 1
