"""Files shared out between ranks as work items.

A large file of many documents is cut into items where documents end, by one rank, which reads
bytes and parses nothing; the rank that takes an item reads that part of the file alone. A
compressed file, and a file that is one document, is one item.
"""

import codecs
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from parcast.applications.text.documents.boundaries import TAIL, boundaries_of, with_last
from parcast.applications.text.documents.document import DocumentError, DocumentReading
from parcast.applications.text.documents.encodings import is_chunkable
from parcast.applications.text.documents.formats import DocumentLayout, layout_of
from parcast.applications.text.documents.sources import byte_blocks

CHUNK: Final = 2**20  # bytes of an item of a large file: some seconds of a tagger
_MARK: Final = 3  # bytes of a byte order mark of UTF-8


@dataclass(frozen=True, slots=True, repr=False)
class WorkItem:
    """A file, or a part of one that holds whole documents."""

    path: str
    offset: int = 0  # bytes
    length: int | None = None  # bytes; None: to the end
    number: int = 1  # of its first document
    character: int = 0  # offset of its beginning in the original text
    line: int = 1  # of its beginning
    layout: DocumentLayout | None = None  # None: not looked at yet

    def __repr__(self) -> str:
        return f"{self.path} from line {self.line}" if self.offset else self.path

    @property
    def encoding(self) -> str:
        """The encoding of a part, which has no byte order mark."""
        name = self.layout.encoding if self.layout is not None else "utf-8"
        return name.removesuffix("-sig") if self.offset else name


def work_items(
    paths: Iterable[str | os.PathLike[str]],
    reading: DocumentReading | None = None,
    *,
    chunk: int = CHUNK,
) -> Iterator[WorkItem]:
    """Share files out: an item for each, several of `chunk` bytes for a large one.

    Items are found as they are taken, and hold whole documents. A file that cannot be read is an
    item too, and refused by `read_documents`, so that what takes the items can go on.
    """
    for path in [os.fspath(path) for path in paths]:
        try:
            is_small = os.stat(path).st_size <= chunk
            layout = None if is_small else layout_of(path, reading or DocumentReading())
        except (OSError, ValueError, DocumentError):  # ValueError: a NUL in the path
            layout = None
        if layout is None:
            yield WorkItem(path)
        elif layout.is_single or layout.compression or not is_chunkable(layout.encoding):
            yield WorkItem(path, layout=layout)
        else:
            yield from _parts(path, layout, chunk)


def _parts(path: str, layout: DocumentLayout, chunk: int) -> Iterator[WorkItem]:
    """Cut a file of many documents into items where documents end."""
    encoding = layout.encoding.removesuffix("-sig")
    origin = _MARK if encoding != layout.encoding else 0
    element = layout.element and layout.element.encode(encoding, "replace").decode("latin-1")
    boundaries, count = boundaries_of(layout.format, element), _Count(encoding)
    begin, number = WorkItem(path, origin, layout=layout), 1
    after: WorkItem | None = None  # the next item, if a document follows
    try:
        for block, final in with_last(byte_blocks(path, offset=origin), b""):
            count.add(block)
            for _, stop in boundaries.feed(block.decode("latin-1"), final=final):
                if after is not None:
                    yield replace(begin, length=after.offset - begin.offset)
                    begin, after = after, None
                number += 1
                if origin + stop - begin.offset >= chunk:
                    count.advance(stop)
                    place = (count.characters, count.line)
                    after = WorkItem(path, origin + stop, None, number, *place, layout)
            count.advance(boundaries.end - TAIL)
    except DocumentError:
        pass  # reading the rest says it again
    yield begin


class _Count:
    """Characters and lines up to a byte, which moves on."""

    def __init__(self, encoding: str) -> None:
        self.characters = 0
        self.line = 1
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._bytes = bytearray()
        self._at = 0

    def add(self, block: bytes) -> None:
        """Take a block of bytes."""
        self._bytes += block

    def advance(self, to: int) -> None:
        """Count up to a byte."""
        if to <= self._at:
            return
        part = bytes(self._bytes[: to - self._at])
        del self._bytes[: to - self._at]
        self._at = to
        self.characters += len(self._decoder.decode(part))
        self.line += part.count(b"\n")
