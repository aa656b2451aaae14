"""Caliper profiles as the JSON that `cali-query` prints; needs no library.

`format json-split` is a table with a tree of regions beside it, and the metadata of the run.
`format json` is a list of records, `json(object)` the same with the metadata: their paths are
text, `main/solve`.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

from parcast.advice import Choice, Command
from parcast.files.faults import Faults
from parcast.files.numbers import whole
from parcast.importers.caliper_columns import Records, time_column
from parcast.importers.call_profile import CallPaths
from parcast.importers.content import document_text, parsed
from parcast.units import shown

PARTS = ("data", "columns", "column_metadata", "nodes")
ROWS = re.compile(r'\s*\{\s*"data"\s*:\s*\[(?=\s*\[)')
ROW_END = re.compile(r"\]\s*,(?=\s*\[)")
COLUMNS = '"columns"'  # what follows the rows
BLOCK = 2**16  # characters of rows that are parsed at a time
WRITE: Final = Command(
    ("cali-query", "-q", "select * format json-split", Choice("FILE.cali")), writes="FILE.json"
)
ASK = f"Write it again: {WRITE}"


def records_of_json(path: Path, faults: Faults) -> Records:
    """Read a file of either form."""
    records = Records(faults)
    document, blocks = _document(path, faults)
    if isinstance(document, list):
        _add_objects(document, records, "", faults)
    elif isinstance(document, dict) and isinstance(document.get("records"), list):
        _add_objects(document["records"], records, "records", faults)
        metadata = document.get("globals")
        records.metadata = metadata if isinstance(metadata, dict) else {}
    elif isinstance(document, dict) and all(isinstance(document.get(x), list) for x in PARTS):
        _add_table(document, blocks, records, faults)
        records.metadata = {x: y for x, y in document.items() if x not in PARTS}
    else:
        got = ", ".join(document) if isinstance(document, dict) else "another kind of JSON"
        faults.refuse(
            f"must have data, columns, column_metadata and nodes, got {shown(got)}. {ASK}"
        )
    return records


def _document(path: Path, faults: Faults) -> tuple[Any, Iterable[list[Any]]]:
    """Read a document: of a table, without its rows, which come block by block."""
    text = document_text(path, faults)
    start = ROWS.match(text)
    columns = text.find(COLUMNS, start.end()) if start else -1
    stop = text.rfind("]", 0, columns) if columns > 0 else -1
    if start is None or stop < 0:
        document = parsed(text, faults)
        rows = document.get("data") if isinstance(document, dict) else None
        return document, [rows] if isinstance(rows, list) else []
    rest = text[: start.end()] + text[stop:]
    document = parsed(rest, faults, line=1 + text.count("\n", start.end(), stop))
    return document, _blocks(text, start.end(), stop, faults)


def _blocks(text: str, start: int, stop: int, faults: Faults) -> Iterator[list[Any]]:
    """Parse the rows of a table some thousands at a time, for there may be millions."""
    line = 1 + text.count("\n", 0, start)
    while start < stop:
        end = ROW_END.search(text, min(start + BLOCK, stop), stop)
        last = end.start() + 1 if end else stop
        yield parsed(f"[{text[start:last]}]", faults, line=line)
        line += text.count("\n", start, last)
        start = end.end() if end else stop


def _add_objects(listed: list[Any], records: Records, key: str, faults: Faults) -> None:
    """Add records that are objects, with their regions as text."""
    columns = {name: time_column(name) for x in listed if isinstance(x, dict) for name in x}
    for i, one in enumerate(listed):
        field = f"{key}[{i}]"
        path = one.get("path", "") if isinstance(one, dict) else None
        if not isinstance(path, str):
            faults.refuse(f"must be a record with a path as text. {ASK}", field=field)
        times = {x: one[x.name] for x in map(columns.get, one) if x is not None}
        regions = tuple(name for name in path.split("/") if name)
        records.add(regions, one.get("mpi.rank", one.get("rank")), times, field=field)


def _add_table(
    document: dict[str, Any], blocks: Iterable[list[Any]], records: Records, faults: Faults
) -> None:
    """Add the rows of a table, with their regions in a tree."""
    names = document["columns"]
    details = document["column_metadata"]
    if len(details) != len(names) or not all(isinstance(x, dict) for x in details):
        faults.refuse(
            f"must describe each of {len(names)} columns. {ASK}", field="column_metadata"
        )
    units = [of_column.get("attribute.unit") for of_column in details]
    for i, unit in enumerate(units):
        if unit is not None and not isinstance(unit, str):
            field = f"column_metadata[{i}].attribute.unit"
            faults.refuse(f"must be text, got {shown(repr(unit))}. {ASK}", field=field)
    columns = [time_column(str(x), unit) for x, unit in zip(names, units, strict=True)]
    if "path" not in names:
        listed = shown(", ".join(map(str, names)))
        faults.refuse(f"must have a path of regions, got {listed}. {ASK}", field="columns")
    at_path = names.index("path")
    at_rank = next((names.index(x) for x in ("mpi.rank", "rank") if x in names), None)
    paths = _paths(document["nodes"], faults)
    for i, row in enumerate(chain.from_iterable(blocks)):
        field = f"data[{i}]"
        if not isinstance(row, list) or len(row) != len(names):
            faults.refuse(f"must have {len(names)} values. {ASK}", field=field)
        node = row[at_path]
        if node is not None and (not isinstance(node, int) or not 0 <= node < len(paths)):
            faults.refuse(
                f"must be in a region that is listed, got {shown(repr(node))}. {ASK}", field=field
            )
        times = {x: y for x, y in zip(columns, row, strict=True) if x is not None}
        rank = None if at_rank is None else row[at_rank]
        records.add(() if node is None else paths[node], rank, times, field=field)


def _paths(nodes: list[Any], faults: Faults) -> list[tuple[str, ...]]:
    """Give the path of each node of the tree, parents standing before their children."""
    paths: list[tuple[str, ...]] = []
    checked = CallPaths(faults)
    for i, node in enumerate(nodes):
        parent = node.get("parent") if isinstance(node, dict) else -1
        label = node.get("label") if isinstance(node, dict) else None
        above = None if parent is None else whole(parent, most=i - 1)
        if not isinstance(label, str) or (parent is not None and above is None):
            faults.refuse(f"must have a label, and a parent above it. {ASK}", field=f"nodes[{i}]")
        beyond = () if above is None else paths[above]
        paths.append(checked.below(beyond, label, f"nodes[{i}]"))
    return paths
