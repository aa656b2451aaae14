"""Tokens and sentences: their words, and that every one stands where it is said to."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.features.phrases import sentences

WORDS = "rain don't 's Dr. e.g. U.S. 3.5 $4% - --x=1 a-b http://a.b/c me@a.org /usr/lib cannot"
MARKS = "“ ” \" '' `` ' ( ) . ... ? ! é e\u0301 日本語 AT&T C++"
SPACES = [" ", "  ", "\n", "\n\n", "\u00a0", "\t", "\f"]
PIECES = st.sampled_from([*WORDS.split(), *MARKS.split(), *SPACES])


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_tokens_are_all_that_is_not_white_space_in_order(text):
    found = list(sentences(text))
    words = [word for each in found for word in each.words]
    spans = [span for each in found for span in zip(each.begins, each.ends, strict=True)]
    assert "".join(words) == "".join(text.split())
    assert [text[begin:end] for begin, end in spans] == words
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(each.words for each in found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One .", "Two !", "Three ?", "Four"]),
        ("It cost 3.5 min. approx. as said.", ["It cost 3.5 min .", "approx. as said ."]),
        ("Title\n\nText here", ["Title", "Text here"]),
        ("“Go!” he said. “Why?”", ["“ Go ! ”", "he said .", "“ Why ? ”"]),
        ('"Go," he said.', ['" Go , " he said .']),
        ("I can't see the queue's end.", ["I ca n't see the queue 's end ."]),
        ("All-to-all I/O of 2,400 (see Fig. 3)", ["All-to-all I/O of 2,400 ( see Fig. 3 )"]),
        (" \n ", []),
    ],
)
def test_sentences_and_words(text, found):
    assert [" ".join(each.words) for each in sentences(text)] == found
