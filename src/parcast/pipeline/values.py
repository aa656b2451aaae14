"""The value of a pipeline in a file: JSON, CSV, NumPy's format or pickled, by the ending.

A file holds the whole value, or it is not written: keys that would become one key as text, masks
and mixed types that an array does not keep are refused. Only numbers that are not finite, which
JSON and CSV do not have, become null or an empty cell, with a warning.
"""

import io
import json
import math
import os
import pickle
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any, Final

from parcast.errors import FAILURES, is_of_system, text_of
from parcast.files.document import csv_pieces, replacing, write_document
from parcast.mpi.payload import has
from parcast.words import counted

SURROGATE: Final = re.compile("[\ud800-\udfff]")  # in names of files that are not UTF-8


def plain(value: Any) -> Any:
    """Give JSON what it knows for what it does not: arrays and sets as lists."""
    if has(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


class Converted:
    """Makes of values what JSON and CSV have, and counts the numbers that these do not have."""

    def __init__(self) -> None:
        self._left_out = 0

    def json(self, value: Any) -> Any:
        """Give a value as JSON has it; TypeError says that it has no place there."""
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            return self._finite(value)
        if isinstance(value, list | tuple):
            return [self.json(each) for each in value]
        if isinstance(value, Mapping):
            require_keys(value)
            return {_text_of(key): self.json(each) for key, each in value.items()}
        return self.json(plain(value))

    def cell(self, value: Any) -> Any:
        """Give a value as a cell of a table, what has parts as JSON."""
        if isinstance(value, Real) and not isinstance(value, int):
            return self._finite(value)
        if isinstance(value, str):
            _require_utf8(value)
        elif isinstance(value, bytes | Collection):
            return json_text(self.json(value))
        return value

    def rows(self, value: Any) -> Iterator[dict[str, Any]]:
        """Rows of a mapping, or of a list of rows."""
        for row in rows(value):
            yield {name: self.cell(each) for name, each in row.items()}

    def warning(self, path: str, written: str) -> str:
        """Say how many numbers of a file are not there; nothing if they all are."""
        if not self._left_out:
            return ""
        what = counted(self._left_out, "number") + (" is" if self._left_out == 1 else " are")
        return f"{path}: {what} not finite, written as {written}. .npy and .pickle keep them."

    def _finite(self, number: Any) -> Any:
        if math.isfinite(number):
            return number
        self._left_out += 1
        return None


def _text_of(key: Any) -> str:
    """Text of a key of JSON, as Python writes it; TypeError for what is no key there."""
    if has(key, "tolist"):
        key = key.tolist()
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, int | float):
        return json.dumps(key)
    raise TypeError(f"JSON has no keys of type {type(key).__name__}")


def require_keys(keys: Iterable[Any], written: Callable[[Any], str] = _text_of) -> None:
    """Refuse keys of which two would be the same text."""
    seen: dict[str, Any] = {}
    for key in keys:
        text = written(key)
        if text in seen:
            raise TypeError(
                f"its keys {text_of(seen[text])} and {text_of(key)} are written as the same text"
            )
        seen[text] = key


def _require_utf8(text: str) -> None:
    if SURROGATE.search(text):
        raise TypeError(f"its text {text!a} is not Unicode, such as a file name that is not UTF-8")


def json_text(tree: Any) -> str:
    r"""Write what JSON has as text; a byte of a file name that is not UTF-8 as \udcff."""
    return escaped(json.dumps(tree, ensure_ascii=False, allow_nan=False))


def escaped(text: str) -> str:
    """Escape what no UTF-8 file can have in a text of JSON."""
    return SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def saved(path: str, value: Any) -> tuple[str, str]:
    """Write a value to a file; give why and where it is elsewhere instead, and a warning."""
    try:
        return "", _write(path, value)
    except FAILURES as failure:  # a value that took hours is not lost, whatever it does
        return _kept_elsewhere(path, value, failure), ""


def printed(value: Any) -> tuple[Iterator[str], str]:
    """Give a value as the text of a table, of JSON if it is none, and a warning."""
    made = Converted()
    with suppress(*FAILURES):  # of the value, which is no table then
        table = [*csv_pieces(made.rows(value), exact=True)]
        return iter(table), made.warning("-", "empty cells")
    made = Converted()
    text = json_text(made.json(value))
    return iter([text, "\n"]), made.warning("-", "null")


