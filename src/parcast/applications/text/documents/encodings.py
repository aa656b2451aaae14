"""The encoding of a file: its byte order mark, what it declares, UTF-8, or Windows-1252.

A declared encoding is taken where the bytes agree with it. Only the first `SAMPLE` bytes are
looked at, so that a file of a terabyte begins at once; a later byte that does not fit becomes
U+FFFD.
"""

import codecs
import re
from typing import Final, NamedTuple

SAMPLE: Final = 2**24  # bytes
_DECLARING: Final = 2**12  # bytes at the beginning in which a declaration may stand
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_XML: Final = re.compile(rb"""^\s*<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""", re.I)
_META: Final = re.compile(rb"""<meta[^<>]+?charset\s*=\s*+["']?\s*+([\w.:-]+)""", re.I)
_OF_TEXT: Final = re.compile(
    r"(utf-(8|16|32)|ascii|iso8859|cp\d|koi8|kz1048|ptcp154|gb|big5|euc|shift|iso2022|mac|tis|johab|hz)"
)
_CHUNKABLE: Final = re.compile(r"(utf-8|ascii|iso8859|cp125\d|cp874|koi8)")


class Encoding(NamedTuple):
    """An encoding by Python's name, and what was assumed."""

    name: str
    note: str = ""


def codec_of(name: str) -> str | None:
    """Python's name for an encoding of text; what the web calls Latin-1 is Windows-1252.

    >>> codec_of("UTF8"), codec_of("ISO-8859-1"), codec_of("rot13"), codec_of("klingon")
    ('utf-8', 'cp1252', None, None)
    """
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        return None
    if codec == "iso8859-1":
        return "cp1252"
    return codec if _OF_TEXT.match(codec) else None


def is_chunkable(encoding: str) -> bool:
    """Tell whether ASCII bytes are those characters wherever they stand."""
    return _CHUNKABLE.match(encoding) is not None


def detect(sample: bytes, *, forced: str | None = None) -> Encoding:
    """Find the encoding of a file from its first bytes.

    >>> detect("Käse".encode()).name, detect("Käse".encode("latin-1")).name
    ('utf-8', 'cp1252')
    """
    for mark, name in _MARKS.items():
        if sample.startswith(mark) and forced in (None, codec_of(name.removesuffix("-sig"))):
            return Encoding(name)
    if forced is not None:
        return Encoding(codec_of(forced) or forced)
    declared = _declared(sample[:_DECLARING])
    wide = ("utf-16", "utf-32")  # in which nothing could be declared
    if declared is not None and not declared.startswith(wide) and _decodes(sample, declared):
        return Encoding(declared)
    found = _by_bytes(sample)
    if declared is None:
        return found
    read = found.note or "read as UTF-8"
    return Encoding(found.name, f"declared as {declared}, which its bytes are not; {read}")


def _by_bytes(sample: bytes) -> Encoding:
    """Tell UTF-8, with some bytes that are not or without, from Windows-1252."""
    if _decodes(sample, "utf-8"):
        return Encoding("utf-8")
    text = sample.decode("utf-8", "replace")
    strange = text.count("\ufffd")
    if sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) > 2 * strange:
        return Encoding("utf-8", "read as UTF-8, with bytes that are not as U+FFFD")
    return Encoding("cp1252", "not UTF-8, read as cp1252")


def _declared(start: bytes) -> str | None:
    found = _XML.search(start) or _META.search(start)
    return codec_of(found[1].decode("ascii", "replace")) if found else None


def _decodes(sample: bytes, name: str) -> bool:
    """Tell whether the bytes are text in an encoding; the last character may be cut."""
    try:
        codecs.getincrementaldecoder(name)("strict").decode(sample, len(sample) < SAMPLE)
    except UnicodeDecodeError:
        return False
    return True
