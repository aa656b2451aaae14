"""`search_documents` against a second route, and what it does where there is nothing to find."""

import gzip
import json
import math
import random
import re

import pytest

from parcast.applications.text.documents.document import DocumentReading
from parcast.applications.text.documents.sources import original_text
from parcast.applications.text.search import words as in_words
from parcast.applications.text.search.search_documents import search_documents
from parcast.applications.text.search.words import places_of, words_of
from parcast.errors import FileProblems, ParameterError

WORDS = ("rank", "message", "latency", "core", "the", "node", "queue", "of")
QUERIES = ["message latency", "the the queue", "of", "rank absent"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Lines of JSON in two files, one of them compressed, and texts; many documents are alike."""
    place = tmp_path_factory.mktemp("docs")
    rng = random.Random(8)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(0, 9))) for _ in range(120)]
    texts += texts[:30]  # equal scores
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(texts)]
    (place / "a.jsonl").write_text("\n".join(lines[:60]) + "\n")
    (place / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[60:]).encode()))
    for i in range(5):
        (place / f"c{i}.txt").write_text(f"Node {i} of the\ncluster: Latency, latency & cores!\n")
    return place


def corpus_of(folder):
    """All documents of the folder as (name, words), in their order."""
    found = []
    for name in ("a.jsonl", "b.jsonl.gz"):
        for line in original_text(folder / name).splitlines():
            document = json.loads(line)
            found.append((document["id"], re.findall(r"\w+", document["text"].lower())))
    texts = sorted(folder.glob("*.txt"))
    return found + [(str(x), re.findall(r"\w+", x.read_text().lower())) for x in texts]


def brute_force(corpus, query, k1, b):
    """Every document's score by the formula as printed, best first, in a second route."""
    mean = math.fsum(len(words) for _, words in corpus) / len(corpus)
    scored = []
    for place, (name, words) in enumerate(corpus):
        total = 0.0
        for term in query.split():
            having = sum(term in other for _, other in corpus)
            idf = math.log(1 + (len(corpus) - having + 0.5) / (having + 0.5))
            f = words.count(term)
            total += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * len(words) / mean)) if f else 0.0
        if total:
            scored.append((-total, place, name))
    return [(name, -score) for score, _, name in sorted(scored)]


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (2.0, 0.0), (0.0, 1.0), (0.5, 1.0)])
def test_scores_and_order_are_those_of_the_formula(folder, k1, b):
    result = search_documents(
        folder,
        QUERIES,
        count=20,
        k1=k1,
        b=b,
        reading=DocumentReading(fields=None, identifier="id"),
    )
    corpus = corpus_of(folder)
    assert result.documents == len(corpus)
    assert result.words == sum(len(words) for _, words in corpus)
    for found, query in zip(result.queries, QUERIES, strict=True):
        expected = brute_force(corpus, query, k1, b)[: len(found.hits)]
        assert len(found.hits) == min(20, len(brute_force(corpus, query, k1, b)))
        got = [(hit.document, hit.score) for hit in found.hits]
        assert [score for _, score in got] == pytest.approx([score for _, score in expected])
        rounded = [[(name, round(x, 9)) for name, x in pairs] for pairs in (got, expected)]
        assert rounded[0] == rounded[1]


def test_every_number_of_ranks_gives_the_same_bytes(folder):
    texts = []
    for ranks, batch in ((1, "auto"), (2, 2)):
        result = search_documents(folder, QUERIES, ranks=ranks, batch=batch, count=7)
        texts.append(json.dumps(result.to_document()))
    assert texts[0] == texts[1]
    assert '"rank": 7' in texts[0]


def test_equal_scores_come_in_the_order_of_the_documents(tmp_path):
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.txt").write_text("same words here")
    found = search_documents(tmp_path, "words", count=2).queries[0]
    assert [hit.path[-5:] for hit in found.hits] == ["a.txt", "b.txt"]
    assert found.hits[0].score == found.hits[1].score


