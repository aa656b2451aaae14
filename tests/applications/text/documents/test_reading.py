"""Files of every format become documents; what cannot be read says where and what to do."""

import gzip
import os
import pickle
import sys
import tracemalloc
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.documents.document import FORMATS, DocumentError, DocumentReading
from parcast.applications.text.documents.reading import read_documents
from parcast.applications.text.documents.sources import original_text
from tests.applications.text.documents.collapse import collapse

REUTERS = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE><TOPICS><D>cocoa</D></TOPICS>
<UNKNOWN>
&#5;&#5;&#5;C T
</UNKNOWN>
<TEXT>&#2;
<TITLE>BAHIA COCOA REVIEW</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers continued throughout
the week in the Bahia cocoa zone, at &lt;IBM>
prices.

 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS NEWID="2"><TEXT TYPE="UNPROC">&#2;
******OIL PRICES UP
&#3;</TEXT>
</REUTERS>
"""
TREC = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>First <b>head</b>line</HEADLINE>
<TEXT>
A text & more.

Second part.
</TEXT>
</DOC>
<DOC>
<DOCNO>FT911-2</DOCNO><TEXT>Another.</TEXT>
</DOC>
"""
PAGE = """<!DOCTYPE html>
<html><head><title>A &amp; B</title><style>p {}</style></head>
<body><h1>Head</h1><p>First <a href="x">link</a>.<p>Second<svg><title>Icon</title></svg>
</body></html>
"""
XML = """<?xml version="1.0"?>
<feed xmlns:d="urn:d">
<d:entry xml:id="e1"><d:title>One</d:title><d:p>Text <em>one</em></d:p></d:entry>
<d:entry><d:title>Two</d:title></d:entry></feed>
"""
JSONL = (
    '{"id": 7, "title": "Caf\\u00e9 \\ud83d\\ude00", "meta": {"tags": ["x", "y\\nz"], "n": 1}}\n'
    '\n{"title": "B"}\n'
)


def documents(tmp_path, name, content, reading=None):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_documents(path, reading))


def shown(found):
    return [(x.name, {f.name: f.text for f in x.fields}) for x in found]


def check_spans(found, path, format):
    """Every word is in the original where its field says."""
    original = original_text(path)
    for document in found:
        for field in document.fields:
            begin = 0
            for word in field.text.split():
                begin = field.text.index(word, begin)
                start, stop = field.span(begin, begin + len(word))
                assert document.start <= start < stop <= document.stop
                assert collapse(original[start:stop], format) == word
                begin += len(word)


FOUND = {
    "reut.sgm": (
        REUTERS,
        "sgml",
        [
            (
                "1",
                {
                    "title": "BAHIA COCOA REVIEW",
                    "text": "SALVADOR, Feb 26 -",
                    "body": "Showers continued throughout the week in the Bahia cocoa zone, at "
                    "<IBM> prices.\n\nReuter",
                },
            ),
            ("2", {"text": "******OIL PRICES UP"}),
        ],
    ),
    "trec": (
        TREC,
        "sgml",
        [
            ("FT911-1", {"text": "First headline\n\nA text & more.\n\nSecond part."}),
            ("FT911-2", {"text": "Another."}),
        ],
    ),
    "page.html": (
        PAGE,
        "html",
        [("{path}", {"title": "A & B", "body": "Head\n\nFirst link.\n\nSecond"})],
    ),
    "feed.xml": (XML, "xml", [("{path}", {"text": "One\n\nText one\n\nTwo"})]),
    "lines.jsonl": (
        JSONL,
        "jsonl",
        [
            ("7", {"title": "Café 😀", "meta.tags": "x\n\ny z"}),
            ("{path}#2", {"title": "B"}),
        ],
    ),
    "plain.txt": (
        "A line\r\nand more.\r\n\r\nNext\tone\n",
        "text",
        [("{path}", {"text": "A line and more.\n\nNext one"})],
    ),
}


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", FOUND)
def test_formats(tmp_path, name, packed):
    content, format, expected = FOUND[name]
    raw = content.encode()
    if packed:
        raw = gzip.compress(raw) if packed == ".gz" else zstandard.ZstdCompressor().compress(raw)
    path = tmp_path / (name + packed)
    found = documents(tmp_path, path.name, raw)
    assert shown(found) == [(x.format(path=path), fields) for x, fields in expected]
    assert [x.number for x in found] == list(range(1, len(found) + 1))
    assert original_text(path) == content
    check_spans(found, path, format)


