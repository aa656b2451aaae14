r"""Tokens and sentences of English text, with their places in it.

A token has no white space in it, and is written with straight apostrophes and plain hyphens,
without soft ones (`characters.plain`). One regular expression finds all of them; contractions, and
function words that a slash joins, are split afterwards. A period that belongs to an abbreviation
is part of its token, so every other period ends a sentence unless the next word begins with a
small letter.

>>> tokens = tokenise("Dr. Ruiz didn't use node-07 (e.g. at 6:30 p.m.). It's 4.2% slower!")
>>> [" ".join(words) for words in tokens.by_sentence()]
["Dr. Ruiz did n't use node-07 ( e.g. at 6:30 p.m. ) .", "It 's 4.2 % slower !"]
>>> tokens.begins[3], tokens.ends[3], tokens.words[3]
(12, 15, "n't")
"""

# ruff: noqa: RUF001 - typographic quotes and dashes are what texts contain

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from parcast.applications.text.documents.characters import places_before, plain
from parcast.applications.text.features.english import (
    ABBREVIATIONS,
    ENDING_ABBREVIATIONS,
    FIXED,
    STARTERS,
)

LETTER = r"[\w\u0300-\u036f]"  # with accents written apart
PART = rf"{LETTER}{{1,64}}(?:[-'&.]{LETTER}{{1,64}}){{0,8}}(?:\+\+)?"  # of what slashes join
TOKEN = re.compile(
    rf"""
      (?P<gap> [\n\f\u2029][^\S\n]*[\n\f\u2029]\s* | \f | \u2029 )           # an empty line
    | (?:https?|ftp|file)://[^\s<>"“”]*[^\s<>"“”'.,;:!?)\]}}]
    | (?<!\w) www\.[^\s<>"“”]*[^\s<>"“”'.,;:!?)\]}}]
    # E-mail addresses, whose parts are bounded so that the time stays linear:
    | (?<!\w) [\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}})+
    | (?<![^\s(\["“'`]) --?[A-Za-z][\w-]*(?:=[\w./:@%+,-]*[\w%])?          # --threads=4
    # /usr/lib, ../a.txt and below src/reader.c:
    | (?<![\w/]) (?:~|\.{{1,2}})? (?:/[\w.+-]{{0,64}}[\w+-])+ /?
    | (?<!\w) \w[\w+-]{{0,64}} (?:/[\w.+-]{{0,64}}[\w+-]){{0,16}} / \w[\w+-]{{0,64}}\.[A-Za-z]\w*
    | (?<!\w) (?:[A-Za-z]\.){{2,}}                                          # e.g., U.S., p.m.
    | (?<!\w) (?:{ABBREVIATIONS})\.(?!\w)
    | (?<!\w) [A-Z]\. (?=\s+[A-Z])                                        # K. Lindqvist
    | (?P<slashed> (?<![\w/]) {PART} (?:/{PART}){{1,8}} (?![\w/]) )        # I/O, client/server
    | (?:(?<![^\s(\[]) [-+−])? \d+ (?:[.,:]\d+)* (?:-?{LETTER}+)*
    | (?<![\w.]) \.\d+
    | °[CFK]\b
    | {LETTER}+ (?:[-'&.]{LETTER}+)* (?:\+\+)?
    | \.{{2,}} | -{{2,}}
    | \S
    """,
    re.VERBOSE,
)
CONTRACTION = re.compile(r"(?i)n't$|'(?:s|re|ve|ll|d|m)$")
MOST_CONTRACTIONS = 3  # of one word: "shouldn't've" has two
STOPS = frozenset(".!?…") | {"..."}
CLOSING = frozenset("\"'”)]}»")
OPENING = frozenset("\"'“([{«")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one text and their places in it.

    Sentence s has those from `firsts[s]` to `firsts[s + 1]`.
    """

    words: list[str]
    begins: list[int]  # of the first character
    ends: list[int]  # after the last character
    firsts: list[int]  # one more than there are sentences

    def sentences(self) -> Iterator[tuple[int, int]]:
        """First token of each sentence, and the token after its last."""
        return pairwise(self.firsts)

    def by_sentence(self) -> list[list[str]]:
        """Words of each sentence."""
        return [self.words[first:stop] for first, stop in self.sentences()]


def tokenise(text: str) -> Tokens:
    """Find the tokens of a text and the sentences that they form."""
    given, cuts = plain(text)
    words: list[str] = []
    begins: list[int] = []
    gaps: list[int] = []  # tokens before which there is an empty line
    for match in TOKEN.finditer(given):
        if match.lastgroup == "gap":
            gaps.append(len(words))
        elif match.lastgroup == "slashed" and _joins_function_words(match[0]):
            at = match.start()
            for part in SLASH.split(match[0]):
                _add(part, at, words, begins)
                at += len(part)
        else:
            _add(match[0], match.start(), words, begins)
    ends = [begin + len(word) for begin, word in zip(begins, words, strict=True)]
    firsts = _firsts(words, begins, ends, gaps)
    if cuts:
        begins = places_before(begins, cuts)
        ends = [place + 1 for place in places_before([end - 1 for end in ends], cuts)]
    return Tokens(words, begins, ends, firsts)


SLASH = re.compile("(/)")


def _joins_function_words(word: str) -> bool:
    """Tell and/or, he/she from I/O, client/server: a word of a closed class is in it."""
    if word.isupper():
        return False
    return any(len(part) > 1 and part.lower() in FIXED for part in word.split("/"))


def _add(word: str, begin: int, words: list[str], begins: list[int]) -> None:
    """Append a word, and what is to be split in two as two."""
    if "'" in word and len(word) > 1:
        _split(word, begin, words, begins)
    elif word in CANNOT:
        words += word[:3], word[3:]
        begins += begin, begin + 3
    else:
        words.append(word)
        begins.append(begin)


CANNOT = frozenset({"cannot", "Cannot", "CANNOT"})


def _split(word: str, begin: int, words: list[str], begins: list[int]) -> None:
    """Append a word with an apostrophe: cut off 's, n't and the other contractions."""
    cuts = [len(word)]
    while len(cuts) <= MOST_CONTRACTIONS:
        tail = word[max(cuts[-1] - 3, 0) : cuts[-1]]
        found = CONTRACTION.search(tail)
        at = cuts[-1] - len(tail) + (found.start() if found else 0)
        if found is None or at == 0:
            break
        cuts.append(at)
    edges = [0, *reversed(cuts)]
    for first, stop in pairwise(edges):
        words.append(word[first:stop])
        begins.append(begin + first)


def _firsts(words: list[str], begins: list[int], ends: list[int], gaps: list[int]) -> list[int]:
    """First tokens of the sentences, and the number of tokens."""
    count = len(words)
    firsts = {0, count, *gaps}
    for i, word in enumerate(words):
        if word in STOPS:
            after = i + 1
            while after < count and words[after] in CLOSING and begins[after] == ends[after - 1]:
                after += 1
            if after < count and begins[after] > ends[after - 1] and not words[after][0].islower():
                quoted = words[after] in OPENING and words[after + 1 : after + 2]
                if not (quoted and quoted[0][0].islower()) and words[after] not in "—–-":
                    firsts.add(after)
        elif word in ENDING_ABBREVIATIONS and i + 1 < count and words[i + 1] in STARTERS:
            firsts.add(i + 1)
    return sorted(firsts)
