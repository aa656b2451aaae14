r"""Tokens and sentences of English text, with their places in it.

A token has no white space in it. One regular expression finds all of them; contractions are split
afterwards. A period that belongs to an abbreviation is part of its token, so every other period
ends a sentence unless the next word begins with a small letter.

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

from parcast.pipeline.features.english import (
    ABBREVIATIONS,
    ENDING_ABBREVIATIONS,
    STARTERS,
)

LETTER = r"[\w\u0300-\u036f\u00ad]"  # with accents written apart and soft hyphens
TOKEN = re.compile(
    rf"""
      (?P<gap> [\n\f\u2029][^\S\n]*[\n\f\u2029]\s* | \f | \u2029 )           # an empty line
    | (?:https?|ftp|file)://[^\s<>"“”]*[^\s<>"“”'’.,;:!?)\]}}]
    | (?<!\w) www\.[^\s<>"“”]*[^\s<>"“”'’.,;:!?)\]}}]
    # E-mail addresses, whose parts are bounded so that the time stays linear:
    | (?<!\w) [\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}})+
    | (?<![^\s(\["“'‘`]) --?[A-Za-z][\w-]*(?:=[\w./:@%+,-]*[\w%])?          # --threads=4
    # /usr/lib, ../a.txt and below src/reader.c:
    | (?<![\w/]) (?:~|\.{{1,2}})? (?:/[\w.+-]{{0,64}}[\w+-])+ /?
    | (?<!\w) \w[\w+-]{{0,64}} (?:/[\w.+-]{{0,64}}[\w+-]){{0,16}} / \w[\w+-]{{0,64}}\.[A-Za-z]\w*
    | (?<!\w) (?:[A-Za-z]\.){{2,}}                                          # e.g., U.S., p.m.
    | (?<!\w) (?:{ABBREVIATIONS})\.(?!\w)
    | (?<!\w) [A-Z]\. (?=\s+[A-Z])                                        # K. Lindqvist
    | (?:(?<![^\s(\[]) [-+−])? \d+ (?:[.,:]\d+)* (?:[-‐‑]?{LETTER}+)*
    | (?<![\w.]) \.\d+
    | °[CFK]\b
    | {LETTER}+ (?:[-‐‑'’&.]{LETTER}+)* (?:\+\+)?
    | \.{{2,}} | -{{2,}}
    | \S
    """,
    re.VERBOSE,
)
CONTRACTION = re.compile(r"(?i)n['’]t$|['’](?:s|re|ve|ll|d|m)$")
MOST_CONTRACTIONS = 3  # of one word: "shouldn't've" has two
STOPS = frozenset(".!?…") | {"..."}
CLOSING = frozenset("\"'”’)]}»")
OPENING = frozenset("\"'“‘([{«")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one text; sentence s has those from `firsts[s]` to `firsts[s + 1]`."""

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
    words: list[str] = []
    begins: list[int] = []
    gaps: list[int] = []  # tokens before which there is an empty line
    for match in TOKEN.finditer(text):
        if match.lastgroup is not None:
            gaps.append(len(words))
            continue
        word, begin = match[0], match.start()
        if ("'" in word or "’" in word) and len(word) > 1:
            _split(word, begin, words, begins)
        elif word in CANNOT:
            words += word[:3], word[3:]
            begins += begin, begin + 3
        else:
            words.append(word)
            begins.append(begin)
    ends = [begin + len(word) for begin, word in zip(begins, words, strict=True)]
    return Tokens(words, begins, ends, _firsts(words, begins, ends, gaps))


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
