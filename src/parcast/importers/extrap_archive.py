"""What Extra-P 4 saves: a zip archive `.extra-p` of `experiment.json` and, if kept, values.

In the document, `values` is null, or [chunk, index] of an array in `values/CHUNK.vals`, whose
place stands in `values/CHUNK.indx`. An archive that was unpacked has the same files in a folder.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from parcast.files.faults import Faults
from parcast.files.numbers import is_number
from parcast.importers.content import CUT_OFF, LARGEST_DOCUMENT, decoded

MEMBER: Final = "experiment.json"
ARCHIVE: Final = b"PK\x03\x04"
VALUES, INDEX = b"Extra-P VALUES\0\0", b"Extra-P INDEX\0\0\0"
BROKEN = (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError, KeyError, ValueError)
CLOSE: Final = 1e-9  # relative difference of a mean that rounding explains


def is_archive(head: bytes) -> bool:
    """Tell by its first bytes whether a file is an archive that Extra-P saved."""
    length = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + length]
    return head.startswith(ARCHIVE) and (name == MEMBER.encode() or name.startswith(b"values/"))


def archived_text(path: Path, faults: Faults) -> str:
    """Read the document of an archive."""
    return decoded(_member(path, MEMBER, faults), faults)


def _members(path: Path, faults: Faults) -> set[str]:
    """Name the files of an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    except BROKEN as error:
        faults.refuse(f"must be an archive of Extra-P, got: {error}. {CUT_OFF}")


def _member(path: Path, name: str, faults: Faults) -> bytes:
    """Read one file of an archive, or of the folder that an unpacked document is in."""
    try:
        if path.suffix == ".json":
            place = path.parent / name
            return place.read_bytes() if place.stat().st_size <= LARGEST_DOCUMENT else b""
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            content = member.read(LARGEST_DOCUMENT + 1)
    except BROKEN as error:
        got = str(error) or type(error).__name__
        faults.refuse(f"must be an archive of Extra-P with {name}, got: {got}. {CUT_OFF}")
    if len(content) > LARGEST_DOCUMENT:
        faults.refuse(
            f"must be at most {LARGEST_DOCUMENT // 10**6} MB in {name}, got more. Save fewer "
            "callpaths."
        )
    return content


class SavedValues:
    """The times of measurements that Extra-P saved: their values, or else their median or mean."""

    def __init__(self, path: Path, faults: Faults, *, is_archive: bool) -> None:
        self._path = path
        self._faults = faults
        self._is_archive = is_archive
        self._members: set[str] | None = None  # of the archive
        self._chunk: tuple[int, bytes, list[int]] | None = None
        self.medians = 0  # measurements of which only an aggregate is there

    def times(self, one: dict[str, Any]) -> Any:
        """Give the times of one measurement."""
        values = one.get("values")
        if isinstance(values, list) and values:
            if not self._refers(one, values):
                return values
            if (kept := self._kept(*values)) is not None:
                return kept
        self.medians += 1
        return [one.get("median", one.get("mean"))]

    def _refers(self, one: dict[str, Any], values: Sequence[Any]) -> bool:
        """Tell a chunk and an index from two times."""
        if len(values) != 2 or not all(type(x) is int and x >= 0 for x in values):
            return False
        mean = one.get("mean")
        is_mean = is_number(mean) and abs(sum(values) / 2 - mean) <= CLOSE * abs(mean)
        return self._holds(values[0]) or not is_mean

    def _holds(self, chunk: int) -> bool:
        """Whether kept values are there."""
        name = f"values/{chunk}.indx"
        if not self._is_archive:
            return (self._path.parent / name).is_file()
        if self._members is None:
            self._members = _members(self._path, self._faults)
        return name in self._members

    def _kept(self, chunk: int, index: int) -> list[float] | None:
        """Read kept values, None where they are not there or are of several processes."""
        if not self._holds(chunk):
            return None
        if self._chunk is None or self._chunk[0] != chunk:
            places = _member(self._path, f"values/{chunk}.indx", self._faults)
            arrays = _member(self._path, f"values/{chunk}.vals", self._faults)
            if not (places.startswith(INDEX) and arrays.startswith(VALUES)):
                self._faults.refuse(f"must have values of Extra-P in chunk {chunk}. {CUT_OFF}")
            count = (len(places) - len(INDEX)) // 8
            numbers = struct.unpack_from(f"<{count}Q", places, len(INDEX))
            self._chunk = chunk, arrays, list(numbers[1:])
        _, arrays, starts = self._chunk
        try:
            start = starts[index]
            array = np.lib.format.read_array(io.BytesIO(arrays[start:]), allow_pickle=False)
        except (IndexError, ValueError, EOFError, MemoryError) as error:
            self._faults.refuse(
                f"must have the values [{chunk}, {index}], got: {error}. {CUT_OFF}"
            )
        return array.tolist() if array.ndim == 1 and array.dtype.kind in "fiu" else None
