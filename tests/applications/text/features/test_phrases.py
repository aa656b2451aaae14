"""Grammars over letters of tags, and the phrases that they find in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parcast.applications.text.features import phrases
from parcast.applications.text.features.phrases import DEFAULT_GRAMMAR, Grammar, find_phrases
from parcast.applications.text.features.tagging import LETTERS, load_tagger
from parcast.errors import ParameterError
from tests.growth import grows


def every_phrase(text, tagger, grammar):
    """Phrases of all pieces of a text."""
    return [row for found in find_phrases(text, tagger, grammar) for row in found]


@pytest.mark.parametrize(
    ("grammar", "letters", "spans"),
    [
        ("(J|M|N)*N", "DJNEVMJ", [(1, 4)]),
        ("E+", "NEEN", [(1, 3)]),
        ("N+", "NEEN", [(0, 4)]),
        ("[JN]* N", "JNJ", [(0, 2)]),
        ("(J|N)*N(PD?(J|N)*N)*", "JNPDNV", [(0, 5)]),
        ("DJ{2,3}N?", "DJDJJN", [(2, 6)]),
    ],
)
def test_a_grammar_of_the_user(grammar, letters, spans):
    assert Grammar.of(grammar).spans(letters) == spans


@pytest.mark.parametrize(
    ("grammar", "says"),
    [
        (
            "(J|B)*N",
            "must consist of letters of tags and ( ) [ ] | * + ? { }, got 'B' in '(J|B)*N'",
        ),
        (".*", "got '.' in '.*'"),
        ("(J|N", "must be a regular expression, got '(J|N'"),
        ("N*", "must require at least one token, got 'N*'"),
        ("", "must require at least one token, got ''"),
        ("(N*)*J", "must not repeat a repetition"),
        ("(N?)+J", "must not repeat a repetition"),
    ],
)
def test_a_grammar_that_is_none_is_refused(grammar, says):
    with pytest.raises(ParameterError) as caught:
        Grammar.of(grammar)
    assert says in str(caught.value)
    assert str(caught.value).startswith("grammar must")


def test_phrases_stand_where_they_are_said_to():
    text = "The new parallel\n program reads 3.5 GB.  It fails."
    (found,) = find_phrases(text, load_tagger("textblob"), Grammar.of(DEFAULT_GRAMMAR))
    assert list(found) == [("new parallel program", 4, 25), ("3.5 GB", 32, 38)]
    assert found.tokens == 11
    assert every_phrase("", load_tagger("textblob"), Grammar.of("N")) == []


def test_no_phrase_crosses_a_sentence():
    (found,) = find_phrases(
        "Red rain. Cold wind\n\nsnow", lambda w: "N" * len(w), Grammar.of("N+")
    )
    assert found.texts == ["Red rain.", "Cold wind", "snow"]


@given(st.lists(st.sampled_from(["red rain", "fog", ". ", " ", "\n\n", "x" * 30])).map("".join))
def test_long_texts_are_taken_in_pieces(text):
    size, phrases.PIECE = phrases.PIECE, 20
    try:
        cut = list(phrases.pieces(text))
        assert "".join(text[begin:end] for begin, end in cut) == text
        assert all(0 < end - begin <= 21 for begin, end in cut) or not text
        found = every_phrase(text, lambda words: "N" * len(words), Grammar.of("N"))
        assert all(" ".join(text[b:e].split()) == phrase for phrase, b, e in found)
    finally:
        phrases.PIECE = size


def test_pieces_at_paragraphs_change_nothing(monkeypatch):
    tagger, grammar = load_tagger("textblob"), Grammar.of(DEFAULT_GRAMMAR)
    text = "\n\n".join(
        f"The new node {i} reads big blocks of data. It is fast." for i in range(50)
    )
    whole = every_phrase(text, tagger, grammar)
    monkeypatch.setattr(phrases, "PIECE", 200)
    assert len(list(phrases.pieces(text))) > 10
    assert every_phrase(text, tagger, grammar) == whole


def test_adjectives_without_a_noun_take_a_time_that_grows_with_their_number():
    grammar = Grammar.of(DEFAULT_GRAMMAR)
    slow, _ = grows(lambda n: grammar.spans("J" * n), (2000, 8000, 32_000))
    assert slow == ""
    assert grammar.spans("J" * 5000 + "JN") == [(5000, 5002)]


def by_hand(letters):
    """Maximal sequences of J, M, N, E that end in N or E, found without an expression."""
    spans, first = [], None
    for i, letter in enumerate([*letters, ""]):
        if letter and letter in "JMNE":
            first = i if first is None else first
        elif first is not None:
            stop = i
            while stop > first and letters[stop - 1] not in "NE":
                stop -= 1
            spans += [(first, stop)] if stop > first else []
            first = None
    return spans


@given(st.text(alphabet=LETTERS, max_size=40))
def test_default_phrases_are_maximal(letters):
    assert Grammar.of(DEFAULT_GRAMMAR).spans(letters) == by_hand(letters)
