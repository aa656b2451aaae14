"""A lexicon as files, read again by those who would read them; and what cannot be written."""

import csv
import errno
import json
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from parcast.applications.text.features import output
from parcast.applications.text.features.lexicon import Lexicon, merge, zero
from parcast.applications.text.features.output import write_lexicon
from parcast.errors import ParameterError

EVERY = [("fog", "a.txt", 1, "A", "body", 9, 12), ("rain", "a.txt", 1, "A", "title", 0, 4)]
EVERY += [("rain", "b, c.txt", 2, 'B "2"', "body", 3, 7)]
COLUMNS = ["phrase", "path", "document", "name", "field", "start", "stop"]


@pytest.fixture
def lexicon():
    first = {"title": [("rain", 0, 4)], "body": [("fog", 9, 12)]}
    second = {"body": [("rain", 3, 7)]}
    return merge(
        Lexicon.of_document(("a.txt", 1, "A"), first, tokens=5),
        Lexicon.of_document(("b, c.txt", 2, 'B "2"'), second, tokens=2),
    )


@pytest.fixture(params=[2, 1], ids=["whole", "in slices"])
def slices(request, monkeypatch):
    monkeypatch.setattr(output, "PHRASES_AT_A_TIME", request.param)
    monkeypatch.setattr(output, "OCCURRENCES_AT_A_TIME", request.param)
    monkeypatch.setattr(output, "ROWS_OF_A_GROUP", request.param)


@pytest.mark.usefixtures("slices")
def test_parquet_by_phrase_is_exploded_by_pandas_and_polars(lexicon, tmp_path):
    place = tmp_path / "f.parquet"
    write_lexicon(place, lexicon, facts={"tagger": "textblob"})
    table = pd.read_parquet(place)
    assert table[["phrase", "frequency"]].to_numpy().tolist() == [["fog", 1], ["rain", 2]]
    flat = table.drop(columns="frequency").explode(COLUMNS[1:])
    assert list(map(tuple, flat[COLUMNS].to_numpy())) == EVERY
    assert pl.read_parquet(place).drop("frequency").explode(COLUMNS[1:]).rows() == EVERY
    metadata = pq.read_schema(place).metadata
    assert metadata[b"parcast.schema"] == b"parcast/features/1"
    assert metadata[b"parcast.tagger"] == b"textblob"
    assert metadata[b"parcast.tokens"] == b"7"


@pytest.mark.usefixtures("slices")
def test_json(lexicon, tmp_path):
    place = tmp_path / "f.json"
    write_lexicon(place, lexicon, facts={"tagger": "textblob"})
    document = json.loads(place.read_text())
    phrases = document.pop("phrases")
    assert document == {
        "schema": "parcast/features/1",
        "tagger": "textblob",
        "documents": 2,
        "tokens": 7,
        "different_phrases": 2,
        "occurrences": 3,
        "skipped": 0,
        "faults": [],
    }
    assert [(x["phrase"], x["frequency"]) for x in phrases] == [("fog", 1), ("rain", 2)]
    flat = [(x["phrase"], *at.values()) for x in phrases for at in x["occurrences"]]
    assert flat == EVERY
    write_lexicon(place, lexicon, rows="occurrence")
    assert [tuple(x.values()) for x in json.loads(place.read_text())["places"]] == EVERY


@pytest.mark.usefixtures("slices")
def test_json_lines_and_csv(lexicon, tmp_path):
    lines, table = tmp_path / "f.jsonl", tmp_path / "f.csv"
    write_lexicon(lines, lexicon)
    assert [json.loads(line)["frequency"] for line in lines.read_text().splitlines()] == [1, 2]
    write_lexicon(table, lexicon)
    assert table.read_text() == "phrase,frequency\nfog,1\nrain,2\n"
    write_lexicon(table, lexicon, rows="occurrence")
    header, *rows = csv.reader(table.read_text().splitlines())
    assert header == COLUMNS
    assert rows == [[str(value) for value in row] for row in EVERY]


@pytest.mark.parametrize("ending", ["parquet", "json", "jsonl", "csv"])
def test_frequencies_only_and_nothing_at_all(tmp_path, ending):
    place = tmp_path / f"f.{ending}"
    plain = Lexicon.of_document(("a", 1, "a"), {"body": [("fog", 0, 3)]}, with_places=False)
    write_lexicon(place, plain)
    if ending == "parquet":
        assert pl.read_parquet(place).rows() == [("fog", 1)]
    else:
        assert "fog" in place.read_text()
        assert "start" not in place.read_text()
    with pytest.raises(ParameterError, match="rows must be phrase, since the lexicon has freq"):
        write_lexicon(place, plain, rows="occurrence")
    for rows in ("phrase", "occurrence"):
        write_lexicon(place, zero(), rows=rows)
        if ending == "parquet":
            assert len(pl.read_parquet(place)) == 0
        elif ending == "json":
            assert json.loads(place.read_text())["different_phrases"] == 0


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("f.txt", {}, "must end in .parquet, .json, .jsonl or .csv."),
        ("f", {}, "must end in .parquet"),
        ("f.csv", {"rows": "word"}, "rows must be phrase or occurrence, got 'word'."),
    ],
)
def test_what_cannot_be_written_is_refused(lexicon, tmp_path, name, options, says):
    with pytest.raises(ParameterError) as caught:
        write_lexicon(tmp_path / name, lexicon, **options)
    assert says in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_missing_pyarrow_is_named_with_its_extra(lexicon, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "parcast\[features\]"'):
        write_lexicon(tmp_path / "f.parquet", lexicon)


@pytest.mark.fault(
    "Output files",
    "The disk is full.",
    promise="The file is named; what was there before stays; no draft is left.",
)
@pytest.mark.parametrize("ending", ["parquet", "json", "jsonl", "csv"])
def test_a_full_disk_leaves_what_was_there_and_names_the_file(
    lexicon, tmp_path, monkeypatch, ending
):
    place = tmp_path / f"f.{ending}"
    place.write_text("before")
    opened = Path.open

    def on_full_disk(self, mode="r", **options):
        return opened(Path("/dev/full") if mode.startswith("w") else self, mode, **options)

    monkeypatch.setattr(Path, "open", on_full_disk)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is looked at
        write_lexicon(place, lexicon)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(place)
    assert place.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
