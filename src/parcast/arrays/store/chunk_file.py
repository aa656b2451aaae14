"""The file of one storage chunk: subchunks appended one after another, then their index.

A writer holds the subchunk that it is given and no other; a reader reads the index and the
subchunks that a box needs, neighbours in one access.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any, Final

import numpy as np

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store import durable
from parcast.arrays.store.codecs import CHECKSUM, DamageError, crc32c
from parcast.arrays.store.grid import Index, position
from parcast.arrays.store.layout import ArrayLayout
from parcast.errors import ParameterError
from parcast.files.closing import OpenFile

ABSENT: Final = 2**64 - 1  # offset and length of a subchunk that is not there
NOT_REPORTED: Final = nullcontext()
AT_ONCE: Final = 1 << 24  # most that is read in one access unless a subchunk is larger [B]
LARGEST_ASSUMED: Final = 1 << 24  # index made where it is lost, if the file is smaller [B]


class ChunkReader(OpenFile):
    """An open file of a storage chunk."""

    def __init__(self, layout: ArrayLayout, file: int) -> None:
        """Take over an open file."""
        self._layout, self._file = layout, file
        self.size = os.fstat(file).st_size
        self._index: np.ndarray[Any, Any] | None = None

    def index(self) -> "np.ndarray[Any, Any]":
        """Offset and length of each subchunk, in row-major order."""
        if self._index is None:
            self._index = self._read_index() if self._layout.is_sharded else self._whole()
        return self._index

    def _whole(self) -> "np.ndarray[Any, Any]":
        """Index of a chunk without shards: one subchunk."""
        return np.array([[0, self.size]], np.uint64)

    def _read_index(self) -> "np.ndarray[Any, Any]":
        """Read and check the index."""
        layout = self._layout
        read = memoryview(self.encoded_index())
        body = read
        if layout.index_has_checksum:
            body = read[:-CHECKSUM]
            if crc32c([body]) != read[-CHECKSUM:]:
                raise DamageError("is cut off or damaged: the checksum of its index differs")
        index = np.frombuffer(body, layout.index_type).reshape(-1, 2).astype(np.uint64)
        offset, length = index[(index != ABSENT).any(axis=1)].T
        if (offset > self.size).any() or (length > self.size - offset).any():
            raise DamageError("is cut off: its index names bytes beyond its end")
        return index

    def has_index(self) -> bool:
        """Tell whether the index can be read."""
        try:
            self.index()
        except DamageError:
            return False
        return True

    def assume_index(self, index: Index) -> bool:
        """Take the index of a chunk as parcast writes it, where it is lost; tell if that is known.

        Subchunks lie in a row then, and the checksum of each tells whether it is there.
        """
        layout = self._layout
        size = layout.chain.encoded_size(prod(layout.subchunk))
        if not (layout.is_whole and layout.is_sharded and layout.chain.then) or size is None:
            return False
        if layout.index_size > max(LARGEST_ASSUMED, self.size):
            return False
        assumed = np.full((prod(layout.inner.cells), 2), ABSENT, np.uint64)
        for place, (number, _) in enumerate(subchunks_of(layout, index, layout.grid.box(index))):
            assumed[number] = place * size, size
        self._index = assumed
        return True

    @property
    def index_offset(self) -> int:
        """Where the index begins. [B]."""
        return self.size - self._layout.index_size if self._layout.index_at_end else 0

    def encoded_index(self) -> bytes:
        """The bytes of the index, with its checksum."""
        length = self._layout.index_size
        if self.size < length:
            raise DamageError(
                f"is cut off: its index alone takes {length} bytes, got {self.size} bytes"
            )
        return durable.read_at(self._file, length, self.index_offset)

    @property
    def count(self) -> int:
        """Number of subchunks that are there."""
        return int((self.index() != ABSENT).any(axis=1).sum())

    def has(self, number: int) -> bool:
        """Tell whether a subchunk is there."""
        return bool((self.index()[number] != ABSENT).any())

    def encoded(self, number: int) -> bytes:
        """The bytes of a subchunk as they lie in the file."""
        offset, length = map(int, self.index()[number])
        read = durable.read_at(self._file, length, offset)
        if len(read) < length:
            raise DamageError("is cut off")
        return read

    def decoded(self, number: int) -> "np.ndarray[Any, Any]":
        """The elements of a subchunk."""
        return self._layout.chain.decode(self.encoded(number), self._layout.subchunk)

    def check(self, number: int) -> bool:
        """Check a subchunk; tell whether a checksum covers all of it."""
        return self._layout.chain.check(self.encoded(number), self._layout.subchunk)

    def several(self, numbers: Iterable[int]) -> "Iterator[tuple[int, np.ndarray[Any, Any]]]":
        """Elements of several subchunks that are there; neighbours are read in one access."""
        index = self.index()
        wanted = sorted(numbers, key=lambda number: int(index[number, 0]))
        run: list[int] = []
        for number in wanted:
            if run and not self._continues(run, number):
                yield from self._read_run(run)
                run = []
            run.append(number)
        if run:
            yield from self._read_run(run)

    def _continues(self, run: list[int], number: int) -> bool:
        """Tell whether a subchunk lies directly after others, which are not too many already."""
        index = self.index()
        first, (offset, length) = int(index[run[0], 0]), map(int, index[run[-1]])
        start, more = map(int, index[number])
        return start == offset + length and start + more - first <= AT_ONCE

    def _read_run(self, run: list[int]) -> "Iterator[tuple[int, np.ndarray[Any, Any]]]":
        """Read subchunks that lie next to each other."""
        index = self.index()
        first, (offset, length) = int(index[run[0], 0]), map(int, index[run[-1]])
        layout = self._layout
        read = memoryview(durable.read_at(self._file, offset + length - first, first))
        if len(read) < offset + length - first:
            raise DamageError("is cut off")
        for number in run:
            begin, size = int(index[number, 0]) - first, int(index[number, 1])
            yield number, layout.chain.decode(read[begin : begin + size], layout.subchunk)


class ChunkWriter:
    """A storage chunk that is being written: its boxes in order, then its index."""

    def __init__(
        self,
        layout: ArrayLayout,
        index: Index,
        file: int,
        *,
        old: ChunkReader | None = None,
        base: int = 0,
        write_out: int = 0,
        reporting: AbstractContextManager[None] = NOT_REPORTED,
    ) -> None:
        """Write to an open file; rows before `base` are those of the `old` file of the chunk.

        Whenever `write_out` bytes are there, the system begins to write them to disk. What fails
        in `write` is reported by the context `reporting`, which is entered again and again.
        """
        self._layout, self._index, self._file = layout, index, file
        self._old, self._base = old, base
        self._write_out, self._begun = write_out, 0
        self._reporting = reporting
        self._whole = layout.grid.whole(index)
        self._is_inside = base <= self._whole.start[0] and all(
            stop <= n for stop, n in zip(self._whole.stop, layout.shape, strict=True)
        )
        self._inner = layout.inner
        self._entries = np.empty((prod(self._inner.cells), 2), layout.index_type)
        self._entries[...] = ABSENT
        self._offset = 0
        self._parts: list[Any] = []  # encoded subchunks that are written with the next
        self._kept = 0  # length of these [B]
        self._cells = self._inner.indices()
        self._next: tuple[Index, Box] | None = None
        self._has_ended = False
        self._advance()

    @property
    def boxes(self) -> Iterator[Box]:
        """What is to be written, in order; in indices of the array."""
        for cell in self._inner.indices():
            box = self._new_part(cell)
            if box.size:
                yield box

    @property
    def expected(self) -> Box | None:
        """The box that `write` expects next; None: all are written."""
        return None if self._next is None else self._next[1]

    def _in_array(self, cell: Index) -> Box:
        """The part of a subchunk that lies in the array."""
        inner = self._inner.whole(cell)
        moved = tuple(a + b for a, b in zip(inner.start, self._whole.start, strict=True))
        return Box(moved, inner.count) & Box((0,) * len(moved), self._layout.shape)

    def _new_part(self, cell: Index) -> Box:
        """The part of a subchunk that is not there already."""
        if self._is_inside:
            inner = zip(cell, self._layout.subchunk, self._whole.start, strict=True)
            return Box(tuple(i * n + start for i, n, start in inner), self._layout.subchunk)
        box = self._in_array(cell)
        if not box.size or box.start[0] >= self._base:
            return box
        start = (self._base, *box.start[1:])
        return Box(start, (max(box.stop[0] - self._base, 0), *box.count[1:]))

    def _advance(self) -> None:
        """Go to the next subchunk with new elements, and copy those that have none."""
        for cell in self._cells:
            new = self._new_part(cell)
            if new.size:
                self._next = cell, new
                return
            number = position(cell, self._inner.cells)
            if self._in_array(cell).size and self._old is not None and self._old.has(number):
                self._put(number, [self._old.encoded(number)])
                if self._kept >= AT_ONCE:
                    self._write_kept()
        self._next = None

    def write(self, block: Any, *, more: bool = False) -> None:
        """Write the elements of the box that is expected.

        With `more` they are written together with those of the next call, and stay until then;
        the last ones are written at once. What a call that fails was given is written by the next.
        """
        if self._next is None:
            raise ParameterError("block", must="be one of the boxes", got="one after the last")
        cell, box = self._next
        given = np.asarray(block)
        self._check(given, box)
        number = position(cell, self._inner.cells)
        with self._reporting:
            if box.count != self._layout.subchunk:
                given = self._filled_up(given, cell, box, number)
            self._put(number, self._layout.chain.encode(given))
            self._advance()
            if self._next is None:
                self._end()
            if not more or self._has_ended:
                self._write_kept()

    def _check(self, block: "np.ndarray[Any, Any]", box: Box) -> None:
        """Refuse elements of another shape or type."""
        if block.shape != box.count:
            raise ParameterError(
                "block",
                must=f"have the shape {box.count} of the box {box}",
                got=str(block.shape),
                hint="Write the boxes in their order.",
            )
        dtype = self._layout.dtype
        if dtype not in (block.dtype, block.dtype.newbyteorder()):
            raise ParameterError(
                "block",
                must=f"have elements of {dtype.name}",
                got=str(block.dtype),
                hint=f'Convert it: block.astype("{dtype.name}").',
            )

    def _filled_up(
        self, block: "np.ndarray[Any, Any]", cell: Index, box: Box, number: int
    ) -> "np.ndarray[Any, Any]":
        """Complete a subchunk by what it held before and by fill values."""
        inner = self._inner.whole(cell)
        moved = tuple(a + b for a, b in zip(inner.start, self._whole.start, strict=True))
        whole = np.full(self._layout.subchunk, self._layout.fill, self._layout.dtype)
        kept = Box(moved, (max(box.start[0] - moved[0], 0), *box.count[1:]))
        outer = Box(moved, self._layout.subchunk)
        if kept.size and self._old is not None:
            if self._old.has(number):
                place = kept.within(outer)
                whole[place] = self._old.decoded(number)[place]
            elif self._layout.is_whole:
                raise DamageError(f"has no elements {kept}")
        whole[box.within(outer)] = block
        return whole

    def _put(self, number: int, parts: "list[Any]") -> None:
        """Keep an encoded subchunk, to be written with others."""
        length = sum(map(len, parts))
        self._entries[number] = self._offset + self._kept, length
        self._parts += parts
        self._kept += length

    def _end(self) -> None:
        """Keep the index, which is written with the last subchunk."""
        body = self._entries.reshape(-1).view(np.uint8).data
        checksum = [crc32c([body])] if self._layout.index_has_checksum else []
        self._parts += [body, *checksum]
        self._has_ended = True

    def _write_kept(self) -> None:
        """Write what was kept, in one access."""
        if not self._parts:
            return
        self._offset += durable.write_all(self._file, self._parts, self._offset)
        self._parts, self._kept = [], 0
        if self._write_out and self._offset - self._begun >= self._write_out:
            durable.start_writing(self._file, self._begun, self._offset - self._begun)
            self._begun = self._offset

    def flush(self) -> None:
        """Return when the subchunks that were written are on the device."""
        self._write_kept()
        os.fsync(self._file)

    def finish(self) -> None:
        """See that all is written."""
        if self._next is not None:
            raise ParameterError(
                "chunk",
                must="be written to its end",
                got=f"no elements of {self._next[1]}",
                hint="Write every box of chunk.boxes.",
            )
        if not self._has_ended:  # nothing of it was to be written
            self._end()
        self._write_kept()


def subchunks_of(layout: ArrayLayout, index: Index, box: Box) -> Iterator[tuple[int, Box]]:
    """Number and box of each subchunk of a chunk that a box touches, in indices of the array."""
    whole = layout.grid.whole(index)
    inner = layout.inner
    part = box & whole
    local = Box(tuple(a - b for a, b in zip(part.start, whole.start, strict=True)), part.count)
    for cell in inner.touching(local):
        start = (a * c + b for a, c, b in zip(cell, layout.subchunk, whole.start, strict=True))
        yield position(cell, inner.cells), Box(tuple(start), layout.subchunk)


def length_expected(reader: ChunkReader, layout: ArrayLayout) -> int:
    """Length of a file by its index: what it names, and the index. [B]."""
    index = reader.index()
    there = index[(index != ABSENT).any(axis=1)]
    return int(there[:, 1].sum()) + layout.index_size
