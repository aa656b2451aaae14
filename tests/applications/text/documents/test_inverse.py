"""What offsets promise: the original at the span of any stretch of clean text gives that text."""

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.documents.jsonlines import JsonReader
from parcast.applications.text.documents.markup import MarkupReader
from parcast.applications.text.documents.offsets import plain
from tests.applications.text.documents.collapse import collapse
from tests.growth import grows

WORDS = st.sampled_from(
    [
        "big",
        "house",
        "é",
        "e\u0301",
        "😀",
        "\u200b",
        "naïve",
        "a&b",
        "x<3",
        "]]",
        "A.B.",
        "-",
        "0",
        ";",
    ]
)
SPACES = st.sampled_from(
    [" ", "  ", "\n", "\r\n", "\t", "\n\n", " \r\n \r\n", "\u00a0", "\u2028", "\f"]
)
ENTITIES = st.sampled_from(
    [
        "&amp;",
        "&lt;",
        "&gt",
        "&#233;",
        "&#x1F600;",
        "&#X41;",
        "&nbsp;",
        "&eacute",
        "&notit;",
        "&#3;",
        "&#128;",
        "&#0;",
        "&#xD800;",
        "&reuter;",
        "&",
        "&;",
        "&#;",
        "&#x;",
        "&NotEqualTilde;",
        "&copyx",
        "&#1234567890;",
        "&amp;lt;",
        "&#32;",
        "&fjlig;",
    ]
)
TAGS = st.sampled_from(
    [
        "<b>",
        "</b>",
        "<i class='x>y'>",
        "<P>",
        "</p>",
        "<br>",
        "<br/>",
        '<a href="a>b&amp;c">',
        "</a>",
        "<div\n id=q>",
        "</div >",
        "<!-- no > -->",
        "<!---->",
        "<!-- -- -->",
        "<ns:em>",
        "</ns:em>",
        "<td>",
        "<![CDATA[",
        "]]>",
        "<?pi x?>",
        "</>",
        "</3>",
        "<script>if (a<b && c>d) {}</script>",
        "<hr />",
        "<STYLE>p > b {}</style>",
        "<b<i>",
        "<x y='z>",
        "<!weird>",
        "<title>",
        "</title>",
        "< b",
    ]
)
MARKUP = st.lists(st.one_of(WORDS, SPACES, ENTITIES, TAGS), max_size=30).map("".join)
FORMATS = st.sampled_from(["html", "xml", "sgml"])


def every_stretch(data, raw, fields, format, start=0):
    """Check stretches of every field that hypothesis chooses."""
    for field in fields:
        assert field.text == field.text.strip(), "white space at the ends"
        assert not re.search(r"[^\S \n]|  |\n\n\n|(?<!\n)\n(?!\n)", field.text), "not collapsed"
        begin = data.draw(st.integers(0, len(field.text) - 1))
        end = data.draw(st.integers(begin + 1, len(field.text)))
        first, stop = field.span(begin, end)
        assert 0 <= first - start < stop - start <= len(raw)
        given_ = " ".join(field.text[begin:end].split())
        got = collapse(raw[first - start : stop - start], format)
        assert got == given_


@given(st.data(), MARKUP, FORMATS)
def test_markup(data, raw, format):
    fields = MarkupReader(format, None, None).fields(raw, 1000)
    for field in fields:
        if format == "html" and "<title" in raw.lower():
            continue  # a stretch may reach over another field, which no phrase does
        words = [x.span() for x in re.finditer(r"\S+", field.text)]
        first = data.draw(st.integers(0, len(words) - 1))
        last = data.draw(st.integers(first, len(words) - 1))
        begin, end = words[first][0], words[last][1]
        start, stop = field.span(begin, end)
        got = collapse(raw[start - 1000 : stop - 1000], format)
        assert got == " ".join(field.text[begin:end].split())


@given(st.data(), MARKUP.filter(lambda raw: "fjlig" not in raw and "EqualTilde" not in raw))
def test_any_stretch_of_markup_without_entities_of_two_characters(data, raw):
    every_stretch(data, raw, MarkupReader("xml", None, None).fields(raw, 7), "xml", 7)


@given(MARKUP, FORMATS)
def test_all_text_is_kept(raw, format):
    raw = raw.replace("title>", "b>").replace("TITLE>", "b>")
    fields = MarkupReader(format, None, None).fields(raw, 0)
    joined = " ".join(" ".join(field.text.split()) for field in fields)
    assert joined == collapse(raw, format)


JSON_TEXT = st.lists(
    st.one_of(
        WORDS, SPACES, st.sampled_from(['"', "\\", "/", "\\n", "\b", "\ud83d", "\x1f", "{", "}"])
    ),
    max_size=20,
).map("".join)


@given(st.data(), JSON_TEXT, st.booleans())
def test_json_strings(data, text, ascii_):
    line = json.dumps({"key": text, 'o"ther': [1, text]}, ensure_ascii=ascii_)
    line = re.sub("[\ud800-\udfff]", "\ufffd", line)  # decoding leaves none that is not escaped
    fields = JsonReader(None, None).fields(line, 9)
    assert [x.name for x in fields] in ([], ["key", 'o"ther'])
    for field in fields:
        expected = plain(re.sub("[\ud800-\udfff]", "\ufffd", text))
        assert field.text.split() == expected.split()
    every_stretch(data, line, fields, "jsonl", 9)