@given(
    st.sampled_from(FORMATS),
    st.lists(
        st.one_of(
            st.binary(max_size=20),
            st.sampled_from(
                [b"<doc>", b"&#", b'{"a":"', b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b"]
            ),
            st.sampled_from(
                [b"<meta charset=", b"utf-16>", b"iso2022_jp>", b"(\xb5/\xfd", b'"}', b"\n"]
            ),
        ),
        max_size=12,
    ).map(b"".join),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, format, content):
    path = tmp_path_factory.mktemp("any", numbered=True) / "file"
    path.write_bytes(content)
    with suppress(DocumentError):
        for document in read_documents(path, DocumentReading(format=format)):
            assert 0 <= document.start < document.stop <= len(original_text(path))
            "".join(field.text for field in document.fields).encode()


@pytest.mark.parametrize(
    ("name", "content", "reading", "expected"),
    [
        ("feed.xml", XML, {"document": "entry", "fields": ("title",)},
         [("e1", {"title": "One"}), ("{path}#2", {"title": "Two"})]),
        ("r.sgm", REUTERS, {"fields": ("Topics", "TITLE"), "identifier": "OLDID"},
         [("5544", {"Topics": "cocoa", "TITLE": "BAHIA COCOA REVIEW"}), ("{path}#2", {})]),
        ("t.sgml", TREC, {"fields": ("headline",), "identifier": "headline"},
         [("First", {"headline": "First headline"}), ("{path}#2", {})]),
        ("p.html", PAGE, {"fields": ("title",)}, [("{path}", {"title": "A & B"})]),
        ("p.html", PAGE, {"fields": ("p",)}, [("{path}", {"p": "First link.\n\nSecond"})]),
        ("f.html", "no <b>tags</b> around", {"fields": ("body",)},
         [("{path}", {"body": "no tags around"})]),
        ("p.html", PAGE, {"format": "text"}, None),
        ("l.jsonl", JSONL, {"fields": ("meta",), "identifier": "title"},
         [("Café 😀", {"meta": "x\n\ny z"}), ("B", {})]),
        ("l.jsonl", JSONL, {"identifier": "meta.n"},
         [("1", {"title": "Café 😀", "meta.tags": "x\n\ny z"}), ("{path}#2", {"title": "B"})]),
        ("odd", '{"a": "b"}\n', {}, [("{path}#1", {"a": "b"})]),
        ("odd", "<html><title>T</title>x", {}, [("{path}", {"title": "T", "body": "x"})]),
        ("odd", "<?xml version='1.0'?><a>x</a>", {}, [("{path}", {"text": "x"})]),
        ("odd", "just text <b>", {}, [("{path}", {"text": "just text <b>"})]),
        ("add.xml", "<add><doc><field name='id'>4</field><x>y</x></doc></add>", {},
         [("{path}#1", {"text": "4\n\ny"})]),
        ("deep.xml", "<a><b>x</b><doc>y</doc></a>", {}, [("{path}", {"text": "x\n\ny"})]),
        ("root.xml", "<?xml version='1.0'?><!-- c --><doc id='d'>y</doc>", {},
         [("d", {"text": "y"})]),
        ("two.html", "<article id=a>x<article>y</article></article>-<article>z",
         {"document": "article"},
         [("a", {"body": "x\n\ny"}), ("{path}#2", {"body": "z"})]),
        ("notes.txt", "<page>a</page><page>b", {"document": "page"},
         [("{path}#1", {"text": "a"}), ("{path}#2", {"text": "b"})]),
        ("open.html", "<head><title>T<style>p</style></head>a<p>b", {},
         [("{path}", {"title": "T", "body": "a\n\nb"})]),
        ("half.jsonl", '{"id": "\\ud83d", "\\ud83dk": "v"}', {}, [("\ufffd", {"\ufffdk": "v"})]),
        ("notes.txt", "all of it", {"fields": ("title",)}, [("{path}", {"text": "all of it"})]),
        ("one.json", '{"a": "b"}', {}, [("{path}#1", {"a": "b"})]),
        ("cut.sgm", "<DOC><DOCNO>1<TEXT>never ended", {}, [("1", {"text": "1\n\nnever ended"})]),
    ],
)  # fmt: skip
def test_fields_documents_and_names_can_be_chosen(tmp_path, name, content, reading, expected):
    found = documents(tmp_path, name, content, DocumentReading(**reading))
    if expected is None:
        assert found[0].fields[0].text.startswith("<!DOCTYPE html> <html><head>")
    else:
        assert shown(found) == [(x.format(path=tmp_path / name), fields) for x, fields in expected]


@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.xml", "a.sgm", "a.jsonl", "a"])
@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n \n"])
def test_empty_files_hold_no_documents(tmp_path, name, content):
    assert documents(tmp_path, name, content) == []


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
LINES = '{"a": "b"}\n{"a": \n[1]\n"x"\n{"a": "c"}\n'


CUT_GZIP = gzip.compress(os.urandom(9999).hex().encode())[:-900]
CUT_ZSTD = zstandard.ZstdCompressor().compress(b"hello " * 99999)[:-3]
BAD_GZIP = gzip.compress(b"hello hello", mtime=0)[:-8] + b"\0" * 8
AGAIN = "Fetch or compress it again."
BAD = {  # name and content, place, and what is said
    "picture": ("a.png", PNG, None, 0, "must be text, got a PNG picture. Leave it out."),
    "program": (
        "a.txt",
        b"\x7fELF\0",
        None,
        0,
        "must be text, got a program (ELF). Leave it out.",
    ),
    "pdf": (
        "a",
        b"%PDF-1.4 ",
        None,
        0,
        "must be text, got a PDF. Convert it: pdftotext {path}",
    ),
    "nul": (
        "a.txt",
        b"ab\0cd",
        None,
        2,
        "must be text, got a NUL character at offset 2. "
        "Leave out files that are not text, or give its encoding.",
    ),
    "cut gzip": (
        "a.txt.gz",
        CUT_GZIP,
        None,
        None,
        "must be a whole and valid archive, got: Compressed file ended before the "
        f"end-of-stream marker was reached. {AGAIN}",
    ),
    "cut zstd": (
        "a.txt.zst",
        CUT_ZSTD,
        None,
        None,
        f"must be a whole and valid archive, got: Truncated compressed stream. {AGAIN}",
    ),
    "not gzip": (
        "a.txt.gz",
        b"no archive",
        None,
        None,
        "must be a gzip archive, as its name says, got other bytes. "
        "Fetch or compress it again, or rename it.",
    ),
    "bad gzip": (
        "a.gz",
        BAD_GZIP,
        None,
        None,
        f"must be a whole and valid archive, got: CRC check failed 0x0 != 0x12da640. {AGAIN}",
    ),
    "bad line": (
        "a.jsonl",
        LINES,
        2,
        17,
        "must be a JSON object, got a syntax error at character 7 of the line "
        "(Expecting value). Mend the line, or skip it.",
    ),
    "array": (
        "a.jsonl",
        '{"a": 1}\n\n[1]\n',
        3,
        10,
        "must be a JSON object, got [1]. Mend the line, or skip it.",
    ),
    "deep": (
        "a.jsonl",
        '{"a":' * 99999,
        1,
        0,
        "must be a JSON object, got objects in objects too deep to read. "
        "Mend the line, or skip it.",
    ),
    "json": (
        "a.json",
        '[\n{"a": 1}\n]',
        1,
        None,
        "must have a JSON object on each line (JSON Lines), got one value over many lines. "
        "Convert it: jq -c 'if type == \"array\" then .[] else . end' < {path} > documents.jsonl",
    ),
    "element": (
        "a.xml",
        XML,
        None,
        None,
        "must hold documents in <page>, got no such element. "
        "Name the element that separates its documents, or none if it is one document.",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_files_that_cannot_be_read(tmp_path, kind):
    name, content, line, offset, says = BAD[kind]
    reading = DocumentReading(document="page") if kind == "element" else None
    with pytest.raises(DocumentError) as caught:
        documents(tmp_path, name, content, reading)
    error = pickle.loads(pickle.dumps(caught.value))
    path = str(tmp_path / name)
    assert (error.path, error.line, error.offset) == (path, line, offset)
    assert error.problems[0].message == says.replace("{path}", path)


def test_paths_that_cannot_be_read(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    for name, says in {
        "note.txt": f"must exist, but is not in {tmp_path}. Did you mean {tmp_path}/notes.txt?",
        ".": "must be a file, got a folder. Name a file in it.",
        "a\0b": "must be readable, got: embedded null byte.",
    }.items():
        with pytest.raises(DocumentError) as caught:
            list(read_documents(os.path.join(tmp_path, name)))
        assert caught.value.problems[0].message == says


def test_a_pipe_is_refused():
    read, write = os.pipe()
    os.write(write, b"text")
    os.close(write)
    with pytest.raises(DocumentError) as caught:
        list(read_documents(f"/dev/fd/{read}"))
    os.close(read)
    says = "must be a file, got a pipe or a device. Save it to a file first."
    assert caught.value.problems[0].message == says


def test_a_file_that_fails_while_it_is_read():
    with pytest.raises(DocumentError) as caught:
        list(read_documents("/proc/self/mem", DocumentReading(format="text")))
    assert caught.value.problems[0].message == "must be readable, got: Input/output error."


def test_bad_lines_are_skipped_and_listed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(LINES)
    skipped = []
    found = list(read_documents(path, skipped=skipped.append))
    assert shown(found) == [(f"{path}#1", {"a": "b"}), (f"{path}#5", {"a": "c"})]
    assert [(x.line, x.offset) for x in skipped] == [(2, 17), (3, 18), (4, 22)]


@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.txt.gz"])
def test_one_document_that_is_too_large_is_refused(tmp_path, name):
    raw, reading = b"some words " * 8_000_000, DocumentReading(largest=1 << 23)
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw, 1) if name.endswith(".gz") else raw)
    tracemalloc.start()
    with pytest.raises(DocumentError) as caught:
        list(read_documents(path, reading))
    assert tracemalloc.get_traced_memory()[1] < 100e6  # a file of 88 MB would be held twice
    tracemalloc.stop()
    split = f"Split it: split -C 32m {path}"
    if name.endswith(".gz"):
        split = f"Split it: gzip -dc < {path} | split -C 32m -"
    html = "Name the element that separates documents with document"
    assert str(caught.value).endswith(
        "must be at most 8,388,608 characters a document, got 88,000,000. "
        f"{html if name == 'a.html' else split}, or allow more with largest=."
    )
    assert (caught.value.line, caught.value.offset) == (1, 0)
    skipped = []
    assert list(read_documents(path, reading, skipped=skipped.append)) == []
    assert list(map(str, skipped)) == [str(caught.value)]


def test_pyarrow_is_named_where_it_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "a.txt.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"x"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError) as caught:
        list(read_documents(path))
    assert str(caught.value) == (
        'Files in .zst need pyarrow. Install with: pip install "parcast[features]"'
    )


def test_archives_of_several_members_are_read_whole(tmp_path):
    frames = [
        zstandard.ZstdCompressor(write_checksum=True).compress(x) for x in (b"a ", b"b" * 10**6)
    ]
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0xyz"
    (tmp_path / "a.zst").write_bytes(frames[0] + skippable + frames[1])
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a ") + gzip.compress(b"b" * 10**6))
    for name in ("a.zst", "a.gz"):
        (document,) = read_documents(tmp_path / name)
        assert document.fields[0].text == "a " + "b" * 10**6


def test_offsets_beyond_two_billion_are_kept():
    import numpy as np

    from parcast.applications.text.documents.offsets import TextBuilder, add_plain

    builder = TextBuilder()
    add_plain(builder, "far  away", 2**33)
    field = builder.field("text")
    assert field.span(4, 8) == (2**33 + 5, 2**33 + 9)
    assert field.offsets.clean.dtype == np.int64
    with pytest.raises(IndexError):
        field.span(4, 9)
    with pytest.raises(IndexError):
        field.offsets.spans(np.array([0]), np.array([9]))
