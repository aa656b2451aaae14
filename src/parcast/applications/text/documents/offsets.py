r"""Clean text and where each of its characters stands in the original: a map of runs.

Clean text has entities decoded, tags removed, every stretch of white space as one space, and
"\n\n" between paragraphs. A run is either *linear* (as many clean characters as original ones, one
to one) or an *atom* (an entity, an escape, white space with tags), which belongs together. A run
takes three numbers; a line of text that is wrapped takes none of its own.

Apostrophes and hyphens have one form in clean text, and what cannot be seen, such as a soft hyphen
or a mark of direction, is left out.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

PARAGRAPH: Final = "\n\n"
_FAR: Final = 2**31 - 1  # the largest offset that fits into int32
_OTHER_SPACE: Final = re.compile(r"[^\S ]")
_ONE_FORM: Final = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201b\u02bc\uff07", "'")
    | dict.fromkeys("\u2010\u2011\ufe63\uff0d", "-")
)
_UNSEEN: Final = "\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_SEEN: Final = re.compile(f"[^{_UNSEEN}]+")


def plain(text: str) -> str:
    """Write a text with one form of apostrophes and hyphens, without what is not seen.

    >>> plain("Romeo\u2019s net\u00adwork is well\u2010known")
    "Romeo's network is well-known"
    """
    return text if text.isascii() else "".join(_SEEN.findall(text.translate(_ONE_FORM)))


@dataclass(frozen=True, slots=True, eq=False)
class Offsets:
    """From clean text to the original: where each run begins in both, and ends in the original."""

    clean: NDArray[Any]  # shape (runs,), int32 or int64, ascending from 0
    starts: NDArray[Any]  # shape (runs,), offsets in the original
    stops: NDArray[Any]
    length: int  # characters of the clean text

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Give the place in the original of the clean characters from `begin` up to `end`.

        >>> builder = TextBuilder()
        >>> for part in ("fish ", 0, 5), ("&", 5, 10), (" chips", 10, 16):
        ...     builder.piece(*part)
        >>> field = builder.field("text")  # of "fish &amp; chips"
        >>> field.text, field.offsets.span(5, 12), field.offsets.span(0, 6)
        ('fish & chips', (5, 16), (0, 10))
        """
        starts, stops = self.spans(np.array([begin]), np.array([end]))
        return int(starts[0]), int(stops[0])

    def spans(self, begins: NDArray[Any], ends: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give the places of many stretches at once: starts and stops, int64."""
        begins, ends = np.asarray(begins, dtype=np.int64), np.asarray(ends, dtype=np.int64)
        if not begins.size:
            return begins, ends
        if not (begins.min() >= 0 and (begins < ends).all() and ends.max() <= self.length):
            raise IndexError(f"stretches outside a text of {self.length} characters")
        first, into, is_linear = self._runs(begins)
        starts = self.starts[first] + np.where(is_linear, into, 0)
        last, into, is_linear = self._runs(ends - 1)
        return starts, np.where(is_linear, self.starts[last] + into + 1, self.stops[last])

    def _runs(self, at: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Give the run of each clean character, its place in it, and whether that is linear."""
        run = np.searchsorted(self.clean, at, side="right") - 1
        begin = self.clean[run]
        last = len(self.clean) - 1
        end = np.where(run < last, self.clean[np.minimum(run + 1, last)], self.length)
        return run, at - begin, end - begin == self.stops[run] - self.starts[run]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Clean text of one field of a document, such as its title, and its places in the original."""

    name: str
    text: str
    offsets: Offsets

    def span(self, begin: int, end: int) -> tuple[int, int]:
        """Give the place in the original of `text[begin:end]`."""
        return self.offsets.span(begin, end)


class TextBuilder:
    """Clean text put together piece by piece, in the order of the original."""

    __slots__ = ("_breaks", "_clean", "_length", "_parts", "_space", "_starts", "_stops")

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._clean: list[int] = []
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._length = 0
        self._space = False  # white space since the last piece
        self._breaks = 0  # line breaks in it that count; two make a paragraph

    def __bool__(self) -> bool:
        return self._length > 0

    def piece(self, text: str, start: int, stop: int) -> None:
        """Add text that stands at `start` up to `stop`: one to one if it is as long.

        White space in it is single spaces.
        """
        seen = plain(text)
        if len(seen) == len(text) or len(text) < stop - start:
            self._piece(seen, start, stop)
        else:
            for part in _SEEN.finditer(text):
                at = start + part.start()
                self._piece(part[0].translate(_ONE_FORM), at, at + len(part[0]))

    def _piece(self, text: str, start: int, stop: int) -> None:
        """Add text whose characters are all seen, and have one form."""
        if text and text[0] == " ":
            self._space = True
            text = text[1:]
            start += 1
        if not text:
            return
        trailing = text[-1] == " "
        if trailing:
            text = text[:-1]
            stop -= 1
        if self._space and self._length:
            self._append(PARAGRAPH if self._breaks > 1 else " ", self._stops[-1], start)
        self._append(text, start, stop)
        self._space, self._breaks = trailing, 0

    def decoded(self, text: str, start: int, stop: int) -> None:
        """Add what an entity or an escape stands for, which may be white space or nothing."""
        if not text:
            return
        if text.isspace():
            self._space = True
            return
        self.piece(_OTHER_SPACE.sub(" ", text), start, stop)

    def space(self, breaks: int = 0) -> None:
        """Add white space with so many line breaks that may end a paragraph."""
        self._space = True
        self._breaks += breaks

    def paragraph(self) -> None:
        """End the paragraph."""
        self._space = True
        self._breaks = 2

    def field(self, name: str) -> Field:
        """Make the field of all that was added."""
        far = self._stops[-1] > _FAR if self._stops else False
        kind = np.int64 if far else np.int32
        clean, starts, stops = (
            np.array(x, dtype=kind) for x in (self._clean, self._starts, self._stops)
        )
        return Field(name, "".join(self._parts), Offsets(clean, starts, stops, self._length))

    def _append(self, text: str, start: int, stop: int) -> None:
        """Add a run, or lengthen the last one where both are linear and adjoin."""
        self._parts.append(text)
        length = len(text)
        if self._stops and self._stops[-1] == start and length == stop - start:
            last = self._length - self._clean[-1]
            if last == self._stops[-1] - self._starts[-1]:
                self._stops[-1] = stop
                self._length += length
                return
        self._clean.append(self._length)
        self._starts.append(start)
        self._stops.append(stop)
        self._length += length


_TOKENS: Final = re.compile(r"\s\s+|[^\S ]")


def breaks_in(space: str) -> int:
    r"""Count the line breaks in white space: \r\n is one.

    >>> breaks_in("\n"), breaks_in(" \r\n \r\n"), breaks_in("\r\r")
    (1, 2, 2)
    """
    return space.count("\n") or space.count("\r")


def add_plain(builder: TextBuilder, text: str, start: int) -> None:
    """Add plain text, in which blank lines separate paragraphs; `start` is its first character."""
    at = 0
    for token in _TOKENS.finditer(text):
        begin = token.start()
        if begin > at:
            builder.piece(text[at:begin], start + at, start + begin)
        at = token.end()
        builder.space(breaks_in(token[0]))
    if at < len(text):
        builder.piece(text[at:], start + at, start + len(text))
