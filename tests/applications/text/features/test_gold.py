"""The gold corpus, and what the default tagger reaches on it."""

import importlib.util
from pathlib import Path

import pytest

from parcast.applications.text.features.tagging import UNIVERSAL, load_tagger

pytest.importorskip("textblob", reason="the extra features is not installed")
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark, which reads and scores the corpus."""
    spec = importlib.util.spec_from_file_location("features", ROOT / "benchmarks" / "features.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_corpus_has_the_size_and_the_tags_that_its_guidelines_state(benchmark):
    corpus = benchmark.gold_corpus()
    tags = [tag for sentences in corpus.values() for sentence in sentences for _, tag in sentence]
    assert (len(corpus), len(tags)) == (12, 1570)
    assert set(tags) == set(UNIVERSAL) - {".", "CONJ", "PRT"}


def test_the_default_tagger_reaches_its_promise(benchmark):
    counts = benchmark.score(load_tagger("textblob"))
    assert counts.accuracy() >= 0.90
    assert counts.f1() >= 0.85


def test_a_worse_tagger_is_told_from_it(benchmark):
    counts = benchmark.score(lambda words: "N" * len(words))
    assert counts.accuracy() < 0.4
    assert counts.f1() < 0.3
