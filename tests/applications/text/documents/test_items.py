"""A large file is shared out where documents end, and read the same as in one piece."""

import gzip
import json
import os
import pickle
from collections import Counter
from itertools import pairwise

import pytest

import parcast
from parcast.applications.text.documents import sources
from parcast.applications.text.documents.document import DocumentError
from parcast.applications.text.documents.items import WorkItem, work_items
from parcast.applications.text.documents.reading import read_documents
from parcast.pipeline.paths import document_paths


def facts(found):
    """All that a document says, comparable."""
    return [
        (x.name, x.number, x.start, x.stop, x.encoding, [field_facts(f) for f in x.fields])
        for x in found
    ]


def field_facts(field):
    """All that a field says."""
    offsets = field.offsets
    runs = [x.tolist() for x in (offsets.clean, offsets.starts, offsets.stops)]
    return field.name, field.text, runs


def body(i):
    return "é😀" * (i % 7) + f" Text {i}\r\nof this.\n" * (i % 5 + 1)


CONTENT = {
    "a.sgm": "<!DOCTYPE lewis>\n"
    + "".join(f"<REUTERS NEWID='{i}'><BODY>{body(i)}</BODY></REUTERS>\n" for i in range(400)),
    "b.sgm": "".join(
        f"<DOC><DOCNO>{i}</DOCNO>{body(i)}" + "</DOC>\n" * (i % 3) for i in range(400)
    ),
    "a.xml": "<r>"
    + "".join(f"<doc id='{i}'>{body(i)}<!-- <doc> --></doc> \n" for i in range(400))
    + "</r>\n\n",
    "a.jsonl": "".join(
        json.dumps({"id": i, "t": body(i)}, ensure_ascii=i % 2 == 0) + "\r\n" * (1 + i % 3)
        for i in range(400)
    ),
}  # fmt: skip


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize(
    ("encoding", "chunk"),
    [("utf-8", 1), ("utf-8", 10**9), ("utf-8-sig", 5000), ("utf-16", 5000), ("cp1252", 100)],
)
@pytest.mark.parametrize("name", CONTENT)
def test_parts_give_the_documents_of_the_whole(tmp_path, name, encoding, chunk):
    path = tmp_path / name
    path.write_bytes(CONTENT[name].encode(encoding, "ignore"))
    whole = facts(read_documents(path))
    assert len(whole) == 400
    items = list(work_items([path], chunk=chunk))
    apart = encoding != "utf-16" and chunk < 10**9
    assert len(items) == 400 if apart and chunk == 1 else (len(items) > 4) == apart
    assert facts(document for item in items for document in read_documents(item)) == whole
    if len(items) > 1:
        assert items[0].offset == (3 if encoding == "utf-8-sig" else 0)
        assert all(x.offset + x.length == y.offset for x, y in pairwise(items))
        assert items[-1].length is None


@pytest.mark.parametrize("block", [4000, 30_000])
@pytest.mark.parametrize("name", CONTENT)
def test_blocks_make_no_difference(tmp_path, monkeypatch, name, block):
    path = tmp_path / name
    path.write_text(CONTENT[name], encoding="utf-8", newline="")
    items = list(work_items([path], chunk=3000))
    whole = facts(read_documents(path))
    monkeypatch.setattr(sources, "BLOCK", block)
    assert list(work_items([path], chunk=3000)) == items
    assert facts(read_documents(path)) == whole
    assert facts(document for item in items for document in read_documents(item)) == whole


def test_lines_of_errors_are_those_of_the_file(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "é"}\n\n' * 300 + "{\n" + '{"a": "b"}\n' * 300)
    skipped = []
    items = list(work_items([path], chunk=100))
    for item in items:
        list(read_documents(item, skipped=skipped.append))
    assert len(items) > 50
    assert [(x.line, x.offset) for x in skipped] == [(601, 300 * 12 + 1)]


def test_what_is_one_item(tmp_path):
    for name, content in {
        "a.txt": b"word " * 1000,
        "b.html": b"<p>word" * 1000,
        "c.jsonl.gz": gzip.compress(os.urandom(9999).hex().encode(), 0),
        "d.jsonl": b'{"a": 1}\n',
    }.items():
        (tmp_path / name).write_bytes(content)
    names = sorted(tmp_path.iterdir())
    items = list(work_items(names, chunk=1000))
    assert [(x.path, x.offset, x.length) for x in items] == [(str(x), 0, None) for x in names]


def test_a_file_that_cannot_be_read_is_an_item_that_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"\x89PNG" * 999)
    names = [str(tmp_path / "missing"), str(tmp_path / "a.jsonl"), "a\0b"]
    items = list(work_items(names, chunk=10))
    assert items == [WorkItem(name) for name in names]
    assert repr(items[0]) == names[0]
    for item in items:
        with pytest.raises(DocumentError) as caught:
            list(read_documents(item))
        skipped = []
        assert list(read_documents(item, skipped=skipped.append)) == []
        assert list(map(str, skipped)) == [str(caught.value)]


def words_of(item):
    """Count the words of the documents of an item."""
    found = [field.text for document in read_documents(item) for field in document.fields]
    return Counter(" ".join(found).split())


def test_items_are_work_for_a_pipeline(tmp_path):
    for name, content in CONTENT.items():
        (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    paths = document_paths(tmp_path)
    items = list(work_items(paths, chunk=5000))
    assert pickle.loads(pickle.dumps(items)) == items
    result = parcast.run_pipeline(work_items(paths, chunk=5000), words_of, merge="counts")
    assert result.items == len(items) > 20
    assert result.value["Text"] == sum(content.count("Text ") for content in CONTENT.values())
