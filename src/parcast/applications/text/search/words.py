"""Words of a text as a search compares them: lower-cased, in one form of their accents.

A word is a run of letters, digits and underscores in any script, with apostrophes between them, in
text whose apostrophes have one form (`offsets.plain`). Nothing is stemmed, no word is left out.

>>> words_of("The node's CPUs weren't idle: 93% of Ω-cycles, Straße")
['the', "node's", 'cpus', "weren't", 'idle', '93', 'of', 'ω', 'cycles', 'strasse']
"""

import re
from collections.abc import Iterator
from typing import Final
from unicodedata import normalize

LETTER: Final = r"[\w\u0300-\u036f]"  # with accents that are written apart
WORD: Final = re.compile(rf"{LETTER}+(?:'{LETTER}+)*")
BLOCK: Final = 2**18  # characters: words of some 3 MB


def blocks_of(text: str) -> Iterator[str]:
    """Cut a long text between words, so that not all of its words are held at a time."""
    begin = 0
    while begin < len(text):
        space = text.find(" ", begin + BLOCK)
        end = space if space >= 0 else len(text)
        yield text[begin:end]
        begin = end


def words_of(text: str) -> list[str]:
    """Words of a text, in their order."""
    if not text.isascii():
        return [form_of(word) for word in WORD.findall(text)]
    found: list[str] = WORD.findall(text.lower())
    return found


def form_of(word: str) -> str:
    """Form in which words are compared."""
    return normalize("NFC", word.casefold())


def places_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Words of a text with their first character and the one after the last."""
    for match in WORD.finditer(text):
        yield form_of(match[0]), match.start(), match.end()
