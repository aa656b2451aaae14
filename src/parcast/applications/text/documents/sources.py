"""The text of a file in blocks: opened, decompressed, decoded, and refused where it is no text."""

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import IO, Any, Final

from parcast.advice import Command, File
from parcast.applications.text.documents.document import DocumentError
from parcast.applications.text.documents.encodings import SAMPLE, detect
from parcast.errors import FileProblems
from parcast.files.decoding import name_of, opened
from parcast.needs import missing_package

BLOCK: Final = 2**20  # bytes
GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
_NO_TEXT: Final[
    dict[bytes, str | tuple[str, ...]]
] = {  # how files begin that are no text, and what to do
    b"%PDF-": ("a PDF. Convert it: ", "pdftotext"),
    b"PK\x03\x04": "a zip archive or office document. Unpack it, or save it as text.",
    b"\x89PNG": "a PNG picture. Leave it out.",
    b"\xff\xd8\xff": "a JPEG picture. Leave it out.",
    b"GIF8": "a GIF picture. Leave it out.",
    b"\x7fELF": "a program (ELF). Leave it out.",
    b"BZh": ("a bzip2 archive. Unpack it: ", "bzip2", "-dk"),
    b"\xfd7zXZ\x00": ("an xz archive. Unpack it: ", "xz", "-dk"),
    b"\xd0\xcf\x11\xe0": "an old office document. Save it as text.",
    b"SQLite format 3\x00": "a database. Export its text.",
}


def byte_blocks(path: str, *, offset: int = 0, length: int | None = None) -> Iterator[bytes]:
    """Give the bytes of a file, decompressed, from an offset on, in blocks."""
    with _opened(path) as (stream, _):
        if offset:
            stream.seek(offset)
        left = length
        while left is None or left > 0:
            block = _read(stream, BLOCK if left is None else min(BLOCK, left), path)
            if not block:
                return
            left = None if left is None else left - len(block)
            yield block


def sample_of(path: str, count: int) -> tuple[bytes, str]:
    """Give the first bytes of a file, decompressed, and how it is compressed.

    What is known to be no text is refused.
    """
    sample = b""
    with _opened(path) as (stream, compression):
        while len(sample) < count:
            block = _read(stream, count - len(sample), path)
            if not block:
                break
            sample += block
    for mark, what in _NO_TEXT.items():
        if sample.startswith(mark):
            fault, *program = (what,) if isinstance(what, str) else what
            advice = Command((*program, File(name_of(path)))) if program else ""
            raise DocumentError(name_of(path), f"must be text, got {fault}{advice}", offset=0)
    return sample, compression


def text_blocks(
    path: str, encoding: str, *, offset: int = 0, length: int | None = None
) -> Iterator[str]:
    """Give the original text from a byte offset on, in blocks; a NUL shows that it is no text."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    done = 0
    for block in byte_blocks(path, offset=offset, length=length):
        text = decoder.decode(block)
        if "\0" in text:
            at = done + text.index("\0")
            raise DocumentError(
                name_of(path),
                f"must be text, got a NUL character at offset {at}. Leave out files that are not "
                "text, or give its encoding.",
                offset=at,
            )
        done += len(text)
        yield text
    yield decoder.decode(b"", True)


def original_text(path: str | os.PathLike[str], *, encoding: str | None = None) -> str:
    """Give the whole text that offsets count in; the encoding is found out where not given."""
    place = os.fspath(path)
    name = detect(sample_of(place, SAMPLE)[0]).name if encoding is None else encoding
    return "".join(text_blocks(place, name))


@contextmanager
def _opened(path: str) -> Iterator[tuple[IO[Any], str]]:
    """Open a file to be read decompressed: its stream, and how it is compressed."""
    try:
        context = opened(path, largest=inf)
        _, raw = context.__enter__()
    except FileProblems as error:
        raise DocumentError(error.path, str(error.problems[0].message)) from error
    with raw:
        kind = _compression(raw, path)
        yield _unpacked(raw, kind), kind


def _compression(raw: IO[Any], path: str) -> str:
    """Tell how a file is compressed by its first bytes: "gzip", "zstd" or ""."""
    start = _read(raw, 4, path)
    try:
        raw.seek(0)
    except OSError as error:
        raise DocumentError(
            name_of(path), "must be a file, got a pipe or a device. Save it to a file first."
        ) from error
    packed = {GZIP: "gzip", ZSTD: "zstd"}
    found = next((kind for mark, kind in packed.items() if start.startswith(mark)), "")
    expected = {".gz": "gzip", ".zst": "zstd"}.get(os.path.splitext(path)[1].lower(), found)
    if start and expected != found:
        raise DocumentError(
            name_of(path),
            f"must be a {expected} archive, as its name says, got other bytes. "
            "Fetch or compress it again, or rename it.",
        )
    return found


def _read(stream: IO[Any], count: int, path: str) -> bytes:
    """Read bytes, and say what is wrong with an archive."""
    try:
        block: bytes = stream.read(count)
    except (EOFError, zlib.error, OSError) as error:
        number = error.errno if isinstance(error, OSError) else None
        if number is None:  # of what unpacks an archive
            raise DocumentError(
                name_of(path),
                f"must be a whole and valid archive, got: {error}. Fetch or compress it again.",
            ) from error
        why = os.strerror(number)
        raise DocumentError(name_of(path), f"must be readable, got: {why}.") from error
    return block


def _unpacked(raw: IO[Any], kind: str) -> IO[Any]:
    """Give the stream that decompresses."""
    if kind == "gzip":
        unpacked: IO[Any] = gzip.open(raw, "rb")  # noqa: SIM115 - ends with `raw`
        return unpacked
    if kind == "zstd":
        try:
            import pyarrow
        except ImportError as error:
            raise missing_package("Files in .zst need", "pyarrow", "features") from error
        stream: IO[Any] = pyarrow.CompressedInputStream(raw, "zstd")
        return stream
    return raw
