"""A lexicon as a file: Parquet, JSON, JSON lines or CSV, written whole or not at all.

One row a phrase, with its occurrences in lists; or one row an occurrence.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from parcast.applications.text.features.lexicon import Lexicon, Places
from parcast.applications.text.features.task import Features
from parcast.errors import ParameterError
from parcast.files.document import check_place, replacing, row_pieces, write_document
from parcast.needs import missing_package

Rows: TypeAlias = Literal["phrase", "occurrence"]
SCHEMA: Final = "parcast/features/1"
COLUMNS: Final = ("path", "document", "name", "field", "start", "stop")
LISTS: Final = {"phrase": "phrases", "occurrence": "places"}  # what JSON calls the rows
FORMATS: Final = (".parquet", ".json", ".jsonl", ".csv")
PHRASES_AT_A_TIME: Final = 5_000
OCCURRENCES_AT_A_TIME: Final = 50_000
ROWS_OF_A_GROUP: Final = 5_000


def format_of(path: str | os.PathLike[str]) -> str:
    """Format of an output by its name."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError(
            str(path),
            must=f"end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}",
            hint="The format is chosen by the end of the name.",
        )
    if suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401 - whether it is there
        except ImportError as error:
            raise missing_package("Parquet needs", "pyarrow", "features") from error
    return suffix


def facts_of(settings: Features) -> dict[str, Any]:
    """How phrases were found, for the head of a file."""
    return {"tagger": settings.tagger, "grammar": settings.grammar, "folded": settings.fold}


def check_output(
    path: str | os.PathLike[str],
    rows: str,
    has_occurrences: bool,
    *,
    sources: Sequence[str] = (),
) -> None:
    """Refuse an output that cannot be written, or is one of the files that are read."""
    check_place(path, sources=sources)
    format_of(path)
    if rows not in ("phrase", "occurrence"):
        raise ParameterError(
            "rows", must="be phrase or occurrence", got=repr(rows), hint="phrase is the default."
        )
    if rows == "occurrence" and not has_occurrences:
        raise ParameterError(
            "rows",
            must="be phrase, since the lexicon has frequencies only",
            got=repr(rows),
            hint="Build it with occurrences.",
        )


def write_lexicon(
    path: str | os.PathLike[str],
    lexicon: Lexicon,
    *,
    rows: Rows = "phrase",
    facts: Mapping[str, Any] | None = None,
) -> None:
    """Write a lexicon in the format that the name of the file ends in.

    `facts` (tagger, grammar, ...) go to the head of JSON and to the metadata of Parquet.
    """
    check_output(path, rows, lexicon.places is not None or not len(lexicon))
    kind = format_of(path)
    if kind == ".parquet":
        _write_parquet(path, lexicon, rows, dict(facts or {}))
    else:
        pieces: dict[str, Callable[[], Iterator[str]]] = {
            ".json": lambda: lexicon_json(lexicon, rows, dict(facts or {})),
            ".jsonl": lambda: (f"{_line(row)}\n" for row in _objects(lexicon, rows)),
            ".csv": lambda: row_pieces(_table(lexicon, rows)),
        }
        write_document(path, pieces[kind]())


def lexicon_json(lexicon: Lexicon, rows: Rows, facts: dict[str, Any]) -> Iterator[str]:
    """Text of one JSON document, a line for each phrase or occurrence."""
    head = {
        "schema": SCHEMA,
        **facts,
        "documents": lexicon.totals.documents,
        "tokens": lexicon.totals.tokens,
        "different_phrases": len(lexicon),
        "occurrences": int(lexicon.counts.sum()),
        "skipped": lexicon.totals.skipped,
        "faults": list(lexicon.totals.faults),
    }
    yield "{\n" + "".join(f"  {_line(key)}: {_line(value)},\n" for key, value in head.items())
    yield f'  "{LISTS[rows]}": ['
    before = "\n    "
    for row in _objects(lexicon, rows):
        yield before + _line(row)
        before = ",\n    "
    yield "\n  ]\n}\n" if len(lexicon) else "]\n}\n"


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _objects(lexicon: Lexicon, rows: Rows) -> Iterator[dict[str, Any]]:
    if rows == "occurrence":
        for phrase, places in _by_phrase(lexicon):
            for place in places:
                yield {"phrase": phrase, **place}
    elif lexicon.places is None:
        for phrase, count in zip(lexicon.phrases(), lexicon.counts.tolist(), strict=True):
            yield {"phrase": phrase, "frequency": count}
    else:
        for phrase, places in _by_phrase(lexicon):
            yield {"phrase": phrase, "frequency": len(places), "occurrences": places}


