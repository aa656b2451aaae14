r"""Characters that are written in several ways and read as one: apostrophes, hyphens, slashes.

What cannot be seen, such as a soft hyphen or a space without width, is left out.

>>> plain("Romeo\u2019s net\u00adwork is well\u2010known")
("Romeo's network is well-known", [11])
"""

import re
from collections.abc import Sequence
from typing import Final

# Soft hyphen, marks of order, joiners and spaces without width, and marks of direction.
UNSEEN: Final = "\u00ad\u034f\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
JOINERS: Final = "\u200c\u200d"  # between letters only: emoji are made of several with them
APOSTROPHES: Final = "\u2018\u2019\u201b\u02bc\uff07"
PRIMES: Final = "\u2032\u00b4\u02b9"  # apostrophes between letters, else minutes or accents
HYPHENS: Final = "\u2010\u2011\ufe63\uff0d"
MINUS: Final = "\u2212"
SLASHES: Final = "\u2044\u2215\uff0f"

_ALWAYS: Final = str.maketrans(dict.fromkeys(APOSTROPHES, "'") | dict.fromkeys(HYPHENS, "-"))
_AMONG_LETTERS: Final = str.maketrans(dict.fromkeys(PRIMES, "'") | {MINUS: "-"})
_AMONG_WORDS: Final = str.maketrans(dict.fromkeys(SLASHES, "/"))
_LETTERS_AROUND: Final = re.compile(rf"(?<=[^\W\d_])[{PRIMES}{MINUS}](?=[^\W\d_])")
_WORDS_AROUND: Final = re.compile(rf"(?<=\w)[{SLASHES}](?=\w)")
_ANY: Final = re.compile(f"[{UNSEEN}{JOINERS}{APOSTROPHES}{PRIMES}{HYPHENS}{MINUS}{SLASHES}]")
_LEFT_OUT: Final = re.compile(rf"(?<=[^\W\d_])[{UNSEEN}{JOINERS}]+(?=[^\W\d_])|[{UNSEEN}]")


def plain(text: str) -> tuple[str, list[int]]:
    """Write a text with one form of each such character, without those that are not seen.

    The list has, for each that was left out, the number of characters of the result before it.
    """
    if text.isascii() or _ANY.search(text) is None:
        return text, []
    cuts: list[int] = []
    for match in _LEFT_OUT.finditer(text):
        cuts += [match.start() - len(cuts)] * len(match[0])
    text = _LEFT_OUT.sub("", text) if cuts else text
    text = text.translate(_ALWAYS)
    text = _LETTERS_AROUND.sub(lambda found: found[0].translate(_AMONG_LETTERS), text)
    return _WORDS_AROUND.sub(lambda found: found[0].translate(_AMONG_WORDS), text), cuts


def places_before(places: Sequence[int], cuts: Sequence[int]) -> list[int]:
    """Turn ascending places of characters of a plain text into those of the text that it is of.

    >>> places_before([0, 10, 11], [11])
    [0, 10, 12]
    """
    before, shift = [], 0
    for place in places:
        while shift < len(cuts) and cuts[shift] <= place:
            shift += 1
        before.append(place + shift)
    return before
