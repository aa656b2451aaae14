"""Phrases of real files: each stands in the original file where it is said to stand."""

import gzip
import html
import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcast.applications.text.documents.document import DocumentError, DocumentReading
from parcast.applications.text.documents.items import work_items
from parcast.applications.text.documents.sources import original_text
from parcast.applications.text.features import phrases, task
from parcast.applications.text.features.lexicon import merged
from parcast.applications.text.features.task import Features, features_of

PROPERTY = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
STATE = Features(fold=False)()
NOUNS = ["rain", "forest", "AT&T", "größe", "<b>", "x² y", "node-07", "Dr. K. Lindqvist", "3.5 GB"]
WORDS = st.sampled_from([*NOUNS, "big", "the", "of", "is", "don't", ".", "?", "“", "”", "(", ")"])
SPACES = st.sampled_from([" ", "  ", "\n", "\n\n", "\t", " \r\n"])
TEXTS = st.lists(st.tuples(WORDS, SPACES), min_size=1, max_size=25)


def lexicon_of(*paths, state=STATE):
    return merged(features_of(item, state) for item in work_items(paths, state.settings.reading))


def every_occurrence(lexicon):
    """Each phrase with each of its places."""
    for phrase in lexicon.phrases():
        for at in lexicon.occurrences(phrase):
            yield phrase, at


def decoded(raw):
    """What a browser shows of a piece of a page, white space collapsed."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", raw)).split())


@PROPERTY
@given(TEXTS)
def test_text(tmp_path, pieces):
    path = tmp_path / "a.txt"
    path.write_text("".join(word + space for word, space in pieces), newline="")
    raw = original_text(path)
    for phrase, at in every_occurrence(lexicon_of(path)):
        assert " ".join(raw[at.start : at.stop].split()) == phrase


@PROPERTY
@given(TEXTS, st.data())
def test_html(tmp_path, pieces, data):
    body = ""
    for word, space in pieces:
        shown = html.escape(word) if data.draw(st.booleans()) else word.replace("&", "&#38;")
        shown = shown.replace("<", "&lt;").replace(
            "ö", data.draw(st.sampled_from(["ö", "&ouml;"]))
        )
        tag = data.draw(st.sampled_from(["", "i", "em", "b"]))
        body += (f"<{tag} class='x'>{shown}</{tag}>" if tag else shown) + space
    path = tmp_path / "a.html"
    path.write_text(f"<html><title>Big rain</title><body><p>{body}</p></body></html>", newline="")
    raw = original_text(path)
    lexicon = lexicon_of(path)
    assert ("Big rain", "title") in {
        (phrase, at.field) for phrase, at in every_occurrence(lexicon)
    }
    for phrase, at in every_occurrence(lexicon):
        assert decoded(raw[at.start : at.stop]) == phrase


@pytest.mark.usefixtures("uncovered")
@PROPERTY
@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
def test_json_lines(tmp_path, texts, ascii_only):
    records = [
        {"body": "".join(w + s for w, s in pieces), "id": f"d{i}"}
        for i, pieces in enumerate(texts)
    ]
    path = tmp_path / "a.jsonl.gz"
    lines = "".join(json.dumps(x, ensure_ascii=ascii_only) + "\n" for x in records)
    path.write_bytes(gzip.compress(lines.encode()))
    raw = original_text(path)
    lexicon = lexicon_of(
        path, state=Features(fold=False, reading=DocumentReading(fields=("body",)))()
    )
    assert lexicon.totals.documents == len(texts)
    for phrase, at in every_occurrence(lexicon):
        piece = raw[at.start : at.stop]
        assert " ".join(json.loads(f'"{piece}"').split()) == phrase
        assert at.name == f"d{at.document - 1}"


def test_a_document_with_many_phrases_is_gathered_in_parts(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("\n\n".join("Cold rain. The old forest. Fine rain." for _ in range(40)))
    whole = lexicon_of(path)
    monkeypatch.setattr(phrases, "PIECE", 100)
    monkeypatch.setattr(task, "MOST_ROWS", 10)
    assert lexicon_of(path) == whole
    assert whole.counts.tolist() == [40, 40, 40]
    assert whole.totals == (1, 400, 0, ())


def test_lexicons_of_many_documents_are_merged_on_the_way(tmp_path, monkeypatch):
    """An archive of any length is one item."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "fine rain"}\n' * 1000))
    whole, waiting = lexicon_of(path), []

    def counted(lexicons):
        waiting.append(len(lexicons))
        return merged(lexicons)

    monkeypatch.setattr(task, "merged", counted)
    monkeypatch.setattr(task, "MERGED_AT_ONCE", 8)
    assert lexicon_of(path) == whole
    assert whole.totals.documents == 1000
    assert max(waiting) == 8
    assert len(waiting) > 1000 / 8


def test_what_cannot_be_read_is_refused_or_counted(tmp_path):
    bad, lines = tmp_path / "a.png", tmp_path / "b.jsonl"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    lines.write_text('{"a": "fine rain"}\n[1]\n{"a": "fog"}\n')
    (item,) = work_items([bad])
    with pytest.raises(DocumentError, match="must be text, got a PNG picture"):
        features_of(item, STATE)
    lexicon = lexicon_of(bad, lines, state=Features(skip=True)())
    assert lexicon.phrases() == ["fine rain", "fog"]
    assert (lexicon.totals.documents, lexicon.totals.skipped) == (2, 2)
    assert [fault.split(": ")[0] for fault in lexicon.totals.faults] == [
        str(bad),
        f"{lines}, line 2",
    ]
