"""Documents are cut the same however the text arrives in blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.documents.boundaries import boundaries_of, cut

TEXT = st.lists(
    st.sampled_from(
        ["<doc>", "<DOC id='1'>", "</doc>", "</DOC >", "<doc/>", "<x:doc>", "</x:doc>", "<docs>",
         "<!--", "-->", "<![CDATA[", "]]>", "\n", "a", "é", " ", "\r\n", "{}", "x" * 9000]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def pieces(text, format, element, sizes, largest=10**9):
    blocks, at = [], 0
    for size in sizes:
        blocks.append(text[at : at + size])
        at += size
    blocks.append(text[at:])
    return list(cut(iter(blocks), boundaries_of(format, element), largest=largest))


@given(TEXT, st.lists(st.integers(0, 9000), max_size=8))
@pytest.mark.parametrize(
    ("format", "element"), [("sgml", "doc"), ("xml", "doc"), ("jsonl", None), ("text", None)]
)
def test_blocks_make_no_difference(format, element, text, sizes):
    whole = pieces(text, format, element, [])
    assert pieces(text, format, element, sizes) == whole
    for piece in whole:
        assert piece.text == text[piece.start : piece.stop]
        assert piece.line == 1 + text.count("\n", 0, piece.start)


@given(TEXT, st.lists(st.integers(0, 9000), max_size=8), st.integers(1, 30))
@pytest.mark.parametrize("format", ["sgml", "xml", "jsonl"])
def test_documents_that_are_too_large_cost_no_others(format, text, sizes, largest):
    element = None if format == "jsonl" else "doc"
    whole = pieces(text, format, element, [])
    for piece, all_of_it in zip(pieces(text, format, element, sizes, largest), whole, strict=True):
        assert (piece.start, piece.stop, piece.line) == (
            all_of_it.start, all_of_it.stop, all_of_it.line,
        )  # fmt: skip
        fits = piece.stop - piece.start <= largest
        assert piece.text == (all_of_it.text if fits else None)


def texts(text, format, element="doc"):
    return [x.text for x in pieces(text, format, element, [])]


def test_in_sgml_a_start_tag_ends_the_document_before_it():
    assert texts("<DOC>a<doc n=1>b</doc>out<DOC>c", "sgml") == [
        "<DOC>a",
        "<doc n=1>b</doc>",
        "<DOC>c",
    ]


def test_in_xml_the_outermost_elements_count_outside_comments():
    inner = "<!-- <doc>no</doc> --><doc>a<doc>b</doc>c</doc><doc/><![CDATA[<doc>]]>"
    text = f"<r>{inner}<n:doc>d</n:doc></r>"
    assert texts(text, "xml") == ["<doc>a<doc>b</doc>c</doc>", "<doc/>", "<n:doc>d</n:doc>"]
