"""Sentences and tokens of English text as NLTK finds them, with their places in the text.

A token has no white space in it. The tokens of the Penn Treebank have contractions apart.

>>> text = "Dr. Ruiz didn't use node-07 at 6:30 p.m. today. It's 4.2 times slower!"
>>> [" ".join(sentence.words) for sentence in sentences(text)]
["Dr. Ruiz did n't use node-07 at 6:30 p.m. today .", "It 's 4.2 times slower !"]
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from parcast.errors import RunFailed
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
    """Find the sentences of a text; an empty line ends one too."""
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
