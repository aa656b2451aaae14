"""Arrays in .npy files as bytes: read in ranges and written in parts, without a mapping.

Nothing is mapped into memory, so that the resident memory of a rank is what it has read.
"""

import os
import shutil
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.errors import FileProblems, Problem, RunFailed
from parcast.files.npy_header import read_npy_header

AT_ONCE: Final = 1 << 22  # bytes that are converted and written together
SAVE: Final = 'Write it with numpy.save("FILE.npy", array).'


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A one-dimensional array in a .npy file."""

    path: Path
    dtype: "np.dtype[Any]"
    length: int  # [1]
    offset: int  # of its first element [B]

    @property
    def size(self) -> int:
        """Bytes of its elements. [B]."""
        return self.length * self.dtype.itemsize

    def read(self, start: int, stop: int) -> "np.ndarray[Any, Any]":
        """Read the elements [start, stop)."""
        offset = self.offset + start * self.dtype.itemsize
        rows = np.fromfile(self.path, self.dtype, stop - start, offset=offset)
        if len(rows) < stop - start:
            message = f"must stay as it is while it is sorted, got no element {start + len(rows)}."
            raise FileProblems(str(self.path), [Problem(message=message)])
        return rows

    def read_each(self, indices: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Read single elements."""
        width = self.dtype.itemsize
        with self.path.open("rb", buffering=0) as stream:
            places = (self.offset + int(i) * width for i in indices)
            read = b"".join(os.pread(stream.fileno(), width, place) for place in places)
        return np.frombuffer(read, self.dtype)


def array_file(path: str | os.PathLike[str]) -> ArrayFile:
    """Look at a .npy file, and refuse what cannot be sorted."""
    place = Path(path).absolute()
    try:
        with place.open("rb") as stream:
            read_npy_header(stream)
        found = np.lib.format.open_memmap(place, mode="r")
    except OSError as failure:
        why = (failure.strerror or str(failure)).lower()
        raise FileProblems(str(path), [Problem(message=f"cannot be read: {why}.")]) from failure
    except (ValueError, OverflowError) as failure:  # of elements beyond all memory
        raise FileProblems(str(path), [Problem(message=_remedy(place))]) from failure
    shape, dtype = found.shape, found.dtype
    offset = found.offset
    del found
    if len(shape) != 1:
        message = f"must hold an array of one dimension, got {len(shape)} with shape {shape}."
        hint = " Save array.ravel(), or rows as records: numpy.rec.fromarrays(array.T)."
        raise FileProblems(str(path), [Problem(message=message + hint)])
    return ArrayFile(place, dtype, shape[0], offset)


def _remedy(path: Path) -> str:
    """Say why NumPy cannot map a file, by looking at it."""
    with path.open("rb") as stream:
        start = stream.read(len(np.lib.format.MAGIC_PREFIX))
        if not start:
            return f"is empty. {SAVE}"
        if start != np.lib.format.MAGIC_PREFIX:
            return f"must be a .npy file, got other bytes. {SAVE}"
        try:
            stream.seek(0)
            shape, _, dtype = read_npy_header(stream)
        except ValueError:
            return f"must have a valid header. {SAVE}"
        if dtype.hasobject:
            return (
                "must hold numbers, strings of fixed width or records, got Python objects. "
                'Convert it: array.astype("U") or array.astype(float).'
            )
        whole = stream.tell() + prod(shape) * dtype.itemsize
        size = path.stat().st_size
        if size < whole:
            return f"is cut off: it must have {whole} bytes, got {size}. Copy it again."
    return f"cannot be read by NumPy. {SAVE}"


def write_header(path: Path, like: ArrayFile) -> None:
    """Begin a .npy file, as `numpy.save` does, and leave it at the length of its header."""
    if like.size == 0:
        with path.open("wb") as stream:
            np.save(stream, np.empty(like.length, like.dtype))
        return
    made = np.lib.format.open_memmap(path, mode="w+", dtype=like.dtype, shape=(like.length,))
    offset: int = made.offset
    del made
    os.truncate(path, offset)


def write_part(path: Path, rows: "np.ndarray[Any, Any]") -> None:
    """Write elements to a file of their own; their bytes alone."""
    try:
        with path.open("wb", buffering=0) as stream:
            step = max(AT_ONCE // max(rows.dtype.itemsize, 1), 1)
            for begin in range(0, len(rows), step):
                left = memoryview(rows[begin : begin + step].tobytes())
                while left:
                    left = left[stream.write(left) :]
    except OSError as failure:
        raise not_written(path.parent, failure) from failure


def append_part(part: Path, stream: Any) -> None:
    """Move the bytes of a part to where a file is open for writing."""
    with part.open("rb") as source:
        shutil.copyfileobj(source, stream, AT_ONCE)
    part.unlink()


def not_written(place: Path, failure: OSError) -> RunFailed:
    """Say that a sorted array cannot be written."""
    why = (failure.strerror or str(failure)).lower()
    return RunFailed(
        f"The sorted array cannot be written to {place}: {why}. Nothing was left there. "
        "Free some space, or choose another place."
    )
