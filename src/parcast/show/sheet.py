"""An answer as data: tables, facts and warnings, whatever they are shown on.

A result makes one sheet; `show.terminal` and `show.html` render it. A sheet holds words and
numbers as texts, and what may be left out where there is little room, but no layout. Names from
files may stand in any of its texts: each is made one line that no terminal obeys.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from parcast.errors import one_line

Alignment: TypeAlias = Literal["left", "right", "interval"]  # "3 to 12": by its ends


class Printed:
    """Base of what a sheet is made of: each of its texts is one line that no terminal obeys."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Escape what is not; a warning with a rank is escaped where warnings are ordered."""
        names: Sequence[str] = self.__slots__
        for name in names:
            given: Any = getattr(self, name)
            if isinstance(given, str):
                object.__setattr__(self, name, one_line(given))
            elif isinstance(given, list | tuple):
                lines = [one_line(x) if type(x) is str else x for x in given]
                object.__setattr__(self, name, type(given)(lines))


@dataclass(frozen=True, kw_only=True, slots=True)
class Column(Printed):
    """One column of a table, with two lines of title."""

    title: str
    unit: str = ""
    cells: Sequence[str]
    align: Alignment = "right"
    heading: str = ""  # both titles in full, where there is room for more than short ones

    @property
    def full_title(self) -> str:
        """Title and unit in one line."""
        return self.heading or f"{self.title} {self.unit}".strip()


def interval_column(
    title: str, unit: str, ends: Iterable[tuple[str, str]], *, heading: str = ""
) -> Column:
    """Column of intervals, given by their ends; without a lower end the cell is empty."""
    cells = [f"{lower} to {upper}" if lower else "" for lower, upper in ends]
    return Column(title=title, unit=unit, cells=cells, align="interval", heading=heading)


@dataclass(frozen=True, slots=True)
class Fact(Printed):
    """Something that is said, and its name; without a name it goes on with the one above."""

    label: str
    text: str
    is_marked: bool = False  # it asks for attention
    is_detail: bool = False  # shown only where everything is


def facts_of(label: str, texts: Iterable[str], *, is_marked: bool = False) -> Iterator[Fact]:
    """Several sentences below one label."""
    for i, text in enumerate(texts):
        yield Fact("" if i else label, text, is_marked=is_marked and not i)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry(Printed):
    """A row of a table in full, for a page too narrow for the table."""

    title: str = ""
    lines: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()  # those without a text are unknown in this row


@dataclass(frozen=True, kw_only=True, slots=True)
class Form(Printed):
    """One way to write a table, of several that need less and less room."""

    columns: Sequence[Column]
    titles: Sequence[str] = ()  # for each row that of its group; () where there are no groups
    is_split: bool = False  # each group is a table of its own
    caption: str = ""  # what the cells are
    legend: str = ""  # what titles and marks mean; by default that of the table
    left_out: str = ""  # as of a sheet


@dataclass(frozen=True, kw_only=True, slots=True)
class Table(Printed):
    """Rows of an answer, in the forms that they may have."""

    title: str = ""
    forms: tuple[Form, ...] = ()  # the widest first; none where there are no rows
    in_full: tuple[Entry, ...] = ()  # where no form has room; () keeps to the last form
    is_spaced: bool = True  # whether entries are set apart from each other
    notes: tuple[Fact, ...] = ()  # on single rows
    legend: str = ""  # what titles and marks mean


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet(Printed):
    """Everything that an answer says to a person."""

    title: str = ""
    tables: tuple[Table, ...] = ()
    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()
    conclusion: tuple[Fact, ...] = ()  # facts below the warnings
    parts: tuple["Sheet", ...] = ()  # of single series or programs
    parts_are: str = "series"  # what they are, in the plural
    name: str = ""  # of this part among others, where its title is too long for a sentence
    left_out: str = ""  # "3 of 9 rows are shown. All of them": a page says where they are
