"""What stands in documents: keys in their order, each of a field that is described where it is.

An outline names the keys of a document or of a row, with blanks between them::

    "rows p# within_s converged=has_converged machine=machine.name measured? *request"

A key is a field, a property or a method of an answer, with its unit at the end, or `key=path`
where the answer calls it otherwise. ``#`` ends a count, which is written as a whole number, ``?``
what is left out where it holds nothing; ``*`` begins what is written with keys of its own. What a
key holds is said once, by the comment or the docstring of the field; the reference page of JSON is
made from these.
"""

import re
from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from math import isfinite
from typing import Any, Final, NamedTuple

from parcast.words import whole

ROWS_AT_ONCE: Final = 8192
UNIT: Final = re.compile(r"(?:_B_per_s|_per_s|_bytes|_B|_s|_p)$")  # that a key ends in
PLAIN: Final = frozenset({str, int, bool, type(None)})  # what JSON has as it is
ENTRY: Final = re.compile(r"(\*?)(\w+)(#?)(\??)(?:=([\w.]+))?")


class Key(NamedTuple):
    """A key of a document, and where an answer has what it holds."""

    name: str
    path: tuple[str, ...]  # names, each of what the one before holds
    is_count: bool
    is_optional: bool
    is_spread: bool


@cache
def keys_of(answer: Hashable, outline: str) -> tuple[Key, ...]:
    """Read an outline for a class of answers."""
    keys = []
    for entry in outline.split():
        found = ENTRY.fullmatch(entry)
        assert found, f"{entry!r} is no key of an outline"
        star, name, count, optional, path = found.groups()
        own = name if hasattr(answer, name) else UNIT.sub("", name)
        place = tuple((path or own).split("."))
        keys.append(Key(name, place, bool(count), bool(optional), bool(star)))
    return tuple(keys)


def values_of(answer: Any, outline: str) -> Iterator[tuple[Key, Any]]:
    """Give what each key holds, as the answer has it; each property is computed once."""
    known: dict[str, Any] = {}
    kind: Any = type(answer)
    for key in keys_of(kind, outline):
        first = key.path[0]
        if first in known:
            value = known[first]
        else:
            value = getattr(answer, first)
            value = known[first] = value() if callable(value) else value
        for name in key.path[1:]:
            value = _inside(value, name)
            value = value() if callable(value) else value
        yield key, value


def _inside(value: Any, name: str) -> Any:
    """Give an entry or a field of something; None of nothing."""
    if value is None:
        return None
    return value[name] if isinstance(value, Mapping) else getattr(value, name)


def document_of(answer: Any, outline: str = "", *, at: int | None = None) -> dict[str, Any]:
    """Write an answer, or what one has, by an outline, its own by default.

    With `at`, arrays are written by this one of their elements.
    """
    document: dict[str, Any] = {}
    for key, held in values_of(answer, outline or answer._outline):
        if type(held) in PLAIN and not key.is_spread:
            value = held
        else:
            is_column = at is not None and hasattr(held, "tolist")
            value = written(held[at] if is_column else held, is_count=key.is_count)
        if key.is_spread:
            document |= value or {}
        elif value or not (key.is_optional and (value is None or value in ([], {}, ""))):
            document[key.name] = value
    return document


def written(value: Any, *, is_count: bool = False) -> Any:
    """Turn a value into what JSON has, None where a number is not finite."""
    kind = type(value)
    if kind in PLAIN or isinstance(value, str | int):
        return value
    if kind is float or isinstance(value, float):
        return (whole(value) if is_count else value) if isfinite(value) else None
    if kind is dict or isinstance(value, Mapping):
        return {name: written(x, is_count=is_count) for name, x in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return [written(x, is_count=is_count) for x in value]
    if isinstance(value, Iterator):  # of rows, which are written already
        return list(value)
    return document_of(value) if hasattr(value, "_outline") else _of_fields(value, is_count)


def _of_fields(value: Any, is_count: bool) -> Any:
    """Write an object by what it says of itself, else by its fields."""
    for way in ("to_document", "tolist", "_asdict"):
        if hasattr(value, way):
            return written(getattr(value, way)(), is_count=is_count)
    return {field.name: written(getattr(value, field.name)) for field in fields(value)}


def columns_of(answer: Any, outline: str) -> dict[str, Any]:
    """Give what the keys of an outline hold, as columns of a table; those left out are not."""
    values = values_of(answer, outline)
    return {key.name: x for key, x in values if not (key.is_optional and x is None)}


def table_rows(
    columns: Mapping[str, Any], shape: tuple[int, ...], *, counts: Collection[str] = ()
) -> Iterator[dict[str, Any]]:
    """Give the rows of columns that broadcast to a shape, the last axis fastest.

    Of `counts` whole numbers are written as such. Rows are made some thousand at a time.
    """
    import numpy as np

    grid = [None if x is None else np.broadcast_to(x, shape) for x in columns.values()]
    points = int(np.prod(shape))
    for start in range(0, points, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        size = len(range(points)[part])
        lists = [[None] * size if x is None else _cells(x.flat[part]) for x in grid]
        for i, name in enumerate(columns):
            if name in counts:
                lists[i] = [whole(x) for x in lists[i]]
        for values in zip(*lists, strict=True):
            yield dict(zip(columns, values, strict=True))


def _cells(column: Any) -> list[Any]:
    """Give the cells of a column; None for numbers that are not finite."""
    cells: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return [x if isfinite(x) else None for x in cells]
    return cells
