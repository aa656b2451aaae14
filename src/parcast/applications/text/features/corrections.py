"""What English grammar says of a tag: corrections by the neighbours of a word.

Penn tags have one name for the several uses of *to*, *that* and *'s*, and rules for context are
often wrong in verbs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from parcast.applications.text.features.english import (
    ACTIVITIES,
    ADJECTIVES,
    BEFORE_NUMBERS,
    CLITIC_HOSTS,
    FIXED,
    POSSESSIVES,
    QUANTIFIERS,
    WISHES,
)

NOMINAL = frozenset("JNEM")
FINITE = frozenset(("VB", "VBP", "VBZ"))
ARTICLES = frozenset(("a", "an", "the"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words in small letters, Penn tags ("" where unknown) and letters, which are corrected."""

    words: list[str]
    penn: list[str]
    letters: list[str]

    def word(self, i: int) -> str:
        """Word i, or "" outside the sentence."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    def letter(self, i: int) -> str:
        """Letter of word i, or "" outside the sentence."""
        return self.letters[i] if 0 <= i < len(self.letters) else ""


def correct(words: list[str], penn: list[str], letters: list[str]) -> None:
    """Correct letters in place, from left to right."""
    sentence = Sentence(words, penn, letters)
    for i, word in enumerate(words):
        rule = BY_WORD.get(word)
        if rule is not None:
            letters[i] = rule(sentence, i)
        elif letters[i] == "V":
            letters[i] = _verb(sentence, i)
    if words and letters[0] == "N" and penn[0] == "NN" and _is_order(sentence):
        letters[0] = "V"


def _to(at: Sentence, i: int) -> str:
    """Particle before an infinitive, else preposition."""
    after = at.letter(i + 1)
    is_verb = after == "V" or (after == "R" and at.letter(i + 2) == "V")
    return "T" if is_verb and at.penn[i + 1] not in ("VBG", "VBZ") else "P"


def _quantifier(at: Sentence, i: int) -> str:
    """Quantifiers and demonstratives: with a noun, standing alone, or joining clauses."""
    word, letter, after, following = at.words[i], at.letters[i], at.letter(i + 1), at.word(i + 1)
    if letter not in "DOPRC" or (word == "that" and letter in "PO"):
        return letter
    if word in ("either", "neither") and after not in NOMINAL:
        return "O" if following == "of" else "C"
    if after in NOMINAL or following in ARTICLES or following in POSSESSIVES:
        return "D"
    return "D" if after == "R" and word not in ("this", "that", "some", "both") else "O"


def _clitic(at: Sentence, i: int) -> str:
    """The possessive 's, or what is left of "is" and "has"."""
    owns = i and at.letter(i + 1) in NOMINAL and at.words[i - 1] not in CLITIC_HOSTS
    return "T" if owns else at.letters[i]


def _apostrophe(at: Sentence, i: int) -> str:
    """The possessive of a plural, or a quotation mark."""
    owns = at.letter(i - 1) in ("N", "E") and at.word(i - 1).endswith("s")
    return "T" if owns and at.letter(i + 1) in NOMINAL | {"V"} else at.letters[i]


def _before_number(at: Sentence, i: int) -> str:
    """About 25, over $4: an adverb."""
    counts = at.letter(i + 1) == "M" or at.word(i + 1) in ("$", "£", "€")
    return "R" if counts else at.letters[i]


def _ordinal(at: Sentence, i: int) -> str:
    """First, last, next: adjectives with a noun or a determiner."""
    modal = i > 0 and at.penn[i - 1] == "MD"  # "it could last eighteen months"
    is_adjective = at.letter(i - 1) == "D" or (at.letter(i + 1) in NOMINAL and not modal)
    return "J" if is_adjective else at.letters[i]


def _answer(at: Sentence, i: int) -> str:
    """Well, no, right: interjections before a comma."""
    is_answer = at.word(i + 1) == "," and at.letter(i - 1) in ("", "U")
    return "X" if is_answer else at.letters[i]


def _like(at: Sentence, i: int) -> str:
    """The verb after a wish."""
    return "V" if at.word(i - 1) in WISHES else at.letters[i]


def _half(at: Sentence, i: int) -> str:
    """Half a spoon, a half."""
    return "D" if at.word(i + 1) in ARTICLES else "N"


def _verb(at: Sentence, i: int) -> str:
    """What is tagged as a verb, and its neighbours show to be a noun or an adjective."""
    word, penn, before, after = at.words[i], at.penn[i], at.letter(i - 1), at.letter(i + 1)
    if word in FIXED:
        return "V"
    if penn in FINITE and (before == "D" or at.word(i - 1) in POSSESSIVES):
        return "N"
    is_label = before == "M" and at.letter(i - 2) in ("N", "E")  # "node 4 reads"
    if penn == "VBZ" and before in ("J", "M") and not is_label and after not in ("D", "O"):
        return "N"
    if penn == "VBG" and word in ACTIVITIES and after in ("N", "E"):
        return "N"
    if word in ADJECTIVES and after in NOMINAL and before != "V" and penn in ("VBN", "VBG", "VBD"):
        return "J"
    return "V"


def _is_order(at: Sentence) -> bool:
    """Tell a sentence that begins with an imperative: "Line the tray", not "Line that ..."."""
    follows = at.word(1)
    is_object = at.letter(1) == "O" and (follows in POSSESSIVES or follows in ("it", "them"))
    return is_object or (at.letter(1) == "D" and follows != "that")


Rule = Callable[[Sentence, int], str]
BY_WORD: Mapping[str, Rule] = (
    dict.fromkeys(QUANTIFIERS, _quantifier)
    | dict.fromkeys(BEFORE_NUMBERS, _before_number)
    | dict.fromkeys(("first", "last", "next"), _ordinal)
    | dict.fromkeys(("well", "no", "right"), _answer)
    | {"'s": _clitic}
    | {"'": _apostrophe}
    | {"to": _to, "like": _like, "half": _half}
)
