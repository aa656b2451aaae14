"""The archive in a `.cubex` file, of which nothing is unpacked beyond the size that it must have.

    anchor.xml   what was measured: metrics, call paths and locations; may be packed by gzip
    7.index      the call paths of which metric 7 has values
    7.data       its values, a row for each of these call paths; rows may be packed by zlib

A row has one value for each location, so that its size is known before it is unpacked.
"""

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from parcast.files.bounds import as_size
from parcast.files.faults import Faults
from parcast.units import shown

LARGEST_ANCHOR: Final = 32_000_000  # bytes, unpacked: as objects it takes some 25 times as much
MOST_VALUES: Final = 20_000_000  # call paths of a profile, times its locations
MOST_MEMBERS: Final = 10_000  # two for each metric
BLOCK: Final = 512  # of a tar archive [B]
ANCHOR: Final = "anchor.xml"
CUT_OFF: Final = "The file may have been cut off: copy it again."
TYPES: Final = {  # of the values of a metric
    **dict.fromkeys(("DOUBLE", "FLOAT", "MINDOUBLE", "MAXDOUBLE"), "f8"),
    **dict.fromkeys(("INT64", "INTEGER", "SIGNED INTEGER"), "i8"),
    **dict.fromkeys(("UINT64", "UNSIGNED INTEGER"), "u8"),
    **dict.fromkeys(("INT", "INT32", "SIGNED INT"), "i4"),
    **dict.fromkeys(("UINT32", "UNSIGNED INT"), "u4"),
    **dict.fromkeys(("INT16", "SHORT INT", "SIGNED SHORT INT"), "i2"),
    **dict.fromkeys(("UINT16", "UNSIGNED SHORT INT"), "u2"),
    "INT8": "i1",
    **dict.fromkeys(("UINT8", "CHAR"), "u1"),
}


@dataclass(frozen=True, slots=True)
class _Member:
    """Where a file of the archive lies."""

    start: int  # [B]
    size: int  # [B]


class Archive:
    """The files of an archive, each checked before it is unpacked."""

    def __init__(self, stream: Any, faults: Faults) -> None:
        self._stream, self._faults = stream, faults
        self._members = self._found()
        self._check_anchor()

    def rows(
        self, metric: int, type_of_values: str, locations: int
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Go through the rows of a metric: the number of a call path, and a value a location."""
        if type_of_values not in TYPES:
            self._refuse(f"must have values that are plain numbers, got {shown(type_of_values)}.")
        order, indices = self._index(f"{metric}.index")
        kind = np.dtype(f"{order}{TYPES[type_of_values]}")
        pieces = self._pieces(f"{metric}.data", order, len(indices), locations * kind.itemsize)
        for index, piece in zip(indices, pieces, strict=True):
            yield int(index), np.frombuffer(piece, dtype=kind).astype(np.float64)

    def _index(self, name: str) -> tuple[str, NDArray[np.int32]]:
        """Read the order of bytes, and the numbers of the call paths that have values."""
        content = self._content(name)
        order = "<" if content[11:15] == struct.pack("<i", 1) else ">"
        count = struct.unpack(f"{order}i", content[18:22])[0] if len(content) >= 22 else -1
        if not content.startswith(b"CUBEX.INDEX") or len(content) != 22 + 4 * count:
            self._refuse(f"{name} must be an index of as many call paths as it claims.")
        return order, np.frombuffer(content, dtype=f"{order}i4", offset=22)

    def _pieces(self, name: str, order: str, count: int, size: int) -> Iterator[bytes]:
        """Give rows of `size` bytes, unpacked."""
        content = self._content(name)
        if content.startswith(b"CUBEX.DATA"):
            if len(content) != 10 + count * size:
                self._refuse_data(name, count, size)
            for start in range(10, len(content), size):
                yield content[start : start + size]
            return
        head = 19 + 24 * count
        if not content.startswith(b"ZCUBEX.DATA") or len(content) < head:
            self._refuse_data(name, count, size)
        places = np.frombuffer(content[11:head], dtype=f"{order}i8")
        if places[0] != count or places.min() < 0:
            self._refuse_data(name, count, size)
        for packed in places[3::3].tolist():
            unpacker = zlib.decompressobj()
            piece = unpacker.decompress(content[head : head + packed], size + 1)
            if len(piece) != size or not unpacker.eof:
                self._refuse_data(name, count, size)
            yield piece
            head += packed

    def _refuse_data(self, name: str, count: int, size: int) -> NoReturn:
        """Refuse values of another size than they must have."""
        self._refuse(f"{name} must have {count:,} rows of {size:,} bytes, got others.")

    def _content(self, name: str) -> bytes:
        """Read a file of the archive as it is."""
        if name not in self._members:
            self._refuse(f"must have the file {name}, got none.")
        member = self._members[name]
        self._stream.seek(member.start)
        return bytes(self._stream.read(member.size))

    def _check_anchor(self) -> None:
        """Refuse a description that is too large, or grows when it is read."""
        size = self._members.get(ANCHOR, _Member(0, 0)).size
        content = self._content(ANCHOR) if size <= LARGEST_ANCHOR else b""
        if content and not content.startswith(b"<?xml"):
            with suppress(OSError, EOFError, zlib.error):  # the library says what is wrong with it
                content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(LARGEST_ANCHOR + 1)
        if max(size, len(content)) > LARGEST_ANCHOR:
            must = f"must have an {ANCHOR} of at most {as_size(LARGEST_ANCHOR)}"
            self._faults.refuse(f"{must}, got a larger one. Profile fewer regions.")
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            self._faults.refuse(f"must have an {ANCHOR} without entities, got some. {CUT_OFF}")

    def _found(self) -> dict[str, _Member]:
        """Find the files of the archive, none of which ends behind its end."""
        self._stream.seek(0, io.SEEK_END)
        end, start = self._stream.tell(), 0
        members: dict[str, _Member] = {}
        while start < end:
            self._stream.seek(start)
            head = self._stream.read(BLOCK)
            if not head.strip(b"\0"):
                break
            name, size = self._member(head)
            if start + BLOCK + size > end:
                holds = max(end - start - BLOCK, 0)
                self._refuse(f"{shown(name)} must have its {size:,} bytes, got {holds:,}.")
            if name in members or len(members) == MOST_MEMBERS:
                must = f"must have up to {MOST_MEMBERS:,} files, each once"
                self._refuse(f"{must}, got {shown(name)} again, or more.")
            members[name] = _Member(start + BLOCK, size)
            start += BLOCK + -(-size // BLOCK) * BLOCK
        return members

    def _member(self, head: bytes) -> tuple[str, int]:
        """Read the name and the size [B] in the head of a file, which is a plain one."""
        if len(head) < BLOCK:
            self._refuse(f"must end with a complete file, got {len(head)} bytes of a head.")
        parts = (head[345:500], head[:100]) if head[257:262] == b"ustar" else (head[:100],)
        texts = (part.split(b"\0", 1)[0].decode("utf-8", "replace") for part in parts)
        name = "/".join(filter(None, texts))
        if head[156:157] not in (b"0", b"\0", b"5"):
            self._refuse(f"must be an archive of plain files, got {shown(name)} of another kind.")
        if head[124] in (0o200, 0o377):
            return name, int.from_bytes(head[125:136], "big")
        with suppress(ValueError):
            return name, int(head[124:136].split(b"\0", 1)[0].strip() or b"0", 8)
        return self._refuse(f"{shown(name)} must have a size.")

    def _refuse(self, message: str) -> NoReturn:
        """Refuse a file that is damaged."""
        self._faults.refuse(f"{message} {CUT_OFF}")
