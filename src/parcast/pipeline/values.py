"""The value of a pipeline in a file: JSON, CSV, NumPy's format or pickled, by the ending."""

import io
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from parcast.errors import ParameterError
from parcast.files.document import csv_pieces, replacing, write_document
from parcast.units import shown


def plain(value: Any) -> Any:
    """Give JSON what it knows for what it does not: arrays and sets as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON; use a .pickle file")


def json_value(value: Any) -> Any:
    """Give a value as JSON has it; TypeError says that it has no place there."""
    return json.loads(json.dumps(value, default=plain))


def write_value(path: str, value: Any) -> None:
    """Write a value to a file, whole or not at all; refuse what its format has no place for."""
    write: dict[str, Callable[[str, Any], None]] = {
        ".json": _write_json,
        ".csv": _write_csv,
        ".npy": _write_array,
        ".pickle": _write_pickle,
    }
    try:
        write[Path(path).suffix.lower()](path, value)
    except (TypeError, ValueError) as failure:
        raise ParameterError(
            "-o",
            must=f"be a file that a {type(value).__name__} can be written to",
            got=f"{shown(path)}: {failure}",
            hint="Write it to a .pickle file.",
        ) from failure


def _write_json(path: str, value: Any) -> None:
    write_document(path, [json.dumps(value, default=plain, ensure_ascii=False), "\n"])


def _write_csv(path: str, value: Any) -> None:
    write_document(path, csv_pieces(_rows(value)))


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    """Rows of a mapping, or of a list of rows."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield {"key": key, "value": each}
    else:
        for row in value:
            yield dict(row) if isinstance(row, Mapping) else {"value": row}


def _write_array(path: str, value: Any) -> None:
    import numpy as np

    with replacing(path) as draft, draft.open("wb") as stream:
        np.save(stream, np.asarray(value), allow_pickle=False)


def _write_pickle(path: str, value: Any) -> None:
    with replacing(path) as draft, io.BufferedWriter(draft.open("wb", buffering=0)) as stream:
        pickle.dump(value, stream, protocol=5)
