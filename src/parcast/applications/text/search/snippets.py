"""The place in a document that shows best why it matches: the most different words of the query.

Offsets count characters of the original file, as those of documents do.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from parcast.applications.text.documents.document import Document
from parcast.applications.text.documents.offsets import PARAGRAPH, Field
from parcast.applications.text.search.words import places_of

Match: TypeAlias = tuple[int, int]  # first character, and the one after the last


@dataclass(frozen=True, slots=True)
class Snippet:
    """Some text of a document around words of a query."""

    text: str  # as it is read: entities decoded, tags left out
    field: str  # element or key of the text; `text` where there are none
    start: int  # its first character in the original file
    stop: int  # the character after its last
    matches: tuple[Match, ...] = ()  # in the original file
    marks: tuple[Match, ...] = ()  # in `text`


def snippet_of(document: Document, words: Collection[str], width: int) -> Snippet | None:
    """Choose a snippet of at most some characters; None if the document has none of the words.

    That with most different words, then with most words, then the first one is chosen.
    """
    best: tuple[tuple[int, int], Field, list[Match]] | None = None
    for field in document.fields:
        found = [place for place in places_of(field.text) if place[0] in words]
        if not found:
            continue
        rank, chosen = _densest(found, width)
        if best is None or rank > best[0]:
            best = rank, field, chosen
    return None if best is None else _made(best[1], best[2], width)


def _densest(
    found: Sequence[tuple[str, int, int]], width: int
) -> tuple[tuple[int, int], list[Match]]:
    """Give the words within a width that are most, and how many: different ones, and all."""
    inside: Counter[str] = Counter()
    best, first = ((0, 0), 0, 1), 0
    for stop, (word, _, end) in enumerate(found, start=1):
        inside[word] += 1
        while end - found[first][1] > width and first < stop - 1:
            left = found[first][0]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            first += 1
        rank = (len(inside), stop - first)
        if rank > best[0]:
            best = rank, first, stop
    rank, first, stop = best
    return rank, [(begin, end) for _, begin, end in found[first:stop]]


def _made(field: Field, places: Sequence[Match], width: int) -> Snippet:
    """Make a snippet of words and what stands around them, cut between words."""
    text = field.text
    begin, end = places[0][0], places[-1][1]
    room = max(width - (end - begin), 0)
    first = max(begin - room // 2, 0)
    last = min(first + max(width, end - begin), len(text))
    first = max(min(first, last - width), 0)
    first, last = _between_words(text, first, begin), _until_word(text, end, last)
    start, stop = field.span(first, last)
    return Snippet(
        text=text[first:last],
        field=field.name,
        start=start,
        stop=stop,
        matches=tuple(field.span(*place) for place in places),
        marks=tuple((begin - first, end - first) for begin, end in places),
    )


def _between_words(text: str, first: int, begin: int) -> int:
    """Move the beginning of a snippet to that of a paragraph, or else of a word."""
    paragraph = text.rfind(PARAGRAPH, first, begin)
    if paragraph >= 0:
        return paragraph + len(PARAGRAPH)
    space = text.find(" ", first, begin) if first > 0 else -1
    return space + 1 if space >= 0 else begin if first > 0 else 0


def _until_word(text: str, end: int, last: int) -> int:
    """Move the end of a snippet to that of a paragraph, or else of a word."""
    paragraph = text.find(PARAGRAPH, end, last)
    if paragraph >= 0:
        return paragraph
    space = text.rfind(" ", end, last + 1) if last < len(text) else last
    return space if space >= 0 else end
