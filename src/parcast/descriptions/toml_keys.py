"""The keys of a TOML text with their lines, found in one pass before it is parsed.

`tomllib` tells no lines of keys, and the time that it takes grows with the square of the parts of
a key. What a text holds is therefore counted first, and a text beyond the bounds is refused before
anything is built of it.
"""

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from parcast.files.faults import Faults

MOST_LEVELS: Final = 30  # of tables and lists in each other; a description has 6
MOST_TABLES: Final = 1_000  # as many phases are no longer a description that a person checks
MOST_KEYS: Final = 20_000

Place: TypeAlias = tuple[str | int, ...]  # the way to a key: ("phase", 1, "io", "volume")

_TOKEN = re.compile(
    r"""
    (?P<text> \"{3} (?: [^"\\]++ | \\. | "(?!"") )*+ "{0,5}
            | '{3} (?: [^']++ | '(?!'') )*+ '{0,5}
            | " (?: [^"\\\n]++ | \\[^\n] )*+ "?
            | ' [^'\n]*+ '? )
  | (?P<mark> [][{}=.,\n] )
  | (?P<word> [\w-]++ )
  | \#[^\n]*+
  | [^][{}=.,\n\w\-"'#]++
    """,
    re.VERBOSE | re.DOTALL,
)


def lines_of_keys(text: str, faults: Faults) -> dict[Place, int]:
    r"""Give the line of every key and table of a text, or refuse one that is beyond the bounds.

    What is no TOML is ignored: who parses the text says what is wrong with it.

    >>> lines_of_keys("compute.rate = '1 flop/s'  # here\nstorage = {\n}", Faults("x.toml"))
    {('compute',): 1, ('compute', 'rate'): 1, ('storage',): 2}
    """
    scan = _Scan(faults)
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "mark":
            scan.mark(token[0])
        elif token.lastgroup is not None:
            scan.part(token[0])
    return scan.lines


@dataclass(slots=True)
class _Open:
    """A list or a table in braces whose end is not yet reached."""

    place: Place
    is_list: bool
    index: int = 0  # of the element that is read


@dataclass(slots=True)
class _Scan:
    """How far a text is read: in which table, within which brackets, in a key or in a value."""

    faults: Faults
    lines: dict[Place, int] = field(default_factory=dict)
    line: int = 1
    table: Place = ()  # that the last header began
    elements: Counter[Place] = field(default_factory=Counter)  # of lists of tables, so far
    tables: int = 0
    header: int = 0  # brackets of the header that is read
    key: list[str] = field(default_factory=list)  # its parts so far
    is_joined: bool = False  # the next part by a point
    value: Place | None = None  # the key whose value is read; None: a key is read
    open: list[_Open] = field(default_factory=list)

    def part(self, token: str) -> None:
        """Take in a word or a text in quotes: of a key it is a part."""
        if self.value is None:
            if not self.is_joined:  # a word behind another, as in prose
                self.key.clear()
            self.is_joined = False
            self.key.append(_unquoted(token))
            self._require(len(self.key) + len(self.open), MOST_LEVELS, "levels")
        self.line += token.count("\n")

    def mark(self, mark: str) -> None:
        """Take in a sign between words."""
        if self.value is not None:
            self._mark_in_value(mark)
        elif mark == ".":
            self.is_joined = True
        elif mark == "=":
            self._begin_value()
        elif mark == "[" and not self.key and not self.open:
            self.header += 1
        elif mark == "]" and self.header and self.key:
            self._begin_table()
        elif mark == "}" and self.open:
            self._close()
        elif mark == "\n":
            self._end_line()

    def _mark_in_value(self, mark: str) -> None:
        """Take in a sign of a value."""
        assert self.value is not None
        inner = self.open[-1] if self.open else None
        if mark in "[{":
            place = (
                self.value if inner is None or not inner.is_list else (*self.value, inner.index)
            )
            self.open.append(_Open(place, is_list=mark == "["))
            self._require(len(place) + 1, MOST_LEVELS, "levels")
            if mark == "{":
                self._count_table(place)
            self.value = place if mark == "[" else None
        elif mark in "]}":
            self._close()
        elif mark == "," and inner is not None:
            inner.index += 1
            self.value = self.value if inner.is_list else None
        elif mark == "\n":
            self._end_line()

    def _close(self) -> None:
        """End the innermost list or table; what it is in is read on."""
        self.key.clear()
        if self.open:
            self.open.pop()
        inner = self.open[-1] if self.open else None
        self.value = inner.place if inner is not None else ()

    def _end_line(self) -> None:
        """End a line; outside brackets a key of the table is next."""
        self.line += 1
        if not self.open:
            self.header, self.value = 0, None
            self.key.clear()

    def _begin_value(self) -> None:
        """Note the key that was read."""
        within = self.open[-1].place if self.open else self.table
        place = (*within, *self.key)
        self._note(place, start=len(within) + 1)
        self.key.clear()
        self.value = place

    def _begin_table(self) -> None:
        """Note the table whose header was read."""
        *outer, last = self.key
        place: Place = ()
        for part in outer:
            place = (*place, part)
            if place in self.elements:
                place = (*place, self.elements[place] - 1)
        place = (*place, last)
        if self.header > 1:
            self._note(place, start=1)
            self.elements[place] += 1
        if place in self.elements:
            place = (*place, self.elements[place] - 1)
        self.table = place
        self._count_table(place)
        self.key.clear()
        self.header, self.value = 0, ()  # what follows on the line is no key

    def _count_table(self, place: Place) -> None:
        """Note a table."""
        self.tables += 1
        self._require(self.tables, MOST_TABLES, "tables")
        self._note(place, start=1)

    def _note(self, place: Place, *, start: int) -> None:
        """Note the line of a key, and of the tables around it that its parts begin."""
        self._require(len(place), MOST_LEVELS, "levels")
        for stop in range(start, len(place) + 1):
            self.lines.setdefault(place[:stop], self.line)
        self._require(len(self.lines), MOST_KEYS, "keys")

    def _require(self, count: int, most: int, what: str) -> None:
        """Refuse a text that holds more than a description does."""
        if count > most:
            self.faults.refuse(
                f"must have at most {most:,} {what}, got more. Write a simpler description.",
                line=self.line,
            )


def _unquoted(token: str) -> str:
    """Give the part of a key that a word or a text in quotes writes."""
    if token[0] not in "\"'":
        return token
    if "\\" not in token:
        return token.strip(token[0])
    try:
        return str(tomllib.loads(f"key = {token}")["key"])
    except tomllib.TOMLDecodeError:
        return token