def test_a_checkpoint_serves_both_reductions(folder, tmp_path):
    options = {"checkpoint": tmp_path / "state", "resume": True}
    first = search_documents(folder, QUERIES, **options)
    assert first.to_document() == search_documents(folder, QUERIES, **options).to_document()


PAGE = """<html><head><title>On queues</title></head><body>
<p>A queue &amp; its   <b>mean</b> length.</p>
<p>{filler}</p>
<p>Caf&eacute; latency
meets  QUEUE latency here.</p></body></html>
"""


def test_snippets_have_their_places_in_the_original_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(filler="filler words " * 40), encoding="utf-8")
    (hit,) = search_documents(path, "queue latency café", snippet=50).queries[0].hits
    raw = path.read_text(encoding="utf-8")
    assert [raw[a:b] for a, b in hit.snippet.matches] == [
        "Caf&eacute;",
        "latency",
        "QUEUE",
        "latency",
    ]
    assert [hit.snippet.text[a:b] for a, b in hit.snippet.marks] == [
        "Café",
        "latency",
        "QUEUE",
        "latency",
    ]
    assert hit.snippet.text == "Café latency meets QUEUE latency here."
    assert raw[hit.snippet.start : hit.snippet.stop] == (
        "Caf&eacute; latency\nmeets  QUEUE latency here."
    )


def test_words_of_a_long_text_are_those_of_its_blocks(monkeypatch):
    text = "The node's queue\n\nwasn't empty: 93% of e\u0301tudes " * 20
    monkeypatch.setattr(in_words, "BLOCK", 7)
    blocks = list(in_words.blocks_of(text))
    assert len(blocks) > 20
    assert "".join(blocks) == text
    assert [word for block in blocks for word in words_of(block)] == words_of(text)
    assert list(in_words.blocks_of("")) == []


def test_words_are_compared_in_one_form():
    text = "The node's CPUs weren't idle: 93% of Ω-cycles, STRASSE Straße Cafe\u0301"
    expected = ["the", "node's", "cpus", "weren't", "idle", "93", "of", "ω", "cycles"]
    expected += ["strasse", "strasse", "café"]
    assert words_of(text) == expected
    assert [word for word, _, _ in places_of(text)] == expected


def test_queries_without_a_hit_and_files_without_a_document(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    result = search_documents(tmp_path, ["any", "other"])
    assert (result.has_hits, result.words) == (False, 0)
    (tmp_path / "full.txt").write_text("some words")
    result = search_documents(tmp_path, ["absent", "words absent"])
    assert [len(each.hits) for each in result.queries] == [0, 1]
    assert result.queries[1].frequencies == (1, 0)
    assert next(result.rows())["query"] == "words absent"


@pytest.mark.parametrize(
    ("queries", "options", "says"),
    [
        ("...", {}, "queries must hold a word, got '...'. Give some words."),
        (["a", ""], {}, "queries must hold a word, got ''."),
        ([], {}, "queries must hold a query, got none."),
        ([3], {}, "queries must hold a word, got 3."),
        ("a", {"k1": -1}, "k1 must be at least 0, got -1."),
        ("a", {"b": 1.5}, "b must lie in [0, 1], got 1.5."),
        ("a", {"count": 0}, "count must be"),
        ("a", {"snippet": 3}, "snippet must be"),
    ],
)
def test_bad_arguments_are_refused(folder, queries, options, says):
    with pytest.raises(ParameterError) as caught:
        search_documents(folder, queries, **options)
    assert str(caught.value).startswith(says)


@pytest.fixture
def unreadable(tmp_path):
    """A folder with documents that cannot be read among others."""
    (tmp_path / "a.jsonl").write_text('{"text": "good words"}\n{bad\n{"text": "more words"}\n')
    (tmp_path / "b.txt").write_bytes(b"%PDF-1.7 words")
    return tmp_path


def test_documents_that_cannot_be_read_are_refused(unreadable):
    with pytest.raises(FileProblems) as caught:
        search_documents(unreadable, "words", ranks=2, batch=1)
    assert "Traceback" not in str(caught.value)
    assert "1 problem" in str(caught.value)
