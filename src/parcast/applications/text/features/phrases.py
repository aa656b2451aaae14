"""Noun phrases: sequences of tokens whose tags match a grammar.

A grammar is a regular expression over the letters of `tagging`, one a token. The default,
`(J|M|N)*N`, takes the longest sequences of adjectives, numbers and nouns that end in a noun.

Tokens are those of the Penn Treebank, as NLTK finds them: contractions are apart, and a token has
no white space in it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from parcast.applications.text.features.tagging import LETTERS, Tagger
from parcast.errors import ParameterError, RunFailed
from parcast.needs import install

Spans: TypeAlias = Callable[[str], Iterator[tuple[int, int]]]

ABBREVIATIONS: Final = (  # whose period ends no sentence
    "mr mrs ms dr prof sr jr st gen col capt lt rev gov sen rep inc ltd co corp jan feb mar apr"
    " jun jul aug sep sept oct nov dec fig figs eq eqs ref sec ch vol no nos pp ed eds al etc vs"
    " cf viz approx e.g i.e p.m a.m u.s"
)
PARAGRAPH: Final = re.compile(r"(?:(?!\n\n).)+", re.DOTALL)
# A straight quotation mark would be rewritten as two accents, of which the place is not known.
QUOTES: Final = str.maketrans('"', "\u201d")


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens of a sentence, and where each begins and ends in the text."""

    words: list[str]
    begins: list[int]
    ends: list[int]


def sentences(text: str) -> Iterator[Sentence]:
    """Find the sentences of a text; an empty line ends one too.

    >>> text = "Dr. Ruiz didn't use node-07 at 6:30 p.m. today. It's 4.2 times slower!"
    >>> [" ".join(sentence.words) for sentence in sentences(text)]
    ["Dr. Ruiz did n't use node-07 at 6:30 p.m. today .", "It 's 4.2 times slower !"]
    """
    sentence_spans, word_spans = _tokenisers()
    given = text.translate(QUOTES)
    for paragraph in PARAGRAPH.finditer(given):
        for first, stop in sentence_spans(paragraph[0]):
            origin = paragraph.start() + first
            spans = [
                (origin + begin, origin + end)
                for begin, end in word_spans(paragraph[0][first:stop])
            ]
            yield Sentence(
                [text[begin:end] for begin, end in spans],
                [begin for begin, _ in spans],
                [end for _, end in spans],
            )


@cache
def _tokenisers() -> tuple[Spans, Spans]:
    """Load what finds sentences and words."""
    try:
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    except ImportError as error:
        raise RunFailed(f"Tokens need nltk. Install with: {install('features')}") from error
    known = PunktParameters()
    known.abbrev_types = set(ABBREVIATIONS.split())
    return PunktSentenceTokenizer(known).span_tokenize, NLTKWordTokenizer().span_tokenize


DEFAULT_GRAMMAR = "(J|M|N)*N"
PIECE = 2**16  # characters: some 12,000 tokens, 2 MB
LONGEST = 1000  # tokens of a sentence that are looked through at once
CUTS = ("\n\n", ". ", " ")
OPERATORS = frozenset("()[]|*+?{},0123456789")
ALTERNATIVES = re.compile(r"\((?:[A-Z](?:\|[A-Z])*)\)")
QUANTIFIED_TWICE = re.compile(r"[*+?}]\)[*+{]")


@dataclass(frozen=True, slots=True)
class Grammar:
    """A regular expression over letters of tags, compiled.

    >>> Grammar.of("D? (J|N)* N").spans("DJNVN")
    [(0, 3), (4, 5)]
    """

    pattern: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> "Grammar":
        """Compile a grammar; `N` stands for every noun, `E` for names only."""
        given = "".join(text.split())
        hint = f"Write for example {DEFAULT_GRAMMAR!r}. The letters of tags are {LETTERS}."
        unknown = sorted(set(given) - set(LETTERS) - OPERATORS)
        if unknown:
            raise ParameterError(
                "grammar",
                must="consist of letters of tags and ( ) [ ] | * + ? { }",
                got=f"{unknown[0]!r} in {text!r}",
                hint=hint,
            )
        if QUANTIFIED_TWICE.search(given):
            raise ParameterError(
                "grammar",
                must="not repeat a repetition, which can take for ever",
                got=repr(text),
                hint="Write (N)* instead of (N*)*.",
            )
        classes = ALTERNATIVES.sub(lambda m: f"[{m[0][1:-1].replace('|', '')}]", given)
        outside = re.split(r"(\[[A-Z]*\])", classes)
        spelled = "".join(
            part.replace("N", "NE") if part[:1] == "[" else part.replace("N", "[NE]")
            for part in outside
        )
        try:
            pattern = re.compile(spelled.replace("(", "(?:"))
        except re.error as error:
            raise ParameterError(
                "grammar",
                must="be a regular expression",
                got=f"{text!r} ({error.msg})",
                hint=hint,
            ) from error
        if pattern.match(""):
            raise ParameterError(
                "grammar", must="require at least one token", got=repr(text), hint=hint
            )
        return cls(pattern)

    def spans(self, letters: str) -> list[tuple[int, int]]:
        """First token of each phrase, and the one after its last: leftmost first, none twice.

        No phrase goes over a border between `LONGEST` tokens, since adjectives without a noun
        are looked through once for each.
        """
        return [
            match.span()
            for begin in range(0, len(letters), LONGEST)
            for match in self.pattern.finditer(letters, begin, begin + LONGEST)
        ]


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases of a text, or of a piece of it, in order, with their places in the text."""

    texts: list[str]  # as in the text, with single spaces
    begins: list[int]
    ends: list[int]
    tokens: int  # of the text or piece

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        return zip(self.texts, self.begins, self.ends, strict=True)


def find_phrases(text: str, tagger: Tagger, grammar: Grammar) -> Iterator[Phrases]:
    """Find the phrases of a text: those of each of its `pieces`.

    >>> def all_nouns(words):
    ...     return "N" * len(words)
    >>> [list(found) for found in find_phrases("rain  forest", all_nouns, Grammar.of("N+"))]
    [[('rain forest', 0, 12)]]
    """
    for start, end in pieces(text):
        begins: list[int] = []
        ends: list[int] = []
        tokens = 0
        for sentence in sentences(text[start:end]):
            tokens += len(sentence.words)
            letters = "".join(tagger(sentence.words))
            for i, j in grammar.spans(letters):
                begins.append(start + sentence.begins[i])
                ends.append(start + sentence.ends[j - 1])
        spans = zip(begins, ends, strict=True)
        yield Phrases([" ".join(text[i:j].split()) for i, j in spans], begins, ends, tokens)


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of pieces of a long text, so that tokens of a part are held at a time.

    Punkt takes a time that grows with the square of a text of initials, such as "a. a. a.".

    A piece ends with a paragraph, or else with a sentence or a word.
    """
    begin = 0
    while len(text) - begin > PIECE:
        far = begin + PIECE
        found = ((text.rfind(mark, begin + 1, far), mark) for mark in CUTS)
        end = next((at + len(mark) for at, mark in found if at > 0), far)
        yield begin, end
        begin = end
    yield begin, len(text)
