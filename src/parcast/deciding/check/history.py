"""The history of a program's times as CSV, a line for each check, as Apache Otava reads it.

Otava [1]_ takes a table with a column `time`, further attributes such as `commit`, and a column
of numbers for each metric; its configuration names them. Both files are written: `history.csv`
and `history.yaml` beside it.

References
----------
.. [1] Apache Otava (incubating), "Importing results from CSV," https://otava.apache.org/docs/csv.
"""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from parcast.deciding.compare.cells import cells_of
from parcast.deciding.compare.noise import noise_of
from parcast.errors import FileProblems, Problem
from parcast.files.document import row_pieces, write_document
from parcast.timings.measurements import Measurements
from parcast.timings.series import Key, label_of

OWN: Final = ("time", "commit")
BEGINNING: Final = "tests:\n  parcast:\n    type: csv"  # of a configuration


def name_of(key: Key) -> str:
    """Name of the metric of a cell, as a configuration may hold it.

    >>> name_of({"callpath": "main/solve", "n": 1000.0, "p": 64.0})
    'main/solve_n1000_p64_s'
    """
    parts = [x if isinstance(x, str) else f"{name}{x:.10g}" for name, x in key.items()]
    return "_".join("".join(parts_of(x)) for x in parts) + "_s"


def names_of(keys: Sequence[Key]) -> list[str]:
    """Names of the metrics of cells; names that would be the same get a checksum of the cell.

    >>> names_of([{"callpath": "a b", "p": 4.0}, {"callpath": "c", "p": 4.0}])
    ['a-b_p4_s', 'c_p4_s']
    """
    names = [name_of(key) for key in keys]
    often = Counter(names)
    return [
        f"{name[:-2]}_{crc32(label_of(key).encode()):08x}_s" if often[name] > 1 else name
        for name, key in zip(names, keys, strict=True)
    ]


def _configuration_beside(path: str) -> Path:
    """Path of the configuration; refuse to overwrite a file that is no such configuration."""
    beside = Path(path).with_suffix(".yaml")
    if beside == Path(path):
        hint = "Name it history.csv."
        raise FileProblems(path, [Problem(message="must be a CSV file; got .yaml.", hint=hint)])
    if beside.exists():
        try:
            is_own = beside.read_text(encoding="utf-8").startswith(BEGINNING)
        except (OSError, UnicodeDecodeError):
            is_own = False
        if not is_own:
            message = "would be overwritten with the configuration of the history beside it."
            hint = "Name another history."
            raise FileProblems(str(beside), [Problem(message=message, hint=hint)])
    return beside


def parts_of(text: str) -> Sequence[str]:
    """Letters of a name; those that would need quotation marks become a dash."""
    return [x if x.isalnum() or x in "/._-+" else "-" for x in text]


def add_line(path: str, new: Sequence[Measurements], *, commit: str) -> list[str]:
    """Add a line of the mean times of the new version; say what a reader must know."""
    if not any(map(len, new)):
        return [f"{path}: no line was added, as no run ended."]
    cells = cells_of([], new)
    times = np.exp(noise_of(cells).mean_of(cells)[0]).tolist()
    names = names_of(cells.keys)
    line = {name: f"{time:.6g}" for name, time in zip(names, times, strict=True)}
    beside = _configuration_beside(path)
    header, rows = _read(path)
    metrics = [x for x in header if x not in OWN] or list(line)
    notes = []
    if missing := [x for x in metrics if x not in line]:
        notes.append(
            f"{path}: no line was added, as these were not run: {', '.join(missing[:4])}. Every "
            "line has all metrics."
        )
        return notes
    if more := [x for x in line if x not in metrics]:
        notes.append(
            f"{path} has no column for {', '.join(more[:4])}. To keep it, begin another file."
        )
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S+00:00")
    rows.append([now, commit, *(line[x] for x in metrics)])
    write_document(path, row_pieces([[*OWN, *metrics], *rows], for_people=False))
    write_document(beside, [_configuration(path, metrics)])
    return notes


def _read(path: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a history; nothing where there is none yet."""
    file = Path(path)
    if not file.exists() or not file.stat().st_size:
        return [], []
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            header, *rows = list(csv.reader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _not_a_history(path, str(error)) from error
    if tuple(header[: len(OWN)]) != OWN or any(len(row) != len(header) for row in rows):
        raise _not_a_history(path, ",".join(header))
    return header, rows


def _not_a_history(path: str, got: str) -> FileProblems:
    """Say that a file is another one."""
    message = f"must be a history: columns time, commit and times; got {got:.80}."
    return FileProblems(path, [Problem(message=message, hint="Name another file.")])


def _configuration(path: str, metrics: Sequence[str]) -> str:
    """Configuration of Otava for a history: times are better the smaller they are."""
    lines = [
        BEGINNING,
        f"    file: {json.dumps(path)}",
        "    time_column: time",
        "    attributes: [commit]",
        "    metrics:",
        *(f"      {json.dumps(x)}: {{direction: -1, scale: 1}}" for x in metrics),
    ]
    return "\n".join(lines) + "\n"
