"""Which encoding a file is read with, and what is said where it had to be guessed."""

import pytest

from parcast.applications.text.documents.document import DocumentReading
from parcast.applications.text.documents.encodings import detect
from parcast.applications.text.documents.reading import read_documents
from parcast.applications.text.documents.sources import original_text
from parcast.errors import ParameterError

TEXT = "Käse für 5 €, naïve 😀."


@pytest.mark.parametrize(
    ("name", "raw", "encoding"),
    [
        ("a.txt", TEXT.encode(), "utf-8"),
        ("a.txt", b"\xef\xbb\xbf" + TEXT.encode(), "utf-8-sig"),
        ("a.txt", TEXT.encode("utf-16"), "utf-16"),
        ("a.txt", b"\xfe\xff" + TEXT.encode("utf-16-be"), "utf-16"),
        ("a.txt", TEXT.encode("utf-32"), "utf-32"),
        ("a.html", b"<meta charset=utf-8>" + TEXT.encode(), "utf-8"),
    ],
)
def test_offsets_are_those_of_the_decoded_file(tmp_path, name, raw, encoding):
    path = tmp_path / name
    path.write_bytes(raw)
    (document,) = read_documents(path)
    assert (document.encoding, document.note) == (encoding, "")
    original = path.read_text(encoding=document.encoding, errors="replace")
    assert original_text(path) == original
    (field,) = document.fields
    begin = field.text.index("naïve")
    start, stop = field.span(begin, begin + len("naïve 😀"))
    assert original[start:stop] == "naïve 😀"


@pytest.mark.parametrize(
    ("raw", "encoding", "note"),
    [
        ("<?xml version='1.0' encoding='ISO-8859-2'?>łódź".encode("iso8859-2"), "iso8859-2", ""),
        ("<meta charset=windows-1252>5 €".encode("cp1252"), "cp1252", ""),
        ('<meta content="text/html; charset=iso-8859-1">5 €'.encode("cp1252"), "cp1252", ""),
        ("<meta charset=shift_jis>日本".encode("shift_jis"), "shift_jis", ""),
        (
            "<meta charset=utf-16>é".encode(),
            "utf-8",
            "declared as utf-16, which its bytes are not; read as UTF-8",
        ),
        ("<meta charset=rot13>é".encode(), "utf-8", ""),
        ("<meta charset=klingon>é".encode(), "utf-8", ""),
        (b"caf\xe9", "cp1252", "not UTF-8, read as cp1252"),
        (
            "ä ö ü é à".encode() + b" \xe9.",
            "utf-8",
            "read as UTF-8, with bytes that are not as U+FFFD",
        ),
        (
            b"<meta charset=utf-8>caf\xe9",
            "cp1252",
            "declared as utf-8, which its bytes are not; not UTF-8, read as cp1252",
        ),
        (
            "<meta charset=ascii>é".encode(),
            "utf-8",
            "declared as ascii, which its bytes are not; read as UTF-8",
        ),
        (b"", "utf-8", ""),
    ],
)
def test_declared_then_utf8_then_windows(raw, encoding, note):
    assert detect(raw) == (encoding, note)


def test_an_encoding_can_be_required(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("Köln".encode("cp437"))
    (document,) = read_documents(path, DocumentReading(encoding="cp437"))
    assert (document.fields[0].text, document.encoding) == ("Köln", "cp437")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            {"encoding": "klingon"},
            "encoding must be an encoding of text, got 'klingon'. "
            'Write for example "utf-8" or "cp1252".',
        ),
        (
            {"format": "htlm"},
            "format must be one of text, html, xml, sgml, jsonl, got 'htlm'. Did you mean html?",
        ),
        (
            {"fields": "title"},
            "fields must be a sequence of names, got 'title'. "
            'Write fields=("title", "body"), or None for all text.',
        ),
        (
            {"largest": 0},
            "largest must be at least 1, got 0. Give the characters of the largest document.",
        ),
        (
            {"document": " "},
            "document must be a name, got ' '. Name an element or a key.",
        ),
    ],
)
def test_what_no_file_could_satisfy_is_refused(wrong, says):
    with pytest.raises(ParameterError) as caught:
        DocumentReading(**wrong)
    assert str(caught.value) == says
