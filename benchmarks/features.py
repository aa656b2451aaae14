"""Accuracy of the taggers on the gold corpus, and tokens per second of the whole task.

    .venv/bin/python benchmarks/features.py [--taggers textblob,module:function]

Intervals are of 90%, from 2,000 samples of sentences with replacement. Throughput is that of one
process, of CPU time, over this project's documentation: reading, tags, phrases and the merge.
"""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parcast.applications.text.documents.items import work_items
from parcast.applications.text.features.lexicon import merged
from parcast.applications.text.features.phrases import DEFAULT_GRAMMAR, Grammar
from parcast.applications.text.features.phrases import sentences as sentences_of
from parcast.applications.text.features.tagging import Tagger, letter_of, load_tagger
from parcast.applications.text.features.task import Features, features_of

ROOT = Path(__file__).resolve().parents[1]
GOLD = ROOT / "tests" / "applications" / "text" / "features" / "gold"
SAMPLES = 2000
SCORED = str.maketrans("E", "N")  # names and other nouns are one class
Words = list[tuple[str, str]]


def gold_corpus(folder: Path = GOLD) -> dict[str, list[Words]]:
    """Sentences of each text: words and their universal tags."""
    texts: dict[str, list[Words]] = {}
    for line in [*(folder / "corpus.tsv").read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("# text "):
            name = line.removeprefix("# text ")
            texts[name] = [[]]
        elif line:
            word, tag = line.split("\t")
            texts[name][-1].append((word, tag))
        elif texts[name][-1]:
            texts[name].append([])
    return {name: [words for words in sentences if words] for name, sentences in texts.items()}


def places_of(sentences: list[Words], raw: str) -> list[tuple[int, int]]:
    """Begin and end of each gold token in the raw text."""
    places, at = [], 0
    for word, _ in (pair for sentence in sentences for pair in sentence):
        begin = raw.index(word, at)
        assert not raw[at:begin].strip(), f"{raw[at:begin]!r} before {word!r} is no token"
        at = begin + len(word)
        places.append((begin, at))
    return places


@dataclass(frozen=True)
class Counts:
    """What was counted in each sentence; shape (sentences, 5)."""

    rows: np.ndarray  # correct tokens, tokens, correct phrases, phrases found, gold phrases

    def accuracy(self) -> float:
        """Fraction of the tokens with the right place and class."""
        right, tokens, *_ = self.rows.sum(axis=0)
        return float(right / tokens)

    def f1(self) -> float:
        """Harmonic mean of precision and recall of phrases."""
        *_, right, found, gold = self.rows.sum(axis=0)
        return float(2 * right / (found + gold))

    def intervals(self) -> dict[str, tuple[float, float]]:
        """90% intervals of both, by the bootstrap."""
        draw = np.random.default_rng(1).integers(len(self.rows), size=(SAMPLES, len(self.rows)))
        samples = [Counts(self.rows[each]) for each in draw]
        return {
            name: tuple(np.quantile([getattr(x, name)() for x in samples], (0.05, 0.95)))
            for name in ("accuracy", "f1")
        }

    def part(self, parity: int | None) -> "Counts":
        """Odd sentences (1: development), even ones (0: held out), counted from 1; or all."""
        return self if parity is None else Counts(self.rows[1 - parity :: 2])


def score(tagger: Tagger, folder: Path = GOLD) -> Counts:
    """Tag the raw texts and compare with the gold: places, classes and phrases."""
    grammar, rows = Grammar.of(DEFAULT_GRAMMAR), []
    for name, sentences in gold_corpus(folder).items():
        raw = (folder / f"{name}.txt").read_text(encoding="utf-8")
        found: dict[tuple[int, int], str] = {}
        phrases: set[tuple[int, int]] = set()
        for told in sentences_of(raw):
            letters = "".join(tagger(told.words))
            at = list(zip(told.begins, told.ends, strict=True))
            found |= dict(zip(at, letters.translate(SCORED), strict=True))
            phrases |= {(at[i][0], at[j - 1][1]) for i, j in grammar.spans(letters)}
        places = iter(places_of(sentences, raw))
        for sentence in sentences:
            at = [next(places) for _ in sentence]
            letters = "".join(letter_of(tag) for _, tag in sentence)
            want = {(at[i][0], at[j - 1][1]) for i, j in grammar.spans(letters)}
            mine = {place for place in phrases if at[0][0] <= place[0] < at[-1][1]}
            right = sum(
                found.get(place) == letter
                for place, letter in zip(at, letters.translate(SCORED), strict=True)
            )
            rows.append((right, len(at), len(want & mine), len(mine), len(want)))
    return Counts(np.array(rows))


def throughput(tagger: str) -> tuple[int, float]:
    """Tokens, and seconds for them, over the documentation."""
    items = list(work_items(sorted((ROOT / "docs").rglob("*.md"))))
    state = Features(tagger=tagger)()
    features_of(items[0], state)  # which loads the word list
    start = time.process_time()
    lexicon = merged([features_of(item, state) for item in items])
    return lexicon.totals.tokens, time.process_time() - start


def startup(tagger: str) -> float:
    """Seconds until a fresh process has the tagger and has tagged a word, less those of Python."""
    module = "parcast.applications.text.features.tagging"
    code = f"from {module} import load_tagger as load; load({tagger!r})(['a'])"

    def seconds(program: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    return seconds(code) - seconds("pass")


def main() -> None:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--taggers", default="textblob", help="names, separated by commas")
    names = parser.parse_args().taggers.split(",")
    print(f"{'tagger':10}  {'part':12}  {'tokens':>6}  {'accuracy':22}  {'phrases':>7}  phrase F1")
    for name in names:
        counts = score(load_tagger(name))
        for part, parity in (("development", 1), ("held out", 0), ("all", None)):
            some = counts.part(parity)
            at = some.intervals()
            accuracy = (
                f"{some.accuracy():.3f} ({at['accuracy'][0]:.3f} to {at['accuracy'][1]:.3f})"
            )
            f1 = f"{some.f1():.3f} ({at['f1'][0]:.3f} to {at['f1'][1]:.3f})"
            tokens, phrases = some.rows[:, 1].sum(), some.rows[:, 4].sum()
            print(f"{name:10}  {part:12}  {tokens:6}  {accuracy:22}  {phrases:7}  {f1}")
    print(f"\n{'tagger':10}  {'tokens':>7}  {'tokens/s':>8}  start-up")
    for name in names:
        tokens, seconds = throughput(name)
        print(f"{name:10}  {tokens:7}  {tokens / seconds:8.0f}  {startup(name):.2f} s")


if __name__ == "__main__":
    main()
