"""The gold corpus itself, and what the tokeniser and the default tagger reach on it."""

import importlib.util
from collections import Counter
from pathlib import Path

import pytest

from parcast.applications.text.features.tagging import UNIVERSAL, load_tagger
from parcast.applications.text.features.tokens import tokenise

ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark, which reads and scores the corpus."""
    spec = importlib.util.spec_from_file_location("features", ROOT / "benchmarks" / "features.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def counts(benchmark):
    return benchmark.score(load_tagger("textblob"))


def test_the_corpus_has_the_size_and_the_tags_that_its_guidelines_state(benchmark):
    tags = Counter(
        tag
        for sentences in benchmark.gold_corpus().values()
        for sentence in sentences
        for _, tag in sentence
    )
    assert tags.total() == 1570
    assert set(tags) == set(UNIVERSAL) - {".", "CONJ", "PRT"}
    assert len(benchmark.gold_corpus()) == 12


def test_tokens_and_sentences_are_those_of_the_corpus(benchmark):
    for name, sentences in benchmark.gold_corpus().items():
        raw = (benchmark.GOLD / f"{name}.txt").read_text()
        tokens = tokenise(raw)
        assert tokens.by_sentence() == [[word for word, _ in x] for x in sentences]
        places = benchmark.places_of(sentences, raw)
        assert list(zip(tokens.begins, tokens.ends, strict=True)) == places


@pytest.mark.parametrize("parity", [1, 0, None], ids=["development", "held out", "all"])
def test_the_default_tagger_reaches_its_promise(counts, parity):
    part = counts.part(parity)
    assert part.accuracy() >= 0.90
    assert part.f1() >= 0.85


def test_the_lower_ends_of_the_intervals_reach_it_too(counts):
    intervals = counts.intervals()
    assert intervals["accuracy"][0] >= 0.90
    assert intervals["f1"][0] >= 0.85


def test_a_tagger_that_has_the_answers_is_perfect(benchmark):
    answers = {
        tuple(word for word, _ in sentence): [tag for _, tag in sentence]
        for sentences in benchmark.gold_corpus().values()
        for sentence in sentences
    }
    perfect = benchmark.score(
        lambda words: "".join(map(benchmark.letter_of, answers[tuple(words)]))
    )
    assert (perfect.accuracy(), perfect.f1()) == (1, 1)
