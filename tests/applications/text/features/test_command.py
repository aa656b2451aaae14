"""`parcast run features` as a person runs it: on one process and on ranks, whole and in parts."""

import json
import sys

import polars as pl
import pytest

from parcast.applications.text.features.extract import extract_features

PAGE = "<title>Node {i}</title><p>The fast node {i} reads 3.5 GB of cold data.</p>"


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for i in range(7):
        (folder / f"{i}.html").write_text(PAGE.format(i=i))
    return folder


def test_ranks_write_the_same_bytes_as_one_process(parcast, docs, tmp_path):
    files = []
    for ranks in (1, 2):
        path = tmp_path / f"{ranks}.json"
        table = tmp_path / f"{ranks}.parquet"
        page = tmp_path / f"{ranks}.html"
        outputs = ("-o", path, "-o", table, "-o", page)
        said = parcast("run", "features", docs, "-np", ranks, *outputs)
        assert said.status == 0, said.err
        assert ">3.5 gb</td>" in page.read_text()
        files.append((path.read_bytes(), table.read_bytes()))
    assert files[0] == files[1]
    document = json.loads(files[0][0])
    assert document["documents"] == 7
    phrases = {x["phrase"]: x for x in document["phrases"]}
    assert phrases["3.5 gb"]["frequency"] == 7
    at = phrases["fast node"]["occurrences"][4]
    raw = (docs / "4.html").read_text()
    assert raw[at["start"] : at["stop"]] == "fast node"
    assert (at["path"], at["field"]) == (str(docs / "4.html"), "body")


def test_parts_are_written_by_their_ranks(parcast, docs, tmp_path):
    said = parcast(
        "run", "features", docs, "-np", 2, "--shards", 2, "-o", tmp_path / "f.parquet", "--json"
    )
    assert said.status == 0, said.err
    document = json.loads(said.out)
    parts = [pl.read_parquet(tmp_path / f"f-{i}-of-2.parquet") for i in (1, 2)]
    assert [str(tmp_path / f"f-{i}-of-2.parquet") for i in (1, 2)] == document["paths"]
    whole = extract_features(docs).lexicon
    joined = pl.concat(parts).sort("phrase")
    assert joined["phrase"].to_list() == whole.phrases()
    assert joined["frequency"].to_list() == whole.counts.tolist()
    assert document["different_phrases"] == len(whole)
    assert all(part["phrase"].is_sorted() for part in parts)


def test_bad_documents_end_it_or_are_listed(parcast, docs):
    (docs / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    said = parcast("run", "features", docs)
    assert said.status == 3
    assert "must be text, got a PNG picture. Leave it out." in said.err
    assert "Traceback" not in said.err
    said = parcast("run", "features", docs, "--skip-errors")
    assert said.status == 0
    assert f"skipped 1   {docs}/x.png: must be text, got a PNG picture. Leave it out." in said.out
    assert "Noun phrases of 7 documents" in said.out


def test_skipped_documents_have_a_line_each_and_are_folded(parcast, docs, monkeypatch):
    (docs / "away.txt").symlink_to("nowhere.txt")
    lines = [f'{{"n": {i}' for i in range(8)]
    (docs / "lines.jsonl").write_text("\n".join(lines))
    monkeypatch.chdir(docs.parent)
    said = parcast("run", "features", "docs", "--skip-errors")
    assert said.status == 0
    _, _, listed = said.out.partition("skipped 9   ")
    rows = [row.strip() for row in listed.splitlines()]
    assert rows[0] == (
        "docs/away.txt: must exist, but is a link to nowhere.txt, which does not. Correct or "
        "remove the link."
    )
    assert rows[1].startswith("docs/lines.jsonl, line 1: must be a JSON object, got a syntax")
    assert rows[5:] == ["and 4 more, listed with -v and in --json"]
    said = parcast("run", "features", "docs", "--skip-errors", "-v")
    for i in range(1, 9):
        assert f"            docs/lines.jsonl, line {i}: must be" in said.out
    document = json.loads(parcast("run", "features", "docs", "--skip-errors", "--json").out)
    assert document["skipped"] == len(document["faults"]) == 9
    assert parcast("run", "features", "docs").status == 3
    searched = parcast("run", "search", "docs", "-q", "node", "--skip-errors")
    assert [row.strip() for row in searched.out.partition("skipped 9   ")[2].splitlines()] == rows


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "DOCS must be given."),
        (("docs", "-o", "f.txt"), "-o must be a path that ends in .parquet, .json, .jsonl, .csv"),
        (("docs", "--tagger", "texblob"), "Did you mean textblob?"),
        (("docs", "--grammar", "(J"), "grammar must be a regular expression, got '(J'"),
        (("docs", "--rows", "words"), "--rows must be phrase or occurrence, got 'words'."),
        (("docs", "--rows", "occurrence", "--frequencies", "-o", "f.csv"), "rows must be phrase"),
        (("docs", "--shards", "2"), "must be 1 where nothing is written, got 2."),
        (("nowhere*",), "nowhere* must hold documents, got no file."),
        (("docs", "-o", "docs/links.jsonl"), "docs/links.jsonl must be another file than those"),
    ],
)
def test_wrong_use_is_said_before_anything_is_read(parcast, docs, monkeypatch, options, says):
    monkeypatch.chdir(docs.parent)
    (docs.parent / "links.jsonl").write_text('{"a": "b"}\n')
    (docs / "links.jsonl").symlink_to("../links.jsonl")
    said = parcast("run", "features", *options)
    assert said.status == 2
    assert says in said.err
    assert said.out == ""


def test_documents_without_text_give_an_empty_lexicon(parcast, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "spaces.txt").write_text(" \n\n ")
    path = tmp_path / "f.parquet"
    said = parcast("run", "features", tmp_path / "empty.txt", tmp_path / "spaces.txt", "-o", path)
    assert said.status == 0
    assert "0 different" in said.out
    assert len(pl.read_parquet(path)) == 0


def test_merges_pass_the_check_of_associativity(docs):
    result = extract_features(docs, check=True)
    assert result.totals.documents == 7
    assert result.to_document()["frequent"][0] == {"phrase": "3.5 gb", "frequency": 7}
    assert [row["phrase"] for row in result.rows()] == result.lexicon.phrases()


def test_a_tagger_in_the_current_folder_is_used_on_ranks(parcast, docs, tmp_path, monkeypatch):
    (tmp_path / "only_nouns.py").write_text("def tag(words):\n    return ['NOUN'] * len(words)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    said = parcast("run", "features", docs, "-np", 2, "--tagger", "only_nouns:tag", "--json")
    assert said.status == 0, said.err
    phrases = [x["phrase"] for x in json.loads(said.out)["phrases"]]
    assert "the fast node 3 reads 3.5 gb of cold data." in phrases