@pytest.mark.parametrize(
    ("format", "raw", "text"),
    [
        ("html", "fish &amp; <b>chips</b>", "fish & chips"),
        ("html", "caf&eacute;s&nbsp;&#233;&#x1F600;&ampx", "cafés é😀&x"),
        ("html", "a<p>b<br>c<br><br>d", "a\n\nb c\n\nd"),
        ("html", "x<script>var a = '<p>';</script>y<style>b{}</style>z", "xyz"),
        ("html", "a<!-- <p>no</p> --> b<!-->c", "a bc"),
        ("html", "a < b and 3 > 2, <3", "a < b and 3 > 2, <3"),
        ("html", "<a href='x>y' title=\"</a>\">link</a>", "link"),
        ("html", "<a href=\"open>text</a> more", "text more"),
        ("html", "end <b unclosed &amp; rest", "end <b unclosed & rest"),
        ("html", "a</3>b</>c", "abc"),
        ("xml", "<x:p xmlns:x='u'>a<x:em>b</x:em></x:p><x:p>c</x:p>", "ab\n\nc"),
        ("xml", "<p><![CDATA[AT&amp;T <b>x</b>]]></p>", "AT&T x"),
        ("xml", "<?xml version='1.0'?><!DOCTYPE d [<!ENTITY x 'y'>]><d>&x; &eacute;</d>", "&x; é"),
        ("xml", "<élan>a</élan><b>c</b>", "a\n\nc"),
        ("sgml", "<BODY>One\nline.\n\nTwo &lt;IBM> &#3;</BODY>", "One line.\n\nTwo <IBM>"),
        ("sgml", "a\r\n\r\nb\r\nc", "a\n\nb c"),
        ("html", "a\r\n\r\nb\tc\u2003d", "a b c d"),
    ],
)  # fmt: skip
def test_text_of_markup(format, raw, text):
    assert [x.text for x in MarkupReader(format, None, None).fields(raw, 0)] == [text]


def test_scripts_without_end_and_huge_attributes_are_no_text():
    huge = f"<p>a<img src='data:{'A' * 10**6}'>b</p><script>never closed <p>c"
    (field,) = MarkupReader("html", None, None).fields(huge, 0)
    assert field.text == "ab"
    start, stop = field.span(1, 2)
    assert huge[start:stop] == "b"


@pytest.mark.usefixtures("uncovered")
@pytest.mark.parametrize("bad", ["<a ", '<a x="', "<!--", "<!x[", "&#", "</", "<a b='>' "])
def test_broken_markup_takes_no_more_than_linear_time(bad):
    def read(times):
        for format in ("html", "xml"):
            MarkupReader(format, None, None).fields(bad * times, 0)

    said, _ = grows(read, (1000, 4000))
    assert said == ""


@pytest.mark.parametrize(
    "entity",
    [
        "&amp;",
        "&lt",
        "&#233;",
        "&#xE9",
        "&notit;",
        "&CounterClockwiseContourIntegral;",
        "&#150;",
        "&nosuch;",
    ],
)
def test_entities_agree_with_the_standard_library(entity):
    (field,) = MarkupReader("html", None, None).fields(f"a{entity}b", 0)
    assert field.text == html.unescape(f"a{entity}b")


def test_tags_and_entities_agree_with_the_parser_of_the_standard_library():
    from html.parser import HTMLParser

    class Text(HTMLParser):
        def __init__(self):
            super().__init__(convert_charrefs=True)
            self.parts = []

        def handle_data(self, data):
            if self.lasttag not in ("script", "style") or data.strip() == "":
                self.parts.append(data)

        def handle_starttag(self, tag, attrs):  # noqa: ARG002 - its signature
            self.parts.append(" " if tag in ("p", "td", "br", "div") else "")

        handle_endtag = lambda self, tag: self.handle_starttag(tag, [])  # noqa: E731 - ends as it begins

    page = (
        '<!DOCTYPE html><html lang="en"><body class=a><p>First &amp; <b>last</b>, '
        "caf&#233; &lt;i&gt;"
        "<table><tr><td>1<td>2</table><div>x<!-- y -->z</div><br>end &copy; 2020</body></html>"
    )
    parser = Text()
    parser.feed(page)
    parser.close()
    (field,) = MarkupReader("html", None, None).fields(page, 0)
    assert " ".join(field.text.split()) == " ".join("".join(parser.parts).split())


@pytest.mark.parametrize("format", ["html", "xml", "sgml"])
@pytest.mark.parametrize("start", ["<!a", "<?a", "</9", "<a", "<!--x--><!b"])
def test_a_mark_that_nothing_ends_is_text_and_so_is_the_rest(format, start):
    raw = f"one {start} two <![CDATA[ caf&eacute; <b"
    (field,) = MarkupReader(format, None, None).fields(raw, 0)
    assert " ".join(field.text.split()) == collapse(raw, format)
    assert field.text.endswith("two café <b")


@pytest.mark.parametrize("unseen", [*"\u00ad\u200b\u200d\ufeff\u200e", "\u00ad\u200b"])
def test_what_is_not_seen_is_left_out_and_counts_in_places(unseen):
    raw = f"{unseen}Romeo\u2019s net{unseen}work is {unseen} well\u2010known&shy;{unseen}"
    (field,) = MarkupReader("html", None, None).fields(raw, 0)
    assert field.text == "Romeo's network is well-known"
    begin = field.text.index("network")
    start, stop = field.span(begin, begin + len("network"))
    assert raw[start:stop] == f"net{unseen}work"
