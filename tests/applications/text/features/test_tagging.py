"""Taggers: that of TextBlob, those of users, and what is refused."""

import sys
from types import ModuleType

import pytest

from parcast.applications.text.features.phrases import _tokenisers, sentences
from parcast.applications.text.features.tagging import letter_of, load_tagger
from parcast.errors import ParameterError, RunFailed


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("The fast node reads cold data, (slowly).", "DJNVJNUURUU"),
        ("They want to run to London", "OVPVPE"),
        ("She saw three red — and blue — boats", "OVMJUCJUN"),
    ],
)
def test_textblob_tags_words_and_what_has_no_letter_is_punctuation(text, letters):
    (found,) = sentences(text)
    assert load_tagger("textblob")(found.words) == letters


@pytest.mark.parametrize(
    ("tag", "letter"),
    [("NOUN", "N"), ("NNPS", "E"), ("AUX", "V"), ("IN", "P"), (",", "U"), ("J", "J")],
)
def test_letters_of_tags(tag, letter):
    assert letter_of(tag) == letter


def test_the_tagger_of_a_user_is_found_and_its_tags_are_understood(monkeypatch):
    module = ModuleType("my_tagger")
    module.penn = lambda words: ["NNS" if word.endswith("s") else "DT" for word in words]
    module.few = lambda _: ["NN"]
    module.odd = lambda words: ["BANANA"] * len(words)
    module.number = 3
    monkeypatch.setitem(sys.modules, "my_tagger", module)
    assert load_tagger("my_tagger:penn")(["the", "cats"]) == "DN"
    with pytest.raises(RunFailed, match="my_tagger:few returned 1 tags for 2 words"):
        load_tagger("my_tagger:few")(["the", "cats"])
    with pytest.raises(RunFailed, match=r"my_tagger:odd returned a tag .* got 'BANANA'"):
        load_tagger("my_tagger:odd")(["the"])
    with pytest.raises(ParameterError, match="must name a function, got 'my_tagger:number': int"):
        load_tagger("my_tagger:number")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("textblobb", "tagger must be textblob or module:function, got 'textblobb'. "),
        ("spacy", "A function takes the words of a sentence and returns their tags."),
        ("no_such_module:tag", "tagger must name a function that can be imported, got"),
        ("math:no_such", "tagger must name a function that can be imported, got"),
    ],
)
def test_a_tagger_that_cannot_be_loaded_is_refused(name, says):
    with pytest.raises(ParameterError) as caught:
        load_tagger(name)
    assert says in str(caught.value)


def test_missing_packages_are_named_with_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob.en", None)
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    with pytest.raises(RunFailed, match=r'textblob.* pip install "parcast\[features\]"'):
        load_tagger("textblob")
    with pytest.raises(RunFailed, match=r'nltk.* pip install "parcast\[features\]"'):
        _tokenisers.__wrapped__()


def test_a_textblob_without_its_tagger_is_refused_with_the_versions_that_have_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "textblob._text", None)
    with pytest.raises(RunFailed, match=r"the package textblob from 0\.18 to below 0\.21"):
        load_tagger("textblob")
