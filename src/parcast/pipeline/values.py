"""The value of a pipeline in a file: JSON, CSV, NumPy's format or pickled, by the ending."""

import io
import json
import os
import pickle
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from parcast.files.document import csv_pieces, replacing, write_document


def plain(value: Any) -> Any:
    """Give JSON what it knows for what it does not: arrays and sets as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"JSON has no {type(value).__name__}")


def json_value(value: Any) -> Any:
    """Give a value as JSON has it; TypeError says that it has no place there."""
    return json.loads(json.dumps(value, default=plain))


def saved(path: str, value: Any) -> str:
    """Write a value to a file; where that fails, elsewhere, and say why and where."""
    try:
        _write(path, value)
    except Exception as failure:  # a value that took hours is not lost, whatever it does
        return kept_elsewhere(path, value, failure)
    return ""


def kept_elsewhere(path: str, value: Any, failure: Exception) -> str:
    """Write a value that a file could not take to another one, and say why and where.

    What does not fit the format goes beside it, as JSON or pickled; what the disk did not take
    goes to the temporary folder of the system.
    """
    if isinstance(failure, OSError):
        why = (failure.strerror or f"the disk may be full ({failure})").lower()
        text, endings = f"{path} cannot be written: {why}.", [""]
    else:
        why = str(failure).rstrip(".")
        text = f"{path} cannot hold a value of type {type(value).__name__}: {why}."
        endings = [".json", ".pickle"]
    for other in _others(path, endings):
        with suppress(Exception):
            _write(other, value)
            return f"{text} The value was written to {other}."
    return f"{text} No other file could be written either."


def _others(path: str, endings: list[str]) -> Iterator[str]:
    """Give files that may take a value in place of one, with these endings more."""
    yield from (f"{path}{ending}" for ending in endings if ending)
    with suppress(OSError):
        folder = tempfile.mkdtemp(prefix="parcast-")
        yield os.path.join(folder, f"{os.path.basename(path)}{endings[-1]}")
        os.rmdir(folder)  # nothing could be written there


def _write(path: str, value: Any) -> None:
    """Write a value to a file, whole or not at all."""
    WRITERS[Path(path).suffix.lower()](path, value)


def _write_json(path: str, value: Any) -> None:
    write_document(path, [json.dumps(value, default=plain, ensure_ascii=False), "\n"])


def _write_csv(path: str, value: Any) -> None:
    write_document(path, csv_pieces(rows(value)))


def rows(value: Any) -> Iterator[dict[str, Any]]:
    """Rows of a mapping, or of a list of rows."""
    if isinstance(value, Mapping):
        yield from ({"key": key, "value": each} for key, each in value.items())
        return
    if isinstance(value, str | bytes) or not isinstance(value, Collection):
        raise TypeError("it has no rows")
    names = dict.fromkeys(name for each in value for name in _row(each))
    for each in value:
        row = _row(each)
        yield {name: row.get(name) for name in names}


def _row(element: Any) -> dict[str, Any]:
    """Columns of an element of a list: by name, or by number from 0."""
    if isinstance(element, Mapping):
        return dict(element)
    if isinstance(element, list | tuple) or getattr(element, "ndim", 0) > 0:
        return {str(i): cell for i, cell in enumerate(element)}
    return {"value": element}


def _write_array(path: str, value: Any) -> None:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.hasobject:
        raise TypeError("it is no array of numbers")
    with replacing(path) as draft, draft.open("wb") as stream:
        np.save(stream, array, allow_pickle=False)


def _write_pickle(path: str, value: Any) -> None:
    with replacing(path) as draft, io.BufferedWriter(draft.open("wb", buffering=0)) as stream:
        pickle.dump(value, stream, protocol=5)


WRITERS: Final[Mapping[str, Callable[[str, Any], None]]] = {
    ".json": _write_json,
    ".csv": _write_csv,
    ".npy": _write_array,
    ".pickle": _write_pickle,
}