def _by_phrase(lexicon: Lexicon) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Each phrase with its occurrences as objects, some thousands of phrases at a time."""
    phrases = lexicon.phrases()
    for first, stop, rows in _slices(lexicon):
        columns = _columns(lexicon.places, rows) if lexicon.places else {}
        values = [
            dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
        at = 0
        for phrase, count in zip(
            phrases[first:stop], lexicon.counts[first:stop].tolist(), strict=True
        ):
            yield phrase, values[at : at + count]
            at += count


def _slices(lexicon: Lexicon) -> Iterator[tuple[int, int, slice]]:
    """Phrases some at a time, bounded in number and occurrences, and the rows of these."""
    sums = np.concatenate([[0], np.cumsum(lexicon.counts)])
    first = 0
    while first < len(lexicon):
        far = int(np.searchsorted(sums, sums[first] + OCCURRENCES_AT_A_TIME, side="right")) - 1
        stop = min(max(far, first + 1), first + PHRASES_AT_A_TIME, len(lexicon))
        yield first, stop, slice(int(sums[first]), int(sums[stop]))
        first = stop


def _columns(places: Places, rows: slice) -> dict[str, list[Any]]:
    keys = [places.documents[i] for i in places.document[rows].tolist()]
    start, length = places.start[rows].astype(np.int64), places.length[rows]
    return {
        "path": [key[0] for key in keys],
        "document": [key[1] for key in keys],
        "name": [key[2] for key in keys],
        "field": [places.fields[i] for i in places.field[rows].tolist()],
        "start": start.tolist(),
        "stop": (start + length).tolist(),
    }


def _table(lexicon: Lexicon, rows: Rows) -> Iterator[list[Any]]:
    """Rows of CSV, the header first: phrase and frequency, or one occurrence each."""
    if rows == "phrase":
        yield ["phrase", "frequency"]
        yield from map(list, zip(lexicon.phrases(), lexicon.counts.tolist(), strict=True))
        return
    yield ["phrase", *COLUMNS]
    for phrase, places in _by_phrase(lexicon):
        for place in places:
            yield [phrase, *place.values()]


def _write_parquet(
    path: str | os.PathLike[str], lexicon: Lexicon, rows: Rows, facts: dict[str, Any]
) -> None:
    """Write row groups of bounded size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(pa, rows, has_places=lexicon.places is not None or rows == "occurrence")
    facts = {**facts, "documents": lexicon.totals.documents, "tokens": lexicon.totals.tokens}
    metadata = {f"parcast.{key}": str(value) for key, value in facts.items()}
    schema = schema.with_metadata({"parcast.schema": SCHEMA, **metadata})
    records = _records(lexicon, rows)
    try:
        with (
            replacing(path) as draft,
            draft.open("wb") as stream,
            pq.ParquetWriter(stream, schema, compression="zstd") as writer,
        ):
            while batch := list(islice(records, ROWS_OF_A_GROUP)):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
    except OSError as failure:  # a full disk does not say which file
        failure.filename = failure.filename or os.fspath(path)
        raise


def _schema(pa: Any, rows: Rows, *, has_places: bool) -> Any:
    """Columns of a Parquet file and their types."""
    kinds = {name: pa.string() for name in COLUMNS}
    kinds |= dict.fromkeys(("document", "start", "stop"), pa.int64())
    if rows == "occurrence":
        return pa.schema({"phrase": pa.string(), **kinds})
    lists = {key: pa.list_(kind) for key, kind in kinds.items()} if has_places else {}
    return pa.schema({"phrase": pa.string(), "frequency": pa.int64(), **lists})


def _records(lexicon: Lexicon, rows: Rows) -> Iterator[dict[str, Any]]:
    """Rows as JSON objects, with a list for each column of the occurrences of a phrase."""
    for row in _objects(lexicon, rows):
        places = row.pop("occurrences", None)
        if places is not None:
            row |= {name: [place[name] for place in places] for name in COLUMNS}
        yield row
