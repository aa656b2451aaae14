"""Tokens and sentences: their words, and that every one stands where it is said to."""

# ruff: noqa: RUF001 - typographic quotes and dashes are what texts contain

from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.documents.characters import plain
from parcast.applications.text.features.tokens import tokenise

WORDS = "rain don't 's ’ll Dr. e.g. U.S. 3.5 $4 % - --x=1 a-b http://a.b/c me@a.org /usr/lib x_y"
MARKS = "“ ” ’ ‘ ‐ ´ ⁄ \u00ad \u200b \u200d \" ' ( ) . ... ? ! é e\u0301 cannot 日本語 AT&T C++"
SPACES = [" ", "  ", "\n", "\n\n", "\u00a0", "\t", "\f"]
PIECES = st.sampled_from([*WORDS.split(), *MARKS.split(), *SPACES])


def alike(one, other):
    """Tell whether two characters read the same between letters."""
    return plain(f"a{one}a") == plain(f"a{other}a")


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_tokens_are_all_that_is_not_white_space_in_order(text):
    tokens = tokenise(text)
    assert "".join(tokens.words) == "".join(plain(text)[0].split())
    spans = list(zip(tokens.begins, tokens.ends, strict=True))
    found = [text[begin:end] for begin, end in spans]
    assert found == tokens.words or plain(text)[0] != text
    ends = zip(found, tokens.words, strict=True)
    assert all(alike(x[0], word[0]) and alike(x[-1], word[-1]) for x, word in ends)
    assert all(begin < end for begin, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_sentences_hold_every_token_once(text):
    tokens = tokenise(text)
    assert list(chain.from_iterable(tokens.by_sentence())) == tokens.words
    assert all(tokens.by_sentence()) or not tokens.words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't can't won't", "do n't ca n't wo n't"),
        ("shouldn't've I'd they’re", "should n't 've I 'd they 're"),
        ("users' queue's O'Brien", "users ' queue 's O'Brien"),
        ("cannot", "can not"),
        ("all-to-all, 1.2-metre", "all-to-all , 1.2-metre"),
        ("2,400 3.14 6:30 2024-03-11 -3.5 .5 1½ 5th 64GB", None),
        ("$4.2 15% #12 8–10 p=64", "$ 4.2 15 % # 12 8 – 10 p = 64"),
        ("(see https://a.org/b?c=d#e).", "( see https://a.org/b?c=d#e ) ."),
        ("mail x.y@a-b.org, now", "mail x.y@a-b.org , now"),
        ("/usr/lib ../a.txt src/reader.c a.py", None),
        ("and/or he/she Gbit/s I/O a/b", "and / or he / she Gbit/s I/O a/b"),
        ("run --threads=4 -v", None),
        ("Dr. K. Lindqvist, e.g. at 6 p.m.", "Dr. K. Lindqvist , e.g. at 6 p.m."),
        ("AT&T's C++ x_y mpi.h", "AT&T 's C++ x_y mpi.h"),
        ("café e\u0301te\u0301 naïve", None),
        ("“Yes,” he said… no -- yes", "“ Yes , ” he said … no -- yes"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_words(text, words):
    expected = text.split() if words is None else words.split()
    assert tokenise(text).words == expected


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One .", "Two !", "Three ?", "Four"]),
        ("It cost 3.5 min. approx. as said.", ["It cost 3.5 min. approx. as said ."]),
        ("He left at 6 p.m. The door shut.", ["He left at 6 p.m.", "The door shut ."]),
        ("Title\n\nText here", ["Title", "Text here"]),
        ("Title\r\n\r\nText here", ["Title", "Text here"]),
        ("one\ntwo", ["one two"]),
        ("“Go!” he said. “Why?”", ["“ Go ! ” he said .", "“ Why ? ”"]),
        ("(It ends.) Then on.", ["( It ends . )", "Then on ."]),
        ("It uses .NET now. 3 left.", ["It uses . NET now .", "3 left ."]),
    ],
)
def test_sentences(text, sentences):
    assert [" ".join(words) for words in tokenise(text).by_sentence()] == sentences


@pytest.mark.parametrize(
    "piece",
    [
        "a+",
        "a/",
        "a.",
        "'s",
        "-",
        "1,",
        "a@",
        "/",
        "~/",
        "ab/cd/",
        "a-b'c/",
        "\u00ada",
        "’s",
        "http://",
    ],
)
def test_long_nonsense_is_taken_in_one_pass(piece):
    text = piece * 50_000  # a quadratic expression would need minutes
    assert "".join(tokenise(text).words) == plain(text)[0]
