"""Phrases stand where they are said to stand, in files of every format, encoding and packing."""

import gzip
import json
from itertools import pairwise

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parcast.applications.text.documents.document import DocumentReading
from parcast.applications.text.documents.items import work_items
from parcast.applications.text.features.lexicon import merged
from parcast.applications.text.features.task import Features, features_of
from parcast.errors import FileProblems
from tests.applications.text.documents.collapse import collapse

PLAIN = [
    "rain",
    "forest",
    "big",
    "the",
    "falls",
    ".",
    "größe",
    "naïve",
    "Romeo\u2019s",
    "e\u0301clair",
    "node-07",
]
BEYOND = ["😀", "fog🌧", "日本"]  # what cp1252 has not
MARKED = [
    *("ra<!-- within a word -->in", "ra<!-->in", "for<b>est</b>", "<i>gr&ouml;&szlig;e</i>"),
    *(
        "&#x1F327;",
        "&#127783;",
        "fog&#X1F600;",
        "&#x1D518;nit",
        "net&shy;work",
        "AT&amp;T",
        "x&lt;y",
        "&#8203;",
    ),
    *("<![CDATA[fine rain]]>", "<![CDATA[old <![CDATA[ nested ]]> forest ]]>", "ra<![CDATA[in]]>"),
    *("<br>", "<p>", "</p>", "<a href='x>y'>", "</a>", "&nbsp;", "&copyx", "&#0;", "&", "<3"),
]
SPACES = [" ", " ", " ", "\r\n", "\n", "\r\n\r\n", "\t", "  ", "\u00a0"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
FORMATS = ["txt", "html", "xml", "sgm", "jsonl"]
PACKINGS = ["", ".gz", ".zst"]


@st.composite
def files(draw):
    """Name and encoding of a file, its bytes, and the text that they are."""
    format = draw(st.sampled_from(FORMATS))
    encoding = draw(st.sampled_from(ENCODINGS))
    beyond = [] if encoding == "cp1252" else BEYOND
    words = [*PLAIN, *beyond, *(MARKED if format in ("html", "xml", "sgm") else [])]
    if encoding == "cp1252":
        words.remove("e\u0301clair")
    pieces = st.lists(st.tuples(st.sampled_from(words), st.sampled_from(SPACES)), max_size=20)
    bodies = ["".join(map("".join, some)) for some in draw(st.lists(pieces, max_size=4))]
    if format in ("sgm", "xml"):
        content = "\r\n".join(f"<DOC>{body}</DOC>" for body in bodies)
        content = f"<ALL>{content}</ALL>" if format == "xml" else content
    elif format == "jsonl":
        is_ascii = draw(st.booleans())
        content = "".join(
            json.dumps({"text": body}, ensure_ascii=is_ascii) + "\r\n" for body in bodies
        )
    else:
        content = "\n\n".join(bodies)
    raw = content.encode(encoding)
    cuts = sorted(draw(st.lists(st.integers(0, len(raw)), max_size=2)))
    members = [raw[first:stop] for first, stop in pairwise([0, *cuts, len(raw)])]
    packing = draw(st.sampled_from(PACKINGS))
    if packing == ".gz":
        raw = b"".join(map(gzip.compress, members))
    elif packing == ".zst":
        raw = b"".join(map(zstandard.ZstdCompressor().compress, members))
    return f"a.{format}{packing}", encoding, raw, content


@pytest.mark.usefixtures("uncovered")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(files(), st.integers(1, 200))
def test_the_original_at_each_place_is_the_phrase(tmp_path, file, chunk):
    name, encoding, raw, content = file
    path = tmp_path / name
    path.write_bytes(raw)
    _, format, *_ = name.split(".")
    reading = DocumentReading(
        encoding=encoding, document="DOC" if format in ("sgm", "xml") and content else None
    )
    state = Features(fold=False, skip=True, reading=reading)()
    lexicon = merged(features_of(item, state) for item in work_items([path], reading, chunk=chunk))
    kind = {"sgm": "sgml", "txt": "text"}.get(format, format)
    for phrase in lexicon.phrases():
        for at in lexicon.occurrences(phrase):
            assert collapse(content[at.start : at.stop], kind) == phrase
    assert len(merged(features_of(item, state) for item in work_items([path], reading))) == len(
        lexicon
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_a_nul_is_refused_and_never_moves_what_follows(tmp_path, encoding):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "fine rain"}\n{"text": "old\0 forest"}\n'.encode(encoding))
    state = Features(skip=True)()
    with pytest.raises(FileProblems, match="got a NUL character at offset 35"):
        features_of(next(work_items([path])), Features()())
    lexicon = merged(features_of(item, state) for item in work_items([path]))
    assert (lexicon.totals.documents, lexicon.totals.skipped) == (0, 1)
    path.write_text(r'{"text": "old\u0000 forest"}')
    (at,) = merged(features_of(item, state) for item in work_items([path])).occurrences(
        "old\0 forest"
    )
    assert (at.start, at.stop) == (10, 26)
