"""Where documents begin and end in a stream of text, block by block, whatever the blocks are.

Three ways: the whole file is one document, every line is one, or every element of some name is. In
SGML, where end tags may be missing and text may hold anything, a start tag ends the document
before it. In XML and HTML the outermost elements count, and comments and CDATA do not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import AnyStr, Final

_LONGEST_TAG: Final = 4096  # characters of a tag of a document that must be seen at once
TAIL: Final = 3 * _LONGEST_TAG  # characters in which a tag may stand that was not looked for yet
_BLANKS: Final = " \t\r\n\f\v"  # the same in bytes and in text
_COMMENT, _CDATA = "<!--", "<![CDATA["
_ENDS: Final = {_COMMENT: "-->", _CDATA: "]]>"}


class WholeFile:
    """All text is one document; a file of white space holds none."""

    def __init__(self) -> None:
        self.open_at: int | None = 0
        self.end = 0
        self._blank = True

    def feed(self, block: str, *, final: bool = False) -> Iterator[tuple[int, int]]:
        """Take a block of text: documents that end in it."""
        self.end += len(block)
        self._blank = self._blank and not block.strip(_BLANKS)
        if final and not self._blank:
            yield 0, self.end


class Lines:
    """Every line with text is a document, without the LF that ends it."""

    def __init__(self) -> None:
        self.open_at: int | None = 0
        self.end = 0
        self._blank = True  # the line so far

    def feed(self, block: str, *, final: bool = False) -> Iterator[tuple[int, int]]:
        """Take a block of text: lines that end in it."""
        origin, self.end = self.end, self.end + len(block)
        begin, at = self.open_at or 0, 0
        while (found := block.find("\n", at)) >= 0:
            stop = origin + found
            part = block[at:found]
            if not self._blank or part.strip(_BLANKS):
                yield begin, stop
            self._blank = True
            at = found + 1
            begin = origin + at
        rest = block[at:]
        self._blank = self._blank and not rest.strip(_BLANKS)
        self.open_at = begin
        if final and not self._blank:
            yield begin, self.end


class Elements:
    """Every element of one name is a document."""

    def __init__(self, name: str, *, nested: bool) -> None:
        """Look for elements of a name, outermost ones (`nested`) or as in SGML."""
        tag = rf"(?:[\w.-]+:)?{re.escape(name)}"
        pattern = rf"<{tag}(?=[\s/>])(?P<empty>[^<>]{{0,{_LONGEST_TAG}}}/>)?|</{tag}\s*>"
        if nested:
            pattern += f"|{_COMMENT}|{re.escape(_CDATA)}"
        self._token = re.compile(pattern, re.IGNORECASE | re.ASCII)
        self._nested = nested
        self._depth = 0
        self._skipping = ""  # what ends the comment or CDATA section
        self._rest = ""
        self.open_at: int | None = None
        self.end = 0

    def feed(self, block: str, *, final: bool = False) -> Iterator[tuple[int, int]]:
        """Take a block of text: documents that end in it, or that the next one ends."""
        text = self._rest + block
        origin = self.end - len(self._rest)
        self.end += len(block)
        limit = len(text) if final else max(0, len(text) - 2 * _LONGEST_TAG)
        at = 0
        while True:
            if self._skipping:
                found = text.find(self._skipping, at)
                if found < 0:
                    at = max(at, len(text) - len(self._skipping))
                    break
                at = found + len(self._skipping)
                self._skipping = ""
            token = self._token.search(text, at)
            if token is None or token.start() >= limit:
                at = max(at, limit)
                break
            at = token.end()
            yield from self._documents(token, origin)
        self._rest = text[at:]
        if final and self.open_at is not None:
            yield self.open_at, self.end
            self.open_at = None

    def _documents(self, token: re.Match[str], origin: int) -> Iterator[tuple[int, int]]:
        """Take a tag: the document that it ends."""
        mark = token[0].upper()
        if mark in _ENDS:
            self._skipping = _ENDS[mark]
        elif token[0].startswith("</"):
            self._depth = max(self._depth - 1, 0)
            if self.open_at is not None and (self._depth == 0 or not self._nested):
                yield self.open_at, origin + token.end()
                self.open_at = None
        elif token["empty"]:
            if self.open_at is None:
                yield origin + token.start(), origin + token.end()
        else:
            if self.open_at is not None and not self._nested:
                yield self.open_at, origin + token.start()
                self.open_at = None
            self._depth = self._depth + 1 if self._nested else 1
            if self.open_at is None:
                self.open_at = origin + token.start()


Boundaries = WholeFile | Lines | Elements


def boundaries_of(format: str, element: str | None) -> Boundaries:
    """Give the way in which a format separates documents."""
    if format == "jsonl":
        return Lines()
    if element is None:
        return WholeFile()
    return Elements(element, nested=format != "sgml")


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one document as it stands in the original."""

    start: int
    stop: int
    line: int  # that it begins on, counted from 1
    text: str | None  # None: it is too large


class _Held:
    """The text that may still be needed, and the line that a place in it stands on."""

    def __init__(self) -> None:
        self.begin = 0  # offset of the first character that is held
        self._blocks: list[str] = []
        self._line, self._counted = 1, 0

    def add(self, block: str) -> None:
        """Take a block."""
        self._blocks.append(block)

    def text(self, start: int, stop: int) -> str:
        """Give a stretch of text."""
        if len(self._blocks) > 1:
            self._blocks = ["".join(self._blocks)]
        return self._blocks[0][start - self.begin : stop - self.begin]

    def line(self, at: int) -> int:
        """Give the line of a place at or after those asked for before."""
        if at > self._counted:
            self._line += self.text(self._counted, at).count("\n")
            self._counted = at
        return self._line

    def drop(self, to: int, end: int) -> None:
        """Forget what stands before a place."""
        if to > self.begin:
            self.line(to)
            self._blocks, self.begin = [self.text(to, end)], to


def cut(blocks: Iterator[str], boundaries: Boundaries, *, largest: int) -> Iterator[Piece]:
    """Cut text into documents of at most `largest` characters, longer ones without their text.

    No more than one document and one block are held.
    """
    held = _Held()
    large = 1  # the line on which a document begins that is too large to hold
    for block, final in with_last(blocks, ""):
        held.add(block)
        for start, stop in list(boundaries.feed(block, final=final)):
            if start < held.begin:
                yield Piece(start, stop, large, None)
            else:
                text = held.text(start, stop) if stop - start <= largest else None
                yield Piece(start, stop, held.line(start), text)
        keep, near = boundaries.open_at, boundaries.end - TAIL
        if keep is not None and boundaries.end - keep > largest:
            if keep >= held.begin:
                large = held.line(keep)
            keep = max(keep, near)
        held.drop(max(0, near) if keep is None else keep, boundaries.end)


def with_last(blocks: Iterator[AnyStr], empty: AnyStr) -> Iterator[tuple[AnyStr, bool]]:
    """Give each block, and whether it is the last one; at least one."""
    before = empty
    for block in filter(None, blocks):
        if before:
            yield before, False
        before = block
    yield before, True
