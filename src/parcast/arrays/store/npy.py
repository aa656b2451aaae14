"""One array in a .npy file, which several processes write by slabs of rows and read by boxes.

A .npy file has neither checksums nor chunks. Like a store it is a draft until it is committed.
"""

import io
import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from parcast.arrays.geometry.boxes import Box
from parcast.arrays.store import durable
from parcast.arrays.store.data_types import stored_type
from parcast.arrays.store.grid import Index
from parcast.arrays.store.layout import ArraySpec, new_array
from parcast.arrays.store.messages import (
    exists,
    no_store,
    not_readable,
    problem,
)
from parcast.arrays.store.place import (
    Failing,
    HeldPlace,
    Lock,
    Stamp,
    StorePlace,
    begun,
    let_go,
    publish,
)
from parcast.errors import ParameterError
from parcast.files.closing import OpenFile
from parcast.files.npy_header import read_npy_header

LONGEST_RUN: Final = 1 << 24  # most that is read in one access unless a row is longer [B]


@dataclass(frozen=True, kw_only=True, slots=True)
class NpyPart:
    """What a process needs to write rows of a .npy draft."""

    file: Path  # the draft
    target: Path
    shape: Index
    dtype: "np.dtype[Any]"
    offset: int  # of the first element [B]

    @property
    def row_size(self) -> int:
        """Bytes of one row. [B]."""
        return prod(self.shape[1:]) * self.dtype.itemsize


class NpyWriter(OpenFile):
    """Writes slabs of rows into a .npy draft, and flushes them."""

    def __init__(self, part: NpyPart) -> None:
        """Open the draft."""
        self._part = part
        with Failing("The array", part.target):
            self._file = os.open(part.file, os.O_WRONLY)

    def write(self, row: int, block: Any) -> None:
        """Write some rows from one on; a block that lies in row-major order is not copied."""
        part, given = self._part, np.asarray(block)
        count = len(given) if given.ndim else 0
        if given.shape[1:] != part.shape[1:] or not 0 <= row <= part.shape[0] - count:
            raise ParameterError(
                "block",
                must=f"be rows of the shape {part.shape}",
                got=f"shape {given.shape} from row {row} on",
                hint="Write slabs of whole rows.",
            )
        if given.dtype.newbyteorder("=") != part.dtype.newbyteorder("="):
            raise ParameterError(
                "block",
                must=f"have elements of {part.dtype.name}",
                got=str(given.dtype),
                hint=f'Convert it: block.astype("{part.dtype.name}").',
            )
        laid = np.ascontiguousarray(given, part.dtype)
        with Failing("The array", part.target):
            content = laid.reshape(-1).view(np.uint8).data
            durable.write_all(self._file, [content], part.offset + row * part.row_size)

    def flush(self) -> None:
        """Return when everything that was written is on disk."""
        with Failing("The array", self._part.target):
            os.fsync(self._file)


class NpyDraft(HeldPlace):
    """A .npy file in the making; the process that leads the others holds it."""

    _what = "The array"

    def __init__(self, place: StorePlace, lock: Lock, part: NpyPart, *, may_replace: bool) -> None:
        """Use `create`."""
        self._may_replace = may_replace
        self._place, self._lock, self.part = place, lock, part
        self._is_open = True
        self._inode = part.file.stat().st_ino

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        shape: Index,
        dtype: Any,
        *,
        overwrite: bool = False,
    ) -> "NpyDraft":
        """Begin a new .npy file."""
        if Path(path).suffix != ".npy":
            raise ParameterError(
                "path", must="end in .npy", got=str(path), hint="A Zarr store has any other name."
            )
        spec = ArraySpec(name="", shape=shape, dtype=dtype)
        place = StorePlace.of(path)
        with begun(place, cls._what, lambda: _check_target(place, overwrite)) as lock:
            draft = place.new_draft()
            header = _header(spec.shape, spec.dtype)
            file = os.open(draft, durable.NEW, 0o666)
            try:
                durable.write_all(file, [header], 0)
                os.ftruncate(file, len(header) + prod(spec.shape) * spec.dtype.itemsize)
            finally:
                os.close(file)
        part = NpyPart(
            file=draft,
            target=place.target,
            shape=spec.shape,
            dtype=spec.dtype,
            offset=len(header),
        )
        return cls(place, lock, part, may_replace=overwrite)

    def _put(self) -> None:
        """Put the file in place."""
        with NpyWriter(self.part) as writer:
            writer.flush()
        _check_target(self._place, self._may_replace)  # it may be there by now
        publish(self._place, self.part.file)

    def _is_in_place(self) -> bool:
        """Tell whether the new file is what a reader gets."""
        try:
            return self._place.target.stat().st_ino == self._inode
        except OSError:
            return False

    def abandon(self) -> None:
        """Remove the draft: the place stays what it was. After a commit nothing is to be done."""
        if not self._is_open:
            return
        self._is_open = False
        let_go(self._place, self._lock)


