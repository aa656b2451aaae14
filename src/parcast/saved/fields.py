"""A result as the call of its own class: its fields, which documents hold and types read again.

This is for results that cannot be computed again, as their files are gone, or not at once. Objects
of one class are written by columns, `{"p": [1, 2], "kind": {"each": "measured"}}`, and numbers
that JSON does not have as texts, "inf" and "nan". What is read has the types that the fields say,
and no other object is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from math import isfinite
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from parcast.saved.call import decoded, encoded, is_description
from parcast.show.warning import Rank, RankedWarning

FIELDS: Final = "fields"  # verb of the call of a class
NOT_SAVED: Final = MappingProxyType({"saved": False})  # metadata of a field that is left out
INPUTS: Final = "inputs"  # which documents have beside
EACH: Final = "each"  # what a column holds that is the same everywhere
WARNING: Final = "warning"  # text of one that has a rank
ENDLESS: Final = ("inf", "-inf", "nan")
UNREADABLE: Final = (AttributeError, LookupError, TypeError, ValueError)


def call_of(result: Any) -> dict[str, Any]:
    """Give the call of a result's class with its fields."""
    names = (x for x in _names_of(type(result)) if x != INPUTS)
    arguments = {name: _held(result, name) for name in names}
    return {"verb": FIELDS, "arguments": arguments}


def written(value: Any) -> Any:
    """Write the value of a field as JSON has it."""
    found = value
    if isinstance(value, RankedWarning):
        rest = {"kind": value.kind, "rank": int(value.rank), "size": value.size}
        found = {WARNING: str(value), **rest}
    elif isinstance(value, float):
        found = float(value) if isfinite(value) else str(float(value))
    elif isinstance(value, np.ndarray | np.generic):
        found = written(value.tolist())
    elif is_description(type(value)):
        found = encoded(value)
    elif names := _names_of(type(value)):
        found = {name: _held(value, name) for name in names}
    elif isinstance(value, Mapping):
        found = {str(name): written(x) for name, x in value.items()}
        if any(isinstance(name, tuple) for name in value):
            found = [[written(name), written(x)] for name, x in value.items()]
    elif isinstance(value, list | tuple):
        [kind, *others] = {type(x) for x in value} or {NoneType}
        is_alike = bool(_names_of(kind)) and not others
        found = _columns(value) if is_alike else [written(x) for x in value]
    return found


def _names_of(kind: Any) -> tuple[str, ...]:
    """Name the fields of a class that is written by them; () of others."""
    if is_dataclass(kind):
        return tuple(x.name for x in fields(kind) if x.metadata != NOT_SAVED)
    return getattr(kind, "_fields", ())


def _held(of: Any, name: str) -> Any:
    """Write a field, or what its class says that documents have of it."""
    held, stand_in = getattr(of, name), _stand_ins(type(of)).get(name)
    if stand_in is None:
        return written(held)
    return {x: written(getattr(held, x)) for x in _names_of(stand_in)} or None


def _stand_ins(kind: Any) -> Mapping[str, Any]:
    """Give the classes of which documents have fields; `NoneType` of what they have not."""
    stand_ins: Mapping[str, Any] = getattr(kind, "_saved_as", {})
    return stand_ins


def _columns(alike: Sequence[Any]) -> dict[str, Any]:
    """Write objects of one class by columns, the first of which says how many there are."""
    columns: dict[str, Any] = {}
    for name in _names_of(type(alike[0])):
        cells = [_held(x, name) for x in alike]
        is_one = bool(columns) and all(x == cells[0] for x in cells)
        columns[name] = {EACH: cells[0]} if is_one else cells
    return columns


def object_of(kind: Any, document: Mapping[str, Any]) -> Any:
    """Make an object of its fields as a document has them; missing ones have their defaults.

    Raises
    ------
    AttributeError, LookupError, TypeError, ValueError
        If they are others, or not of their types.
    """
    kind = get_origin(kind) or kind  # where its own types are left open
    types = _types_of(kind)
    return kind(**{name: read(types[name], x) for name, x in document.items()})


@cache
def _types_of(kind: Any) -> dict[str, Any]:
    """Give the types of the fields of a class."""
    hints = {**get_type_hints(kind), **_stand_ins(kind)}
    return {name: hints[name] for name in _names_of(kind)}


def read(kind: Any, value: Any) -> Any:
    """Read a value that `written` wrote, of a type.

    >>> read(tuple[float, ...], [1, "inf"])
    (1.0, inf)
    """
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        found = _first_of(inner, value)
    elif origin is Literal:
        found = inner[inner.index(value)]
    elif origin is np.ndarray:
        found = np.array(_plain(list, value), dtype=get_args(inner[1])[0])
        if written(found) != value:
            raise TypeError(f"{value!r:.40} are no numbers of type {found.dtype}")
    elif origin is tuple:
        found = tuple(_each(inner, value))
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        found = [*_each((*inner, ...), value)]
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        of_keys, of_values = (*inner, int)[:2]  # a Counter has one type
        found = dict(_entries(of_keys, of_values, value))
        found = Counter(found) if origin is Counter else found
    elif is_description(kind):
        found = _plain(kind, decoded(value))
    elif _names_of(origin or kind):
        found = object_of(kind, value)
    else:
        found = value if kind is Any else _plain(kind, value)
    return found


def _plain(kind: Any, value: Any) -> Any:
    """Take a value that is of a type: a number, a text, a list."""
    if kind is str and isinstance(value, dict):
        rest = {**value, "rank": Rank(value["rank"])}
        return RankedWarning(rest.pop(WARNING), **rest)
    if kind is float and (type(value) is int or value in ENDLESS):
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} is no {kind.__name__}")
    return value


def _first_of(kinds: Sequence[Any], value: Any) -> Any:
    """Read a value as the first of several types that it can be of."""
    for kind in kinds:
        with suppress(*UNREADABLE):
            return read(kind, value)
    raise TypeError(f"{value!r:.40} is of no type that it may have")


def _entries(of_keys: Any, of_values: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Read the entries of a mapping; a list of them has keys that are no text."""
    if isinstance(value, list):
        yield from ((read(of_keys, name), read(of_values, x)) for name, x in value)
    else:
        for name, x in value.items():
            yield int(name) if of_keys is int else name, read(of_values, x)


def _each(kinds: Sequence[Any], value: Any) -> Iterator[Any]:
    """Read the elements of a sequence, which columns may hold."""
    is_of_one = kinds[-1] is ...
    if isinstance(value, dict):
        yield from _objects_of(kinds[0], value)
    elif is_of_one:
        yield from (read(kinds[0], x) for x in _plain(list, value))
    else:
        yield from (read(kind, x) for kind, x in zip(kinds, _plain(list, value), strict=True))


def _objects_of(kind: Any, columns: Mapping[str, Any]) -> Iterator[Any]:
    """Make objects of one class of their columns; what is the same everywhere is read once."""
    kind = get_origin(kind) or kind
    types = _types_of(kind)
    [count] = {len(x) for x in columns.values() if isinstance(x, list)}
    cells = [
        [read(types[name], x[EACH])] * count
        if isinstance(x, dict)
        else [read(types[name], y) for y in x]
        for name, x in columns.items()
    ]
    yield from (kind(**dict(zip(columns, row, strict=True))) for row in zip(*cells, strict=True))
