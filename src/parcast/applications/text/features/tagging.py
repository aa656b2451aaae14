"""Parts of speech as one letter a token.

    J adjective             N common noun           E name (proper noun)
    M number                V verb, auxiliaries     R adverb
    D determiner            O pronoun               P preposition, subordinating conjunction
    C conjunction           T particle              X foreign word, URL, interjection
    U punctuation, symbol

They are the twelve classes of S. Petrov, D. Das and R. McDonald, "A universal part-of-speech
tagset," in Proc. LREC, 2012, pp. 2089-2096, with names apart from other nouns. A tagger is a
function from the words of a sentence to their tags: letters, universal tags or Penn tags.
"""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from parcast.errors import ParameterError, RunFailed
from parcast.needs import install
from parcast.places import load
from parcast.words import did_you_mean

Tagger = Callable[[Sequence[str]], Sequence[str]]

TEXTBLOB = "textblob"
LETTERS = "JNEMVRDOPCTXU"
UNIVERSAL = {
    "ADJ": "J", "ADP": "P", "ADV": "R", "AUX": "V", "CCONJ": "C", "CONJ": "C", "DET": "D",
    "INTJ": "X", "NOUN": "N", "NUM": "M", "PART": "T", "PRT": "T", "PRON": "O", "PROPN": "E",
    "PUNCT": "U", ".": "U", "SCONJ": "P", "SYM": "U", "VERB": "V", "X": "X",
}  # fmt: skip
PENN = {
    "CC": "C", "CD": "M", "DT": "D", "EX": "O", "FW": "X", "IN": "P", "LS": "X", "MD": "V",
    "JJ": "J", "JJR": "J", "JJS": "J", "NN": "N", "NNS": "N", "NNP": "E", "NNPS": "E", "PDT": "D",
    "POS": "T", "PRP": "O", "PRP$": "O", "RB": "R", "RBR": "R", "RBS": "R", "RP": "P", "TO": "P",
    "UH": "X", "VB": "V", "VBD": "V", "VBG": "V", "VBN": "V", "VBP": "V", "VBZ": "V", "WDT": "O",
    "WP": "O", "WP$": "O", "WRB": "R",
}  # fmt: skip


def textblob_tagger() -> Tagger:
    """E. Brill's tagger as TextBlob has it: a word list, and rules for forms and for context.

    `textblob.taggers.PatternTagger` leaves the rules out, so its tags are worse, and so does
    `textblob.en.parser.find_tags`: the function that takes them has a private name, so that
    versions up to the last that has it are required.
    """
    try:
        from textblob._text import find_tags
        from textblob.en import lexicon
    except ImportError as error:
        raise RunFailed(
            "The tagger textblob requires the package textblob from 0.18 to below 0.21. "
            f"Install with: {install('features')}"
        ) from error
    rules = {"morphology": lexicon.morphology, "context": lexicon.context}
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        for each in (lexicon, *rules.values()):
            len(each)  # reads its file, which TextBlob leaves open

    def tag(words: Sequence[str]) -> str:
        """Letters of the words of a sentence; what has no letter or digit is punctuation."""
        return "".join(
            PENN.get(name, "N") if any(map(str.isalnum, word)) else "U"
            for word, name in find_tags(list(words), lexicon=lexicon, **rules)
        )

    return tag


@dataclass(frozen=True, slots=True)
class UsersTagger:
    """A function of the user, whose tags are checked and given as letters."""

    place: str
    tag: Tagger

    def __call__(self, words: Sequence[str]) -> str:
        """Letters of the words of a sentence."""
        tags = list(self.tag(words))
        if len(tags) != len(words):
            raise RunFailed(
                f"The tagger {self.place} returned {len(tags)} tags for {len(words)} words. "
                "It must return one tag for each word of the sentence."
            )
        try:
            return "".join(map(letter_of, tags))
        except ParameterError as error:
            raise RunFailed(
                f"The tagger {self.place} returned a tag that is not known: {error}"
            ) from error


def letter_of(tag: object) -> str:
    """Letter of a universal tag, a Penn tag or a letter.

    >>> letter_of("NOUN"), letter_of("VBD"), letter_of("J"), letter_of("``")
    ('N', 'V', 'J', 'U')
    """
    name = str(tag)
    found = UNIVERSAL.get(name) or PENN.get(name)
    if found is None and len(name) == 1 and name in LETTERS:
        found = name
    if found is None and name and not any(map(str.isalnum, name)):
        found = "U"  # Penn's tags of punctuation: , : `` '' $ #
    if found is None:
        raise ParameterError(
            "tag",
            must="be a universal tag (NOUN, ADJ, ...), a Penn tag (NN, JJ, ...) or a letter",
            got=repr(tag),
            hint=f"The letters are {LETTERS}.",
        )
    return found


def load_tagger(name: str) -> Tagger:
    """Load a tagger: "textblob" or the function at "module:function"."""
    if name == TEXTBLOB:
        return textblob_tagger()
    if ":" not in name:
        raise ParameterError(
            "tagger",
            must="be textblob or module:function",
            got=repr(name),
            hint=did_you_mean(name, [TEXTBLOB])
            or "A function takes the words of a sentence and returns their tags.",
        )
    if os.getcwd() not in sys.path:  # where the command is started, as `python -m` has it
        sys.path.append(os.getcwd())
    try:
        function = load(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            "tagger",
            must="name a function that can be imported",
            got=f"{name!r}: {error}",
            hint="Its module must be in the current folder or on PYTHONPATH.",
        ) from error
    if not callable(function):
        raise ParameterError(
            "tagger", must="name a function", got=f"{name!r}: {type(function).__name__}"
        )
    return UsersTagger(name, function)