def kept(name: str, value: Any, failure: BaseException) -> str:
    """Pickle a value that cannot be printed in the temporary folder; say why and where."""
    why = text_of(failure, str).rstrip(".")
    text = f"A value of type {type(value).__name__} cannot be printed: {why}."
    return _written_to(text, _temporary(f"{name}.pickle"), value)


def _kept_elsewhere(path: str, value: Any, failure: BaseException) -> str:
    """Write a value that a file could not take to another one, and say why and where.

    What does not fit the format goes beside it, as JSON or pickled; what the disk did not take
    goes to the temporary folder of the system.
    """
    if isinstance(failure, OSError) and is_of_system(failure):
        why = (failure.strerror or f"the disk may be full ({failure})").lower()
        text, endings = f"{path} cannot be written: {why}.", [""]
    else:
        why = text_of(failure, str).rstrip(".")
        text = f"{path} cannot hold a value of type {type(value).__name__}: {why}."
        endings = [".json", ".pickle"] if path.lower().endswith(".csv") else [".pickle"]
    return _written_to(text, _others(path, endings), value)


def _written_to(text: str, others: Iterable[str], value: Any) -> str:
    """Write a value to the first file that takes all of it; add which one to a text."""
    for other in others:
        with suppress(*FAILURES):
            _write(other, value)
            return f"{text} The value was written to {other}."
    return f"{text} No other file could be written either."


def _others(path: str, endings: list[str]) -> Iterator[str]:
    """Give files that may take a value in place of one, with these endings more."""
    yield from (f"{path}{ending}" for ending in endings if ending)
    yield from _temporary(f"{os.path.basename(path)}{endings[-1]}")


def _temporary(name: str) -> Iterator[str]:
    """Give a file of a new folder for temporary files."""
    with suppress(OSError):
        folder = tempfile.mkdtemp(prefix="parcast-")
        yield os.path.join(folder, name)
        os.rmdir(folder)  # nothing could be written there


def _write(path: str, value: Any) -> str:
    return WRITERS[Path(path).suffix.lower()](path, value)


def _write_json(path: str, value: Any) -> str:
    made = Converted()
    write_document(path, [json_text(made.json(value)), "\n"])
    return made.warning(path, "null")


def _write_csv(path: str, value: Any) -> str:
    made = Converted()
    write_document(path, csv_pieces(made.rows(value), exact=True))
    return made.warning(path, "empty cells")


def rows(value: Any) -> Iterator[dict[str, Any]]:
    """Rows of a mapping, or of a list of rows."""
    if isinstance(value, Mapping):
        require_keys(value, _cell_text)
        yield from ({"key": key, "value": each} for key, each in value.items())
        return
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        raise TypeError("it has no rows")
    if has(value, "mask"):
        value = plain(value)  # None where an element is masked
    names = dict.fromkeys(name for each in value for name in _row(each))
    require_keys(names, _cell_text)
    for each in value:
        row = _row(each)
        yield {name: row.get(name) for name in names}


def _cell_text(key: Any) -> str:
    """Text of a key in a table."""
    return "" if key is None else str(key)


def _row(element: Any) -> dict[str, Any]:
    """Columns of an element of a list: by name, or by number from 0."""
    if isinstance(element, Mapping):
        return dict(element)
    if isinstance(element, list | tuple) or (has(element, "ndim") and element.ndim > 0):
        return {str(i): cell for i, cell in enumerate(element)}
    return {"value": element}


def _write_array(path: str, value: Any) -> str:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.hasobject:
        raise TypeError("it is no array of numbers")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("the format has no masks")
    if not isinstance(value, np.ndarray | np.generic) and not _is_same(value, array.tolist()):
        raise TypeError("as one array it would have other elements than these")
    with replacing(path) as draft, draft.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)
    return ""


def _is_same(value: Any, kept: Any) -> bool:
    """Tell whether an array, as lists, has the elements of what it was made from."""
    if isinstance(kept, list):
        return len(value) == len(kept) and all(map(_is_same, value, kept))
    return bool(value == kept or (value != value and kept != kept))  # noqa: PLR0124  # NaN


def _write_pickle(path: str, value: Any) -> str:
    with replacing(path) as draft, io.BufferedWriter(draft.open("wb", buffering=0)) as stream:
        pickle.dump(value, stream, protocol=5)
    return ""


WRITERS: Final[Mapping[str, Callable[[str, Any], str]]] = {
    ".json": _write_json,
    ".csv": _write_csv,
    ".npy": _write_array,
    ".pickle": _write_pickle,
}
