r"""Strings of a line of JSON with offsets: \n, \u00e9 and surrogate pairs mapped to the original.

Keys of objects in objects are joined by a point: {"meta": {"title": "..."}} has "meta.title". The
strings of a list are paragraphs of one field.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from parcast.applications.text.documents.offsets import Field, TextBuilder, add_plain, breaks_in

_TOKEN: Final = re.compile(r'"(?P<string>[^"\\]*+(?:\\.[^"\\]*+)*+)"|[{}\[\]:,]', re.DOTALL)
_ESCAPE: Final = re.compile(
    r"(?P<space>(?:\\[nrtf]|[ \t\r])(?:\\[nrtf]|\s)+|\\[nrtf]|\s\s+|[^\S ])"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\."
)
_HALF: Final = re.compile("[\ud800-\udfff]")
_SHORT: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b"}
_IDENTIFIERS: Final = ("id", "_id", "docno", "docid")


class JsonReader:
    """Reads documents that are one JSON object each."""

    def __init__(self, fields: Iterable[str] | None, identifier: str | None) -> None:
        self._fields = None if fields is None else tuple(fields)
        self._identifiers = _IDENTIFIERS if identifier is None else (identifier,)

    def name(self, record: dict[str, Any]) -> tuple[str, str]:
        """Find what names a document: its name, and the key that holds it."""
        for key in self._identifiers:
            value: Any = record.get(key)
            if value is None and "." in key:
                value = record
                for part in key.split("."):
                    value = value.get(part) if isinstance(value, dict) else None
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                name = " ".join(_whole(str(value)).split())
                if name:
                    return name, key
        return "", ""

    def fields(self, text: str, start: int, *, skip: str = "") -> tuple[Field, ...]:
        """Read the strings of a valid object that begins at offset `start`."""
        builders: dict[str, TextBuilder] = {}
        for path, begin, end in strings(text):
            field = self._field(path, skip)
            if field:
                builder = builders.setdefault(field, TextBuilder())
                builder.paragraph()
                _add_escaped(builder, text[begin:end], start + begin)
        return tuple(x.field(name) for name, x in builders.items() if x)

    def _field(self, path: str, skip: str) -> str:
        """Name the field that a string belongs to, or ""."""
        if self._fields is None:
            return "" if path == skip else path
        for name in self._fields:
            if path == name or path.startswith(f"{name}."):
                return name
        return ""


def parsed(text: str) -> dict[str, Any]:
    """Parse a line; raise ValueError with what is wrong where it is no object."""
    try:
        record = json.loads(text, strict=False)
    except RecursionError:
        raise ValueError("objects in objects too deep to read") from None
    if not isinstance(record, dict):
        raise ValueError(f"{text.strip():.20}")  # noqa: TRY004 - of a line, as what json raises
    return record


def strings(text: str) -> Iterator[tuple[str, int, int]]:
    """Give the strings that are values in a valid object: path of keys, and where they stand."""
    keys: list[str | None] = []  # of each open object; None for a list
    key, is_key = "", False
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark[0] == '"':
            if is_key:
                key = json.loads(mark, strict=False) if "\\" in mark else token["string"]
                keys[-1] = key
                is_key = False
            else:
                path = ".".join(x for x in keys if x is not None)
                yield _whole(path), token.start() + 1, token.end() - 1
        elif mark == "{":
            keys.append("")
            is_key = True
        elif mark == "[":
            keys.append(None)
            is_key = False
        elif mark in "}]":
            keys.pop()
            is_key = False
        elif mark == ",":
            is_key = keys[-1] is not None


def _add_escaped(builder: TextBuilder, text: str, start: int) -> None:
    if "\\" not in text:
        add_plain(builder, text, start)
        return
    at = 0
    for token in _ESCAPE.finditer(text):
        begin, end = token.span()
        if begin > at:
            builder.piece(text[at:begin], start + at, start + begin)
        at = end
        if token["space"]:
            written = token[0].replace("\\n", "\n").replace("\\r", "\r")
            builder.space(breaks_in(written))
        else:
            builder.decoded(_meant(token[0]), start + begin, start + end)
    if at < len(text):
        builder.piece(text[at:], start + at, start + len(text))


def _meant(escape: str) -> str:
    r"""Give the character of an escape; half a surrogate pair is U+FFFD.

    >>> _meant(r"\u00e9"), _meant(r"\ud83d\ude00"), _meant(r"\ud83d"), _meant(r"\/")
    ('é', '😀', '\ufffd', '/')
    """
    if escape[1] != "u":
        return _SHORT[escape[1]]
    return _whole(json.loads(f'"{escape}"'))


def _whole(text: str) -> str:
    """Put U+FFFD for each half of a surrogate pair, which no file could hold."""
    return _HALF.sub("\ufffd", text)
