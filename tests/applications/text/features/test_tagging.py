"""Taggers: TextBlob's word list and rules, corrections, taggers of others, and what is refused."""

import json
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from parcast.applications.text.features import brill
from parcast.applications.text.features.brill import Brill, ContextRules
from parcast.applications.text.features.tagging import letter_of, load_tagger
from parcast.applications.text.features.tokens import tokenise
from parcast.errors import ParameterError, RunFailed


@pytest.fixture(scope="module")
def rules():
    return Brill.load()


@pytest.fixture(scope="module")
def tagger():
    return load_tagger("textblob")


def tagged(tagger, text):
    words = tokenise(text).words
    return "".join(tagger(words))


def test_words_without_context_are_tagged_as_textblob_tags_them(rules):
    text = (
        "the overclocked gizmo unscrewed 12 blorps quickly ; Zanzibar 's frobnicators would sleep"
        " un-American vlogging readable pre-war 3/4 $5 re-entered grumpier wombats his glorp of"
    )
    program = (
        "import json, sys; from textblob.en import lexicon; from textblob._text import find_tags;"
        "lexicon.load(); lexicon.morphology.load();"
        "print(json.dumps(find_tags(sys.argv[1].split(), lexicon=lexicon,"
        " morphology=lexicon.morphology)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, text], capture_output=True, text=True, check=True
    )
    theirs = json.loads(said.stdout)
    assert (
        list(map(list, zip(text.split(), rules.first_tags(text.split()), strict=True))) == theirs
    )


def test_rules_for_context_are_applied_one_after_the_other():
    lines = [line.split() for line in ("NN VB PREVTAG TO", "VB JJ NEXTWD home", "* CD CURWD six")]
    context = ContextRules.read(lines, {"NN", "VB", "TO"})
    words = ["to", "walk", "home", "six"]
    first = ["TO", "NN", "NN", "NN"]
    assert context.apply(words, first, [False] * 4) == ["TO", "JJ", "NN", "CD"]
    assert context.apply(words, first, [False, True, False, False]) == ["TO", "NN", "NN", "CD"]


@pytest.mark.parametrize("kind", sorted(brill.KINDS))
def test_every_kind_of_rule_fires_where_it_says(kind):
    words = ["u3", "u2", "u1", "w", "v1", "v2", "v3"]
    tags = ["U3", "U2", "U1", "NN", "V1", "V2", "V3"]
    atoms = brill.KINDS[kind][0]
    values = {"x": "", "y": ""}
    for atom in atoms:
        values[atom[3]] = (words if atom[2] == "w" else tags)[3 + int(atom[:2])]
    line = ["NN", "JJ", kind.upper(), values["x"], values["y"]]
    free = [False] * 7
    assert ContextRules.read([line], {"NN"}).apply(words, tags, free)[3] == "JJ"
    for which in {atom[3] for atom in atoms}:
        changed = list(line)
        changed[3 if which == "x" else 4] = "other"
        assert ContextRules.read([changed], {"NN"}).apply(words, tags, free) == tags


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("to run to London", "TVPE"),
        ("about 25 runs", "RMN"),
        ("That was the queue's end.", "OVDNTNU"),
        ("It's the users' choice.", "OVDNTNU"),
        ("the first steps", "DJN"),
        ("see https://a.org and me@a.org", "VXCX"),
        ("MPI_Send in src/reader.c with --threads=4", "EPEPX"),
        ("the 5th part II", "DJNM"),
        ("Line the tray", "VDN"),
        ("some of the limited data", "OPDJN"),
        ("I'd like half a processing unit", "OVVDDNN"),
        ("node 4 reads 3.5 GB in ten runs", "NMVMNPMN"),
        ("Well, no", "XUD"),
        ("Either run or walk", "CVCV"),
    ],
)
def test_default_tags(tagger, text, letters):
    assert tagged(tagger, text) == letters


@pytest.mark.parametrize(
    ("tag", "letter"),
    [
        ("NOUN", "N"),
        ("PROPN", "E"),
        ("NNPS", "E"),
        ("AUX", "V"),
        ("IN", "P"),
        (",", "U"),
        ("J", "J"),
    ],
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
        ("textblobb", "tagger must be textblob, denckring or module:function, got 'textblobb'. "),
        ("spacy", "A function takes the words of a sentence and returns their tags."),
        ("no_such_module:tag", "tagger must name a function that can be imported, got"),
        ("math:no_such", "tagger must name a function that can be imported, got"),
    ],
)
def test_a_tagger_that_cannot_be_loaded_is_refused(name, says):
    with pytest.raises(ParameterError) as caught:
        load_tagger(name)
    assert says in str(caught.value)


def test_missing_packages_are_named_with_their_extras(monkeypatch):
    monkeypatch.setitem(sys.modules, "denckring_en_pos", None)
    with pytest.raises(RunFailed, match=r'pip install "parcast\[tagger\]"'):
        load_tagger("denckring")
    monkeypatch.setattr(brill, "find_spec", lambda _: None)
    with pytest.raises(RunFailed, match=r'pip install "parcast\[features\]"'):
        load_tagger("textblob")


def test_denckring_is_asked_for_words_only(monkeypatch):
    asked = []

    def tag(words):
        asked.append(list(words))
        return ["NOUN|-" if word == "rain" else "VERB|Fin" for word in words]

    module = ModuleType("denckring_en_pos")
    module.tagger = lambda: SimpleNamespace(tag=tag)
    monkeypatch.setitem(sys.modules, "denckring_en_pos", module)
    assert load_tagger("denckring")(["the", "rain", "fell", ",", "12", "a.txt"]) == "DNVUME"
    assert asked == [["the", "rain", "fell", "a.txt"]]


def test_textblob_itself_is_not_imported():
    code = (
        "import sys; from parcast.applications.text.features.tagging import load_tagger;"
        "load_tagger('textblob')(['a']); print('textblob' in sys.modules, 'nltk' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "False"]
