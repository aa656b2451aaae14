"""What any process needs to write storage chunks of a draft: it writes and flushes them."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store import durable
from parcast.arrays.store.chunk_file import ChunkReader, ChunkWriter
from parcast.arrays.store.codecs import DamageError
from parcast.arrays.store.grid import Index
from parcast.arrays.store.layout import ArrayLayout, label_of
from parcast.arrays.store.messages import problem
from parcast.arrays.store.place import Failing
from parcast.errors import ParameterError, ParcastError, RunFailed
from parcast.files.closing import Closing

WRITE_OUT: Final = 8 << 20  # large enough for a long sequential access, small beside a chunk


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """What a process needs to write storage chunks of a draft."""

    folder: Path  # of the draft
    target: Path
    layouts: Mapping[str, ArrayLayout]  # of the arrays as they will be
    bases: Mapping[str, int] = field(default_factory=dict)  # rows that are there already

    def chunks(self, name: str) -> Iterator[Index]:
        """Indices of the storage chunks of an array that are to be written, row-major."""
        layout = self.layout(name)
        first = self.bases.get(name, 0) // layout.chunk[0]
        return layout.grid.indices(first)

    def layout(self, name: str) -> ArrayLayout:
        """Give the layout of an array of the draft."""
        if name not in self.layouts:
            raise ParameterError(
                "name",
                must=f"be one of {', '.join(self.layouts)}",
                got=f"{name!r:.80}",
                hint="Only arrays of the draft can be written.",
            )
        return self.layouts[name]


class Writer(Closing):
    """Writes storage chunks of a draft, one at a time, and flushes them."""

    def __init__(self, part: Part, *, write_out: int = WRITE_OUT) -> None:
        """Begin to write to the folder of a draft.

        Whenever `write_out` bytes [B] of a chunk are there, the system begins to write them to
        disk; 0: when it likes.
        """
        self._part, self._write_out = part, write_out
        self._folder = os.fspath(part.folder)
        self._unfinished: set[tuple[str, Index]] = set()
        self._reporting = Failing("The store", part.target)
        with self._reporting:
            self._unflushed = durable.Unflushed(self._folder)

    def close(self) -> None:
        """Close what is open, flushed or not."""
        self._unflushed.close()

    @contextmanager
    def chunk(self, name: str, index: Index) -> Iterator[ChunkWriter]:
        """Write one storage chunk; its index is written when the block ends without error."""
        layout = self._part.layout(name)
        index = self._checked(name, index)
        # Of our own calls, not of those in the block.
        reporting = _Reporting(name, index, self._part.target)
        self._unfinished.add((name, index))
        path = durable.path_in(self._folder, name, layout.key(index))
        with reporting:
            old = self._old(name, layout, index)
        with nullcontext() if old is None else closing(old):
            with reporting:
                file = durable.create_file(path, self._folder)
            try:
                with reporting:
                    writer = ChunkWriter(
                        layout,
                        index,
                        file,
                        old=old,
                        base=self._base(name, index),
                        write_out=self._write_out,
                        reporting=reporting,
                    )
                yield writer
                with reporting:
                    writer.finish()
            except BaseException:
                os.close(file)
                with suppress(OSError):
                    os.unlink(path)  # so that it is not committed
                raise
            with reporting:
                self._unflushed.add_file(file)
        self._unflushed.add_folder(os.path.dirname(path))
        self._unfinished.discard((name, index))

    def _checked(self, name: str, index: Index) -> Index:
        """Refuse the index of a storage chunk that is not to be written."""
        layout, first = self._part.layouts[name], self._part.bases.get(name, 0)
        given, cells = tuple(index), layout.grid.cells
        is_there = len(given) == len(cells) and all(
            0 <= i < n for i, n in zip(given, cells, strict=True)
        )
        if not is_there or given[0] < first // layout.chunk[0]:
            raise ParameterError(
                "index",
                must=f"be that of a chunk of {label_of(name)} to be written",
                got=str(given),
                hint="Take those of part.chunks().",
            )
        return given

    def _base(self, name: str, index: Index) -> int:
        """Rows of the array that are there already, where the chunk has some of them."""
        base = self._part.bases.get(name, 0)
        return base if index[0] * self._part.layouts[name].chunk[0] < base else 0

    def _old(self, name: str, layout: ArrayLayout, index: Index) -> ChunkReader | None:
        """Open the file of a chunk that an append completes."""
        if not self._base(name, index):
            return None
        path = self._part.target / name / layout.key(index)
        try:
            reader = ChunkReader(layout, durable.open_regular(path))
        except FileNotFoundError:
            if layout.is_whole:
                raise problem(path, _cannot_append("is missing")) from None
            return None
        try:
            reader.index()
        except DamageError as failure:
            reader.close()
            raise problem(path, _cannot_append(str(failure))) from failure
        except BaseException:
            reader.close()
            raise
        return reader

    def write(self, name: str, array: Any) -> None:
        """Write all of an array, or all new rows of one that is appended to, from memory."""
        given = np.asarray(array)
        base = self._part.bases.get(name, 0)
        shape = self._part.layout(name).shape
        outer = Box((base, *(0,) * (len(shape) - 1)), (shape[0] - base, *shape[1:]))
        if given.shape != outer.count:
            raise ParameterError(
                label_of(name), must=f"have the shape {outer.count}", got=str(given.shape)
            )
        for index in self._part.chunks(name):
            with self.chunk(name, index) as chunk:
                for box in chunk.boxes:
                    chunk.write(given[box.within(outer)])

    def flush(self) -> None:
        """Return when everything that was written is on disk."""
        if self._unfinished:
            name, index = min(self._unfinished)
            raise RunFailed(
                f"{label_of(name)}, chunk {dotted(index)} was not written to its end. "
                "Abandon the draft, and write it again."
            )
        with self._reporting:
            self._unflushed.flush()


class _Reporting(Failing):
    """A block that says which storage chunk cannot be written."""

    def __init__(self, name: str, index: Index, target: Path) -> None:
        self._called = partial(_called, name, index)
        super().__init__(self._called, target)

    def said_of(self, failure: BaseException) -> ParcastError | None:
        """Say what the system refused, or what an append finds damaged."""
        if isinstance(failure, DamageError):
            return problem(self._target, _cannot_append(f"{self._called()} {failure}"))
        return super().said_of(failure)


def _called(name: str, index: Index) -> str:
    """Name a storage chunk, which is done only where a message needs it."""
    label = label_of(name)
    return f"{label[0].upper()}{label[1:]}, chunk {dotted(index)},"


def _cannot_append(fault: str) -> str:
    """Say that an append meets a damaged chunk."""
    return f"{fault}; rows cannot be appended to it. Restore it from a copy."


def dotted(index: Index) -> str:
    """Write the index of a chunk as messages do."""
    return ".".join(map(str, index))
