"""The layout of a file: its format, encoding and the element that separates its documents.

The ending of its name decides, without .gz or .zst; where that says nothing, what it begins with.
"""

import json
import os
import re
from dataclasses import dataclass
from typing import Final

from parcast.advice import Command
from parcast.applications.text.documents.document import DocumentError, DocumentReading
from parcast.applications.text.documents.encodings import SAMPLE, detect
from parcast.applications.text.documents.sources import sample_of
from parcast.files.decoding import name_of

ENDINGS: Final = {
    **dict.fromkeys((".txt", ".text", ".md", ".rst"), "text"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    ".xml": "xml",
    **dict.fromkeys((".sgm", ".sgml", ".trec"), "sgml"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
}
_START: Final = 2**16  # characters at the beginning that show the format
_HTML: Final = re.compile(r"\s*+(<!--.*?-->\s*)*+<(!doctype\s+html|html|head|body)\b", re.I | re.S)
_SGML: Final = re.compile(r"\s*<(!doctype\b|reuters\b|doc>)", re.I)
_SEPARATORS: Final = re.compile(  # the root, or the first element in it
    r"(?:\s|<\?[^>]*>|<!--.*?-->|<!(?!--)[^>]*>)*+(?:<[^\s!?/<>][^<>]*>\s*)?<(reuters|doc)(?=[\s>])",
    re.I | re.S,
)
_REUTERS_FIELDS: Final = ("title", "body", "text")


@dataclass(frozen=True, slots=True)
class DocumentLayout:
    """What was found out about a file, or required of it."""

    format: str
    encoding: str
    element: str | None = None  # that separates documents
    fields: tuple[str, ...] | None = None
    compression: str = ""
    note: str = ""

    @property
    def is_single(self) -> bool:
        """Tell whether the whole file is one document."""
        return self.element is None and self.format != "jsonl"


def layout_of(path: str, reading: DocumentReading) -> DocumentLayout:
    """Find the layout of a file from its name and its beginning."""
    sample, compression = sample_of(path, SAMPLE)
    encoding = detect(sample, forced=reading.encoding)
    start = sample[: 4 * _START].decode(encoding.name, "replace")[:_START]
    format = reading.format or _format(path, start)
    if format == "json":
        _refuse_json(path)
    element, fields = reading.document, reading.fields
    if element is None and format in ("sgml", "xml"):
        found = _SEPARATORS.match(start)
        element = found[1] if found else None
        if element is not None and element.lower() == "reuters" and fields is None:
            fields = _REUTERS_FIELDS
    if element is not None and format == "text":
        format = "sgml"  # who names an element says that there is markup
    element = None if format == "jsonl" else element
    return DocumentLayout(format, encoding.name, element, fields, compression, encoding.note)


def ending_of(path: str) -> str:
    """Give the ending of a file's name that tells its format.

    >>> ending_of("a/reut2-000.SGM.gz"), ending_of("notes")
    ('.sgm', '')
    """
    base, ending = os.path.splitext(path.lower())
    return os.path.splitext(base)[1] if ending in (".gz", ".zst") else ending


def _format(path: str, start: str) -> str:
    """Tell the format by the ending of the name, else by the beginning of the text."""
    ending = ending_of(path)
    if ending in ENDINGS:
        return ENDINGS[ending]
    line = start.lstrip().partition("\n")[0]
    if line.startswith("{") and (_is_object(line) or len(line) > _START // 2):
        return "jsonl"
    if ending == ".json":
        return "json"
    if _HTML.match(start):
        return "html"
    if start.lstrip().startswith("<?xml"):
        return "xml"
    return "sgml" if _SGML.match(start) else "text"


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_json(path: str) -> None:
    """Say how to turn one JSON value over many lines into JSON Lines."""
    split = 'if type == "array" then .[] else . end'
    convert = Command(("jq", "-c", split), reads=name_of(path), writes="documents.jsonl")
    raise DocumentError(
        name_of(path),
        "must have a JSON object on each line (JSON Lines), got one value over many lines. "
        f"Convert it: {convert}",
        line=1,
    )
