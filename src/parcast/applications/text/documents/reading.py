"""Documents out of a file or a work item, one after the other.

At most one document and one block of text are held, whatever the size of the file.
"""

import json
import os
from collections.abc import Iterator
from typing import TypeAlias

from parcast.advice import Command, File
from parcast.applications.text.documents.boundaries import Piece, boundaries_of, cut
from parcast.applications.text.documents.document import (
    Document,
    DocumentError,
    DocumentReading,
    Skipped,
)
from parcast.applications.text.documents.formats import DocumentLayout, layout_of
from parcast.applications.text.documents.items import WorkItem
from parcast.applications.text.documents.jsonlines import JsonReader, parsed
from parcast.applications.text.documents.markup import ALL_TEXT, MarkupReader
from parcast.applications.text.documents.offsets import Field, TextBuilder, add_plain
from parcast.applications.text.documents.sources import text_blocks
from parcast.errors import Argument
from parcast.files.decoding import name_of

Source: TypeAlias = str | os.PathLike[str] | WorkItem


def read_documents(
    source: Source, reading: DocumentReading | None = None, *, skipped: Skipped | None = None
) -> Iterator[Document]:
    """Read the documents of a file or of a work item, in order.

    What cannot be read, a file or one document of several such as a bad line of JSON, ends the
    reading with `DocumentError`, unless `skipped` takes the error.
    """
    try:
        yield from _documents(source, reading or DocumentReading(), skipped)
    except DocumentError as error:
        if skipped is None:
            raise
        skipped(error)


def _documents(
    source: Source, reading: DocumentReading, skipped: Skipped | None
) -> Iterator[Document]:
    """Read documents; a file that cannot be read always raises."""
    item = source if isinstance(source, WorkItem) else WorkItem(os.fspath(source))
    if item.layout is None:
        item = WorkItem(item.path, layout=layout_of(item.path, reading))
    assert item.layout is not None
    layout = item.layout
    reader = _DocumentReader(item.path, layout, reading)
    blocks = text_blocks(item.path, item.encoding, offset=item.offset, length=item.length)
    boundaries = boundaries_of(layout.format, layout.element)
    number = item.number
    for piece in cut(blocks, boundaries, largest=reading.largest):
        start, line = item.character + piece.start, item.line + piece.line - 1
        try:
            document = reader.document(piece, number=number, start=start, line=line)
        except DocumentError as error:
            if skipped is None:
                raise
            skipped(error)
        else:
            yield document
        number += 1
    if number == 1 and layout.element is not None and boundaries.end > 0:
        raise DocumentError(
            name_of(item.path),
            f"must hold documents in <{layout.element}>, got no such element. "
            "Name the element that separates its documents, or none if it is one document.",
        )


class _DocumentReader:
    """Makes documents of one file."""

    def __init__(self, path: str, layout: DocumentLayout, reading: DocumentReading) -> None:
        self._path, self._layout, self._largest = path, layout, reading.largest
        self._is_named = not layout.is_single or reading.identifier is not None
        self._json = self._markup = None
        if layout.format == "jsonl":
            self._json = JsonReader(layout.fields, reading.identifier)
        elif layout.format != "text":
            self._markup = MarkupReader(layout.format, layout.fields, reading.identifier)

    def document(self, piece: Piece, *, number: int, start: int, line: int) -> Document:
        """Make the document of a piece of text."""
        if piece.text is None:
            raise self._too_large(piece, start, line)
        name, fields = self._read(piece.text, start, line)
        path, layout = self._path, self._layout
        return Document(
            name=name or (path if layout.is_single else f"{path}#{number}"),
            path=path,
            number=number,
            start=start,
            stop=start + piece.stop - piece.start,
            fields=fields,
            encoding=layout.encoding,
            note=layout.note,
        )

    def _read(self, text: str, start: int, line: int) -> tuple[str, tuple[Field, ...]]:
        name = holder = ""
        if self._json is not None:
            record = self._record(text, start, line)
            name, holder = self._json.name(record)
            return name, self._json.fields(text, start, skip=holder)
        if self._markup is not None:
            if self._is_named:
                name, holder = self._markup.name(text)
            return name, self._markup.fields(text, start, skip=holder)
        builder = TextBuilder()
        add_plain(builder, text, start)
        return "", (builder.field(ALL_TEXT),) if builder else ()

    def _record(self, text: str, start: int, line: int) -> dict[str, object]:
        """Parse a line of JSON, or say what is wrong with it and where."""
        try:
            return parsed(text)
        except ValueError as error:
            at, got = 0, str(error)
            if isinstance(error, json.JSONDecodeError):
                at = error.pos
                got = f"a syntax error at character {at + 1} of the line ({error.msg})"
            raise DocumentError(
                name_of(self._path),
                f"must be a JSON object, got {got}. Mend the line, or skip it.",
                line=line,
                offset=start + at,
            ) from error

    def _too_large(self, piece: Piece, start: int, line: int) -> DocumentError:
        size = f"{piece.stop - piece.start:,}"
        file = name_of(self._path)
        split = Command(("split", "-C", "32m", File(file)))
        unpack = {"gzip": "gzip", "zstd": "zstd"}.get(self._layout.compression)
        if unpack is not None:
            pieces = Command(("split", "-C", "32m", "-"))
            split = Command((unpack, "-dc"), reads=file, into=pieces)
        advice = {
            "text": f"Split it: {split}",
            "jsonl": "Write smaller objects",
        }.get(self._layout.format)
        separator = ("Name the element that separates documents with ", Argument("document"))
        more = Argument("largest", python=", or allow more with largest=")
        return DocumentError(
            name_of(self._path),
            f"must be at most {self._largest:,} characters a document, got {size}.",
            line=line,
            offset=start,
            hint=(*(separator if advice is None else (advice,)), more, "."),
        )