def _header(shape: Index, dtype: "np.dtype[Any]") -> bytes:
    """Begin a .npy file as `numpy.save` does."""
    stream = io.BytesIO()
    like = np.lib.format.header_data_from_array_1_0(np.empty(0, dtype))
    np.lib.format.write_array_header_1_0(stream, {**like, "shape": shape})
    return stream.getvalue()


def _check_target(place: StorePlace, overwrite: bool) -> None:
    """Refuse a place where something else is, or a file that is not to be replaced."""
    if not place.is_there():
        return
    if not os.path.isfile(place.target):
        raise no_store(str(place.target), "a .npy file")
    if not overwrite:
        raise exists(str(place.target))


class NpyArray(OpenFile):
    """The array of a .npy file: boxes of it can be read."""

    def __init__(self, path: str, file: int, header: tuple[Index, bool, Any], offset: int) -> None:
        """Use `open_npy`."""
        self._path, self._file, self._offset = path, file, offset
        self.shape, self._is_fortran, self.dtype = header

    @property
    def stamp(self) -> Stamp:
        """What tells it from another file that takes its place."""
        return Stamp(os.fstat(self._file).st_mtime_ns)

    @property
    def order(self) -> Literal["C", "F"]:
        """Order of its elements in the file."""
        return "F" if self._is_fortran else "C"

    def read(self, start: Any = None, count: Any = None) -> "np.ndarray[Any, Any]":
        """Read a box, by default all: whole contiguous runs of elements, in native byte order."""
        rank = len(self.shape)
        begin = tuple(start) if start is not None else (0,) * rank
        extents = (
            tuple(count)
            if count is not None
            else tuple(n - b for n, b in zip(self.shape, begin, strict=True))
        )
        whole = Box((0,) * rank, self.shape)
        box = Box(begin, extents)
        if len(begin) != rank or len(extents) != rank or box & whole != box:
            raise ParameterError(
                "box",
                must=f"lie in the shape {self.shape}",
                got=f"start {begin} and count {extents}",
                hint="Read a smaller box.",
            )
        if self._is_fortran:
            return self._read(box.start[::-1], box.count[::-1], self.shape[::-1]).transpose()
        return self._read(box.start, box.count, self.shape)

    def _read(self, start: Index, count: Index, shape: Index) -> "np.ndarray[Any, Any]":
        """Read a box of an array that lies in row-major order."""
        out = new_array(count, self.dtype)
        if not out.size:
            return out.astype(self.dtype.newbyteorder("="))
        whole = len(shape)  # dimensions from here on are read whole
        while whole and count[whole - 1] == shape[whole - 1]:
            whole -= 1
        lead = max(whole - 1, 0)  # dimensions before this one are stepped through
        strides = [prod(shape[i + 1 :]) for i in range(len(shape))]
        length = prod(count[lead:]) if lead < len(shape) else 1
        rows = out.reshape(-1, length)
        for row, index in zip(rows, np.ndindex(*count[:lead]), strict=True):
            at = (*(a + b for a, b in zip(start, index, strict=False)), *start[lead:])
            first = sum(i * s for i, s in zip(at, strides, strict=True))
            self._read_run(row, self._offset + first * self.dtype.itemsize)
        return out.astype(self.dtype.newbyteorder("="), copy=False)

    def _read_run(self, row: "np.ndarray[Any, Any]", offset: int) -> None:
        """Read elements that lie next to each other."""
        left = row.view(np.uint8).data
        while left:
            done = os.preadv(self._file, [left[:LONGEST_RUN]], offset)
            if not done:
                raise problem(self._path, "is cut off. Copy it again.")
            left, offset = left[done:], offset + done


def open_npy(path: str | os.PathLike[str]) -> NpyArray:
    """Open a .npy file to read boxes of its array."""
    try:
        file = durable.open_regular(path)
    except OSError as failure:
        raise not_readable(path, failure) from failure
    try:
        with open(file, "rb", closefd=False) as stream:
            header, offset = _read_header(stream, os.fspath(path))
        shape, _, dtype = header
        stored_type(dtype, name=f"dtype of {os.fspath(path)}")
        _check_length(path, os.fstat(file).st_size, offset + prod(shape) * dtype.itemsize)
    except BaseException:
        os.close(file)
        raise
    return NpyArray(os.fspath(path), file, header, offset)


def _check_length(path: str | os.PathLike[str], size: int, expected: int) -> None:
    """Refuse a file that ends before its array."""
    if size < expected:
        raise problem(path, f"is cut off: it must have {expected} bytes, got {size}.")


def _read_header(stream: Any, path: str) -> tuple[tuple[Index, bool, Any], int]:
    """Read shape, order and type, and where the elements begin."""
    try:
        return read_npy_header(stream), stream.tell()
    except ValueError:
        message = 'must be a .npy file. Write it with numpy.save("FILE.npy", array).'
        raise problem(path, message) from None
